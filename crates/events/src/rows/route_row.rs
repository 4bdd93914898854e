//! The row of a route: whether it is on, and which changes it takes, so that the undelivered changes of a
//! route that was removed from its file can still be determined.

use serde_json::{Value, json};
use trestle_api::Error;
use trestle_item::Item;

use super::attributes::{damaged, flag, optional_text, text};
use super::{ROUTES, RouterTable, Write, key};
use crate::{ChangeEvent, Destination, Maintenance, Route};

/// The stored row of a route.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RouteRow {
    pub(crate) name: String,
    pub(crate) table: String,
    pub(crate) enabled: bool,
    /// The changes that it takes; rows of earlier versions do not have them.
    pub(crate) takes: Option<Route>,
}

impl RouterTable {
    /// The routes that have rows here.
    pub(crate) async fn routes(&self) -> Result<Vec<RouteRow>, Error> {
        let rows = self.all(ROUTES, "").await?;
        rows.iter().map(read).collect()
    }

    /// Stores that a route has rows here, and that it is on.
    pub(crate) async fn add_route(&self, route: &Route) -> Result<(), Error> {
        let mut row = key(ROUTES, route.name.as_str());
        row.insert("table", route.table.as_str());
        row.insert("enabled", true);
        row.insert("takes", takes(route).to_string());
        self.write(&[Write::Put(row)]).await
    }

    /// Stores that a route is off, if it has rows here: its undelivered changes are no longer kept.
    pub(crate) async fn switch_off_route(&self, name: &str) -> Result<(), Error> {
        let Some(mut row) = self.get(key(ROUTES, name)).await? else {
            return Ok(());
        };
        row.insert("enabled", false);
        self.write(&[Write::Put(row)]).await
    }

    /// Stores that a route has no more rows here.
    pub(crate) async fn remove_route(&self, name: &str) -> Result<(), Error> {
        self.write(&[Write::Delete(key(ROUTES, name))]).await
    }
}

fn read(row: &Item) -> Result<RouteRow, Error> {
    let (name, table) = (text(row, "sk")?, text(row, "table")?);
    let takes = match optional_text(row, "takes")? {
        Some(takes) => Some(taken(name, table, takes).ok_or_else(|| damaged(row, "takes"))?),
        None => None,
    };
    Ok(RouteRow {
        name: name.to_owned(),
        table: table.to_owned(),
        enabled: flag(row, "enabled")?,
        takes,
    })
}

/// The changes that a route takes, as JSON.
fn takes(route: &Route) -> Value {
    let events = route.events.iter().map(|event| event.name());
    json!({
        "entities": route.entities,
        "events": events.collect::<Vec<_>>(),
        "changed": route.changed,
        "pattern": route.pattern,
        "include_maintenance": Maintenance::list_to_json(&route.include_maintenance),
    })
}

/// A route without a target that takes the changes described by this JSON.
fn taken(name: &str, table: &str, takes: &str) -> Option<Route> {
    let takes: Value = serde_json::from_str(takes).ok()?;
    let texts = |name: &str| -> Option<Vec<String>> {
        let all = takes.get(name)?.as_array()?.iter();
        all.map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    let events = texts("events")?;
    let events = events.iter().map(|event| ChangeEvent::from_name(event));
    Some(Route {
        entities: texts("entities")?,
        events: events.collect::<Option<_>>()?,
        changed: texts("changed")?,
        pattern: takes.get("pattern").filter(|pattern| !pattern.is_null()).cloned(),
        include_maintenance: Maintenance::list_from_json(takes.get("include_maintenance")?)?,
        ..Route::new(name, table, Destination::default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_route_takes_is_read_as_it_was_written() {
        let all = Route::new("r", "T", Destination::default());
        let some = Route {
            entities: vec!["order".into()],
            events: vec![ChangeEvent::Modify, ChangeEvent::Expire],
            changed: vec!["status".into(), "total".into()],
            pattern: Some(json!({"new": {"status": ["paid"]}})),
            include_maintenance: vec![Maintenance::Touch],
            ..all.clone()
        };
        let upkeep = Route {
            include_maintenance: Maintenance::ALL.to_vec(),
            ..all.clone()
        };
        assert_eq!(takes(&upkeep)["include_maintenance"], json!(true));
        for route in [all, some, upkeep] {
            assert_eq!(taken("r", "T", &takes(&route).to_string()), Some(route));
        }
        assert_eq!(taken("r", "T", r#"{"events": ["appear"]}"#), None);
    }
}
