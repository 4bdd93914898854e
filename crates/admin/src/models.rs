//! Calls about models.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
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

/// What the models say, as data: tables, entities, key templates, effects and access patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DescribeModels {}

/// The answer to [`DescribeModels`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelDescriptions {
    /// The models, by name.
    pub models: Vec<Value>,
}

/// The request that an access pattern is, for given parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainAccess {
    /// A model that is stored with the data.
    pub model: String,
    /// One of its access patterns.
    pub access: String,
    /// Its parameters: texts, numbers and truth values. A text stands for a value of the parameter's type.
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
    /// The most rows to read: 100,000 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
}

/// The answer to [`InferModel`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedModel {
    /// The model file, with the evidence in its comments. It loads without errors.
    pub text: String,
    /// What was found, and rows that fit no entity, one line each.
    pub notes: Vec<String>,
    /// How many rows were read.
    pub rows: u64,
    /// Whether they are all rows of the table.
    pub complete: bool,
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
