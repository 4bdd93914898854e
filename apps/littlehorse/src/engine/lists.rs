//! Get, List and Search. All rows of a run are read alike: by an access pattern of the model, and shown as JSON.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trestle::typed::{AccessRows, Get, Queried};
use trestle::{AttributeValue, Item};

use super::tags::tag;
use super::{Error, Result, Service};
use crate::model::LittlehorseRow;

/// How much to list, and from where.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    /// How many at most; 100 unless given.
    pub limit: Option<NonZeroU32>,
    /// The bookmark of the page before.
    pub bookmark: Option<String>,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Listed {
    /// The rows.
    pub items: Vec<Value>,
    /// Where the next page begins, if there is one.
    pub bookmark: Option<String>,
}

/// A type of rows: how a path names it, the access patterns of a row and of a list, the type's number in tags, and what
/// identifies a row besides the run.
type Kind = (
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static str,
    &'static [&'static str],
);

#[rustfmt::skip]
const KINDS: [Kind; 8] = [
    ("wf-runs", "wf_run", None, "3", &[]),
    ("inventory", "inventory", None, "", &[]),
    ("node-runs", "node_run", Some("node_runs"), "4", &["threadRunNumber", "position"]),
    ("variables", "variable", Some("variables"), "5", &["threadRunNumber", "name"]),
    ("external-events", "external_event", Some("external_events"), "6", &["eventName", "guid"]),
    ("task-runs", "task_run", Some("task_runs"), "11", &["taskGuid"]),
    ("user-task-runs", "user_task_run", Some("user_task_runs"), "12", &["userTaskGuid"]),
    ("workflow-events", "workflow_event", Some("workflow_events"), "16", &["eventName", "number"]),
];

fn kind_of(kind: &str) -> Result<Kind> {
    let found = KINDS.into_iter().find(|(name, ..)| *name == kind);
    found.ok_or(Error::NotFound("kind of object"))
}

impl Service {
    /// The rows of one type of a run.
    pub async fn list(&self, tenant: &str, run: &str, kind: &str, query: ListQuery) -> Result<Listed> {
        let access = kind_of(kind)?.2.ok_or(Error::NotFound("list"))?;
        let wanted = [("tenant", tenant), ("wfRunId", run)];
        self.page(access, wanted.into(), query).await
    }

    /// One row of a run: what `id` names within its type.
    pub async fn object(&self, tenant: &str, run: &str, kind: &str, id: &[&str]) -> Result<Value> {
        let none = Error::NotFound("object");
        let (_, access, .., names) = kind_of(kind)?;
        let mut identity = Item::from([("tenant", tenant), ("wfRunId", run)]);
        if names.len() != id.len() {
            return Err(none);
        }
        for (name, text) in names.iter().zip(id) {
            let value = match *name {
                "threadRunNumber" | "position" | "number" => text.parse::<i64>().map(AttributeValue::from),
                _ => Ok((*text).into()),
            };
            identity.insert(*name, value.map_err(|_| Error::NotFound("object"))?);
        }
        let row = Get::<LittlehorseRow>::by_access(self.db.handle(), access, identity).await?;
        row.map(|row| json!(row)).ok_or(none)
    }

    /// The ids of rows with these attributes, oldest first.
    pub async fn search(
        &self,
        tenant: &str,
        kind: &str,
        attributes: &BTreeMap<String, String>,
        query: ListQuery,
    ) -> Result<Listed> {
        let (tag, number) = (tag(attributes), kind_of(kind)?.3);
        let wanted = [("tenant", tenant), ("objectType", number), ("attributes", &tag)];
        let mut found = self.page("search", wanted.into(), query).await?;
        let tags = found.items.iter_mut();
        tags.for_each(|tag| *tag = json!({ "id": tag["objectId"] }));
        Ok(found)
    }

    /// The workflows of a tenant, all versions.
    pub async fn specs(&self, tenant: &str, query: ListQuery) -> Result<Listed> {
        self.page("specs", [("tenant", tenant)].into(), query).await
    }

    async fn page(&self, access: &'static str, wanted: Item, query: ListQuery) -> Result<Listed> {
        let rows = AccessRows::<LittlehorseRow, Queried>::new(self.db.handle(), access, wanted);
        let rows = rows.page_size(query.limit.map_or(100, NonZeroU32::get));
        let page = rows.continued(query.bookmark).page().await?;
        let items = page.rows.iter().map(|row| json!(row)).collect();
        let bookmark = page.next.map(|next| next.to_string());
        Ok(Listed { items, bookmark })
    }
}
