//! Reads the rows that a computation lacks, consistently.

use std::collections::BTreeMap;

use trestle_api::{BatchGetItem, DatabaseExt, Error, GetItem, KeysAndAttributes, Query, pause_after};
use trestle_expr::RequestExpressions;
use trestle_hook::RowQuery;
use trestle_item::Item;

use crate::endpoint::Endpoint;
use crate::find::{FoundRow, former_places};
use crate::known_rows::KnownRows;
use crate::table_shape::RowId;

/// Keys in one `BatchGetItem`.
const KEYS_MAX: usize = 100;
/// How often unprocessed keys are requested again.
const TRIES_MAX: usize = 12;

impl Endpoint {
    /// Reads the rows that the last run lacked.
    pub(crate) async fn fetch(&self, known: &mut KnownRows) -> Result<(), Error> {
        let (rows, queries) = known.take_lacking();
        self.read_rows(rows.into_iter().collect(), known).await?;
        for query in queries {
            self.read_query(query, known).await?;
        }
        Ok(())
    }

    /// Reads rows by their keys, in former places or in their own.
    pub(crate) async fn read_rows(
        &self,
        keys: Vec<(RowId, Item)>,
        known: &mut KnownRows,
    ) -> Result<(), Error> {
        let hook = self.hook();
        let mut found = self.find(hook.as_deref(), &keys).await?;
        for (id, key) in keys {
            let row = found.remove(&id).unwrap_or_default();
            known.learn(id, key, row);
        }
        Ok(())
    }

    /// The rows stored under these keys.
    pub(crate) async fn get_rows(&self, keys: &[(RowId, Item)]) -> Result<BTreeMap<RowId, Item>, Error> {
        let mut found = BTreeMap::new();
        if let [(id, key)] = keys {
            let asked = GetItem {
                table_name: id.table.clone(),
                key: key.clone(),
                consistent_read: Some(true),
                ..GetItem::default()
            };
            let item = self.database.get_item(asked).await?.item;
            found.extend(item.map(|item| (id.clone(), item)));
            return Ok(found);
        }
        for page in keys.chunks(KEYS_MAX) {
            self.read_page(page, &mut found).await?;
        }
        Ok(found)
    }

    async fn read_page(
        &self,
        page: &[(RowId, Item)],
        found: &mut BTreeMap<RowId, Item>,
    ) -> Result<(), Error> {
        let mut request_items: BTreeMap<String, KeysAndAttributes> = BTreeMap::new();
        for (id, key) in page {
            let of_table = request_items.entry(id.table.clone()).or_default();
            of_table.keys.push(key.clone());
            of_table.consistent_read = Some(true);
        }
        let mut tries = 0;
        while !request_items.is_empty() {
            if tries == TRIES_MAX {
                return Err(Error::throughput_exceeded());
            }
            if tries > 0 {
                pause_after(tries).await;
            }
            tries += 1;
            let answer = self
                .database
                .batch_get_item(BatchGetItem {
                    request_items,
                    ..BatchGetItem::default()
                })
                .await?;
            for (table, rows) in answer.responses {
                let shape = self.shapes.of(&*self.database, &table).await?;
                for row in rows {
                    found.insert(RowId::new(&table, &shape.key_in(&row)), row);
                }
            }
            request_items = answer.unprocessed_keys;
        }
        Ok(())
    }

    /// Reads the rows that a query finds. Rows of an index are read again from the table, because an index
    /// may lag behind; so are rows that may be in former places, because their place must be known.
    pub(crate) async fn read_query(
        &self,
        query: RowQuery,
        known: &mut KnownRows,
    ) -> Result<Vec<RowId>, Error> {
        let shape = self.shapes.of(&*self.database, &query.table).await?;
        let is_consistent = shape.reads_consistently(query.index.as_deref());
        let hook = self.hook();
        let moving = hook.filter(|hook| former_places(&**hook, &query.table).is_some());
        let mut start = None;
        let mut ids = Vec::new();
        let mut to_read = Vec::new();
        loop {
            let asked = request(&query, is_consistent, start);
            let page = match &moving {
                Some(hook) => self.query_both(hook, asked).await?,
                None => self.database.query(asked).await?,
            };
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                let key = shape.key_in(&row);
                let id = RowId::new(&query.table, &key);
                match query.index {
                    None if moving.is_none() => known.learn(id.clone(), key, FoundRow::in_place(row)),
                    _ => to_read.push((id.clone(), key)),
                }
                ids.push(id);
            }
            start = page.last_evaluated_key;
            let is_enough = query.limit.is_some_and(|limit| ids.len() >= limit);
            if start.is_none() || is_enough {
                break;
            }
        }
        ids.truncate(query.limit.unwrap_or(usize::MAX));
        self.read_rows(to_read, known).await?;
        known.learn_query(query, ids.clone());
        Ok(ids)
    }
}

pub(crate) fn request(query: &RowQuery, is_consistent: bool, start: Option<Item>) -> Query {
    let mut expressions = RequestExpressions::default();
    let key_condition = expressions.take(query.key_condition.print(), 'k');
    let filter = query
        .filter
        .as_ref()
        .map(|filter| expressions.take(filter.print(), 'f'));
    let (names, values) = expressions.split();
    // An endpoint also counts rows that a filter removes.
    let limit = query.limit.filter(|_| query.filter.is_none());
    Query {
        table_name: query.table.clone(),
        index_name: query.index.clone(),
        consistent_read: is_consistent.then_some(true),
        key_condition_expression: Some(key_condition),
        filter_expression: filter,
        limit: limit.and_then(|limit| u32::try_from(limit).ok()),
        expression_attribute_names: names,
        expression_attribute_values: values,
        exclusive_start_key: start,
        ..Query::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_expr::{Condition, KeyCondition, KeyOp, KeyTerm, Path};

    #[test]
    fn no_more_rows_are_asked_for_than_are_wanted() {
        let limit = |limit: Option<usize>, filter: Option<Condition>| {
            let query = RowQuery {
                table: "t".to_owned(),
                index: None,
                key_condition: KeyCondition {
                    terms: vec![KeyTerm {
                        attribute: "pk".to_owned(),
                        op: KeyOp::Eq("a".into()),
                    }],
                },
                filter,
                limit,
                is_guarded: false,
            };
            request(&query, true, None).limit
        };
        let filter = || Some(Condition::Exists(Path::top("a")));
        assert_eq!(limit(Some(1), None), Some(1));
        assert_eq!(limit(Some(1), filter()), None, "the first row may be left out");
        assert_eq!(limit(None, None), None);
    }
}
