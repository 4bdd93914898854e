//! Prints plans and states, for people or as JSON.

use crate::administration::print_json;
use crate::bar;
use crate::exit::{Code, Failure};
use crate::model::line;
use std::io::Write;
use trestle_admin::MigrationList;
use trestle_binding::{MigrationPlan, MigrationState, MigrationStatus};

/// Prints a plan and returns the model's name. A refused plan is a failure.
pub(super) fn plan(plan: &MigrationPlan, json: bool) -> Result<String, Failure> {
    if json {
        print_json(plan)?;
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

/// Prints the status of migrations.
pub(super) fn all(list: &MigrationList, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(list);
    }
    if list.migrations.is_empty() {
        line("no migrations; `trestle migrate plan FILE` plans one");
    }
    for status in &list.migrations {
        print(status);
    }
    Ok(())
}

/// Prints the status of one migration.
pub(super) fn status(status: &MigrationStatus, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(status);
    }
    print(status);
    Ok(())
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

/// Prints a hint that is not part of the answer.
pub(super) fn hint(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
