//! The promises of the store, tried on both kinds.

mod conformance;
mod damage;
mod directory;
mod model;
mod support;
