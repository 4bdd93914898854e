//! The trait for answering administration calls.

use crate::call::{AdminAnswer, AdminCall, Call, stray};
use crate::error::AdminError;

/// Answers administration calls.
pub trait Administration: Send + Sync {
    /// Answers a call. Blocks until it is done, which may include reading every row.
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError>;
}

/// Calls with typed answers.
pub trait AdministrationExt {
    /// Answers a call.
    fn ask<C: Call>(&self, call: C) -> Result<C::Answer, AdminError>;
}

impl<A: Administration + ?Sized> AdministrationExt for A {
    fn ask<C: Call>(&self, call: C) -> Result<C::Answer, AdminError> {
        let answer = self.answer(call.into_call())?;
        C::from_answer(answer).ok_or_else(stray::<C>)
    }
}
