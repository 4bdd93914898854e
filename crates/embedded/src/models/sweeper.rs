//! Whoever moves migrations on: a thread of its own, or the one that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use trestle_binding::MigrationStatus;
use trestle_env::{Clock, Sleeper, Timestamp};

use super::copies::CopyRound;
use super::sweep::Swept;
use super::{BindError, Models};

/// How long to sleep at most: a bell rings when there is something to do.
const NAP: Duration = Duration::from_secs(1);
/// The same where copies follow in the background: no bell rings for them.
const NAP_BETWEEN_COPIES: Duration = Duration::from_millis(100);

/// A thread that sweeps all migrations of a database, one page after the other, each at its rate, removes rows of dropped
/// effects, and brings copies in step that follow in the background. It ends when it is dropped, after the page it is at.
#[derive(Debug)]
pub(crate) struct Sweeper {
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sweeper {
    /// Starts the thread. `on_change` is told of every change of a migration's state, and of what went wrong.
    pub(crate) fn start(
        models: Arc<Models>,
        on_change: impl Fn(&MigrationStatus) + Send + 'static,
    ) -> std::io::Result<Self> {
        let clock = Arc::clone(models.clock());
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("trestle-sweeper".into())
            .spawn(move || run(&models, &told, &on_change))?;
        Ok(Sweeper {
            clock,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.clock.signal().ring();
        if let Some(thread) = self.thread.take() {
            // If it panicked, the migration waits for the next start; nobody is left to tell.
            let _ = thread.join();
        }
    }
}

fn run(models: &Models, stop: &AtomicBool, on_change: &dyn Fn(&MigrationStatus)) {
    let mut sleeper = Sleeper::new(Arc::clone(models.clock()));
    let mut copies = CopyRound::default();
    models.resume_fills();
    while !stop.load(Ordering::Acquire) {
        let mut next = Some(Timestamp::MAX);
        for model in models.to_sweep() {
            match turn(models, &model, on_change) {
                Some(due) => next = next.map(|next| next.min(due)),
                None => next = None,
            }
        }
        for model in models.to_clear() {
            match models.clear_page(&model) {
                Ok(_) => next = None,
                // The next turn tries again.
                Err(error) => tracing::warn!(%error, "rows of dropped effects of model {model} stay for now"),
            }
        }
        if models.copy_turn(&mut copies) {
            next = None;
        }
        if let Some(next) = next {
            let nap = match models.copies_in_background() {
                true => NAP_BETWEEN_COPIES,
                false => NAP,
            };
            sleeper.sleep_until(next, nap);
        }
    }
}

/// One migration's turn: when it wants the next one; at once, if it does not say.
fn turn(models: &Models, model: &str, on_change: &dyn Fn(&MigrationStatus)) -> Option<Timestamp> {
    let swept = models.sweep_page(model);
    if !matches!(swept, Ok(Swept::Page | Swept::Nothing | Swept::Later(_)))
        && let Ok(status) = models.migration_status(Some(model))
    {
        on_change(&status);
    }
    match swept {
        Ok(Swept::Page | Swept::Changed) => None,
        Ok(Swept::Later(due)) => Some(due),
        // It says itself when it wants to try again.
        Ok(Swept::Nothing) | Err(_) => Some(Timestamp::MAX),
    }
}

impl Models {
    /// Sweeps one migration on this thread, at its rate, until nothing more is going to happen by itself or `watch` says
    /// that it is enough. It is told after every page.
    pub fn sweep(
        &self,
        name: Option<&str>,
        watch: &mut dyn FnMut(&MigrationStatus) -> bool,
    ) -> Result<MigrationStatus, BindError> {
        let model = self.migration_status(name)?.model;
        let mut sleeper = Sleeper::new(Arc::clone(self.clock()));
        loop {
            let status = self.migration_status(Some(&model))?;
            if !watch(&status) || status.is_at_rest() {
                return Ok(status);
            }
            if let Swept::Later(due) = self.sweep_page(&model)? {
                sleeper.sleep_until(due, NAP);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{ApplyOptions, Nobody, StartOptions};
    use std::sync::mpsc::channel;
    use trestle_api::PutItem;
    use trestle_binding::{MigrationState, Rate};
    use trestle_engine::{Engine, Options};
    use trestle_item::Item;

    const NOTES: &str = r#"
        model = "notes"
        [table.notes]
        key = ["pk"]
        [entity.note]
        table = "notes"
        key = { pk = "n#{id}" }
        attributes = { id = "string" }
    "#;

    #[test]
    fn every_state_is_told() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let clock = Arc::clone(engine.clock());
        let models = Arc::new(Models::read(engine.clone(), clock).unwrap());
        models.apply(NOTES, ApplyOptions::default(), &mut Nobody).unwrap();
        let put = PutItem {
            table_name: "notes".to_owned(),
            item: Item::from([("id", "a")]),
            ..PutItem::default()
        };
        engine.run(put).unwrap();
        let (tell, told) = channel();
        let _sweeper = Sweeper::start(Arc::clone(&models), move |status| {
            let _ = tell.send(status.state);
        })
        .unwrap();
        let options = StartOptions {
            rate: Rate::UNLIMITED,
            ..StartOptions::default()
        };
        let moved = NOTES.replace("n#", "note/");
        models.start_migration(&moved, options, &mut Nobody).unwrap();
        // One page both moves the only row and ends the pass.
        for state in [MigrationState::Verifying, MigrationState::Verified] {
            assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(state));
        }
    }
}
