//! Reads of a table during a migration: rows are read from their former places and their own, and a scratch
//! database (`scratch.rs`) computes the response from them.
//!
//! The endpoint has no snapshots, and a row may move between the reads of the two places. It only moves from
//! its former place to its own, so former places are read first: a row that has left its former place is
//! found in its own. If a row is found in both, the one in its own place counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trestle_api::{
    BatchGetItem, BatchGetItemOutput, DatabaseExt, Error, Get, GetItem, GetItemOutput, Query, QueryOutput,
    Response, Scan, TransactGetItem, TransactGetItems, TransactGetItemsOutput, pause_after, table_name,
};
use trestle_expr::{KeyCondition, KeyOp, KeySelection, KeyTerm, Placeholders, RequestExpressions, legacy};
use trestle_hook::{Belongs, Former, FormerRange, Hook};
use trestle_item::{AttributeValue, Item, key, size};

use crate::bookmark::{self, ListOrder};
use crate::endpoint::Endpoint;
use crate::find::former_places;
use crate::scratch::Scratch;
use crate::table_shape::{KeyShape, RowId, TableShape};

/// A page ends with the row that takes it past this many bytes.
pub(crate) const PAGE_BYTES_MAX: usize = 1 << 20;
/// Items in one transaction.
const TRANSACT_MAX: usize = 100;
/// Keys in one `BatchGetItem`.
const BATCH_MAX: usize = 100;
/// How often an index is read again because it lists rows that are not in the table any more.
const INDEX_TRIES_MAX: usize = 6;

impl Endpoint {
    /// A row of a table that may have rows in former places, by the key of its own place.
    pub(crate) async fn get_both(
        &self,
        hook: &Arc<dyn Hook>,
        former: &dyn Former,
        get: GetItem,
    ) -> Result<GetItemOutput, Error> {
        let get = GetItem {
            consistent_read: Some(true),
            ..get
        };
        let own = self.database.get_item(get.clone()).await?;
        let Some(place) = former.place(&get.key).filter(|_| own.item.is_none()) else {
            return Ok(own);
        };
        former.looked();
        let table = table_name(&get.table_name).to_owned();
        let id = RowId::new(&table, &place);
        let lying = self.get_rows(&[(id.clone(), place)]).await?.remove(&id);
        let shape = self.shapes.of(&*self.database, &table).await?;
        match lying {
            Some(row) if shape.key_in(&former.renew(row.clone())?) == get.key => {
                let scratch = self.scratch(hook, vec![(shape, vec![row])]).await?;
                expect(scratch.answer(get.into()).await?, |answer| match answer {
                    Response::GetItem(answer) => Some(answer),
                    _ => None,
                })
            }
            // It may have moved between the two reads.
            _ => self.database.get_item(get).await,
        }
    }

    /// Rows of several tables, some of which may have rows in former places.
    pub(crate) async fn batch_get_both(
        &self,
        hook: &Arc<dyn Hook>,
        request: BatchGetItem,
    ) -> Result<BatchGetItemOutput, Error> {
        let is_moving = |table: &str| former_places(&**hook, table_name(table)).is_some();
        let count: usize = request.request_items.values().map(|of| of.keys.len()).sum();
        if count > BATCH_MAX {
            // The endpoint refuses it with its own error.
            return self.database.batch_get_item(request).await;
        }
        let (moving, others): (BTreeMap<_, _>, BTreeMap<_, _>) = request
            .request_items
            .into_iter()
            .partition(|(table, _)| is_moving(table));
        let mut keys: BTreeMap<RowId, Item> = BTreeMap::new();
        for (table, asked) in &moving {
            let table = table_name(table);
            keys.extend(asked.keys.iter().map(|key| (RowId::new(table, key), key.clone())));
        }
        let keys: Vec<_> = keys.into_iter().collect();
        let mut rows: BTreeMap<String, Vec<Item>> = BTreeMap::new();
        for (id, row) in self.find(Some(&**hook), &keys).await? {
            rows.entry(id.table).or_default().extend(row.into_lying());
        }
        let mut tables = Vec::new();
        for table in moving.keys().map(|table| table_name(table)) {
            let shape = self.shapes.of(&*self.database, table).await?;
            tables.push((shape, rows.remove(table).unwrap_or_default()));
        }
        let scratch = self.scratch(hook, tables).await?;
        let asked = BatchGetItem {
            request_items: moving,
            return_consumed_capacity: request.return_consumed_capacity,
        };
        let mut output = expect(scratch.answer(asked.into()).await?, |answer| match answer {
            Response::BatchGetItem(answer) => Some(answer),
            _ => None,
        })?;
        if !others.is_empty() {
            let asked = BatchGetItem {
                request_items: others,
                return_consumed_capacity: request.return_consumed_capacity,
            };
            let others = self.database.batch_get_item(asked).await?;
            output.responses.extend(others.responses);
            output.unprocessed_keys.extend(others.unprocessed_keys);
            if let Some(used) = others.consumed_capacity {
                output.consumed_capacity.get_or_insert_default().extend(used);
            }
        }
        Ok(output)
    }

