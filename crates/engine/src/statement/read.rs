//! One page of a `SELECT`: reads the stretches of its plan, one after another.

use std::sync::Arc;

use trestle_api::{Error, ExecuteStatement, ExecuteStatementOutput};
use trestle_expr::{Condition, KeySelection};
use trestle_item::Item;
use trestle_partiql::{Access, Parsed, Plan, Projection, Statement};
use trestle_store::{Direction, Snapshot};
use trestle_writes::{bind_statement, refused_statement};

use super::continuation::{Continuation, fingerprint};
use super::{keys, table};
use crate::capacity::{Consumed, Read};
use crate::catalog::{Index, Scope, State, Table};
use crate::page::{self, Page, PageRequest, Source};
use crate::range::{self, Range};
use crate::schema::empty_kind;
use crate::select;
use crate::shared::Shared;

/// A response ends with the stretch that exceeds this many bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Answers a `SELECT`.
pub(crate) fn read(
    shared: &Shared,
    request: &ExecuteStatement,
    statement: &Parsed,
) -> Result<ExecuteStatementOutput, Error> {
    shared.in_one_layout(|_| page(shared, request, statement))
}

fn page(
    shared: &Shared,
    request: &ExecuteStatement,
    statement: &Parsed,
) -> Result<ExecuteStatementOutput, Error> {
    let table = table(shared, statement)?;
    let index = index(shared, &table, statement.index(), request.consistent_read)?;
    let keys = keys(index.map_or(&table.key, |index| &index.key))?;
    let Statement::Select(select) = bind_statement(statement, request.parameters.as_ref())? else {
        return Err(Error::internal("a write was taken for a read"));
    };
    let plan = select.plan(keys).map_err(refused_statement)?;
    let fetch = check_projected(&table, index, select.projection.as_ref(), plan.filter.as_ref())?;
    let fingerprint = fingerprint(&request.statement, request.parameters.as_ref());
    let start = match &request.next_token {
        Some(token) => Continuation::read(token, fingerprint)?,
        None => Continuation::default(),
    };
    let walk = StatementScan {
        table: &table,
        index,
        plan: &plan,
        fetch,
        limit: request.limit.map(|limit| limit as usize),
    };
    let snapshot = shared.store.snapshot();
    let answer = walk.page(&*snapshot, start, Read::consistent(request.consistent_read))?;
    Ok(ExecuteStatementOutput {
        items: match &select.projection {
            Some(wanted) => answer.items.iter().map(|item| wanted.apply(item)).collect(),
            None => answer.items,
        },
        next_token: answer.next.map(|next| next.token(fingerprint)),
        consumed_capacity: answer.consumed.report(&table, request.return_consumed_capacity),
        last_evaluated_key: None,
    })
}

/// The index of a statement. The errors differ from those of `Query`.
fn index<'t>(
    shared: &Shared,
    table: &'t Table,
    name: Option<&str>,
    consistent: Option<bool>,
) -> Result<Option<&'t Arc<Index>>, Error> {
    let Some(name) = name else { return Ok(None) };
    let found = table
        .index(name)
        .filter(|index| !matches!(index.state, State::Deleting(_)));
    let found = found.ok_or_else(|| Error::validation("The table does not have the specified index"))?;
    keys(&found.key)?;
    if found.scope == Scope::Global && consistent == Some(true) {
        return Err(Error::validation(
            "Strongly consistent read is not supported on Global Secondary Indexes",
        ));
    }
    select::index(table, Some(name), consistent, shared.clock.now())
}

/// Refuses attributes that the index does not project, and returns whether whole items must be fetched for
/// them, which is possible for a local index but not for a global one.
fn check_projected(
    table: &Table,
    index: Option<&Arc<Index>>,
    projection: Option<&Projection>,
    filter: Option<&Condition>,
) -> Result<bool, Error> {
    let Some(index) = index.filter(|index| !index.projects_all()) else {
        return Ok(false);
    };
    let beyond = |names: Vec<&str>| -> Vec<String> {
        let beyond = names.into_iter().filter(|name| !index.projects(table, name));
        beyond.map(str::to_owned).collect()
    };
    let filtered = beyond(filter.into_iter().flat_map(Condition::attributes).collect());
    if !filtered.is_empty() {
        return Err(Error::invalid_parameter(format_args!(
            "Secondary index {} does not project one or more filter attributes: [{}]",
            index.name,
            filtered.join(", ")
        )));
    }
    let selected = beyond(projection.into_iter().flat_map(Projection::attributes).collect());
    match index.scope {
        _ if selected.is_empty() => Ok(false),
        Scope::Local => Ok(true),
        Scope::Global => Err(Error::invalid_parameter(format_args!(
            "Global secondary index {} does not project [{}]",
            index.name,
            selected.join(", ")
        ))),
    }
}

