//! The part of HTTP/1.1 that a load generator needs, on bytes.

mod answer;
mod request;

pub(crate) use answer::{BenchResponse, NotHttp, read_answer};
pub(crate) use request::{Builder, Template, plain_request, queue_request};
