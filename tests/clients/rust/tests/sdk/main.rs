//! The AWS SDK for Rust against a running server, at the address in `TRESTLE_ENDPOINT`.

mod items;
mod queues;
mod streams;
mod support;
mod tables;
