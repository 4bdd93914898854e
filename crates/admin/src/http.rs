//! The form of calls over HTTP.

/// The prefix of every call's path; the name follows.
pub const PREFIX: &str = "/_trestle/";

/// A header that every call must have, with any value. A web page of another origin can send it only after a
/// preflight request, which is refused.
pub const HEADER: &str = "x-trestle-admin";

/// The only call whose answer is not JSON: the whole database as an archive.
pub const BACKUP: &str = "backup";
