//! `BatchExecuteStatement`.

use trestle_api::{BatchExecuteStatement, Error};

use crate::Engine;
use crate::completion::Completion;

pub(crate) fn run(_engine: &Engine, _request: BatchExecuteStatement) -> Completion {
    Completion::Ready(Err(Error::unsupported_operation("BatchExecuteStatement")))
}
