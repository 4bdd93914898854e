//! The worker of migrations: a separate thread, or a thread that waits for a migration.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use trestle_binding::MigrationStatus;
use trestle_env::{Clock, Sleeper, Timestamp};

use crate::copies::{CopyRound, CopyTurn};
use crate::large_values::{ValueRound, ValueTurn};
use crate::sweep::Swept;
use crate::{BindError, Models};

/// The pause before a retry after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// How often a thread that waits for a migration checks it.
const WATCH: Duration = Duration::from_secs(1);

/// A thread that sweeps all migrations of a database, page by page, each at its rate, removes rows of dropped
/// effects, updates copies in the background, and removes large values that no row refers to. It ends when it
/// is dropped, after the current page.
#[derive(Debug)]
pub struct Sweeper {
    clock: Arc<dyn Clock>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sweeper {
    /// Starts the thread. `on_change` receives every change of a migration's state, and errors.
    pub fn start(
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
            // If it panicked, the migration waits for the next start; no caller could receive the error.
            let _ = thread.join();
        }
    }
}

fn run(models: &Models, stop: &AtomicBool, on_change: &dyn Fn(&MigrationStatus)) {
    let mut sleeper = Sleeper::new(Arc::clone(models.clock()));
    let mut rounds = Rounds::default();
    models.resume_fills(stop);
    while !stop.load(Ordering::Acquire) {
        let nap = round(models, &mut rounds, on_change);
        sleeper.sleep_until(nap.until, nap.longest);
    }
}

/// The progress of work that reads all rows of a kind.
#[derive(Default)]
struct Rounds {
    copies: CopyRound,
    values: ValueRound,
}

/// One turn of all work.
fn round(models: &Models, rounds: &mut Rounds, on_change: &dyn Fn(&MigrationStatus)) -> Nap {
    let mut nap = Nap::UNTIL_THE_BELL;
    for model in models.to_sweep() {
        nap = nap.min(turn(models, &model, on_change));
    }
    for model in models.to_clear() {
        nap = nap.min(match models.clear_page(&model) {
            Ok(_) => Nap::NONE,
            Err(error) => {
                tracing::warn!(%error, "rows of dropped effects of model {model} stay for now");
                Nap::BEFORE_RETRY
            }
        });
    }
    nap = nap.min(match models.value_turn(&mut rounds.values) {
        ValueTurn::More => Nap::NONE,
        ValueTurn::Later(due) => Nap {
            until: due,
            ..Nap::UNTIL_THE_BELL
        },
        ValueTurn::Nothing => Nap::UNTIL_THE_BELL,
        ValueTurn::Failed => Nap::BEFORE_RETRY,
    });
    nap.min(match models.copy_turn(&mut rounds.copies) {
        CopyTurn::More => Nap::NONE,
        CopyTurn::Nothing => Nap::UNTIL_THE_BELL,
        CopyTurn::Failed => Nap::BEFORE_RETRY,
    })
}

/// One migration's turn; returns when it needs the next one.
fn turn(models: &Models, model: &str, on_change: &dyn Fn(&MigrationStatus)) -> Nap {
    let swept = models.sweep_page(model);
    if !matches!(swept, Ok(Swept::Page(_) | Swept::Nothing | Swept::Later(_)))
        && let Ok(status) = models.migration_status(Some(model))
    {
        on_change(&status);
    }
    match swept {
        Ok(Swept::Page(rest)) => Nap {
            longest: rest,
            ..Nap::UNTIL_THE_BELL
        },
        Ok(Swept::Changed) => Nap::NONE,
        Ok(Swept::Later(due)) => Nap {
            until: due,
            ..Nap::UNTIL_THE_BELL
        },
        Ok(Swept::Nothing) => Nap::UNTIL_THE_BELL,
        Err(_) => Nap::BEFORE_RETRY,
    }
}

/// How long the sweeper sleeps, unless the clock's bell wakes it: when a migration or a clearing begins, and
/// when a copy note is stored.
#[derive(Clone, Copy, Debug)]
struct Nap {
    /// Until the clock shows this time.
    until: Timestamp,
    /// At most so much real time.
    longest: Duration,
}

impl Nap {
    const UNTIL_THE_BELL: Nap = Nap {
        until: Timestamp::MAX,
        longest: Duration::MAX,
    };
    const BEFORE_RETRY: Nap = Nap {
        until: Timestamp::MAX,
        longest: RETRY,
    };
    const NONE: Nap = Nap {
        until: Timestamp::MAX,
        longest: Duration::ZERO,
    };

