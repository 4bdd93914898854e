//! Where a scan or a query of an index continues, during and after a migration.
//!
//! An endpoint lists the rows of a table in its own order, in which a row changes its position when it moves.
//! So during a migration, gateways list such rows in an order that does not depend on the place of a row, and
//! mark the bookmarks: a list that was begun in this order is finished in it, even when all rows have moved.
//! A query of the table itself is in the order of keys in both cases, and has ordinary bookmarks.

use trestle_api::Error;
use trestle_env::ids;
use trestle_item::{AttributeValue, Item};

/// The attribute that marks such a bookmark. Its value is the id of the list, by which a gateway recognises a
/// list of which it has returned pages.
const ORDER: &str = "_trestle_order";

/// The order of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListOrder {
    /// The list begins.
    None,
    /// The order of the endpoint.
    OfEndpoint,
    /// The order of gateways, in a list with this id.
    OfGateways(String),
}

impl ListOrder {
    /// Takes the mark out of a bookmark and returns its order.
    pub(crate) fn take(start: &mut Option<Item>) -> Self {
        match start {
            None => ListOrder::None,
            Some(start) => match start.remove(ORDER) {
                None => ListOrder::OfEndpoint,
                Some(AttributeValue::S(list)) => ListOrder::OfGateways(list),
                // Not a bookmark of a gateway: the list has no known id.
                Some(_) => ListOrder::OfGateways(String::new()),
            },
        }
    }

    /// The id of the list; a new list gets a new one.
    pub(crate) fn name(self) -> String {
        match self {
            ListOrder::OfGateways(list) => list,
            ListOrder::None | ListOrder::OfEndpoint => ids::uuid(),
        }
    }
}

/// Whether a bookmark is marked as one of gateways.
pub(crate) fn is_marked(start: Option<&Item>) -> bool {
    start.is_some_and(|start| start.contains_key(ORDER))
}

/// Marks a bookmark as one of gateways.
pub(crate) fn mark(last: &mut Option<Item>, list: &str) {
    if let Some(last) = last {
        last.insert(ORDER, AttributeValue::S(list.to_owned()));
    }
}

/// The error for a bookmark in the endpoint's order, which cannot be used during a migration.
pub(crate) fn out_of_order(read: &str) -> Error {
    Error::validation(format!(
        "The provided starting key is invalid: rows of the table move to other keys since, and with it the order of the {read} has \
         changed. Begin the {read} again, and give each bookmark back as it was given, with all of its attributes"
    ))
}
