//! `ExecuteStatement`.

use trestle_api::{Error, ExecuteStatement};

use crate::Engine;
use crate::completion::Completion;

pub(crate) fn run(_engine: &Engine, _request: ExecuteStatement) -> Completion {
    Completion::Ready(Err(Error::unsupported_operation("ExecuteStatement")))
}
