//! What will be copied, and what prevents it.

use std::collections::BTreeSet;

use serde::Serialize;
use trestle_admin::{ListMigrations, ListModels, ModelSummary, ReadModel};
use trestle_api::{StreamViewType, TableDescription, Tag};
use trestle_model::{Model, PARTS_TABLE};

use crate::job::CopyJob;
use crate::side::{CopySide, SideKind};
use crate::tables::{Tables, stream_of};
use crate::{CopyError, StateFile};

/// What will be copied.
#[derive(Clone, Debug, Serialize)]
pub struct CopyPlan {
    /// The tables, by name.
    pub tables: Vec<PlannedTable>,
    /// The models that take effect at the target in the cut-over, by name.
    pub models: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub(crate) texts: Vec<String>,
    /// Whether changes are followed: a directory that this process has open does not change.
    pub follows: bool,
}

/// A table that will be copied.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedTable {
    /// Its name.
    pub table: String,
    /// The approximate number of its rows.
    pub rows: u64,
    /// Whether it already exists at the target.
    pub exists: bool,
    /// The attribute by which its rows expire, if they do.
    pub expiry: Option<String>,
    /// Whether it has no stream at the source, and gets one for the duration of the copy.
    pub needs_stream: bool,
    #[serde(skip)]
    pub(crate) description: TableDescription,
    #[serde(skip)]
    pub(crate) tags: Vec<Tag>,
}

impl PlannedTable {
    /// The view type of its own stream at the source, if it has one.
    pub(crate) fn stream(&self, was_made: bool) -> Option<StreamViewType> {
        stream_of(&self.description).filter(|_| !was_made)
    }
}

impl CopyJob {
    /// Checks both sides and returns what will be copied, or what prevents it. Changes nothing.
    pub async fn plan(&self, state: Option<&StateFile>) -> Result<CopyPlan, CopyError> {
        let chosen = self.chosen().await?;
        let mut notes = Vec::new();
        let models = match self.settings.models {
            true => self.models_of(&chosen, &mut notes).await?,
            false => Vec::new(),
        };
        let mut names = chosen;
        names.extend(self.kept_tables(&models).await?);
        let is_known = state.is_some_and(StateFile::is_resumed);
        if !is_known {
            self.refuse_models_at_target(&names).await?;
        }
        let mut tables = Vec::new();
        for name in names {
            let is_mine = state.is_some_and(|state| state.look(|state| state.tables.contains_key(&name)));
            tables.push(self.planned(&name, is_mine).await?);
        }
        if self.to.kind == SideKind::Endpoint && !models.is_empty() {
            notes.push(format!(
                "{} stores no models: rows are copied unchanged, derived rows included, and no model is in effect there",
                self.to.name
            ));
        }
        let stored = if self.to.administration.is_some() {
            models
        } else {
            Vec::new()
        };
        Ok(CopyPlan {
            tables,
            models: stored.iter().map(|model| model.model.name().to_owned()).collect(),
            texts: stored.into_iter().map(|model| model.text).collect(),
            notes,
            follows: self.from.changes(),
        })
    }

    /// The requested tables.
    async fn chosen(&self) -> Result<Vec<String>, CopyError> {
        let mut names = self.source().names().await?;
        let wanted = &self.settings.tables;
        if let Some(missing) = wanted.iter().find(|wanted| !names.contains(wanted)) {
            return Err(CopyError::refused(format!(
                "there is no table {missing} at {}; there is {}",
                self.from.name,
                match names.is_empty() {
                    true => "none".to_owned(),
                    false => names.join(", "),
                }
            )));
        }
        names.retain(|name| wanted.is_empty() || wanted.contains(name));
        if names.is_empty() {
            return Err(CopyError::refused(format!("{} has no tables", self.from.name)));
        }
        Ok(names)
    }

    /// The models of these tables, all of whose tables must be copied.
    async fn models_of(
        &self,
        chosen: &[String],
        notes: &mut Vec<String>,
    ) -> Result<Vec<SourceModel>, CopyError> {
        if self.from.administration.is_none() {
            notes.push(format!(
                "{} does not report its models: rows are copied unchanged; apply a model at the target with `trestle model apply`",
                self.from.name
            ));
            return Ok(Vec::new());
        }
        let listed = list_models(&self.from).await?;
        let (mine, others): (Vec<ModelSummary>, Vec<ModelSummary>) = listed
            .into_iter()
            .partition(|model| model.tables.iter().any(|table| chosen.contains(table)));
        let mut models = Vec::new();
        for summary in &mine {
            if let Some(missing) = summary.tables.iter().find(|table| !chosen.contains(table)) {
                return Err(CopyError::refused(format!(
                    "model {} also has table {missing}: copy all of its tables together, or leave models out with --no-models",
                    summary.name
                )));
            }
            models.push(self.source_model(&summary.name).await?);
        }
        self.refuse_migrations(&mine).await?;
        for other in &others {
            let other = self.source_model(&other.name).await?;
            let shared = kept_by(&other.model);
            let both = models
                .iter()
                .flat_map(|model| kept_by(&model.model))
                .find(|kept| shared.contains(kept));
            if let Some(kept) = both {
                return Err(CopyError::refused(format!(
                    "rows of table {kept} belong to model {}, too: copy its tables as well",
                    other.model.name()
                )));
            }
        }
        Ok(models)
    }

    async fn source_model(&self, name: &str) -> Result<SourceModel, CopyError> {
        let call = ReadModel {
            name: name.to_owned(),
        };
        let text = self
            .from
            .administer(&format!("reading model {name}"), call)
            .await?
            .text;
        let model = trestle_model::load(&text).model.ok_or_else(|| {
            CopyError::refused(format!(
                "model {name} of {} does not load: correct it there first (`trestle model check`)",
                self.from.name
            ))
        })?;
        Ok(SourceModel { model, text })
    }

