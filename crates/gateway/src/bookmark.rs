//! Where a scan or a query of an index goes on, while rows move and afterwards.
//!
//! An endpoint lists the rows of a table in an order of its own, in which a row changes its position as it moves. So while rows move,
//! such lists are made here, in an order that does not depend on where a row lies, and their bookmarks say so: a list that was begun
//! in this order is ended in it, also when all rows have moved. A query of the table itself is in the order of keys, here and there,
//! and has ordinary bookmarks.

use trestle_api::Error;
use trestle_env::ids;
use trestle_item::{AttributeValue, Item};

/// The attribute of a bookmark that says so. Its value names the list, so that a gateway knows whether it has answered pages of it.
const ORDER: &str = "_trestle_order";

/// Whose order a list is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListOrder {
    /// It begins.
    None,
    /// The order of the endpoint.
    OfEndpoint,
    /// The order of gateways, in a list of this name.
    OfGateways(String),
}

impl ListOrder {
    /// What a bookmark says; it is an ordinary one afterwards.
    pub(crate) fn take(start: &mut Option<Item>) -> Self {
        match start {
            None => ListOrder::None,
            Some(start) => match start.remove(ORDER) {
                None => ListOrder::OfEndpoint,
                Some(AttributeValue::S(list)) => ListOrder::OfGateways(list),
                // Not one that was given out: the list has no name that is known.
                Some(_) => ListOrder::OfGateways(String::new()),
            },
        }
    }

    /// The name of the list: one that begins gets one.
    pub(crate) fn name(self) -> String {
        match self {
            ListOrder::OfGateways(list) => list,
            ListOrder::None | ListOrder::OfEndpoint => ids::uuid(),
        }
    }
}

/// Whether a bookmark is one of gateways.
pub(crate) fn is_marked(start: Option<&Item>) -> bool {
    start.is_some_and(|start| start.contains_key(ORDER))
}

/// Makes a bookmark one of gateways.
pub(crate) fn mark(last: &mut Option<Item>, list: &str) {
    if let Some(last) = last {
        last.insert(ORDER, AttributeValue::S(list.to_owned()));
    }
}

/// A bookmark of the endpoint's order means nothing while rows move.
pub(crate) fn out_of_order(read: &str) -> Error {
    Error::validation(format!(
        "The provided starting key is invalid: rows of the table move to other keys since, and with it the order of the {read} has \
         changed. Begin the {read} again, and give each bookmark back as it was given, with all of its attributes"
    ))
}
