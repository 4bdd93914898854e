//! Verifies storage, and everything that stored models derive.

use std::sync::Arc;

use serde::Serialize;
use trestle_api::Error;
use trestle_binding::held::{Held, read, together};
use trestle_binding::{ModelFacts, WrongFact};
use trestle_engine::{Summary, View, Watcher};
use trestle_env::Timestamp;
use trestle_models::{ProofWatcher, prove};

/// What is verified in addition to storage.
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

/// Receives the results of a verification while it runs.
pub trait VerifyWatcher: Watcher {
    /// A derived fact disagrees with its rows.
    fn wrong(&mut self, fact: &WrongFact);
}

/// What was verified, and the results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Storage.
    pub storage: Summary,
    /// The stored models.
    pub models: Vec<ModelFacts>,
    /// Derived facts that disagree with their rows.
    pub wrong_facts: u64,
    /// The block size of the data directory, if it is one.
    pub block_kib: Option<u32>,
}

impl Verified {
    /// The number of all disagreements.
    #[must_use]
    pub fn disagreements(&self) -> u64 {
        self.storage.disagreements + self.wrong_facts
    }
}

/// Verifies everything in a view. Fails only when the store cannot be read.
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
    let unsound = hook.err();
    prove(view, &held, unsound.as_deref(), now, &mut Derived(watcher))
}

/// Passes on the results of an audit.
struct Derived<'w>(&'w mut dyn VerifyWatcher);

impl ProofWatcher for Derived<'_> {
    fn progress(&mut self, what: &'static str, done: u64) {
        self.0.progress(what, done);
    }

    fn wrong(&mut self, fact: &WrongFact) {
        self.0.wrong(fact);
    }
}
