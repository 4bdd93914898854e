//! Every acceptance point of the application, on a clock that only the tests move.

mod channels;
mod http;
mod hunts;
mod many;
mod queries;
mod support;
