//! Get, List and Search. All rows of a run are read alike: by an access pattern of the model, and shown as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trestle::Item;
use trestle::collection::parameters;
use trestle::typed::{AccessRows, Get, Queried};

use super::tags::{SEARCHED_BY, searched_by, tag};
use super::{Error, Result, Service};
use crate::model::LittlehorseRow;

/// What an access pattern finds.
pub(crate) type Rows<'d> = AccessRows<'d, LittlehorseRow, Queried>;

/// Texts by their names: attributes, variables, parameters.
pub type Texts = BTreeMap<String, String>;

/// The parameters of a list: how many rows at most, and the bookmark of the page before.
const PAGED_BY: [&str; 2] = ["limit", "bookmark"];

const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 1000;

/// The entity that a path names: `node_run` for `node-runs`.
fn entity_of(kind: &str) -> Result<&'static str> {
    let mut entities = SEARCHED_BY.iter().map(|(entity, _)| *entity);
    let found = entities.find(|entity| format!("{}s", entity.replace('_', "-")) == kind);
    found.ok_or(Error::NotFound("kind of object"))
}

impl Service {
    /// The rows of one kind of a run.
    pub async fn list(&self, tenant: &str, run: &str, kind: &str, page: Texts) -> Result<Value> {
        let access = format!("{}s", entity_of(kind)?);
        self.page(&access, &[tenant, run], page).await
    }

    /// One row: tenant, run, and what identifies it within its kind.
    pub async fn object(&self, kind: &str, identity: &[&str]) -> Result<Value> {
        let access = match kind {
            "inventory" => kind,
            _ => entity_of(kind)?,
        };
        let (access, wanted) = self.told(access, identity)?;
        let row = Get::<LittlehorseRow>::by_access(self.db.handle(), access, wanted).await?;
        row.map(|row| json!(row)).ok_or(Error::NotFound("object"))
    }

    /// The ids of rows with these attributes, oldest first.
    pub async fn search(&self, tenant: &str, kind: &str, asked: Texts) -> Result<Value> {
        let entity = entity_of(kind)?;
        let is_page = |(name, _): &(String, String)| PAGED_BY.contains(&name.as_str());
        let (page, by): (Texts, Texts) = asked.into_iter().partition(is_page);
        let names: Vec<&str> = by.keys().map(String::as_str).collect();
        let groups = searched_by(entity);
        if !groups.contains(&names.as_slice()) {
            let known: Vec<String> = groups.iter().map(|group| group.join(" and ")).collect();
            let known = known.join(", or by ");
            return Err(Error::Invalid(format!("{kind} are searched by {known}")));
        }
        let access = format!("{entity}s_by_tag");
        self.page(&access, &[tenant, &tag(by)?], page).await
    }

    /// The workflows of a tenant, all versions.
    pub async fn specs(&self, tenant: &str, page: Texts) -> Result<Value> {
        self.page("specs", &[tenant], page).await
    }

    async fn page(&self, access: &str, given: &[&str], mut page: Texts) -> Result<Value> {
        let limit = page
            .remove("limit")
            .map_or(Ok(LIMIT_DEFAULT), |limit| limit.parse());
        let limit = limit.ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
        let limit =
            limit.ok_or_else(|| Error::Invalid(format!("limit is a number from 1 to {LIMIT_MAX}")))?;
        let bookmark = page.remove("bookmark");
        if let Some(name) = page.keys().next() {
            return Err(Error::Invalid(format!("there is no parameter {name}")));
        }
        let rows = self.rows(access, given)?.page_size(limit);
        let page = rows.continued(bookmark).page().await?;
        Ok(json!({ "items": page.rows, "bookmark": page.next }))
    }

    /// What an access pattern finds, told the values of its parameters.
    pub(crate) fn rows(&self, access: &str, given: &[&str]) -> Result<Rows<'_>> {
        let (access, wanted) = self.told(access, given)?;
        Ok(Rows::new(self.db.handle(), access, wanted))
    }

    /// An access pattern of the model and its parameters. A text that is no value of one is no object's.
    fn told(&self, access: &str, given: &[&str]) -> Result<(&'static str, Item)> {
        let model = self.db.definition().model()?;
        let pattern = model.access(access).ok_or(Error::NotFound("list"))?;
        let names = pattern
            .parameters()
            .iter()
            .map(|parameter| parameter.name.clone());
        let texts = names.zip(given.iter().map(|text| (*text).to_owned()));
        match parameters(model, access, texts) {
            Ok(wanted) if given.len() == pattern.parameters().len() => Ok((pattern.name(), wanted)),
            _ => Err(Error::NotFound("object")),
        }
    }
}
