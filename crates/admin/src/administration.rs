//! The trait for answering administration calls.

use crate::call::{AdminAnswer, AdminCall, Call};
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
        C::from_answer(answer).ok_or_else(|| {
            let message = format!(
                "internal error: the answer to {} is of another call",
                C::INFO.name
            );
            debug_assert!(false, "{message}");
            AdminError::failed(message)
        })
    }
}
