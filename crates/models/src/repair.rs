//! `repair`: corrects derived rows while clients continue.

use trestle_binding::{FACTS_NAMED, ModelFacts, ModelRepair, RepairReport, WrongFact};
use trestle_model::PARTS_TABLE;
use trestle_model::audit::AuditOptions;

use crate::mending::{Repair, Repaired};
use crate::value_audit::{ValueCure, ValueFinding, audit_values};
use crate::watcher::{Watcher, go_on};
use crate::{BindError, Held, Models, no_model};

/// How to repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairOptions {
    /// One model only.
    pub model: Option<String>,
    /// Only report what would be done.
    pub dry_run: bool,
}

impl Models {
    /// Corrects all derived rows, in bounded steps. A repetition changes nothing. Models whose rows are still
    /// to be filled in are skipped.
    pub fn repair(
        &self,
        options: &RepairOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<RepairReport, BindError> {
        self.host.catch_up()?;
        // Derived rows stay correct afterwards only where the models are enforced; the models also give the
        // places of rows.
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
        let mut models: Vec<ModelRepair> = models.collect::<Result<_, _>>()?;
        self.repair_values(&held, &mut models, options.dry_run, watcher)?;
        Ok(RepairReport {
            dry_run: options.dry_run,
            models,
        })
    }

    /// Large values are checked for all models together, and repaired for the chosen ones.
    fn repair_values(
        &self,
        held: &[Held],
        repairs: &mut [ModelRepair],
        dry_run: bool,
        watcher: &mut dyn Watcher,
    ) -> Result<(), BindError> {
        let models: Vec<_> = held.iter().filter_map(|held| held.model.clone().ok()).collect();
        if !models.iter().any(|model| model.has_large_values()) {
            return Ok(());
        }
        // Held until all is repaired, because values that no row of this moment refers to are released.
        let moment = self.host.moment()?;
        let findings = audit_values(&*moment, &models, &mut |parts| {
            watcher.rows("checking large values", PARTS_TABLE, parts);
            go_on(watcher)
        })?;
        for ValueFinding { fact, cure } in findings {
            let Some(repair) = repairs.iter_mut().find(|repair| repair.facts.model == fact.model) else {
                continue;
            };
            *repair.facts.wrong.entry(fact.kind).or_default() += 1;
            let can_be_mended = !matches!(cure, ValueCure::None);
            if !dry_run && can_be_mended && self.mend_value(cure, fact.table.clone())? {
                *repair.mended.entry(fact.kind).or_default() += 1;
                continue;
            }
            repair.left_total += 1;
            if repair.left.len() < FACTS_NAMED {
                let reason =
                    "no repair can tell what the bytes were; write the value again, or remove the row";
                repair.left.push(WrongFact {
                    reason: (!can_be_mended).then(|| reason.to_owned()),
                    ..fact
                });
            }
        }
        Ok(())
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
            host: &*self.host,
            model,
            options: AuditOptions::default(),
            leftovers: held.leftovers(),
            doing: "mending rows",
        };
        let repaired = if dry_run || !held.stored.filled_in {
            let first = repair.look(&*self.host.moment()?, watcher)?;
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