    /// Rows in one consistent state: both places of each are read in one transaction.
    pub(crate) async fn transact_get_both(
        &self,
        hook: &Arc<dyn Hook>,
        request: TransactGetItems,
    ) -> Result<TransactGetItemsOutput, Error> {
        let mut places: BTreeMap<RowId, Item> = BTreeMap::new();
        let mut tables = BTreeSet::new();
        for item in &request.transact_items {
            let table = table_name(&item.get.table_name);
            tables.insert(table.to_owned());
            let former = former_places(&**hook, table);
            let place = former.as_ref().and_then(|former| former.place(&item.get.key));
            if let Some((former, place)) = former.zip(place) {
                former.looked();
                places.insert(RowId::new(table, &place), place);
            }
            places.insert(RowId::new(table, &item.get.key), item.get.key.clone());
        }
        if places.len() > TRANSACT_MAX {
            return Err(Error::validation(format!(
                "The transaction was refused: while rows move, each of them is looked for in two places, {} in all, and a \
                 transaction of the endpoint has at most {TRANSACT_MAX}. Read fewer items in one request",
                places.len()
            )));
        }
        let asked = places.iter().map(|(id, key)| TransactGetItem {
            get: Get {
                table_name: id.table.clone(),
                key: key.clone(),
                ..Get::default()
            },
        });
        let asked = TransactGetItems {
            transact_items: asked.collect(),
            ..TransactGetItems::default()
        };
        let answer = self.database.transact_get_items(asked).await?;
        let mut rows: BTreeMap<String, Vec<Item>> = BTreeMap::new();
        for ((id, _), found) in places.into_iter().zip(answer.responses) {
            rows.entry(id.table).or_default().extend(found.item);
        }
        let mut loaded = Vec::new();
        for table in tables {
            let shape = self.shapes.of(&*self.database, &table).await?;
            loaded.push((shape, rows.remove(&table).unwrap_or_default()));
        }
        let scratch = self.scratch(hook, loaded).await?;
        expect(scratch.answer(request.into()).await?, |answer| match answer {
            Response::TransactGetItems(answer) => Some(answer),
            _ => None,
        })
    }

    /// A page of a query of a table or index during a migration.
    pub(crate) async fn query_both(
        &self,
        hook: &Arc<dyn Hook>,
        mut query: Query,
    ) -> Result<QueryOutput, Error> {
        let table = table_name(&query.table_name).to_owned();
        let shape = self.shape_with(&table, query.index_name.as_deref()).await?;
        let key = shape.key_of(query.index_name.as_deref());
        let bookmark = ListOrder::take(&mut query.exclusive_start_key);
        let selection = key.as_ref().and_then(|key| selection(&query, key));
        let (Some(key), Some(mut selection)) = (key, selection) else {
            // The endpoint refuses it with its own error.
            return self.database.query(query).await;
        };
        let former = hook.former(&table);
        let both = former_places(&**hook, &table);
        if query.index_name.is_some() {
            if both.is_none() && bookmark == ListOrder::OfEndpoint {
                return self.database.query(query).await;
            }
            if both.is_some() && bookmark == ListOrder::OfEndpoint {
                return Err(bookmark::out_of_order("query"));
            }
            let rows = self
                .load_index(&shape, &key, both.as_deref(), &query, &selection)
                .await?;
            let mut page = self.answer_query(hook, shape, rows, query).await?;
            bookmark::mark(&mut page.last_evaluated_key, &bookmark.name());
            return Ok(page);
        }
        let is_renewed = match &former {
            Some(former) => match former.renew_selection(&selection)? {
                Some(renewed) => {
                    selection = renewed;
                    true
                }
                None => false,
            },
            None => false,
        };
        let start = query.exclusive_start_key.as_ref();
        let former_start =
            start.filter(|start| former.as_ref().is_some_and(|former| former.is_former(start)));
        if both.is_none() && !is_renewed && former_start.is_none() {
            return self.database.query(query).await;
        }
        let own_start = match former_start {
            Some(start) => Some(hook.key(&table, start)?),
            None => start.cloned(),
        };
        let reading = TableReading {
            endpoint: self,
            shape: &shape,
            key: &key,
            former: both.as_deref(),
            limit: query.limit.map_or(usize::MAX, |limit| limit.max(1) as usize),
            forward: query.scan_index_forward != Some(false),
            start: own_start,
        };
        let rows = reading.load(&selection).await?;
        self.answer_query(hook, shape, rows, query).await
    }

