//! Scans of a table during a migration, each row once under its own key.
//!
//! They have the order of gateways (`bookmark.rs`), by a hash of the row's own key only. The endpoint does
//! not support this order. So the whole table is read to build a window, the sorted keys of the next rows,
//! and pages read the rows of the window. The table is read twice, first for rows in former places, then for
//! rows in their own, so that a row that moves meanwhile is found.
//!
//! A window stays valid: every row that existed when it was made is in it, unless the row was removed. A page
//! uses a window that was begun after the page was requested, or one that an earlier page of the same scan
//! has used.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use trestle_api::{DatabaseExt, Error, Response, Scan, ScanOutput, table_name};
use trestle_engine::{is_in_segment, scan_position};
use trestle_hook::{Former, Hook};
use trestle_item::{Item, size};

use crate::bookmark::{self, ListOrder};
use crate::both_places::{PAGE_BYTES_MAX, expect};
use crate::endpoint::Endpoint;
use crate::find::former_places;
use crate::table_shape::{RowId, TableShape};

/// Keys in one window: about thirty megabytes.
const WINDOW_ROWS_MAX: usize = if cfg!(debug_assertions) { 1_000 } else { 250_000 };
/// Windows that are kept.
const WINDOWS_MAX: usize = 4;
/// Rows that are read in one request.
const ROWS_AT_ONCE: usize = 100;
/// The most bytes of rows that are held for a scan of an index.
const INDEX_BYTES_MAX: usize = 64 << 20;

/// The windows of this gateway, the last used first.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    kept: Mutex<VecDeque<Arc<Window>>>,
    /// Held while a window is made, so that waiting requests can use it.
    making: tokio::sync::Mutex<()>,
}

/// The keys of rows from a position on, in the order of gateways.
struct Window {
    table: String,
    /// The hook that was in force.
    hook: Arc<dyn Hook>,
    /// When it was begun.
    begun: Instant,
    /// It has the rows after this position.
    start: Vec<u8>,
    keys: Vec<(Vec<u8>, Item)>,
    /// Whether there are rows after the last.
    has_more: bool,
    /// The scans that have used it.
    scans: Mutex<HashSet<String>>,
}

/// A requested page.
#[derive(Clone, Copy)]
struct PageOf<'a> {
    scan: &'a str,
    asked: Instant,
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window").finish_non_exhaustive()
    }
}

impl Window {
    /// Whether it has the rows after a position, for this page.
    fn serves(&self, table: &str, hook: &Arc<dyn Hook>, start: &[u8], page: PageOf<'_>) -> bool {
        let ends_behind = !self.has_more || self.keys.last().is_some_and(|(last, _)| start < last.as_slice());
        self.table == table
            && Arc::ptr_eq(&self.hook, hook)
            && (self.begun >= page.asked || self.scans.lock().contains(page.scan))
            && self.start.as_slice() <= start
            && ends_behind
    }

    /// The keys after a position.
    fn behind(&self, start: &[u8]) -> &[(Vec<u8>, Item)] {
        let from = self
            .keys
            .partition_point(|(position, _)| position.as_slice() <= start);
        self.keys.get(from..).unwrap_or_default()
    }
}

impl Endpoint {
    /// A page of a scan of a table or index during a migration.
    pub(crate) async fn scan_both(&self, hook: &Arc<dyn Hook>, mut scan: Scan) -> Result<ScanOutput, Error> {
        let asked = Instant::now();
        let table = table_name(&scan.table_name).to_owned();
        let former = hook.former(&table);
        let start = scan.exclusive_start_key.as_ref();
        let is_former = |start: &Item| former.as_ref().is_some_and(|former| former.is_former(start));
        if start.is_some_and(is_former) {
            return Err(bookmark::out_of_order("scan"));
        }
        let both = former_places(&**hook, &table);
        let order = ListOrder::take(&mut scan.exclusive_start_key);
        match (&both, &order) {
            (None, ListOrder::None | ListOrder::OfEndpoint) => return self.database.scan(scan).await,
            (Some(_), ListOrder::OfEndpoint) => return Err(bookmark::out_of_order("scan")),
            _ => {}
        }
        let list = order.name();
        if let Some(former) = &both {
            former.looked();
        }
        let shape = self.shape_with(&table, scan.index_name.as_deref()).await?;
        let rows = match scan.index_name {
            Some(_) => self.all_rows(&shape, both.as_deref()).await?,
            None => {
                let page = PageOf { scan: &list, asked };
                self.rows_of_page(hook, &shape, &scan, page).await?
            }
        };
        let scratch = self.scratch(hook, vec![(shape, rows)]).await?;
        let mut page = expect(scratch.answer(scan.into()).await?, |answer| match answer {
            Response::Scan(answer) => Some(answer),
            _ => None,
        })?;
        bookmark::mark(&mut page.last_evaluated_key, &list);
        Ok(page)
    }

    /// The rows that a page of a scan shows, in their places.
    async fn rows_of_page(
        &self,
        hook: &Arc<dyn Hook>,
        shape: &TableShape,
        scan: &Scan,
        page: PageOf<'_>,
    ) -> Result<Vec<Item>, Error> {
        let table = &shape.definition().table_name;
        let limit = scan.limit.map_or(usize::MAX, |limit| limit.max(1) as usize);
        let (segment, total) = (scan.segment.unwrap_or(0), scan.total_segments.unwrap_or(1));
        let start = scan.exclusive_start_key.as_ref();
        let mut position = start.and_then(|start| shape.position(start)).unwrap_or_default();
        let (mut rows, mut bytes) = (Vec::new(), 0);
        loop {
            let window = self.window(hook, shape, &position, page).await?;
            let behind = window.behind(&position).iter();
            let in_segment: Vec<_> = behind
                .filter(|(position, _)| is_in_segment(position, segment, total))
                .collect();
            for some in in_segment.chunks(ROWS_AT_ONCE.min(limit)) {
                let keys = some.iter().map(|(_, key)| (RowId::new(table, key), key.clone()));
                let keys: Vec<_> = keys.collect();
                for row in self.find(Some(&**hook), &keys).await?.into_values() {
                    bytes += row.item.as_ref().map_or(0, size::of_item);
                    rows.extend(row.into_lying());
                }
                if rows.len() >= limit || bytes > PAGE_BYTES_MAX {
                    return Ok(rows);
                }
            }
            match window.keys.last().filter(|_| window.has_more) {
                Some((last, _)) => position.clone_from(last),
                None => return Ok(rows),
            }
        }
    }

