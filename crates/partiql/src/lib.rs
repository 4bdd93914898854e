//! DynamoDB's PartiQL: statements in SQL's form, parsed into operations on items.
//!
//! A statement goes through three steps, and each refuses its own kind of mistake in DynamoDB's words:
//!
//! 1. *Reading* ([`parse`]): text to tokens to syntax. The result knows its table.
//! 2. *Binding* ([`Parsed::bind`]): parameters are inserted; literals become attribute values, the `WHERE`
//!    clause a [`trestle_expr::Condition`], `SET` and `REMOVE` a [`trestle_expr::Update`].
//! 3. *Planning* ([`Select::plan`], [`Change::target`], [`Delete::target`]): the conditions are divided by the keys
//!    of the table or index, into what finds items and what filters them.
//!
//! The crate is pure: it knows only the key attributes of tables that it is given, and executes nothing.
//!
//! ```
//! use trestle_expr::KeyAttribute;
//! use trestle_item::ScalarType;
//! use trestle_partiql::{Access, Keys, Statement, StatementError, parse};
//!
//! # fn main() -> Result<(), StatementError> {
//! let parsed = parse("SELECT * FROM music WHERE artist = ?")?;
//! let Statement::Select(select) = parsed.bind(&["Miles".into()])? else {
//!     unreachable!("the statement is a SELECT");
//! };
//! let artist = KeyAttribute { name: "artist".into(), kind: ScalarType::S };
//! let plan = select.plan(Keys::new(&[artist], &[])?)?;
//! assert!(matches!(plan.access, Access::Partitions(partitions) if partitions.len() == 1));
//! # Ok(())
//! # }
//! ```

mod check;
mod condition;
mod error;
mod keys;
mod keyword;
mod lexer;
mod literal;
mod parameters;
mod parser;
mod path;
mod plan;
mod projection;
mod span;
mod statement;
mod syntax;
mod table;
mod token;
mod update;
mod value;

pub use error::StatementError;
pub use keys::Keys;
pub use literal::{literal, quoted_name};
pub use plan::{Access, Plan};
pub use projection::Projection;
pub use statement::{Change, Delete, Insert, OrderTerm, Parsed, Select, Statement, Target, is_write, parse};
pub use syntax::{Direction, Returning};
