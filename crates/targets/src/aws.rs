//! Calls to AWS, or to compatible services: signed, in the JSON protocol, in groups of ten.

mod identity;
mod send;
mod service;

pub(crate) use identity::identity;
pub(crate) use send::{EntryFault, Failure, Protocol, send};
pub(crate) use service::{Service, ServiceKind, is_throttling};

/// The most entries of a call to SQS or EventBridge.
pub(crate) const ENTRIES_MAX: usize = 10;

/// The most bytes of a call. Newer services accept more; all of them accept this.
pub(crate) const CALL_BYTES_MAX: usize = 256 * 1024;
