//! A model proposed from what is there: a table's rows, or a file of another modelling tool.
//!
//! The crate is pure. What it proposes is text, a model file that loads, with the evidence in its comments. The steps,
//! each in a file of its own: `tag` looks for an attribute that names the kind of each row, `group` puts rows of one
//! kind together, `template` reads key templates out of their keys, `attribute` types out of their values, `refine` lets
//! the loader of models prove the result and weakens what cannot be proved, and `write` writes it down.
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
