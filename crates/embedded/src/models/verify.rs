//! Whether everything agrees: storage, and everything that is derived by the stored models.

use std::sync::Arc;

use serde::Serialize;
use trestle_api::Error;
use trestle_binding::held::{Held, read, together};
use trestle_binding::{ModelFacts, WrongFact};
use trestle_engine::{Summary, View, Watcher};
use trestle_env::Timestamp;
use trestle_model::audit::AuditOptions;

use super::audit::audit;
use super::value_audit::audit_values;

/// What is verified besides storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Whether the rows of the stored models are audited.
    pub models: bool,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        VerifyOptions { models: true }
    }
}

/// Hears of a verification while it runs.
pub trait VerifyWatcher: Watcher {
    /// A derived fact disagrees with its rows.
    fn wrong(&mut self, fact: &WrongFact);
}

/// What was verified, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Storage.
    pub storage: Summary,
    /// The stored models.
    pub models: Vec<ModelFacts>,
    /// Derived facts that disagree with their rows.
    pub wrong_facts: u64,
    /// How large the blocks of the data directory are, if it is one.
    pub block_kib: Option<u32>,
}

impl Verified {
    /// Everything that disagrees.
    #[must_use]
    pub fn disagreements(&self) -> u64 {
        self.storage.disagreements + self.wrong_facts
    }
}

/// Verifies everything that a view holds. Fails only when the store cannot be read.
pub fn verify(
    view: &mut View,
    now: Timestamp,
    options: VerifyOptions,
    watcher: &mut dyn VerifyWatcher,
) -> Result<Verified, Error> {
    let storage = view.verify(&mut *watcher);
    let storage = storage.map_err(|error| Error::internal(error.to_string()))?;
    let mut verified = Verified {
        storage,
        ..Verified::default()
    };
    if options.models && view.damage().is_none() {
        verified.models = models(view, now, watcher)?;
    }
    verified.wrong_facts = verified.models.iter().map(ModelFacts::disagreements).sum();
    Ok(verified)
}

fn models(
    view: &mut View,
    now: Timestamp,
    watcher: &mut dyn VerifyWatcher,
) -> Result<Vec<ModelFacts>, Error> {
    let held = read(view.documents()?)?;
    let loading: Vec<Held> = held.iter().filter(|held| held.model.is_ok()).cloned().collect();
    let hook = together(&loading).map_err(|error| error.to_string());
    if let Ok(hook) = &hook {
        view.install(Arc::new(hook.clone()));
    }
    let mut models = Vec::new();
    for held in &held {
        let mut facts = ModelFacts::new(&held.stored.name, held.stored.version);
        match (&hook, held.model()) {
            (_, Err(error)) => facts.not_audited = Some(error.to_string()),
            (Err(why), Ok(_)) => facts.not_audited = Some(why.clone()),
            (Ok(_), Ok(model)) => {
                let audited = audit(
                    view,
                    model,
                    now,
                    AuditOptions::default(),
                    held.leftovers(),
                    &mut |rows| {
                        watcher.progress("rows of models", rows);
                        Ok(())
                    },
                )?;
                facts.rows = audited.rows;
                facts.to_do.rows_to_move = audited.to_move;
                facts.to_do.rows_to_clear = audited.to_clear;
                facts.found(&audited.findings, held.stored.filled_in);
                if held.stored.filled_in {
                    for finding in &audited.findings.kept {
                        watcher.wrong(&WrongFact::from(finding));
                    }
                }
            }
        }
        models.push(facts);
    }
    if models.iter().all(|facts| facts.not_audited.is_none()) {
        values(view, &held, &mut models, watcher)?;
    }
    Ok(models)
}

/// Large values are looked at for all models together: each belongs to a row of one of them.
fn values(
    view: &View,
    held: &[Held],
    facts: &mut [ModelFacts],
    watcher: &mut dyn VerifyWatcher,
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
