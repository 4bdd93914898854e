//! A model bound to the embedded engine: the commit hook, the stored models, apply and diff.
