//! One item's write as a request describes it: parsed, and checked as far as possible without its table.
//!
//! The engine and a gateway before a remote endpoint both read requests with this crate, so that both refuse
//! mistakes in the same order and with the same messages. The result for the item is computed here, too:
//! [`Write::holds`] is the condition, [`updated`] the new item, [`shown_of_update`] the item in the answer.
//! PartiQL statements that write an item are such writes, too (`statement.rs`).
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod cancellation;
mod condition_parameters;
mod parse;
mod shown;
mod statement;
mod write;

pub use cancellation::{canceled_by, reason_of};
pub use condition_parameters::{ConditionParameters, shows};
pub use parse::{BATCH_WRITES_MAX, TRANSACTION_ITEMS_MAX};
pub use shown::{shown_of_removal, shown_of_update};
pub use statement::{
    StatementShown, StatementTable, StatementWrite, TransactionStatement, bind_statement,
    check_batch_is_of_one_kind, parse_alone, refused_statement, statements_of_transaction,
    write_of_statement, writes_of_statements,
};
pub use write::{Action, Write, check_condition, check_limits, check_size, updated, with_key};
