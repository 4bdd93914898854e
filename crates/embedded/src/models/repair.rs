//! `repair`: derived rows are brought back in line while clients go on.

use trestle_binding::{FACTS_NAMED, ModelFacts, ModelRepair, RepairReport, WrongFact};
use trestle_model::audit::AuditOptions;

use super::mending::{Repair, Repaired};
use super::watcher::Watcher;
use super::{BindError, Held, Models, no_model};

/// How to repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// One model only.
    pub model: Option<String>,
    /// Only say what would be done.
    pub dry_run: bool,
}

impl Models {
    /// Brings everything that is derived back in line with the rows it is derived from, one bounded step after the other.
    /// Repeating it does nothing more. Models whose rows wait to be filled in are left alone.
    pub fn repair(
        &self,
        options: &RepairOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<RepairReport, BindError> {
        // What is derived stays in line afterwards only where the models are enforced; and they say where rows lie.
        self.enforce()?;
        let _one_at_a_time = self.applying.lock();
        let held = self.held.lock().clone();
        if let Some(name) = &options.model
            && !held.iter().any(|held| held.stored.name == *name)
        {
            return Err(no_model(&held, name));
        }
        let wanted = |held: &&Held| {
            options
                .model
                .as_ref()
                .is_none_or(|name| held.stored.name == *name)
        };
        let models = held.iter().filter(wanted);
        let models = models.map(|held| self.repair_model(held, options.dry_run, watcher));
        Ok(RepairReport {
            dry_run: options.dry_run,
            models: models.collect::<Result<_, _>>()?,
        })
    }

    fn repair_model(
        &self,
        held: &Held,
        dry_run: bool,
        watcher: &mut dyn Watcher,
    ) -> Result<ModelRepair, BindError> {
        let mut report = ModelRepair {
            facts: ModelFacts::new(&held.stored.name, held.stored.version),
            ..ModelRepair::default()
        };
        let model = match held.model() {
            Ok(model) => model,
            Err(error) => {
                report.facts.not_audited = Some(error.to_string());
                return Ok(report);
            }
        };
        let repair = Repair {
            engine: &self.engine,
            model,
            options: AuditOptions::default(),
            leftovers: held.leftovers(),
            doing: "mending rows",
        };
        let repaired = if dry_run || !held.stored.filled_in {
            let first = repair.look(watcher)?;
            let left = first.findings.kept.iter().filter(|_| held.stored.filled_in);
            let left = left.map(|finding| (finding.clone(), String::new())).collect();
            Repaired {
                first,
                left,
                ..Repaired::default()
            }
        } else {
            repair.run(watcher)?
        };
        report.facts.rows = repaired.first.rows;
        report.facts.to_do.rows_to_move = repaired.first.to_move;
        report.facts.to_do.rows_to_clear = repaired.first.to_clear;
        report
            .facts
            .found(&repaired.first.findings, held.stored.filled_in);
        report.mended = repaired.mended;
        report.left_total = match dry_run {
            true => report.facts.disagreements(),
            false => repaired.left.len() as u64,
        };
        let named = repaired.left.iter().take(FACTS_NAMED);
        let named = named.map(|(finding, reason)| WrongFact {
            reason: Some(reason.clone()).filter(|reason| !reason.is_empty()),
            ..WrongFact::from(finding)
        });
        report.left = named.collect();
        Ok(report)
    }
}
