//! The common part of Query and Scan: index, attributes, start position, and parts of the response.

use std::borrow::Cow;
use std::sync::Arc;

use trestle_api::{ConsumedCapacity, Error, ReturnConsumedCapacity, Select};
use trestle_expr::{Condition, KeySelection, Placeholders, Projection};
use trestle_item::{Item, Items};
use trestle_store::{Direction, Snapshot};

use crate::capacity::{Consumed, Read};
use crate::catalog::{Index, Scope, Table};
use crate::expressions;
use crate::layout::{self, ItemKey};
use crate::page::{self, PageRequest, Source};
use crate::range::Range;

/// Which attributes a page shows.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) projection: Option<Projection>,
    pub(crate) fetch: bool,
    pub(crate) count_only: bool,
}

/// The parameters that say which attributes a read shows.
pub(crate) struct Showing<'a> {
    pub(crate) select: Option<Select>,
    pub(crate) index: Option<&'a str>,
    pub(crate) expression: Option<&'a str>,
    pub(crate) attributes: Option<&'a Vec<String>>,
}

impl Showing<'_> {
    /// The projection, the last expression of a request: no placeholder may be unused after it.
    pub(crate) fn parse(&self, mut placeholders: Placeholders<'_>) -> Result<Option<Projection>, Error> {
        let projection = expressions::projection(self.expression, self.attributes, &mut placeholders)?;
        placeholders.finish()?;
        check_select(
            self.select,
            self.index.is_some(),
            self.expression.is_some(),
            self.attributes.is_some(),
        )?;
        Ok(projection)
    }
}

/// Refuses a `Select` that contradicts the projection; both are checked before the table is looked up.
fn check_select(
    select: Option<Select>,
    indexed: bool,
    expression: bool,
    attributes: bool,
) -> Result<(), Error> {
    let named = if expression {
        "ProjectionExpression"
    } else {
        "AttributesToGet"
    };
    match select {
        Some(Select::AllProjectedAttributes) if !indexed => Err(Error::validation(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        )),
        Some(Select::SpecificAttributes) if !expression && !attributes => Err(Error::validation(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        )),
        Some(select @ (Select::AllAttributes | Select::AllProjectedAttributes | Select::Count))
            if expression || attributes =>
        {
            let what = if select == Select::Count {
                "only the Count"
            } else {
                select.as_str()
            };
            Err(Error::validation(format!(
                "Cannot specify the {named} when choosing to get {what}"
            )))
        }
        _ => Ok(()),
    }
}

/// The index that a read names.
pub(crate) fn index<'a>(
    table: &'a Table,
    name: Option<&str>,
    consistent: Option<bool>,
    now: trestle_env::Timestamp,
) -> Result<Option<&'a Arc<Index>>, Error> {
    let Some(name) = name else { return Ok(None) };
    let index = table
        .index(name)
        .filter(|index| !matches!(index.state, crate::catalog::State::Deleting(_)));
    let index = index
        .ok_or_else(|| Error::validation(format!("The table does not have the specified index: {name}")))?;
    if index.scope == Scope::Global && consistent == Some(true) {
        return Err(Error::validation(
            "Consistent reads are not supported on global secondary indexes",
        ));
    }
    if !index.serves(now) {
        return Err(Error::validation(format!(
            "Cannot read from backfilling global secondary index: {name}"
        )));
    }
    Ok(Some(index))
}

/// Which attributes are shown, once the index is known.
pub(crate) fn shown(
    table: &Table,
    index: Option<&Arc<Index>>,
    select: Option<Select>,
    projection: Option<Projection>,
) -> Result<Shown, Error> {
    let count_only = select == Some(Select::Count);
    let Some(index) = index.filter(|index| !index.projects_all()) else {
        return Ok(Shown {
            projection,
            fetch: false,
            count_only,
        });
    };
    let beyond: Vec<String> = projection
        .iter()
        .flat_map(Projection::attributes)
        .filter(|name| !index.projects(table, name))
        .map(str::to_owned)
        .collect();
    let wants_all = select == Some(Select::AllAttributes);
    match index.scope {
        Scope::Local => Ok(Shown {
            projection,
            fetch: wants_all || !beyond.is_empty(),
            count_only,
        }),
        Scope::Global if wants_all => Err(Error::invalid_parameter(format!(
            "Select type ALL_ATTRIBUTES is not supported for global secondary index {} because its projection type \
             is not ALL",
            index.name
        ))),
        Scope::Global if !beyond.is_empty() => Err(Error::invalid_parameter(format!(
            "Global secondary index {} does not project {}",
            index.name,
            format_args!("[{}]", beyond.join(", "))
        ))),
        Scope::Global => Ok(Shown {
            projection,
            fetch: false,
            count_only,
        }),
    }
}

