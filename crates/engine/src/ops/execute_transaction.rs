//! `ExecuteTransaction`.

use trestle_api::{Error, ExecuteTransaction};

use crate::Engine;
use crate::completion::Completion;

pub(crate) fn run(_engine: &Engine, _request: ExecuteTransaction) -> Completion {
    Completion::Ready(Err(Error::unsupported_operation("ExecuteTransaction")))
}
