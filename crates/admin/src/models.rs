//! Calls about models.

use serde::{Deserialize, Serialize};
use trestle_binding::ModelSummary;

/// Which models there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListModels {}

/// The answer to [`ListModels`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelList {
    /// The models, by name.
    pub models: Vec<ModelSummary>,
}

/// The text of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadModel {
    /// Its name.
    pub name: String,
}

/// The answer to [`ReadModel`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelText {
    /// Its name.
    pub name: String,
    /// The model file.
    pub text: String,
}

/// Makes the database what a model says. A model that is refused is an error that carries the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyModel {
    /// The model file.
    pub text: String,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
    /// Fill in what rows from before lack, and make what follows from them.
    #[serde(default)]
    pub fill: bool,
    /// Delete global indexes that the model does not have, and build anew those that differ.
    #[serde(default)]
    pub delete_indexes: bool,
    /// The rows were copied, with everything that follows from them, from a database in which the model is in force: they are not
    /// looked at, and are whole.
    #[serde(default)]
    pub adopt: bool,
}

/// Brings derived rows back in line with the rows they are derived from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepairModels {
    /// One model only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only say what is wrong.
    #[serde(default)]
    pub dry_run: bool,
}

/// Forgets a model. Its tables and rows stay, and nothing is enforced there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveModel {
    /// Its name.
    pub name: String,
}

/// The answer to [`RemoveModel`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRemoved {
    /// Its name.
    pub removed: String,
}