/// The execution of a plan on a table or index.
struct StatementScan<'a> {
    table: &'a Table,
    index: Option<&'a Arc<Index>>,
    plan: &'a Plan,
    fetch: bool,
    limit: Option<usize>,
}

/// The result of a page.
#[derive(Default)]
struct StatementPage {
    items: Vec<Item>,
    next: Option<Continuation>,
    consumed: Consumed,
}

impl StatementScan<'_> {
    /// Reads stretches from `start` on, until one ends the page.
    fn page(&self, snapshot: &dyn Snapshot, start: Continuation, read: Read) -> Result<StatementPage, Error> {
        let stretches = self.stretches()?;
        let mut answer = StatementPage::default();
        let mut last = start.last;
        let (mut scanned, mut bytes) = (0, 0);
        for (at, stretch) in stretches.iter().enumerate().skip(start.stretch) {
            let limit = self.limit.map(|limit| limit.saturating_sub(scanned));
            if limit == Some(0) || bytes > ANSWER_BYTES_MAX {
                answer.next = Some(Continuation {
                    stretch: at,
                    last: None,
                });
                break;
            }
            let page = self.stretch(snapshot, stretch.as_ref(), last.take(), limit)?;
            scanned += page.scanned;
            bytes += page.bytes;
            answer.consumed.add(self.consumed(&page, read));
            answer.items.extend(page.items);
            if page.last.is_some() {
                answer.next = Some(Continuation {
                    stretch: at,
                    last: page.last,
                });
                break;
            }
        }
        Ok(answer)
    }

    /// The selections of the plan, one per stretch, in the present layout; a scan is one stretch.
    fn stretches(&self) -> Result<Vec<Option<KeySelection>>, Error> {
        let Access::Partitions(stretches) = &self.plan.access else {
            return Ok(vec![None]);
        };
        let present = |stretch: &KeySelection| match self.index {
            Some(_) => Ok(Some(stretch.clone())),
            None => select::in_present_layout(self.table, stretch.clone()).map(Some),
        };
        stretches.iter().map(present).collect()
    }

    fn range(&self, stretch: &KeySelection) -> Result<Range, Error> {
        let key = self.index.map_or(&self.table.key, |index| &index.key);
        for (value, part) in stretch.hash.iter().zip(&key.hash) {
            if let Some(kind) = empty_kind(value) {
                return Err(Error::validation(format!(
                    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot \
                     contain an empty {kind} value. Key: {}",
                    part.name
                )));
            }
        }
        let range = match self.index {
            Some(index) => range::in_index(index.id, stretch),
            None => range::in_table(self.table.id, stretch),
        };
        // Only a key that could not have been written has no range.
        range.ok_or_else(|| {
            Error::invalid_parameter("Size of hashkey has exceeded the maximum size limit of2048 bytes")
        })
    }

    fn stretch(
        &self,
        snapshot: &dyn Snapshot,
        stretch: Option<&KeySelection>,
        last: Option<Item>,
        limit: Option<usize>,
    ) -> Result<Page, Error> {
        let forward = !self.plan.descending;
        let mut range = match stretch {
            Some(stretch) => self.range(stretch)?,
            None => Range::segment(self.index.map_or(self.table.id.0, |index| index.id.0), 0, 1),
        };
        if let Some(last) = last {
            let last = match stretch {
                Some(stretch) => select::bookmark(self.table, self.index, stretch, &last)?,
                None => select::scan_bookmark(self.table, &last)?,
            };
            let position = select::position(self.table, self.index, &last)
                .ok()
                .filter(|position| range.contains(position))
                .ok_or_else(|| Error::validation("Invalid NextToken"))?;
            range = range.after(position, forward);
        }
        page::read(
            snapshot,
            Source {
                table: self.table,
                index: self.index.map(|index| &**index),
            },
            &PageRequest {
                range,
                selection: stretch,
                direction: if forward {
                    Direction::Forward
                } else {
                    Direction::Reverse
                },
                limit,
                filter: self.plan.filter.as_ref(),
                projection: None,
                fetch: self.fetch,
                count_only: false,
            },
        )
    }

    fn consumed(&self, page: &Page, read: Read) -> Consumed {
        let units = read.units(page.bytes);
        match self.index {
            Some(index) => {
                let fetched = page.fetched_units(read);
                Consumed::index(index, units, fetched)
            }
            None => Consumed::table(units),
        }
    }
}
