//! Warehouse as its clients see it: over HTTP, with the real npm where npm is meant.

mod npm;
mod support;