    async fn refuse_migrations(&self, models: &[ModelSummary]) -> Result<(), CopyError> {
        let listed = self
            .from
            .administer("listing the migrations", ListMigrations::default())
            .await?;
        let mut under_way = listed
            .migrations
            .iter()
            .filter(|status| status.state.is_under_way());
        match under_way.find(|status| models.iter().any(|model| model.name == status.model)) {
            Some(status) => Err(CopyError::refused(format!(
                "rows of model {} are moving to other keys: finish the migration first, or roll it back",
                status.model
            ))),
            None => Ok(()),
        }
    }

    /// Trestle's own tables with data of the models about rows. Without known models, those that exist.
    async fn kept_tables(&self, models: &[SourceModel]) -> Result<Vec<String>, CopyError> {
        let wanted: BTreeSet<&str> = match self.from.administration {
            Some(_) => models.iter().flat_map(|model| kept_by(&model.model)).collect(),
            None if self.settings.tables.is_empty() => trestle_model::KEPT_ABOUT_ROWS.into_iter().collect(),
            None => BTreeSet::new(),
        };
        let mut there = Vec::new();
        for table in wanted {
            if self.source().describe(table).await?.is_some() {
                there.push(table.to_owned());
            }
        }
        Ok(there)
    }

    /// Refuses models at the target: a row that is written under a model is derived again, so the copy must
    /// write before.
    async fn refuse_models_at_target(&self, names: &[String]) -> Result<(), CopyError> {
        if self.to.administration.is_none() {
            return Ok(());
        }
        for model in list_models(&self.to).await? {
            let call = ReadModel {
                name: model.name.clone(),
            };
            let text = self
                .to
                .administer(&format!("reading model {}", model.name), call)
                .await?
                .text;
            let kept = trestle_model::load(&text).model;
            let kept = kept.iter().flat_map(kept_by).map(str::to_owned);
            let touched = model
                .tables
                .iter()
                .cloned()
                .chain(kept)
                .find(|table| names.contains(table));
            if let Some(table) = touched {
                return Err(CopyError::refused(format!(
                    "model {} is in effect at {} and has table {table}: copied rows would be derived twice. Remove it there \
                     (`trestle model remove {}`); the cut-over applies the models of the source",
                    model.name, self.to.name, model.name
                )));
            }
        }
        Ok(())
    }

    async fn planned(&self, name: &str, is_mine: bool) -> Result<PlannedTable, CopyError> {
        let source = self.source();
        let description = source.active(name).await?;
        let tags = source.tags(&description.table_arn).await?;
        let target = self.target();
        let there = target.describe(name).await?;
        if let Some(there) = &there {
            refuse_other(&description, there, &self.to.name)?;
            if !is_mine && !target.is_empty(name).await? {
                return Err(CopyError::refused(format!(
                    "table {name} of {} has rows: the table must be empty, or not exist, at the target of a copy",
                    self.to.name
                )));
            }
        }
        Ok(PlannedTable {
            table: name.to_owned(),
            rows: description.item_count,
            exists: there.is_some(),
            expiry: source.expiry(name).await?,
            needs_stream: self.from.changes() && stream_of(&description).is_none(),
            description,
            tags,
        })
    }

    pub(crate) fn source(&self) -> Tables {
        self.tables_of(&self.from)
    }

    pub(crate) fn target(&self) -> Tables {
        self.tables_of(&self.to)
    }

    fn tables_of(&self, side: &CopySide) -> Tables {
        Tables {
            database: side.database.clone(),
            patience: self.patience(),
        }
    }
}

struct SourceModel {
    model: Model,
    text: String,
}

async fn list_models(side: &CopySide) -> Result<Vec<ModelSummary>, CopyError> {
    let what = format!("listing the models of {}", side.name);
    Ok(side.administer(&what, ListModels::default()).await?.models)
}

/// Trestle's own tables that a model needs.
fn kept_by(model: &Model) -> Vec<&'static str> {
    let parts = model.has_large_values().then_some(PARTS_TABLE);
    let own = model.own_tables().into_iter().map(|own| own.name);
    own.chain(parts).collect()
}

/// Refuses a table at the target that cannot hold the rows of the source.
fn refuse_other(
    source: &TableDescription,
    target: &TableDescription,
    target_name: &str,
) -> Result<(), CopyError> {
    let name = &source.table_name;
    let kinds = |table: &TableDescription| -> BTreeSet<(String, String)> {
        let attributes = table.attribute_definitions.iter();
        let of_key = attributes.filter(|attribute| {
            let mut key = table.key_schema.iter();
            key.any(|element| element.attribute_name == attribute.attribute_name)
        });
        of_key
            .map(|attribute| {
                (
                    attribute.attribute_name.clone(),
                    format!("{:?}", attribute.attribute_type),
                )
            })
            .collect()
    };
    if source.key_schema != target.key_schema || kinds(source) != kinds(target) {
        return Err(CopyError::refused(format!(
            "table {name} has another key at {target_name}: delete it there, or copy into another database"
        )));
    }
    let indexes = |table: &TableDescription| -> BTreeSet<String> {
        let global = table.global_secondary_indexes.iter().flatten();
        let local = table.local_secondary_indexes.iter().flatten();
        let global = global.map(|index| index.index_name.clone());
        global
            .chain(local.map(|index| index.index_name.clone()))
            .collect()
    };
    let there = indexes(target);
    match indexes(source).into_iter().find(|index| !there.contains(index)) {
        Some(missing) => Err(CopyError::refused(format!(
            "table {name} has no index {missing} at {target_name}: delete the table there, so that the copy creates it, or add \
             the index"
        ))),
        None => Ok(()),
    }
}
