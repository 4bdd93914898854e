//! Get, List and Search. All rows of a run are read alike: by an access pattern of the model, and shown as JSON.

use super::*;

/// Texts by their names: variables, and parameters of a request.
pub type Texts = BTreeMap<String, String>;

/// The rows of a page, unless the request says how many; and the most of them.
const LIMIT: u32 = 100;
const LIMIT_MAX: u32 = 1000;

/// The entity that a path names: `node_run` for `node-runs`.
fn entity_of(kind: &str) -> Result<String> {
    let entity = kind.strip_suffix('s').map(|kind| kind.replace('-', "_"));
    let known = entity.filter(|entity| !searched_by(entity).is_empty());
    known.ok_or(Error::NotFound("kind of object"))
}

impl Service {
    /// A list of rows, told what the access pattern has to know.
    pub(crate) async fn page(&self, access: &str, told: &[&str], mut page: Texts) -> Result<Value> {
        let limit = page.remove("limit").map_or(Ok(LIMIT), |limit| limit.parse());
        let limit = limit.ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
        let refused = || Error::Invalid(format!("limit is a number from 1 to {LIMIT_MAX}"));
        let (limit, bookmark) = (limit.ok_or_else(refused)?, page.remove("bookmark"));
        if let Some(name) = page.keys().next() {
            return Err(Error::Invalid(format!("there is no parameter {name}")));
        }
        let rows = self.db.rows_of::<LittlehorseRow>(access, told);
        let rows = rows.map_err(|_| Error::NotFound("list"))?.page_size(limit);
        let page = rows.continued(bookmark).page().await?;
        Ok(json!({ "items": page.rows, "bookmark": page.next }))
    }

    /// The rows of one kind of a run.
    pub(crate) async fn list(&self, tenant: &str, run: &str, kind: &str, page: Texts) -> Result<Value> {
        let access = format!("{}s", entity_of(kind)?);
        self.page(&access, &[tenant, run], page).await
    }

    /// The ids of rows with these attributes, oldest first.
    pub(crate) async fn search(&self, tenant: &str, kind: &str, asked: Texts) -> Result<Value> {
        let entity = entity_of(kind)?;
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

    /// One row: by tenant, run, and what identifies it within its kind.
    pub(crate) async fn object(&self, kind: &str, identity: &[&str]) -> Result<Value> {
        let access = match kind {
            "inventory" => kind.to_owned(),
            _ => entity_of(kind)?,
        };
        let missing = || Error::NotFound("object");
        let row = self.db.row_of::<LittlehorseRow>(&access, identity);
        let row = row.map_err(|_| missing())?.await?;
        row.map(|row| json!(row)).ok_or_else(missing)
    }
}