/// The storage key of an `ExclusiveStartKey`.
pub(crate) fn position(table: &Table, index: Option<&Arc<Index>>, start: &Item) -> Result<Vec<u8>, Error> {
    let invalid = || Error::validation("The provided starting key is invalid");
    let expected = table
        .key
        .attributes()
        .chain(index.into_iter().flat_map(|index| index.key.attributes()))
        .map(|part| part.name.as_str())
        .collect::<std::collections::BTreeSet<_>>();
    if start.len() != expected.len() || !expected.iter().all(|name| start.contains_key(name)) {
        return Err(invalid());
    }
    let typed = |part: &trestle_expr::KeyAttribute| {
        start
            .get(&part.name)
            .is_some_and(|value| value.scalar_type() == Some(part.kind))
    };
    let mut parts = table
        .key
        .attributes()
        .chain(index.into_iter().flat_map(|index| index.key.attributes()));
    if !parts.all(typed) {
        return Err(Error::validation(crate::schema::KEY_MISMATCH));
    }
    let item_key = ItemKey::of(&table.key, start).ok_or_else(invalid)?;
    match index {
        Some(index) => layout::index_row(index.id, &index.key, start, &item_key).ok_or_else(invalid),
        None => Ok(item_key.in_table(table.id)),
    }
}

/// The selection in the present layout during a migration: clients may still use the previous one.
pub(crate) fn in_present_layout(table: &Table, selection: KeySelection) -> Result<KeySelection, Error> {
    let renewed = match &table.former {
        Some(former) => former.renew_selection(&selection)?,
        None => None,
    };
    Ok(renewed.unwrap_or(selection))
}

/// Where a query continues, in the present layout during a migration. A bookmark of the previous layout is
/// accepted if its rows have the same order now.
pub(crate) fn bookmark<'s>(
    table: &Table,
    index: Option<&Arc<Index>>,
    selection: &KeySelection,
    start: &'s Item,
) -> Result<Cow<'s, Item>, Error> {
    let (Some(former), Some(hook)) = (&table.former, &table.hook) else {
        return Ok(Cow::Borrowed(start));
    };
    if !former.is_former(start) {
        return Ok(Cow::Borrowed(start));
    }
    let sources = former.sources(None, Some(selection));
    let in_order = matches!(sources.ranges.as_slice(), [only] if only.ordered) && !sources.everywhere;
    if index.is_some() || !in_order {
        return Err(out_of_order("query"));
    }
    Ok(Cow::Owned(hook.key(&table.name, start)?))
}

/// Where a scan continues. A bookmark of the previous layout is refused, because the order was different.
pub(crate) fn scan_bookmark<'s>(table: &Table, start: &'s Item) -> Result<Cow<'s, Item>, Error> {
    match &table.former {
        Some(former) if former.is_former(start) => Err(out_of_order("scan")),
        _ => Ok(Cow::Borrowed(start)),
    }
}

fn out_of_order(read: &str) -> Error {
    Error::validation(format!(
        "The provided starting key is invalid: its row has moved to another key since, and with it the order of the \
         {read} has changed. Begin the {read} again"
    ))
}

/// A page before its rows are read.
pub(crate) struct Reading<'a> {
    pub(crate) table: &'a Table,
    pub(crate) index: Option<&'a Arc<Index>>,
    pub(crate) range: Range,
    /// The selection from which the range was computed; `None` for a scan.
    pub(crate) selection: Option<&'a KeySelection>,
    pub(crate) direction: Direction,
    pub(crate) limit: Option<u32>,
    pub(crate) filter: Option<&'a Condition>,
    pub(crate) shown: Shown,
    pub(crate) consistent: Option<bool>,
    pub(crate) capacity: Option<ReturnConsumedCapacity>,
    /// How many of DynamoDB's partitions the page visits if it reaches the end; each has a minimum charge.
    pub(crate) partitions: u32,
}

/// The answer to a Query or Scan.
pub(crate) struct SelectedPage {
    pub(crate) items: Option<Items>,
    pub(crate) count: u32,
    pub(crate) scanned_count: u32,
    pub(crate) last_evaluated_key: Option<Item>,
    pub(crate) consumed_capacity: Option<ConsumedCapacity>,
}

impl Reading<'_> {
    /// Reads the page.
    pub(crate) fn read(self, snapshot: &dyn Snapshot) -> Result<SelectedPage, Error> {
        let source = Source {
            table: self.table,
            index: self.index.map(|index| &**index),
        };
        let request = PageRequest {
            range: self.range,
            selection: self.selection,
            direction: self.direction,
            limit: self.limit.map(|limit| limit as usize),
            filter: self.filter,
            projection: self.shown.projection.as_ref(),
            fetch: self.shown.fetch,
            count_only: self.shown.count_only,
        };
        let page = page::read(snapshot, source, &request)?;
        let read = Read::consistent(self.consistent);
        let mut units = read.units(page.bytes);
        if page.last.is_none() {
            units = units.max(f64::from(self.partitions) * read.units(0));
        }
        let consumed = match self.index {
            Some(index) => Consumed::index(index, units, page.fetched_units(read)),
            None => Consumed::table(units),
        };
        Ok(SelectedPage {
            consumed_capacity: consumed.report(self.table, self.capacity),
            items: (!self.shown.count_only).then_some(page.items),
            count: page.count as u32,
            scanned_count: page.scanned as u32,
            last_evaluated_key: page.last,
        })
    }
}
