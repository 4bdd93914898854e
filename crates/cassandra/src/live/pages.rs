//! Reads the rows of a table page by page, in the order of their tokens. The next page is requested before
//! the last one is used up.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use scylla::client::session::Session;
use scylla::response::query_result::QueryRowsResult;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::statement::prepared::PreparedStatement;
use tokio::task::JoinHandle;

use super::LiveCluster;
use super::cell::SelectedRow;
use super::schema::has_many_cells;
use crate::mapping::{BoundImport, FileLayout};
use crate::schema::{ColumnKind, CqlTable};

/// The first page is small, and pages grow to about a given number of bytes, because rows may be large.
const PAGE_ROWS_FIRST: i32 = 50;
const PAGE_ROWS_MAX: i32 = 5_000;
const PAGE_BYTES: usize = 1024 * 1024;

/// A table that is being read.
pub(crate) struct Pages<'c> {
    cluster: &'c LiveCluster,
    layout: FileLayout,
    statement: PreparedStatement,
    /// The token at which reading began.
    from: i64,
    next: Option<JoinHandle<Result<Answered, String>>>,
}

/// Rows of one request.
pub(crate) struct Page {
    rows: QueryRowsResult,
    /// The time of the request, in seconds since 1970.
    pub(crate) asked_seconds: i64,
}

struct Answered {
    page: Page,
    more: Option<PagingState>,
}

impl Page {
    /// Its rows.
    pub(crate) fn rows(&self) -> Result<impl Iterator<Item = Result<SelectedRow<'_>, String>>, String> {
        let rows = self.rows.rows::<SelectedRow<'_>>().map_err(told)?;
        Ok(rows.map(|row| row.map_err(told)))
    }
}

impl<'c> Pages<'c> {
    /// Begins at a token, or at the first one.
    pub(crate) fn begin(
        cluster: &'c LiveCluster,
        import: &BoundImport,
        token: Option<i64>,
    ) -> Result<Self, String> {
        let session = &cluster.session;
        let prepare = |select: &Select| cluster.runtime.block_on(session.prepare(select.text.clone()));
        let whole = Select::of(import, |_| true);
        let (select, statement) = match prepare(&whole) {
            Ok(statement) => (whole, statement),
            // Before version 5, write times of collections that are not frozen cannot be selected.
            Err(error) => {
                let less = Select::of(import, |column| !many_cells(cluster, &import.table, column));
                match less.text == whole.text {
                    true => return Err(told(error)),
                    false => {
                        let statement = prepare(&less).map_err(told)?;
                        (less, statement)
                    }
                }
            }
        };
        let mut pages = Pages {
            cluster,
            layout: select.layout,
            statement,
            from: token.unwrap_or(i64::MIN),
            next: None,
        };
        pages.statement.set_page_size(PAGE_ROWS_FIRST);
        pages.ask(PagingState::start());
        Ok(pages)
    }

    /// The positions of the columns' values in a row.
    pub(crate) fn layout(&self) -> &FileLayout {
        &self.layout
    }

    fn ask(&mut self, state: PagingState) {
        let session = Arc::clone(&self.cluster.session);
        let asked = ask(session, self.statement.clone(), self.from, state);
        self.next = Some(self.cluster.runtime.spawn(asked));
    }

    /// The next page; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Page>, String> {
        let Some(next) = self.next.take() else {
            return Ok(None);
        };
        let answered = self.cluster.runtime.block_on(next).map_err(told)??;
        if let Some(state) = answered.more {
            self.statement.set_page_size(page_size(
                self.statement.get_page_size(),
                answered.page.rows.rows_num(),
                answered.page.rows.rows_bytes_size(),
            ));
            self.ask(state);
        }
        Ok(Some(answered.page))
    }
}

impl Drop for Pages<'_> {
    fn drop(&mut self) {
        if let Some(next) = &self.next {
            next.abort();
        }
    }
}