    async fn answer_query(
        &self,
        hook: &Arc<dyn Hook>,
        shape: Arc<TableShape>,
        rows: Loaded,
        query: Query,
    ) -> Result<QueryOutput, Error> {
        let scratch = self.scratch(hook, vec![(shape, rows.into_rows())]).await?;
        expect(scratch.answer(query.into()).await?, |answer| match answer {
            Response::Query(answer) => Some(answer),
            _ => None,
        })
    }

    pub(crate) async fn scratch(
        &self,
        hook: &Arc<dyn Hook>,
        tables: Vec<(Arc<TableShape>, Vec<Item>)>,
    ) -> Result<Scratch, Error> {
        Scratch::new(&self.clock, hook, tables).await
    }

    /// The shape of a table; described again if the index is unknown.
    pub(crate) async fn shape_with(
        &self,
        table: &str,
        index: Option<&str>,
    ) -> Result<Arc<TableShape>, Error> {
        let shape = self.shapes.of(&*self.database, table).await?;
        if shape.key_of(index).is_some() {
            return Ok(shape);
        }
        self.shapes.forget(table);
        self.shapes.of(&*self.database, table).await
    }

    /// All complete rows that a selection of an index needs, from their places in the table. An index may lag
    /// behind the table, so it only shows which rows to read. If it lists rows that are not there any more,
    /// they may have moved since, and it is read again.
    async fn load_index(
        &self,
        shape: &TableShape,
        key: &KeyShape,
        former: Option<&dyn Former>,
        query: &Query,
        selection: &KeySelection,
    ) -> Result<Loaded, Error> {
        let table = &shape.definition().table_name;
        let index = query.index_name.as_deref();
        for attempt in 0..INDEX_TRIES_MAX {
            if attempt > 0 {
                pause_after(attempt).await;
            }
            let mut loaded = Loaded::default();
            let mut own_keys: BTreeMap<RowId, Item> = BTreeMap::new();
            let mut lying: BTreeMap<RowId, Item> = BTreeMap::new();
            let sources = former.map(|former| former.sources(index, Some(selection)));
            let sources = sources.unwrap_or_default();
            if let Some(former) =
                former.filter(|_| sources.everywhere || sources.same || !sources.ranges.is_empty())
            {
                former.looked();
            }
            if let Some(former) = former.filter(|_| sources.everywhere) {
                let wants = |row: &Item| selects(key, selection, row);
                loaded.extend(shape, self.former_rows(table, former, &wants).await?);
            }
            let ranges = sources.ranges.iter().map(|range| &range.selection);
            // The first read finds rows in former places in the same part, the second those that moved
            // meanwhile.
            let same = sources.same.then_some(selection);
            for part in ranges.chain(same).chain([selection]) {
                for row in self.index_rows(shape, key, query, part).await? {
                    let place = shape.key_in(&row);
                    let own = match former.map_or(Belongs::Here, |former| former.belongs(&place)) {
                        Belongs::Here => place,
                        Belongs::At(own) => own,
                        Belongs::Elsewhere => {
                            lying.insert(RowId::new(table, &place), place);
                            continue;
                        }
                    };
                    own_keys.insert(RowId::new(table, &own), own);
                }
            }
            let lying: Vec<_> = lying.into_iter().collect();
            let there = self.get_rows(&lying).await?;
            let is_complete = there.len() == lying.len();
            loaded.extend(shape, there.into_values());
            let own_keys: Vec<_> = own_keys.into_iter().collect();
            let hook = self.hook();
            let found = self.find(hook.as_deref(), &own_keys).await?;
            loaded.extend(shape, found.into_values().filter_map(|row| row.into_lying()));
            if is_complete || attempt + 1 == INDEX_TRIES_MAX {
                return Ok(loaded);
            }
        }
        Err(Error::defect("an index was read and its rows were not loaded"))
    }