    /// A window of the rows after a position.
    async fn window(
        &self,
        hook: &Arc<dyn Hook>,
        shape: &TableShape,
        start: &[u8],
        page: PageOf<'_>,
    ) -> Result<Arc<Window>, Error> {
        let table = &shape.definition().table_name;
        let known = || {
            let mut kept = self.windows.kept.lock();
            let at = kept
                .iter()
                .position(|window| window.serves(table, hook, start, page))?;
            let window = kept.remove(at)?;
            window.scans.lock().insert(page.scan.to_owned());
            kept.push_front(Arc::clone(&window));
            Some(window)
        };
        if let Some(window) = known() {
            return Ok(window);
        }
        let _one_at_a_time = self.windows.making.lock().await;
        if let Some(window) = known() {
            return Ok(window);
        }
        let window = Arc::new(self.look(hook, shape, start).await?);
        window.scans.lock().insert(page.scan.to_owned());
        let mut kept = self.windows.kept.lock();
        kept.push_front(Arc::clone(&window));
        kept.truncate(WINDOWS_MAX);
        Ok(window)
    }

    /// Reads the table for a window.
    async fn look(&self, hook: &Arc<dyn Hook>, shape: &TableShape, start: &[u8]) -> Result<Window, Error> {
        let table = &shape.definition().table_name;
        let former = former_places(&**hook, table);
        let begun = Instant::now();
        let mut keys: BTreeMap<Vec<u8>, Item> = BTreeMap::new();
        let mut has_more = false;
        let mut add = |key: Item| -> Result<(), Error> {
            let position = shape
                .position(&key)
                .ok_or_else(|| Error::defect("a row has no key"))?;
            if position.as_slice() > start {
                keys.insert(position, key);
            }
            while keys.len() > WINDOW_ROWS_MAX {
                keys.pop_last();
                has_more = true;
            }
            Ok(())
        };
        if let Some(former) = &former {
            let mut each = |row: Item| match former.is_former(&row) {
                true => add(shape.key_in(&former.renew(row)?)),
                false => Ok(()),
            };
            self.walk(shape, false, &mut each).await?;
        }
        let is_elsewhere = |key: &Item| former.as_ref().is_some_and(|former| former.is_former(key));
        let mut each = |key: Item| match is_elsewhere(&key) {
            true => Ok(()),
            false => add(key),
        };
        self.walk(shape, true, &mut each).await?;
        Ok(Window {
            table: table.clone(),
            hook: Arc::clone(hook),
            begun,
            start: start.to_vec(),
            keys: keys.into_iter().collect(),
            has_more,
            scans: Mutex::default(),
        })
    }

    /// Every row of a table in its place, or its key.
    async fn walk(
        &self,
        shape: &TableShape,
        only_keys: bool,
        each: &mut (dyn FnMut(Item) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        let mut start = None;
        loop {
            let mut asked = Scan {
                table_name: shape.definition().table_name.clone(),
                consistent_read: Some(true),
                exclusive_start_key: start,
                ..Scan::default()
            };
            if only_keys {
                let names: Vec<_> = (0..shape.key.len()).map(|at| format!("#k{at}")).collect();
                asked.projection_expression = Some(names.join(", "));
                asked.expression_attribute_names = Some(names.into_iter().zip(shape.key.clone()).collect());
            }
            let page = self.database.scan(asked).await?;
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                each(row)?;
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(());
            }
        }
    }

    /// All rows of a table in their places: first those in former places, then those in their own.
    async fn all_rows(&self, shape: &TableShape, former: Option<&dyn Former>) -> Result<Vec<Item>, Error> {
        let table = shape.definition().table_name.clone();
        let mut rows: BTreeMap<RowId, Item> = BTreeMap::new();
        let mut bytes = 0;
        for are_former in [true, false] {
            let mut each = |row: Item| {
                if former.is_some_and(|former| former.is_former(&row)) == are_former {
                    bytes += size::of_item(&row);
                    rows.insert(RowId::new(&table, &shape.key_in(&row)), row);
                }
                if bytes > INDEX_BYTES_MAX {
                    return Err(Error::validation(format!(
                        "The index cannot be scanned while rows of table {table} move: the table has more than {} MB. Query the index, \
                         scan the table, or wait until the migration is verified",
                        INDEX_BYTES_MAX >> 20
                    )));
                }
                Ok(())
            };
            if are_former && former.is_none() {
                continue;
            }
            self.walk(shape, false, &mut each).await?;
        }
        Ok(rows.into_values().collect())
    }
}

impl TableShape {
    /// The position of a row in the order of gateways.
    fn position(&self, key: &Item) -> Option<Vec<u8>> {
        let hash = key.get(self.key.first()?)?;
        let range = self.key.get(1).map(|name| key.get(name));
        match range {
            Some(range) => scan_position(hash, Some(range?)),
            None => scan_position(hash, None),
        }
    }
}
