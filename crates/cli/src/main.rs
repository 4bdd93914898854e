//! The `trestle` binary.
fn main() {}