    /// The rows of a part of an index, as stored in the index.
    async fn index_rows(
        &self,
        shape: &TableShape,
        key: &KeyShape,
        query: &Query,
        part: &KeySelection,
    ) -> Result<Vec<Item>, Error> {
        let index = query.index_name.as_deref();
        let mut rows = Vec::new();
        let mut start = None;
        loop {
            let asked = Query {
                index_name: query.index_name.clone(),
                consistent_read: shape.reads_consistently(index).then_some(true),
                exclusive_start_key: start,
                ..part_of_table(&shape.definition().table_name, key, part)
            };
            let page = self.database.query(asked).await?;
            rows.extend(page.items.iter().flat_map(|rows| rows.iter()));
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(rows);
            }
        }
    }

    /// All selected rows in former places, as they will be in their own.
    async fn former_rows(
        &self,
        table: &str,
        former: &dyn Former,
        wants: &(dyn Fn(&Item) -> bool + Sync),
    ) -> Result<Vec<Item>, Error> {
        let mut rows = Vec::new();
        let mut start = None;
        loop {
            let asked = Scan {
                table_name: table.to_owned(),
                consistent_read: Some(true),
                exclusive_start_key: start,
                ..Scan::default()
            };
            let page = self.database.scan(asked).await?;
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                if former.is_former(&row) && wants(&former.renew(row.clone())?) {
                    rows.push(row);
                }
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(rows);
            }
        }
    }
}

/// Rows in the places where they are stored, each once.
#[derive(Default)]
struct Loaded(BTreeMap<RowId, Item>);

impl Loaded {
    fn extend(&mut self, shape: &TableShape, rows: impl IntoIterator<Item = Item>) {
        let table = &shape.definition().table_name;
        let named = rows
            .into_iter()
            .map(|row| (RowId::new(table, &shape.key_in(&row)), row));
        self.0.extend(named);
    }

    fn into_rows(self) -> Vec<Item> {
        self.0.into_values().collect()
    }
}

/// A page of a query of a table, which reads as many rows as the page can need.
struct TableReading<'a> {
    endpoint: &'a Endpoint,
    shape: &'a TableShape,
    key: &'a KeyShape,
    /// Set if any row may be in a former place.
    former: Option<&'a dyn Former>,
    limit: usize,
    forward: bool,
    /// The page begins after this key of an own place.
    start: Option<Item>,
}

impl TableReading<'_> {
    async fn load(&self, selection: &KeySelection) -> Result<Loaded, Error> {
        let mut loaded = Loaded::default();
        if let Some(former) = self.former {
            let sources = former.sources(None, Some(selection));
            if sources.everywhere || !sources.ranges.is_empty() {
                former.looked();
            }
            if sources.everywhere {
                let wants = |row: &Item| selects(self.key, selection, row);
                let table = &self.shape.definition().table_name;
                let rows = self.endpoint.former_rows(table, former, &wants).await?;
                loaded.extend(self.shape, rows);
            }
            for range in &sources.ranges {
                let rows = self.former_part(former, range).await?;
                loaded.extend(self.shape, rows);
            }
        }
        let is_elsewhere = |row: &Item| self.former.is_some_and(|former| former.is_former(row));
        let counts = |row: &Item| Ok((!is_elsewhere(row)).then(|| size::of_item(row)));
        let rows = self.part(selection, self.start.clone(), true, &counts).await?;
        loaded.extend(self.shape, rows);
        Ok(loaded)
    }

    /// Rows of a part of the table in the former layout: those that the page could show, if they have the
    /// order of their own places, otherwise all.
    async fn former_part(&self, former: &dyn Former, range: &FormerRange) -> Result<Vec<Item>, Error> {
        let start = self.start.as_ref().filter(|_| range.ordered);
        let start = start.and_then(|start| former.place(start));
        let start = start.filter(|place| selects(self.key, &range.selection, place));
        let counts = |row: &Item| match former.is_former(row) {
            true => Ok(Some(size::of_item(&former.renew(row.clone())?))),
            false => Ok(None),
        };
        // Without a start key in the former layout, rows before the page are included.
        let is_bounded = range.ordered && (start.is_some() || self.start.is_none());
        self.part(&range.selection, start, is_bounded, &counts).await
    }

    /// The rows of a part of the table; with `is_bounded`, as many as fill a page. `counts` returns the size
    /// of a row that counts.
    async fn part(
        &self,
        selection: &KeySelection,
        mut start: Option<Item>,
        is_bounded: bool,
        counts: &(dyn Fn(&Item) -> Result<Option<usize>, Error> + Sync),
    ) -> Result<Vec<Item>, Error> {
        let mut rows = Vec::new();
        let (mut counted, mut bytes) = (0, 0);
        loop {
            let left = self.limit.saturating_sub(counted).max(1);
            let asked = Query {
                scan_index_forward: Some(self.forward),
                consistent_read: Some(true),
                exclusive_start_key: start,
                limit: u32::try_from(left).ok().filter(|_| is_bounded),
                ..part_of_table(&self.shape.definition().table_name, self.key, selection)
            };
            let page = self.endpoint.database.query(asked).await?;
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                if let Some(size) = counts(&row)? {
                    counted += 1;
                    bytes += size;
                }
                rows.push(row);
            }
            start = page.last_evaluated_key;
            let is_full = is_bounded && (counted >= self.limit || bytes > PAGE_BYTES_MAX);
            if start.is_none() || is_full {
                return Ok(rows);
            }
        }
    }
}

