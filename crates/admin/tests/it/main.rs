//! Tests of the administration's description.

mod openapi;
