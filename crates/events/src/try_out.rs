//! Tries a route on past changes, without delivering anything.

use std::sync::Arc;

use trestle_api::Record;

use crate::matcher::{Matcher, Typed};
use crate::{Change, Route, Typer, record};

/// Which of these records, each with its shard, a route would take, or what is wrong with its pattern.
pub fn taken(
    route: &Route,
    typer: &dyn Typer,
    records: impl IntoIterator<Item = (String, Record)>,
) -> Result<Vec<Arc<Change>>, String> {
    let matcher = Matcher::new(route)?;
    let table = Arc::from(route.table.as_str());
    let typed = |(shard, record): (String, Record)| {
        Typed::new(Arc::new(record::change(record, &table, &shard, typer)))
    };
    let taken = records
        .into_iter()
        .map(typed)
        .filter(|typed| matcher.takes(typed));
    Ok(taken.map(|typed| typed.change).collect())
}
