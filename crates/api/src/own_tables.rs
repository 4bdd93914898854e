//! Trestle's own tables: queues, checkpoints, dead letters.

use crate::{Error, Request, TransactWriteItem};

/// The prefix of the names of Trestle's own tables. They are ordinary tables that are left out of lists of
/// tables, and that clients can read but not write.
pub const OWN_TABLES: &str = "_trestle";

/// Whether a table, by name or ARN, is one of Trestle's own.
#[must_use]
pub fn is_own_table(name_or_arn: &str) -> bool {
    let name = match name_or_arn.strip_prefix("arn:") {
        Some(arn) => arn.split_once(":table/").map_or("", |(_, name)| name),
        None => name_or_arn,
    };
    name.starts_with(OWN_TABLES)
}

/// The error for a client that tries to write one of Trestle's own tables.
#[must_use]
pub fn own_table_refusal(table: &str) -> Error {
    Error::validation(format!(
        "The table {table} belongs to Trestle and cannot be written by clients; it can be read. Names of your own tables \
         must not begin with {OWN_TABLES}."
    ))
}

impl TransactWriteItem {
    /// Trestle's own table that this part of a transaction would write, if it is one.
    #[must_use]
    pub fn own_table_written(&self) -> Option<&str> {
        let put = self.put.as_ref().map(|put| put.table_name.as_str());
        let delete = self.delete.as_ref().map(|delete| delete.table_name.as_str());
        let update = self.update.as_ref().map(|update| update.table_name.as_str());
        put.or(delete).or(update).filter(|name| is_own_table(name))
    }
}

impl Request {
    /// Trestle's own table that this request would write or change, if there is one. PartiQL statements are
    /// not parsed.
    #[must_use]
    pub fn own_table_written(&self) -> Option<&str> {
        let single = match self {
            Self::PutItem(request) => &request.table_name,
            Self::UpdateItem(request) => &request.table_name,
            Self::DeleteItem(request) => &request.table_name,
            Self::CreateTable(request) => &request.table_name,
            Self::UpdateTable(request) => &request.table_name,
            Self::DeleteTable(request) => &request.table_name,
            Self::UpdateTimeToLive(request) => &request.table_name,
            Self::TagResource(request) => &request.resource_arn,
            Self::UntagResource(request) => &request.resource_arn,
            Self::BatchWriteItem(request) => {
                return request
                    .request_items
                    .keys()
                    .map(String::as_str)
                    .find(|name| is_own_table(name));
            }
            Self::TransactWriteItems(request) => {
                return request
                    .transact_items
                    .iter()
                    .find_map(TransactWriteItem::own_table_written);
            }
            _ => return None,
        };
        is_own_table(single).then_some(single)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GetItem, Put, PutItem, TransactWriteItem, TransactWriteItems};

    #[test]
    fn own_tables_are_known_by_name_and_arn() {
        assert!(is_own_table("_trestle.queues"));
        assert!(is_own_table("arn:aws:dynamodb:us-east-1:0:table/_trestle.queues"));
        assert!(!is_own_table("trestle") && !is_own_table("arn:aws:dynamodb:us-east-1:0:table/t"));
    }

    #[test]
    fn writes_to_own_tables_are_found_and_reads_are_not() {
        let table_name = "_trestle.queues".to_owned();
        let put = Request::PutItem(PutItem {
            table_name: table_name.clone(),
            ..PutItem::default()
        });
        assert_eq!(put.own_table_written(), Some("_trestle.queues"));
        let other = |table_name| TransactWriteItem {
            put: Some(Box::new(Put {
                table_name,
                ..Put::default()
            })),
            ..TransactWriteItem::default()
        };
        let transaction = Request::TransactWriteItems(TransactWriteItems {
            transact_items: vec![other("t".to_owned()), other(table_name.clone())],
            ..TransactWriteItems::default()
        });
        assert_eq!(transaction.own_table_written(), Some("_trestle.queues"));
        let get = Request::GetItem(GetItem {
            table_name,
            ..GetItem::default()
        });
        assert_eq!(get.own_table_written(), None);
    }
}
