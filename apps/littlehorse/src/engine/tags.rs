//! Tags: what a row is searched by. Their rows are written in the commit of the row that they lead to.

use std::collections::BTreeSet;
use std::fmt::Display;

use trestle::typed::{Entity, FromRow, Key, Remove, Timestamp, Write};

use crate::model::*;

/// The most bytes of a tag.
const TAG_BYTES_MAX: usize = 400;

/// A row of a run that can be searched for.
pub(crate) trait Getable:
    Entity
    + FromRow<Model = LittlehorseModel>
    + Key<LittlehorseModel, Entity = Self>
    + Remove<LittlehorseModel>
    + Write<LittlehorseModel, Entity = Self>
{
    /// What it is found by: by all attributes of a group together. Names are in order.
    fn groups(&self) -> Vec<Vec<(&str, String)>>;

    /// The row of a tag.
    fn tag(&self, tag: &str) -> Tag;

    /// The tags that the stored row has.
    fn tags(&mut self) -> &mut BTreeSet<String>;
}

/// The text of a tag: `__status_RUNNING__wfSpecName_greet`.
pub(crate) fn tag<N: Display, V: Display>(attributes: impl IntoIterator<Item = (N, V)>) -> String {
    let attributes = attributes.into_iter();
    attributes
        .map(|(name, value)| format!("__{name}_{value}"))
        .collect()
}

/// Gives a row its tags; answers with the rows of tags that go and that come.
pub(crate) fn change<G: Getable>(row: &mut G) -> (Vec<Tag>, Vec<Tag>) {
    let tags = row.groups().into_iter().map(tag);
    let tags: BTreeSet<String> = tags.filter(|tag| tag.len() <= TAG_BYTES_MAX).collect();
    let before = std::mem::replace(row.tags(), tags.clone());
    let gone = before.difference(&tags).map(|tag| row.tag(tag));
    (
        gone.collect(),
        tags.difference(&before).map(|tag| row.tag(tag)).collect(),
    )
}

/// The tags of a row that is deleted.
pub(crate) fn all<G: Getable>(mut row: G) -> Vec<Tag> {
    let tags = std::mem::take(row.tags());
    tags.iter().map(|tag| row.tag(tag)).collect()
}

fn millis(time: &Timestamp) -> i64 {
    i64::try_from(time.moment().as_millis()).unwrap_or(i64::MAX)
}

macro_rules! getable {
    ($row:ident $type:ident, $($id:ident)/+, $created:ident, |$self:ident| $groups:expr) => {
        impl Getable for $row {
            fn groups(&self) -> Vec<Vec<(&str, String)>> {
                let $self = self;
                $groups
            }

            fn tag(&self, tag: &str) -> Tag {
                let new = NewTag {
                    tenant: self.tenant.clone(),
                    object_type: TagObjectType::$type,
                    attributes: tag.to_owned(),
                    created_millis: millis(&self.$created),
                    object_id: [$(self.$id.to_string()),+].join("/"),
                };
                new.into()
            }

            fn tags(&mut self) -> &mut BTreeSet<String> {
                &mut self.tags
            }
        }
    };
}

getable!(WfRun N3, wf_run_id, start_time, |run| {
    let spec = ("wfSpecName", run.wf_spec_name.clone());
    let status = ("status", run.status.to_string());
    vec![vec![spec.clone()], vec![status.clone()], vec![status, spec]]
});
getable!(NodeRun N4, wf_run_id / thread_run_number / position, arrival_time, |node| {
    let waits = (node.correlation_key.clone(), node.waits_for.clone(), node.status);
    let status = vec![("status", node.status.to_string()), ("type", node.r#type.to_string())];
    match waits {
        (Some(key), Some(event), NodeRunStatus::Running) => {
            vec![status, vec![("correlationKey", key), ("waitsFor", event)]]
        }
        _ => vec![status],
    }
});
getable!(Variable N5, wf_run_id / thread_run_number / name, created_at, |variable| {
    let of = |value: &String| vec![("name", variable.name.clone()), ("value", value.clone())];
    variable.value.iter().map(of).collect()
});
getable!(ExternalEvent N6, wf_run_id / event_name / guid, created_at, |event| {
    let is_claimed = event.claimed_by.is_some().to_string();
    vec![vec![("eventName", event.event_name.clone()), ("isClaimed", is_claimed)]]
});
getable!(TaskRun N11, wf_run_id / task_guid, scheduled_at, |task| {
    let name = ("taskDefName", task.task_def_name.clone());
    vec![vec![name.clone()], vec![("status", task.status.to_string()), name]]
});
getable!(UserTaskRun N12, wf_run_id / user_task_guid, scheduled_at, |task| {
    let status = ("status", task.status.to_string());
    let user = task.user_id.iter().map(|user| vec![status.clone(), ("userId", user.clone())]);
    let name = ("userTaskDefName", task.user_task_def_name.clone());
    user.chain([vec![status.clone(), name]]).collect()
});
getable!(WorkflowEvent N16, wf_run_id / event_name / number, created_at, |event| {
    vec![vec![("eventName", event.event_name.clone())]]
});
