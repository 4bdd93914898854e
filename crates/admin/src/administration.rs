//! Those who answer calls.

use crate::call::{AdminAnswer, AdminCall, Call, stray};
use crate::error::AdminError;

/// Answers calls.
pub trait Administration: Send + Sync {
    /// Answers a call. Blocks for as long as it takes, which may be until every row was looked at.
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError>;
}

/// Calls with their answers' types.
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
