//! Tags: what a row is searched by. The database keeps an index row for each tag, in the commit of the row that has it.

use std::fmt::Display;

use trestle::AttributeValue;
use trestle::typed::{Entity, FromRow, Write};

use super::*;

/// The most bytes of a tag; a row is not found by what is longer.
const TAG_BYTES_MAX: usize = 400;

/// The attributes that rows of an entity are searched by: groups of names, each in order.
pub(crate) fn searched_by(entity: &str) -> &'static [&'static str] {
    match entity {
        "wf_run" => &["wfSpecName", "status", "status wfSpecName"],
        "node_run" => &["status type", "correlationKey waitsFor"],
        "variable" => &["name value"],
        "external_event" => &["eventName isClaimed", "correlationKey eventName guid"],
        "task_run" => &["taskDefName", "status taskDefName"],
        "user_task_run" => &["status userTaskDefName", "status userId"],
        "workflow_event" => &["eventName"],
        _ => &[],
    }
}

/// A row of a run that can be searched for.
pub(crate) trait Getable:
    FromRow<Model = LittlehorseModel> + Entity + Serialize + Write<LittlehorseModel, Entity = Self>
{
    fn tags(&mut self) -> &mut BTreeSet<String>;

    /// Gives it the tags that it is found by now.
    fn retag(&mut self) {
        let row = self.to_item();
        let value = |name: &'static str| match row.get(name)? {
            AttributeValue::S(text) => Some((name, text.clone())),
            AttributeValue::Bool(truth) => Some((name, truth.to_string())),
            _ => None,
        };
        let values = |group: &&'static str| group.split(' ').map(value).collect::<Option<Vec<_>>>();
        let groups = searched_by(Self::NAME).iter().filter_map(values);
        *self.tags() = groups.filter_map(|values| tag(values).ok()).collect();
    }
}

macro_rules! getable {
    ($($row:ident)*) => {
        $(impl Getable for $row {
            fn tags(&mut self) -> &mut BTreeSet<String> {
                &mut self.tags
            }
        })*
    };
}

getable!(WfRun NodeRun Variable ExternalEvent TaskRun UserTaskRun WorkflowEvent);

/// The tag of these attributes, which are in order: `__status_RUNNING__wfSpecName_greet`.
pub(crate) fn tag<N: Display, V: Display>(attributes: impl IntoIterator<Item = (N, V)>) -> Result<String> {
    let parts = attributes.into_iter();
    let tag: String = parts.map(|(name, value)| format!("__{name}_{value}")).collect();
    match tag.len() {
        0..=TAG_BYTES_MAX => Ok(tag),
        length => Err(Error::Invalid(format!(
            "{length} bytes are too long to search for"
        ))),
    }
}