async fn ask(
    session: Arc<Session>,
    statement: PreparedStatement,
    from: i64,
    state: PagingState,
) -> Result<Answered, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(told)?;
    let asked_seconds = i64::try_from(now.as_secs()).map_err(told)?;
    let (answer, more) = session
        .execute_single_page(&statement, (from,), state)
        .await
        .map_err(told)?;
    let rows = answer.into_rows_result().map_err(told)?;
    Ok(Answered {
        page: Page { rows, asked_seconds },
        more: match more {
            PagingStateResponse::HasMorePages { state } => Some(state),
            PagingStateResponse::NoMorePages => None,
        },
    })
}

/// The number of rows that gives the wanted size of a page, but at most four times the previous number.
fn page_size(before: i32, rows: usize, bytes: usize) -> i32 {
    let wanted = PAGE_BYTES.saturating_mul(rows.max(1)) / bytes.max(1);
    let wanted = i32::try_from(wanted).unwrap_or(i32::MAX);
    wanted.clamp(1, before.saturating_mul(4).min(PAGE_ROWS_MAX))
}

/// A select of the columns of an import, with their write times and times to live.
struct Select {
    text: String,
    layout: FileLayout,
}

impl Select {
    /// Write times and times to live are selected for columns for which `has_times` is true.
    fn of(import: &BoundImport, has_times: impl Fn(&str) -> bool) -> Self {
        let table = &import.table;
        let mut layout = FileLayout::default();
        let mut selected = Vec::new();
        for column in &import.columns {
            layout.columns.push(selected.len());
            selected.push(quoted(&column.name));
        }
        let is_value = |kind| matches!(kind, ColumnKind::Regular | ColumnKind::Static);
        let mut columns = import.columns.iter().filter(|column| is_value(column.kind));
        let of_value: Vec<&str> = columns.by_ref().map(|column| column.name.as_str()).collect();
        for name in of_value.into_iter().filter(|name| has_times(name)) {
            if import.write_time_attribute().is_some() {
                let asked = format!("writetime({})", quoted(name));
                layout.write_times.push((selected.len(), asked.clone()));
                selected.push(asked);
            }
            if import.expires.iter().flatten().next().is_some() {
                let asked = format!("ttl({})", quoted(name));
                layout.ttls.push((selected.len(), asked.clone(), name.to_owned()));
                selected.push(asked);
            }
        }
        let key = table.partition_key();
        let key: Vec<String> = key.iter().map(|column| quoted(&column.name)).collect();
        let token = format!("token({})", key.join(", "));
        selected.insert(0, token.clone());
        // Static columns are selected once for each partition, instead of once for each row.
        let of_partition = |kind| matches!(kind, ColumnKind::Partition(_) | ColumnKind::Static);
        let distinct =
            match import.columns.iter().all(|column| of_partition(column.kind)) && table.has_static() {
                true => "DISTINCT ",
                false => "",
            };
        let keyspace = table.keyspace.as_deref().unwrap_or_default();
        let text = format!(
            "SELECT {distinct}{} FROM {}.{} WHERE {token} >= ?",
            selected.join(", "),
            quoted(keyspace),
            quoted(&table.name)
        );
        Select { text, layout }
    }
}

fn many_cells(cluster: &LiveCluster, table: &CqlTable, column: &str) -> bool {
    let state = cluster.session.get_cluster_state();
    let keyspace = state.get_keyspace(table.keyspace.as_deref().unwrap_or_default());
    let table = keyspace.and_then(|keyspace| keyspace.tables.get(&table.name));
    let column = table.and_then(|table| table.columns.get(column));
    column.is_some_and(|column| has_many_cells(&column.typ))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_grow_with_small_rows_and_shrink_with_large_ones() {
        assert_eq!(page_size(50, 50, 50 * 100), 200);
        assert_eq!(page_size(PAGE_ROWS_MAX, 5_000, 100), PAGE_ROWS_MAX);
        assert_eq!(page_size(50, 50, 50 * 512 * 1024), 2);
        assert_eq!(page_size(50, 1, 300 * 1024 * 1024), 1);
        assert_eq!(page_size(50, 0, 0), 200);
    }
}
