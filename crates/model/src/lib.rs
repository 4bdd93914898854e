//! The application's model: tables, entities, key templates, effects and access patterns, read from a TOML file,
//! checked and proved when it is loaded.
//!
//! The crate is pure: no I/O, no clock, no database. Other crates need four functions:
//!
//! - [`load`] reads a model file and reports all its problems at once.
//! - [`Model::derive`] computes what a write must change in its item: keys, tag, defaults, timestamps.
//! - [`Model::key_of`] computes a key from the attributes that identify a row.
//! - [`AccessPattern::bind`] and [`AccessPattern::explain`] turn an access pattern into a request, and into a
//!   description.
//!
//! A file becomes a model in three steps, each in its own folder: `read` (fields, places), `build` (names,
//! templates, proofs), and the result is the `Model`, in which nothing has to be checked again.
//!
//! ```
//! use trestle_item::{AttributeValue, Item};
//!
//! let loaded = trestle_model::load(r##"
//! model = "shop"
//!
//! [table.shop]
//! key = ["pk", "sk"]
//! entity_attribute = "kind"
//!
//! [entity.order]
//! table = "shop"
//! key = { pk = "customer#{customer}", sk = "order#{number:08}" }
//! attributes = { customer = "string", number = "integer" }
//! "##);
//! let model = loaded.model.expect("the file has no errors");
//! let order = Item::from([("customer", AttributeValue::from("ada")), ("number", AttributeValue::from(7_i64))]);
//! let key = model.key_of("shop", &order).unwrap();
//! assert_eq!(key.get("sk"), Some(&AttributeValue::from("order#00000007")));
//! ```

mod access;
mod attribute;
mod build;
mod chars;
mod defect;
mod derive;
mod describe;
mod draft;
mod effect;
mod effects;
mod entity;
mod fields;
pub mod file;
mod index_names;
mod kept;
mod language;
mod large_value;
mod layout_change;
mod leftover;
mod model;
mod place;
mod problem;
mod read;
mod recognise;
mod refusal;
mod reindex_version;
mod schema;
mod tables_in_use;
mod template;

pub use access::{AccessPattern, Bound, Cost, Explained, ExplainedKey, Operation, Parameter};
pub use attribute::{Attribute, AttributeKind, Precision, timestamp_text, timestamp_text_in};
pub use build::load;
pub use derive::Derived;
pub use describe::Described;
pub use effect::{
    Amount, Copy, Counter, Edit, Effect, Entries, Head, Inverse, InverseForm, Member, MemberPart, Once, Pair,
    Remembered, Unique,
};
pub use effects::audit;
pub use effects::{
    Blamed, COPIES_KEY, COPIES_TABLE, COUNTS_KEY, COUNTS_TABLE, CopyNote, CopyPage, CopyWalk,
    KEPT_ABOUT_ROWS, LOOSE_VALUES_TABLE, LooseState, LooseValue, NAMED_VALUES_TABLE, NamedValue, NotedCopies,
    OrphanCount, OwnTable, Stopped, change_parts, is_kept_about_rows,
};
pub use entity::{Entity, Role};
pub use index_names::{UnnameableIndex, load_new, unnameable_indexes};
pub use kept::{Holds, KeptAttribute};
pub use large_value::{
    LARGE_VALUE_BYTES_MAX, LARGE_VALUE_PARTS_MAX, LargeValue, PARTS_BYTES, PARTS_ID, PARTS_NUMBER,
    PARTS_TABLE, ValueDigest,
};
pub use layout_change::{EntityMove, Hindrance, LayoutChange, MovedKey};
pub use model::{Index, KeySchema, Loaded, Model, Projection, StreamView, Table};
pub use problem::{Problem, Severity};
pub use refusal::{Follows, Given, Keeps, Refusal};
pub use schema::schema;
pub use tables_in_use::{AcrossTables, EffectName};
pub use template::{KeyTemplate, RenderError};
pub use trestle_expr::KeyAttribute;
