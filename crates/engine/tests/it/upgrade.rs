//! Data of the first format version is still read, and data of a later one is refused.
//!
//! The fixture was written once and stays as it is: a change that makes it unreadable needs a new format version and a
//! way from this one to it.
