//! Audits every model's rows: the part of `trestle verify` about derived rows.

use std::sync::Arc;

use trestle_api::Error;
use trestle_binding::held::Held;
use trestle_binding::{ModelFacts, WrongFact};
use trestle_env::Timestamp;
use trestle_hook::HostView;
use trestle_model::Model;
use trestle_model::audit::AuditOptions;

use crate::audit::audit;
use crate::value_audit::audit_values;

/// Receives the progress of a proof.
pub trait ProofWatcher {
    /// So many of these were read.
    fn progress(&mut self, what: &'static str, done: u64);

    /// A derived fact disagrees with its rows.
    fn wrong(&mut self, fact: &WrongFact);
}

/// Audits the rows of these models. `unsound` is the reason if they cannot be enforced together.
pub fn prove(
    view: &dyn HostView,
    held: &[Held],
    unsound: Option<&str>,
    now: Timestamp,
    watcher: &mut dyn ProofWatcher,
) -> Result<Vec<ModelFacts>, Error> {
    let mut models = Vec::new();
    for held in held {
        let mut facts = ModelFacts::new(&held.stored.name, held.stored.version);
        match (unsound, held.model()) {
            (_, Err(error)) => facts.not_audited = Some(error.to_string()),
            (Some(why), Ok(_)) => facts.not_audited = Some(why.to_owned()),
            (None, Ok(model)) => prove_one(view, held, model, now, &mut facts, watcher)?,
        }
        models.push(facts);
    }
    if models.iter().all(|facts| facts.not_audited.is_none()) {
        values(view, held, &mut models, watcher)?;
    }
    Ok(models)
}

fn prove_one(
    view: &dyn HostView,
    held: &Held,
    model: &Arc<Model>,
    now: Timestamp,
    facts: &mut ModelFacts,
    watcher: &mut dyn ProofWatcher,
) -> Result<(), Error> {
    let options = AuditOptions::default();
    let audited = audit(view, model, now, options, held.leftovers(), &mut |rows| {
        watcher.progress("rows of models", rows);
        Ok(())
    })?;
    facts.rows = audited.rows;
    facts.to_do.rows_to_move = audited.to_move;
    facts.to_do.rows_to_clear = audited.to_clear;
    facts.found(&audited.findings, held.stored.filled_in);
    if held.stored.filled_in {
        for finding in &audited.findings.kept {
            watcher.wrong(&WrongFact::from(finding));
        }
    }
    Ok(())
}

/// Large values are checked for all models together: each belongs to a row of one of them.
fn values(
    view: &dyn HostView,
    held: &[Held],
    facts: &mut [ModelFacts],
    watcher: &mut dyn ProofWatcher,
) -> Result<(), Error> {
    let models: Vec<_> = held.iter().filter_map(|held| held.model.clone().ok()).collect();
    let findings = audit_values(view, &models, &mut |parts| {
        watcher.progress("parts of large values", parts);
        Ok(())
    })?;
    for finding in findings {
        let of_model = facts.iter_mut().find(|facts| facts.model == finding.fact.model);
        if let Some(facts) = of_model {
            *facts.wrong.entry(finding.fact.kind).or_default() += 1;
        }
        watcher.wrong(&finding.fact);
    }
    Ok(())
}
