//! Plans and states, printed for people or as JSON.

use super::bar;
use crate::exit::{Code, Failure};
use crate::model::{line, understood};
use serde::{Deserialize, Serialize};
use std::io::Write;
use trestle_binding::{MigrationPlan, MigrationState, MigrationStatus};

/// What a call about migrations answers.
#[derive(Deserialize, Serialize)]
struct Migrations {
    migrations: Vec<MigrationStatus>,
}

/// Prints a plan; the model's name. A plan that is refused is a failure.
pub(super) fn plan(text: &str, json: bool) -> Result<String, Failure> {
    let plan: MigrationPlan = understood(text)?;
    if json {
        line(text.trim_end());
    } else {
        line(plan.to_string().trim_end());
    }
    let model = plan.report.model.clone();
    if plan.is_refused() {
        let what = if plan.back { "going back" } else { "the migration" };
        return Err(Failure::new(
            Code::ModelRefused,
            format!("{what} of model {model} was refused; nothing was changed"),
        ));
    }
    Ok(model)
}

/// All migrations of an answer.
pub(super) fn understood_all(text: &str) -> Result<Vec<MigrationStatus>, Failure> {
    let migrations: Migrations = understood(text)?;
    Ok(migrations.migrations)
}

/// The one migration of an answer.
pub(super) fn understood_status(text: &str) -> Result<MigrationStatus, Failure> {
    let first = understood_all(text)?.into_iter().next();
    first.ok_or_else(|| Failure::failed("the answer has no migration"))
}

/// Prints how migrations are doing.
pub(super) fn all(migrations: &[MigrationStatus], json: bool) {
    if json {
        return line(&serde_json::json!({ "migrations": migrations }).to_string());
    }
    if migrations.is_empty() {
        return line("no migrations; `trestle migrate plan FILE` plans one");
    }
    for status in migrations {
        print(status);
    }
}

/// Prints how one migration is doing.
pub(super) fn status(status: &MigrationStatus, json: bool) {
    if json {
        line(&serde_json::json!(status).to_string());
    } else {
        print(status);
    }
}

fn print(status: &MigrationStatus) {
    let text = status.to_string();
    if status.state == MigrationState::Planned {
        return line(&text);
    }
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    line(first);
    line(&format!(
        "  {} {:.1} %",
        bar::drawn(status.done),
        status.done * 100.0
    ));
    line(rest);
}

/// Something to know that is not the answer.
pub(super) fn hint(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
