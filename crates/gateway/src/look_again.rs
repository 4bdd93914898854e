//! Rows that are added between a search for rows and the commit that depends on it.
//!
//! A transaction checks the rows that were found. It cannot check that there are no others. So the search is repeated after the commit,
//! before the response is sent to the client. A row that was added in between is written again unchanged, so that its derived rows are
//! computed from the rows as they are then. A row that is added later needs no such look, because its own write reads the result of the
//! commit.
//!
//! The intent of the write names the search (`intent.rs`). It is stored with the commit and removed after the look. So if this gateway
//! ends in between, another one repeats the search. Repeating it more than once does no harm.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use trestle_api::{Error, ErrorKind, Query};
use trestle_expr::{Condition, KeyCondition, Kind, Path, Placeholders};
use trestle_hook::{By, Hook, RowQuery};
use trestle_item::{AttributeValue, Item, Map};
use trestle_writes::{Action, Write};

use crate::endpoint::Endpoint;
use crate::fetch;
use crate::known_rows::KnownRows;
use crate::part::Part;
use crate::table_shape::RowId;
use crate::write::Asked;

const QUERY: &str = "query";
const SEEN: &str = "seen";

/// A search for rows that is repeated after the commit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Look {
    query: RowQuery,
    /// The digests of the rows that need no second look: those that were found, and those of the commit itself.
    seen: BTreeSet<u128>,
}

impl Look {
    pub(crate) fn new(query: RowQuery, found: &[RowId], own: &[Part]) -> Self {
        let own = own.iter().filter(|part| part.table == query.table);
        let own = own.map(|part| part.id().digest());
        Look {
            seen: found.iter().map(RowId::digest).chain(own).collect(),
            query,
        }
    }

    /// The look as it is stored.
    pub(crate) fn to_value(&self) -> Result<AttributeValue, Error> {
        let query = serde_json::to_string(&fetch::request(&self.query, false, None));
        let query = query.map_err(|error| Error::internal(error.to_string()))?;
        let seen: Vec<u8> = self.seen.iter().flat_map(|row| row.to_be_bytes()).collect();
        let mut stored = Map::from_iter([(QUERY.to_owned(), AttributeValue::S(query))]);
        if !seen.is_empty() {
            stored.insert(SEEN.to_owned(), AttributeValue::B(seen));
        }
        Ok(AttributeValue::M(stored))
    }

    pub(crate) fn from_value(stored: &AttributeValue) -> Option<Self> {
        let AttributeValue::M(stored) = stored else {
            return None;
        };
        let query = stored.get(QUERY).and_then(AttributeValue::as_s)?;
        let seen = stored.get(SEEN).map(|seen| seen.as_b());
        let (rows, rest) = seen.unwrap_or(Some(&[]))?.as_chunks();
        rest.is_empty().then_some(())?;
        Some(Look {
            query: row_query(serde_json::from_str(query).ok()?)?,
            seen: rows.iter().map(|row| u128::from_be_bytes(*row)).collect(),
        })
    }
}

/// The query of a request that [`fetch::request`] has made.
fn row_query(request: Query) -> Option<RowQuery> {
    let names = request.expression_attribute_names.as_ref();
    let mut placeholders = Placeholders::new(names, request.expression_attribute_values.as_ref());
    let keys = request.key_condition_expression?;
    let filter = request.filter_expression;
    let filter = filter.map(|filter| Condition::parse(Kind::Filter, &filter, &mut placeholders));
    Some(RowQuery {
        key_condition: KeyCondition::parse(&keys, &mut placeholders).ok()?,
        filter: filter.transpose().ok()?,
        table: request.table_name,
        index: request.index_name,
        limit: None,
        is_guarded: false,
    })
}

impl Endpoint {
    /// Repeats a look, and writes rows again that were added since the first one. Boxed, because such a write may look for rows itself.
    pub(crate) fn look_again<'e>(
        &'e self,
        hook: &'e Arc<dyn Hook>,
        look: &'e Look,
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'e>> {
        Box::pin(async move {
            let table = &look.query.table;
            let mut known = KnownRows::default();
            let found = match self.read_query(look.query.clone(), &mut known).await {
                // The table or the index was deleted, so there is nothing to find.
                Err(error) if is_refused(&error) || error.kind() == ErrorKind::ResourceNotFound => {
                    return Ok(());
                }
                found => found?,
            };
            let shape = self.shapes.of(&*self.database, table).await?;
            let came = found.iter().filter(|id| !look.seen.contains(&id.digest()));
            let came = came.filter_map(|id| known.row(id).map(|row| row.key.clone()));
            for key in came.collect::<Vec<Item>>() {
                let again = Asked {
                    by: By::SecondLook,
                    ..Asked::one(written_again(table, key, shape.hash()))
                };
                match self.write(hook, again).await {
                    // The row was deleted, or is derived from other rows, so that a client may not write it.
                    Err(error) if is_refused(&error) => {}
                    answer => answer.map(drop)?,
                }
            }
            Ok(())
        })
    }
}

fn is_refused(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConditionalCheckFailed | ErrorKind::Validation
    )
}

/// A write that leaves an existing row unchanged.
fn written_again(table: &str, key: Item, hash: &str) -> Write {
    Write {
        table_name: table.to_owned(),
        action: Action::Update(key, None),
        condition: Some(Condition::Exists(Path::top(hash))),
        show_on_failure: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_expr::{Comparator, KeyOp, KeyTerm, Operand};

    #[test]
    fn a_look_is_stored_and_read_back() {
        let key = |sk: &str| Item::from([("pk", "doc#a"), ("sk", sk)]);
        let term = |attribute: &str, op: KeyOp| KeyTerm {
            attribute: attribute.to_owned(),
            op,
        };
        let query = RowQuery {
            table: "rows".to_owned(),
            index: Some("by_name".to_owned()),
            key_condition: KeyCondition {
                terms: vec![
                    term("pk", KeyOp::Eq("doc#a".into())),
                    term("sk", KeyOp::BeginsWith("v#".into())),
                ],
            },
            filter: Some(Condition::Compare {
                left: Operand::Path(Path::top("size")),
                comparator: Comparator::Greater,
                right: Operand::Value(3_i64.into()),
            }),
            limit: None,
            is_guarded: false,
        };
        let found = [RowId::new("rows", &key("v#1")), RowId::new("rows", &key("v#2"))];
        for found in [&found[..], &[]] {
            let look = Look::new(query.clone(), found, &[]);
            assert_eq!(Look::from_value(&look.to_value().unwrap()), Some(look));
        }
        assert_eq!(Look::from_value(&"other".into()), None);
    }
}
