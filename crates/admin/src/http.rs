//! How calls look over HTTP.

/// What the path of every call begins with; its name follows.
pub const PREFIX: &str = "/_trestle/";

/// A header that every call must have, with any value. A web page of another origin cannot send it without asking first, and
/// is not let in when it asks.
pub const HEADER: &str = "x-trestle-admin";

/// The one call whose answer is no JSON: the whole database as an archive.
pub const BACKUP: &str = "backup";
