//! Proposes a model from a table's rows, or from a file of another modelling tool.
//!
//! The crate is pure. The result is text, a model file that loads, with the evidence in its comments. The
//! steps, each in its own file: `tag` finds an attribute that names the kind of each row, `group` groups rows
//! of one kind, `template` infers key templates from their keys, `attribute` infers types from their values,
//! `refine` lets the loader of models prove the result and weakens what cannot be proved, and `write` writes
//! the file.
//!
//! ```
//! use trestle_discover::{TableFacts, infer};
//! use trestle_item::{Item, ScalarType};
//! use trestle_model::{KeyAttribute, KeySchema};
//!
//! let key = |name: &str| KeyAttribute { name: name.into(), kind: ScalarType::S };
//! let table = TableFacts {
//!     name: "shop".into(),
//!     key: KeySchema { hash: vec![key("pk")], range: vec![key("sk")] },
//!     ..TableFacts::default()
//! };
//! let row = |customer: &str| {
//!     Item::from([
//!         ("pk", format!("customer#{customer}")),
//!         ("sk", "profile".to_owned()),
//!         ("customer", customer.to_owned()),
//!     ])
//! };
//! let proposal = infer(&table, [row("ada"), row("bob"), row("eve")]);
//! assert!(proposal.text.contains("customer#{customer}"), "{}", proposal.text);
//! ```

mod attribute;
mod contrast;
mod draft;
mod entries;
mod facts;
mod group;
mod head;
mod hint;
pub mod import;
mod layout;
mod name;
mod narrow;
mod propose;
mod refine;
mod row;
mod tag;
mod template;
mod token;
mod write;

pub use facts::TableFacts;
pub use propose::{Proposal, infer};
