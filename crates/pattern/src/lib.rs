//! Event patterns in the language of Amazon EventBridge, and templates that build a new document from an
//! event.
//!
//! The crate is pure. A [`Pattern`] is parsed once, reporting all mistakes together; after that,
//! [`Pattern::matches`] neither allocates nor fails. It follows EventBridge's documentation:
//!
//! - A field holds a list of alternatives; one of them must hold. All fields must.
//! - An array in the event stands for its members: one member must pass. Where a pattern has fields of
//!   objects in an array, one object must pass all of them.
//! - Numbers are compared as numbers: `300`, `300.0` and `3e2` are the same.
//! - A field that is missing passes only `{"exists": false}`.
//!
//! Where the documentation says nothing, this crate decides: names with dots are names, not paths; `exists`
//! concerns values, so that an object, or an array without values, does not exist; a path may be given only
//! once, including the fields beside an `$or`.
//!
//! ```
//! use serde_json::json;
//! use trestle_pattern::Pattern;
//!
//! let pattern = Pattern::parse(&json!({"event": ["insert"], "new": {"cents": [{"numeric": [">", 1000]}]}})).unwrap();
//! assert!(pattern.matches(&json!({"event": "insert", "new": {"cents": 1250}})));
//! assert!(!pattern.matches(&json!({"event": "insert", "new": {"cents": 10}})));
//! ```

mod cidr;
mod combine;
mod comparison;
mod fault;
mod fold;
mod numeric;
mod operator;
mod read;
mod template;
mod tree;
mod wildcard;

pub use fault::Fault;
pub use template::{Template, TemplateError};

use combine::combinations;
use serde_json::Value;
use tree::Tree;

/// Selects events.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// One for each combination of the `$or`s; one of them must match.
    alternatives: Vec<Tree>,
}

impl Pattern {
    /// Parses a pattern from JSON, or returns all mistakes in it.
    ///
    /// A pattern written in TOML is converted by the caller: tables are objects. TOML has no null.
    pub fn parse(pattern: &Value) -> Result<Pattern, Vec<Fault>> {
        let fields = read::pattern(pattern)?;
        let alternatives = combinations(&fields).map_err(|fault| vec![fault])?;
        Ok(Pattern { alternatives })
    }

    /// Whether the pattern matches the event.
    pub fn matches(&self, event: &Value) -> bool {
        self.alternatives.iter().any(|tree| tree.matches(event))
    }
}
