//! Get, List and Search. All rows of a run are read alike: by an access pattern of the model, and shown as JSON.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde_json::{Value, json};
use trestle::typed::{AccessRows, Get, Queried};
use trestle::{AttributeValue, Item};

use super::{Error, Result, Service};
use crate::model::LittlehorseRow;

/// What an access pattern finds.
pub(crate) type Rows<'d> = AccessRows<'d, LittlehorseRow, Queried>;

/// Texts by their names: attributes, variables.
pub type Texts = BTreeMap<String, String>;
/// How many rows to list at most, 100 unless given; and the bookmark of the page before.
pub type Page = (Option<NonZeroU32>, Option<String>);

/// A type of rows: how a path names it; the access patterns of a row, of a list and of a search; what identifies a row
/// besides the run.
type Kind = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const KINDS: [Kind; 8] = [
    ("wf-runs", "wf_run", "", "wf_runs_by_tag", &[]),
    ("inventory", "inventory", "", "", &[]),
    ("node-runs", "node_run", "node_runs", "node_runs_by_tag", &["threadRunNumber", "position"]),
    ("variables", "variable", "variables", "variables_by_tag", &["threadRunNumber", "name"]),
    ("external-events", "external_event", "external_events", "external_events_by_tag", &["eventName", "guid"]),
    ("task-runs", "task_run", "task_runs", "task_runs_by_tag", &["taskGuid"]),
    ("user-task-runs", "user_task_run", "user_task_runs", "user_task_runs_by_tag", &["userTaskGuid"]),
    ("workflow-events", "workflow_event", "workflow_events", "workflow_events_by_tag", &["eventName", "number"]),
];

fn kind_of(kind: &str) -> Result<Kind> {
    let found = KINDS.into_iter().find(|(name, ..)| *name == kind);
    found.ok_or(Error::NotFound("kind of object"))
}

impl Service {
    /// The rows of one type of a run.
    pub async fn list(&self, tenant: &str, run: &str, kind: &str, page: Page) -> Result<Value> {
        let wanted = [("tenant", tenant), ("wfRunId", run)];
        self.page(kind_of(kind)?.2, wanted.into(), page).await
    }

    /// One row of a run: what `id` names within its type.
    pub async fn object(&self, tenant: &str, run: &str, kind: &str, id: &[&str]) -> Result<Value> {
        let (_, access, .., names) = kind_of(kind)?;
        let mut identity = Item::from([("tenant", tenant), ("wfRunId", run)]);
        for (name, text) in names.iter().zip(id) {
            let value = match *name {
                "threadRunNumber" | "position" | "number" => text.parse::<i64>().map(AttributeValue::from),
                _ => Ok((*text).into()),
            };
            identity.insert(*name, value.map_err(|_| Error::NotFound("object"))?);
        }
        let row = match names.len() == id.len() {
            true => Get::<LittlehorseRow>::by_access(self.db.handle(), access, identity).await?,
            false => None,
        };
        row.map(|row| json!(row)).ok_or(Error::NotFound("object"))
    }

    /// The ids of rows with these attributes, oldest first.
    pub async fn search(&self, tenant: &str, kind: &str, by: &Texts, page: Page) -> Result<Value> {
        let tag = by.iter().map(|(name, value)| format!("__{name}_{value}"));
        let wanted = [("tenant", tenant), ("tag", &tag.collect::<String>())];
        self.page(kind_of(kind)?.3, wanted.into(), page).await
    }

    /// The workflows of a tenant, all versions.
    pub async fn specs(&self, tenant: &str, page: Page) -> Result<Value> {
        self.page("specs", [("tenant", tenant)].into(), page).await
    }

    async fn page(&self, access: &'static str, wanted: Item, (limit, bookmark): Page) -> Result<Value> {
        if access.is_empty() {
            return Err(Error::NotFound("list"));
        }
        let rows = self.rows(access, wanted).page_size(limit.map_or(100, NonZeroU32::get));
        let page = rows.continued(bookmark).page().await?;
        Ok(json!({ "items": page.rows, "bookmark": page.next }))
    }

    pub(crate) fn rows(&self, access: &'static str, wanted: Item) -> Rows<'_> {
        Rows::new(self.db.handle(), access, wanted)
    }
}