/// The selection of a query, if it can be determined.
fn selection(query: &Query, key: &KeyShape) -> Option<KeySelection> {
    let condition = match (&query.key_condition_expression, &query.key_conditions) {
        (Some(text), _) => {
            let names = query.expression_attribute_names.as_ref();
            let values = query.expression_attribute_values.as_ref();
            KeyCondition::parse(text, &mut Placeholders::new(names, values)).ok()?
        }
        (None, Some(conditions)) => legacy::key_conditions(conditions).ok()?,
        (None, None) => return None,
    };
    condition.resolve(&key.hash, &key.range).ok()
}

/// A query of a part of a table or index.
fn part_of_table(table: &str, key: &KeyShape, selection: &KeySelection) -> Query {
    let hash = key.hash.iter().zip(&selection.hash);
    let equal = key.range.iter().zip(&selection.range_equal);
    let mut terms: Vec<KeyTerm> = hash
        .chain(equal)
        .map(|(part, value)| KeyTerm {
            attribute: part.name.clone(),
            op: KeyOp::Eq(value.clone()),
        })
        .collect();
    let last = key.range.get(selection.range_equal.len());
    terms.extend(last.zip(selection.range_last.clone()).map(|(part, op)| KeyTerm {
        attribute: part.name.clone(),
        op,
    }));
    let mut expressions = RequestExpressions::default();
    let condition = expressions.take(KeyCondition { terms }.print(), 'k');
    let (names, values) = expressions.split();
    Query {
        table_name: table.to_owned(),
        key_condition_expression: Some(condition),
        expression_attribute_names: names,
        expression_attribute_values: values,
        ..Query::default()
    }
}

/// Whether a row is in a part of a table or index.
fn selects(key: &KeyShape, selection: &KeySelection, row: &Item) -> bool {
    let equal = |part: &trestle_expr::KeyAttribute, value: &AttributeValue| {
        row.get(&part.name)
            .is_some_and(|found| bytes(found) == bytes(value))
    };
    let mut hash = key.hash.iter().zip(&selection.hash);
    let mut range = key.range.iter().zip(&selection.range_equal);
    let last = key.range.get(selection.range_equal.len());
    let in_last = match (last, &selection.range_last) {
        (Some(part), Some(op)) => row.get(&part.name).is_some_and(|found| is_within(op, found)),
        _ => true,
    };
    hash.all(|(part, value)| equal(part, value)) && range.all(|(part, value)| equal(part, value)) && in_last
}

fn is_within(op: &KeyOp, found: &AttributeValue) -> bool {
    let found_bytes = bytes(found);
    match op {
        KeyOp::Eq(value) => found_bytes == bytes(value),
        KeyOp::Lt(value) => found_bytes < bytes(value),
        KeyOp::Le(value) => found_bytes <= bytes(value),
        KeyOp::Gt(value) => found_bytes > bytes(value),
        KeyOp::Ge(value) => found_bytes >= bytes(value),
        KeyOp::Between(low, high) => bytes(low) <= found_bytes && found_bytes <= bytes(high),
        KeyOp::BeginsWith(prefix) => found_bytes
            .zip(bytes(prefix))
            .is_some_and(|(found, prefix)| found.starts_with(&prefix)),
    }
}

/// The bytes of a key value, which sort in the order of keys.
fn bytes(value: &AttributeValue) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    key::encode(value, &mut bytes)?;
    Some(bytes)
}

/// The response of the expected kind.
pub(crate) fn expect<T>(answer: Response, of_kind: impl FnOnce(Response) -> Option<T>) -> Result<T, Error> {
    of_kind(answer).ok_or_else(|| Error::defect("the answer of a scratch database is of another kind"))
}
