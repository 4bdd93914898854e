//! DynamoDB's expression languages and their legacy predecessors: parsed, checked, evaluated and printed.
//!
//! Text becomes a tree in three steps, each of which refuses its own kind of mistake, because DynamoDB
//! reports mistakes in this order:
//!
//! 1. *Syntax* (`lexer`, `cursor`, `grammar`): tokens, operators, parentheses.
//! 2. *Words* (`vocabulary`): known functions in allowed places, reserved words, list indexes.
//! 3. *Meaning* (the `parse` of each expression): placeholders are replaced, operands counted and typed.
//!
//! The result contains no placeholder and is well-formed, so evaluation has no errors of its own, except in
//! an update, which depends on the item's types. The crate is pure: no table, no clock, no I/O. Error texts
//! are DynamoDB's.
//!
//! ```
//! use trestle_expr::{Condition, Kind, Placeholders};
//! use trestle_item::{AttributeValue, Item, Map};
//!
//! # fn main() -> Result<(), trestle_expr::ExprError> {
//! let values = Map::from([(":year".to_owned(), AttributeValue::from(1900_i64))]);
//! let mut placeholders = Placeholders::new(None, Some(&values));
//! let condition = Condition::parse(Kind::Filter, "born > :year AND attribute_exists(artist)", &mut placeholders)?;
//! placeholders.finish()?;
//!
//! let item = Item::from([("artist", AttributeValue::from("Miles")), ("born", AttributeValue::from(1926_i64))]);
//! assert!(condition.holds(&item));
//! # Ok(())
//! # }
//! ```

mod condition;
mod cursor;
mod error;
mod evaluation;
mod grammar;
mod key_condition;
pub mod legacy;
mod lexer;
mod overlap;
mod parameters;
mod path;
mod placeholders;
mod printing;
mod projection;

mod request_expressions;
mod reserved_words;
mod resolution;
mod update;
mod vocabulary;

pub use condition::{AttributeType, Comparator, Condition, Operand};
pub use error::{ExprError, Kind};
pub use key_condition::{KeyAttribute, KeyCondition, KeyOp, KeySelection, KeyTerm};
pub use parameters::Parameters;
pub use path::{Path, Step};
pub use placeholders::Placeholders;
pub use printing::Printed;
pub use projection::Projection;
pub use request_expressions::RequestExpressions;
pub use reserved_words::is_reserved;
pub use update::{Action, SetOperand, SetValue, Update};
