//! Get, List and Search. All rows of a run are read in the same way: by an access pattern of the model, and
//! shown as JSON. Rows are searched by tags; the database keeps an index row for each tag, in the commit of
//! the tagged row.

use trestle::typed::{Entity, Write};

use super::*;

/// Texts by their names: variables, and parameters of a request.
pub type Texts = BTreeMap<String, String>;

/// The default and the maximum number of rows of a page.
const LIMIT: u32 = 100;
const LIMIT_MAX: u32 = 1000;
/// The most bytes of a tag; longer tags are not searchable.
const TAG_BYTES_MAX: usize = 400;

/// The attributes by which rows of an entity are searched: groups of names, each in order.
fn searched_by(entity: &str) -> &'static [&'static str] {
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

/// The entity in a path: `node_run` for `node-runs`.
pub(crate) fn entity(kind: &str) -> Result<String> {
    let name = kind.strip_suffix('s').map(|kind| kind.replace('-', "_"));
    let known = name.filter(|name| !searched_by(name).is_empty());
    known.ok_or_else(|| Error::not_found("such kind of object"))
}

impl Service {
    /// A list of rows, with the parameters of the access pattern.
    pub(crate) async fn page(&self, access: &str, told: &[&str], mut page: Texts) -> Result<Value> {
        let limit = page.remove("limit").map_or(Ok(LIMIT), |limit| limit.parse());
        let limit = limit.ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
        let refused = || Error::Invalid(format!("limit is a number from 1 to {LIMIT_MAX}"));
        let (limit, bookmark) = (limit.ok_or_else(refused)?, page.remove("bookmark"));
        if let Some(name) = page.keys().next() {
            return Err(Error::Invalid(format!("there is no parameter {name}")));
        }
        let rows = self.db.rows_of::<LittlehorseRow>(access, told);
        let rows = rows.map_err(|_| Error::not_found("such list"))?.page_size(limit);
        let page = rows.continued(bookmark).page().await.or_nothing()?;
        Ok(json!({ "items": page.rows, "bookmark": page.next }))
    }

    /// The ids of rows with these attributes, oldest first.
    pub(crate) async fn search(&self, tenant: &str, kind: &str, asked: Texts) -> Result<Value> {
        let entity = entity(kind)?;
        let is_of_page = |(name, _): &(String, String)| name == "limit" || name == "bookmark";
        let (page, by): (Texts, Texts) = asked.into_iter().partition(is_of_page);
        let names: Vec<&str> = by.keys().map(String::as_str).collect();
        let groups = searched_by(&entity);
        if !groups.contains(&names.join(" ").as_str()) {
            let groups: Vec<String> = groups.iter().map(|group| group.replace(' ', " and ")).collect();
            let reason = format!("{kind} are searched by {}", groups.join(", or by "));
            return Err(Error::Invalid(reason));
        }
        let access = format!("{entity}s_by_tag");
        self.page(&access, &[tenant, &tag(by)?], page).await
    }

    /// One row, with the parameters of the access pattern: tenant, run, and its identity within its kind.
    pub(crate) async fn row(&self, access: &str, told: &[&str]) -> Result<Value> {
        let missing = || Error::not_found("such object");
        let row = self.db.row_of::<LittlehorseRow>(access, told);
        let row = row.map_err(|_| missing())?.await.or_nothing()?;
        row.map(|row| json!(row)).ok_or_else(missing)
    }
}

/// A row of a run that can be searched for.
pub(crate) trait Getable:
    Entity<Model = LittlehorseModel> + Serialize + Write<LittlehorseModel, Entity = Self>
{
    fn tags(&mut self) -> &mut BTreeSet<String>;

    /// Gives it the tags of its present state.
    fn retag(&mut self) {
        let row = json!(self);
        let value = |name: &'static str| match &row[name] {
            Value::String(text) => Some((name, text.clone())),
            Value::Bool(truth) => Some((name, truth.to_string())),
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
pub(crate) fn tag<N: AsRef<str>, V: AsRef<str>>(named: impl IntoIterator<Item = (N, V)>) -> Result<String> {
    let part = |(name, value): (N, V)| format!("__{}_{}", name.as_ref(), value.as_ref());
    let tag: String = named.into_iter().map(part).collect();
    if tag.len() > TAG_BYTES_MAX {
        return Err(Error::invalid("that is too long to search for"));
    }
    Ok(tag)
}
