//! Tags: what a row is searched by. The database keeps an index row for each tag, in the commit of the row that has it.

use trestle::typed::{Entity, FromRow, Write};

use crate::model::*;

/// The most bytes of a tag; a row is not found by what is longer.
const TAG_BYTES_MAX: usize = 400;

/// A row of a run that can be searched for.
pub(crate) trait Getable:
    Entity + FromRow<Model = LittlehorseModel> + Write<LittlehorseModel, Entity = Self>
{
    /// Gives it the tags that it is found by now: `__status_RUNNING__wfSpecName_greet`, with names in order.
    fn retag(&mut self);
}

macro_rules! getable {
    ($row:ident, |$self:ident| $tags:expr) => {
        impl Getable for $row {
            fn retag(&mut self) {
                let $self = &*self;
                let tags = $tags.into_iter().filter(|tag: &String| tag.len() <= TAG_BYTES_MAX);
                self.tags = tags.collect();
            }
        }
    };
}

getable!(WfRun, |run| {
    let (spec, status) = (&run.wf_spec_name, run.status);
    let both = format!("__status_{status}__wfSpecName_{spec}");
    [format!("__wfSpecName_{spec}"), format!("__status_{status}"), both]
});
getable!(NodeRun, |node| {
    let status = format!("__status_{}__type_{}", node.status, node.r#type);
    let key = node.correlation_key.as_ref().filter(|_| node.status == NodeRunStatus::Running);
    let waits = key.zip(node.waits_for.as_ref());
    let waits = waits.map(|(key, event)| format!("__correlationKey_{key}__waitsFor_{event}"));
    [Some(status), waits].into_iter().flatten()
});
getable!(Variable, |variable| {
    let value = variable.value.as_ref();
    value.map(|value| format!("__name_{}__value_{value}", variable.name))
});
getable!(ExternalEvent, |event| {
    let is_claimed = event.claimed_by.is_some();
    [format!("__eventName_{}__isClaimed_{is_claimed}", event.event_name)]
});
getable!(TaskRun, |task| {
    let (name, status) = (&task.task_def_name, task.status);
    [format!("__taskDefName_{name}"), format!("__status_{status}__taskDefName_{name}")]
});
getable!(UserTaskRun, |task| {
    let user = task.user_id.as_ref();
    let user = user.map(|user| format!("__status_{}__userId_{user}", task.status));
    let name = format!("__status_{}__userTaskDefName_{}", task.status, task.user_task_def_name);
    [Some(name), user].into_iter().flatten()
});
getable!(WorkflowEvent, |event| [format!("__eventName_{}", event.event_name)]);
