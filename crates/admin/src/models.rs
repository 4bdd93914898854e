//! Calls about models.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use trestle_binding::ModelSummary;

/// Lists the models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListModels {}

/// The answer to [`ListModels`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelList {
    /// The models, by name.
    pub models: Vec<ModelSummary>,
}

/// Reads the text of a model.
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

/// Describes the models as data: tables, entities, key templates, effects and access patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DescribeModels {}

/// The answer to [`DescribeModels`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelDescriptions {
    /// The models, by name.
    pub models: Vec<Value>,
}

/// Returns the request of an access pattern with given parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainAccess {
    /// A model that is stored with the data.
    pub model: String,
    /// One of its access patterns.
    pub access: String,
    /// Its parameters: texts, numbers and truth values. A text is converted to the parameter's type.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
}

/// The answer to [`ExplainAccess`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AccessRequest {
    /// `GetItem`, `Query` or `Scan`.
    pub operation: String,
    /// The request of that operation, in DynamoDB's JSON.
    pub request: Value,
}

/// Proposes a model from the rows of a table. Nothing is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InferModel {
    /// The table.
    pub table: String,
    /// The maximum number of rows to read: 100,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
}

/// The answer to [`InferModel`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedModel {
    /// The model file, with the evidence in its comments. It loads without errors.
    pub text: String,
    /// The findings, and rows that fit no entity, one line each.
    pub notes: Vec<String>,
    /// How many rows were read.
    pub rows: u64,
    /// Whether they are all rows of the table.
    pub complete: bool,
}

/// Applies a model to the database. The error of a refused model contains the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyModel {
    /// The model file.
    pub text: String,
    /// Only return what would be done.
    #[serde(default)]
    pub dry_run: bool,
    /// Fill in missing attributes of existing rows, and apply effects to them.
    #[serde(default)]
    pub fill: bool,
    /// Delete global indexes that the model does not have, and rebuild those that differ.
    #[serde(default)]
    pub delete_indexes: bool,
    /// The rows and their derived rows were copied from a database in which the model is in force, so they
    /// are complete and need not be checked.
    #[serde(default)]
    pub adopt: bool,
}

/// Corrects derived rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepairModels {
    /// One model only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only return what is wrong.
    #[serde(default)]
    pub dry_run: bool,
}

/// Removes a model. Its tables and rows stay, and nothing is enforced for them.
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
