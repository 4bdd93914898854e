//! Calls about migrations. If no model is named, they apply to the only migration that is not over.

use serde::{Deserialize, Deserializer, Serialize};
use trestle_binding::{MigrationPlan, MigrationStatus};

/// The status of migrations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListMigrations {
    /// Only that of this model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The answer to [`ListMigrations`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MigrationList {
    /// The last migration of each model.
    pub migrations: Vec<MigrationStatus>,
}

/// Checks models, tables and every row, and returns what a migration would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanMigration {
    /// The model file with the new keys.
    pub text: String,
    /// Do not store the plan.
    #[serde(default)]
    pub dry_run: bool,
    /// Delete global indexes that the model does not have, and rebuild those that differ.
    #[serde(default)]
    pub delete_indexes: bool,
}

/// Puts the new version into effect, and moves the rows while clients read and write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartMigration {
    /// The model file with the new keys; without it, the stored plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The maximum number of rows to move per second, or `unlimited`.
    #[serde(default, deserialize_with = "rate", skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// Whether to finish as soon as it is verified.
    #[serde(default)]
    pub finish: bool,
    /// Whether only rows that are written move, until it is resumed.
    #[serde(default)]
    pub paused: bool,
    /// Delete global indexes that the model does not have, and rebuild those that differ.
    #[serde(default)]
    pub delete_indexes: bool,
}

/// Pauses the sweep. Rows that are written still move.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseMigration {
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Continues the sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeMigration {
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The new maximum number of rows to move per second, or `unlimited`.
    #[serde(default, deserialize_with = "rate", skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
}

/// Ends a migration that is verified: keys of the previous version are no longer understood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishMigration {
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Rolls back to the previous version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollBackMigration {
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The answer to [`RollBackMigration`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RolledBack {
    /// The status of the migration.
    pub status: MigrationStatus,
    /// The plan of the rollback; absent if the migration was only planned, and the plan was deleted.
    pub plan: Option<Box<MigrationPlan>>,
}

/// A rate as a text, or as a number.
fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Rate {
        Rows(u64),
        Text(String),
    }
    let rate = Option::<Rate>::deserialize(deserializer)?;
    Ok(rate.map(|rate| match rate {
        Rate::Rows(rows) => rows.to_string(),
        Rate::Text(text) => text,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_or_a_text() {
        for (json, rate) in [
            ("200", "200"),
            (r#""200""#, "200"),
            (r#""unlimited""#, "unlimited"),
        ] {
            let call: ResumeMigration = serde_json::from_str(&format!(r#"{{"rate": {json}}}"#)).unwrap();
            assert_eq!(call.rate.as_deref(), Some(rate));
        }
        assert!(serde_json::from_str::<ResumeMigration>(r#"{"rate": -5}"#).is_err());
        assert_eq!(serde_json::from_str::<ResumeMigration>("{}").unwrap().rate, None);
    }
}