    /// Ends when the first of the two does.
    fn min(self, other: Nap) -> Nap {
        Nap {
            until: self.until.min(other.until),
            longest: self.longest.min(other.longest),
        }
    }
}

impl Models {
    /// Sweeps one migration on this thread, at its rate, until nothing more happens without a command, or
    /// `watch`, which is called after every page, stops it.
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
            match self.sweep_page(&model)? {
                Swept::Later(due) => drop(sleeper.sleep_until(due, WATCH)),
                Swept::Page(rest) => std::thread::sleep(rest),
                Swept::Changed | Swept::Nothing => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApplyOptions, StartOptions, Unwatched};
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::channel;
    use std::time::Instant;
    use trestle_api::{GetItem, PutItem};
    use trestle_binding::{MigrationState, Rate};
    use trestle_engine::{Engine, Options};
    use trestle_env::{Signal, SystemClock};
    use trestle_item::Item;
    use trestle_store::MemoryStore;

    const NOTES: &str = r#"
        model = "notes"
        [table.notes]
        key = ["pk"]
        [entity.note]
        table = "notes"
        key = { pk = "n#{id}" }
        attributes = { id = "string" }
    "#;

    /// Counts how often a thread sleeps on it.
    #[derive(Debug, Default)]
    struct CountingClock {
        clock: SystemClock,
        naps: AtomicU64,
    }

    impl Clock for CountingClock {
        fn now(&self) -> Timestamp {
            self.clock.now()
        }

        fn real_time_until(&self, deadline: Timestamp) -> Option<Duration> {
            self.naps.fetch_add(1, Ordering::SeqCst);
            self.clock.real_time_until(deadline)
        }

        fn signal(&self) -> &Signal {
            self.clock.signal()
        }
    }

    const COPIES: &str = r#"
        [entity.tag]
        table = "notes"
        key = { pk = "t#{id}" }
        attributes = { id = "string", text = "string" }
        [entity.tag.copy.word]
        from = "word"
        with = { id = "id" }
        attributes = { text = "text" }
        in_step = "tag"
        background = true
        [entity.word]
        table = "notes"
        key = { pk = "w#{id}" }
        attributes = { id = "string", text = "string" }
        [access.tag]
        get = "tag"
        where = { id = "{id}" }
    "#;

    #[test]
    fn while_nothing_is_written_the_sweeper_sleeps_and_a_copy_note_wakes_it() {
        let clock = Arc::new(CountingClock::default());
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::load(store, clock.clone(), Options::default()).unwrap();
        let models = Arc::new(Models::read(Arc::new(engine.clone()), clock.clone()).unwrap());
        let model = format!("{NOTES}{COPIES}")
            .replace("key = [\"pk\"]", "key = [\"pk\"]\nentity_attribute = \"kind\"");
        models
            .apply(&model, ApplyOptions::default(), &mut Unwatched)
            .unwrap();
        let put = |kind: &str, text: Option<&str>| {
            let mut item = Item::from([("id", "a"), ("kind", kind)]);
            if let Some(text) = text {
                item.insert("text", text);
            }
            let put = PutItem {
                table_name: "notes".to_owned(),
                item,
                ..PutItem::default()
            };
            engine.run(put).unwrap();
        };
        put("word", Some("old"));
        put("tag", None);
        let _sweeper = Sweeper::start(Arc::clone(&models), |_| {}).unwrap();
        let asleep = || {
            let naps = clock.naps.load(Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(400));
            naps > 0 && clock.naps.load(Ordering::SeqCst) == naps
        };
        assert!(
            (0..10).any(|_| asleep()),
            "it wakes up while there is nothing to do"
        );
        put("word", Some("new"));
        let copied = || {
            let get = GetItem {
                table_name: "notes".to_owned(),
                key: Item::from([("pk", "t#a")]),
                ..GetItem::default()
            };
            let row = engine.run(get).unwrap().item.unwrap();
            row.get("text").and_then(|text| text.as_s()) == Some("new")
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        while !copied() {
            assert!(Instant::now() < deadline, "the copy does not follow");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn every_state_is_told() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let clock = Arc::clone(engine.clock());
        let models = Arc::new(Models::read(Arc::new(engine.clone()), clock).unwrap());
        models
            .apply(NOTES, ApplyOptions::default(), &mut Unwatched)
            .unwrap();
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
        models.start_migration(&moved, options, &mut Unwatched).unwrap();
        // One page both moves the only row and ends the pass.
        for state in [MigrationState::Verifying, MigrationState::Verified] {
            assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(state));
        }
    }
}
