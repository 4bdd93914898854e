//! Tags: what a row is searched by. The database keeps an index row for each tag, in the commit of the row that has it.

use std::collections::BTreeSet;
use std::fmt::Display;

use serde::Serialize;
use trestle::AttributeValue;
use trestle::typed::{Entity, FromRow, Write};

use super::{Error, Result};
use crate::model::*;

/// Which attributes rows of an entity are searched by: together, and with names in order.
type SearchedBy = (&'static str, &'static [&'static [&'static str]]);

pub(crate) const SEARCHED_BY: [SearchedBy; 7] = [
    (
        "wf_run",
        &[&["wfSpecName"], &["status"], &["status", "wfSpecName"]],
    ),
    (
        "node_run",
        &[&["status", "type"], &["correlationKey", "waitsFor"]],
    ),
    ("variable", &[&["name", "value"]]),
    (
        "external_event",
        &[
            &["eventName", "isClaimed"],
            &["correlationKey", "eventName", "guid"],
        ],
    ),
    ("task_run", &[&["taskDefName"], &["status", "taskDefName"]]),
    (
        "user_task_run",
        &[&["status", "userTaskDefName"], &["status", "userId"]],
    ),
    ("workflow_event", &[&["eventName"]]),
];

/// The most bytes of a tag; a row is not found by what is longer.
const TAG_BYTES_MAX: usize = 400;

/// A row of a run that can be searched for.
pub(crate) trait Getable:
    FromRow<Model = LittlehorseModel> + Entity + Serialize + Write<LittlehorseModel, Entity = Self>
{
    fn tags(&mut self) -> &mut BTreeSet<String>;

    /// Gives it the tags that it is found by now.
    fn retag(&mut self) {
        let row = self.to_item();
        let value = |name: &&'static str| match row.get(name)? {
            AttributeValue::S(text) => Some((*name, text.clone())),
            AttributeValue::Bool(truth) => Some((*name, truth.to_string())),
            _ => None,
        };
        let of_group = |group: &&[&'static str]| {
            let values: Option<Vec<_>> = group.iter().map(value).collect();
            tag(values?).ok()
        };
        *self.tags() = searched_by(Self::NAME).iter().filter_map(of_group).collect();
    }
}

macro_rules! getable {
    ($($row:ident),*) => {
        $(impl Getable for $row {
            fn tags(&mut self) -> &mut BTreeSet<String> {
                &mut self.tags
            }
        })*
    };
}

getable!(
    WfRun,
    NodeRun,
    Variable,
    ExternalEvent,
    TaskRun,
    UserTaskRun,
    WorkflowEvent
);

/// The groups of attributes that rows of an entity are searched by.
pub(crate) fn searched_by(entity: &str) -> &'static [&'static [&'static str]] {
    let found = SEARCHED_BY.iter().find(|(name, _)| *name == entity);
    found.map_or(&[], |(_, groups)| groups)
}

/// The tag of these attributes, which are in order: `__status_RUNNING__wfSpecName_greet`.
pub(crate) fn tag<N: Display, V: Display>(attributes: impl IntoIterator<Item = (N, V)>) -> Result<String> {
    let parts = attributes.into_iter();
    let tag: String = parts.map(|(name, value)| format!("__{name}_{value}")).collect();
    match tag.len() {
        0..=TAG_BYTES_MAX => Ok(tag),
        _ => Err(Error::Invalid(format!(
            "rows are found by at most {TAG_BYTES_MAX} bytes"
        ))),
    }
}
