//! A thread that coordinates a gateway with the others: it renews the gateway's row, stops its writes while
//! another gateway changes the models in force, and reads the models again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use tokio::sync::OwnedRwLockWriteGuard;
use trestle_api::{Error, Wait};
use trestle_binding::BindError;
use trestle_models::Models;

use crate::documents::InForce;
use crate::endpoint::Endpoint;
use crate::fleet::{LOOK, Sightings};

/// Intents are swept after this many checks, every five seconds.
const SWEEP_LOOKS: u32 = 20;

/// A thread that coordinates this gateway with the others. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Keeper {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(crate) fn start(endpoint: Arc<Endpoint>, models: Arc<Models>) -> std::io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let told = Arc::clone(&stop);
        let mut keeping = InStep {
            endpoint,
            models,
            stopped: None,
            sightings: Sightings::default(),
            looks: 0,
        };
        let thread = std::thread::Builder::new()
            .name("trestle-fleet".into())
            .spawn(move || {
                let (is_over, bell) = &*told;
                let mut is_over = is_over.lock();
                while !*is_over {
                    // Unlocked meanwhile, so that `is_over` can be set.
                    parking_lot::MutexGuard::unlocked(&mut is_over, || keeping.look());
                    if !*is_over {
                        bell.wait_for(&mut is_over, LOOK);
                    }
                }
                drop(is_over);
                keeping.endpoint.leave();
            })?;
        Ok(Keeper {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct InStep {
    endpoint: Arc<Endpoint>,
    models: Arc<Models>,
    /// Set while another gateway changes the models in force.
    stopped: Option<Stopped>,
    /// The last renewals seen of gateways that announced a change or hold a moment.
    sightings: Sightings,
    /// Checks since intents were swept.
    looks: u32,
}

/// Locks that make requests wait while another gateway changes the models in force.
struct Stopped {
    /// The generation that the change will have.
    before: u64,
    /// Stops writes of modelled rows.
    _writes: OwnedRwLockWriteGuard<()>,
    /// Stops reads of modelled rows, for a change that moves rows.
    reads: Option<OwnedRwLockWriteGuard<()>>,
}

impl InStep {
    /// Checks the endpoint once.
    fn look(&mut self) {
        if let Err(error) = self.try_look() {
            tracing::warn!("the gateway's row at the endpoint: {error}");
        }
    }

    fn try_look(&mut self) -> Result<(), BindError> {
        let endpoint = Arc::clone(&self.endpoint);
        let looked = Instant::now();
        let found = InForce::read(&*endpoint.database).wait()?;
        if found.generation == 0 && found.changed_by.is_none() && !endpoint.member.is_counted() {
            // No model is in force, and this gateway runs no routes: there is nothing to coordinate.
            return Ok(());
        }
        if !endpoint.member.is_counted() {
            endpoint.join().wait()?;
            return self.try_look();
        }
        endpoint.clear_up(&found)?;
        let is_by_other = found
            .changed_by
            .as_ref()
            .is_some_and(|by| *by != endpoint.member.id);
        // A gateway that was suspended for longer than its lease stops before it renews its row.
        if is_by_other {
            self.stop(found.generation + 1, found.moves);
        } else if found.generation > endpoint.known_generation() {
            // It is not known which change was announced, so reads stop, too.
            self.stop(found.generation, true);
        }
        let stopped_before = self.stopped.as_ref().map(|stopped| stopped.before);
        if !endpoint.renew(stopped_before, looked).wait()? {
            endpoint.join().wait()?;
            return self.try_look();
        }
        // A generation of this gateway's own change is known here once its writes have ended.
        if found.generation > endpoint.known_generation() {
            if endpoint.has_old_models(&found) {
                self.models.reload()?;
                tracing::info!("another gateway has changed the models: they were read again");
            }
            endpoint.take_up(&found);
        } else if found.generation == endpoint.known_generation() && found.moment.is_none() {
            endpoint.moment.lock().set(None);
            if self.models.are_guarded() {
                self.models.reload()?;
            }
        }
        self.watch(&found)?;
        self.sweep();
        if !is_by_other {
            self.stopped = None;
        }
        Ok(())
    }

    /// Waits for writes under way and prevents new ones; also reads, if the change moves rows.
    fn stop(&mut self, generation: u64, moves: bool) {
        let endpoint = &self.endpoint;
        let stopped = self.stopped.get_or_insert_with(|| Stopped {
            before: generation,
            _writes: Arc::clone(&endpoint.writing).write_owned().wait(),
            reads: None,
        });
        stopped.before = generation;
        if moves && stopped.reads.is_none() {
            stopped.reads = Some(Arc::clone(&endpoint.reading).write_owned().wait());
            endpoint.layouts.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Finishes writes that a gateway left unfinished.
    fn sweep(&mut self) {
        let endpoint = &self.endpoint;
        let has_abandoned = endpoint.own_intents.lock().has_abandoned();
        self.looks += 1;
        if !has_abandoned && self.looks < SWEEP_LOOKS {
            return;
        }
        // A gateway that changes the models in force finishes all intents, and waits for this gateway.
        let Ok(_writing) = endpoint.writing.try_read() else {
            return;
        };
        self.looks = match endpoint.sweep_abandoned().wait() {
            Ok(true) => 0,
            Ok(false) => SWEEP_LOOKS,
            Err(error) => {
                tracing::warn!("what gateways left to do cannot be looked for: {error}");
                0
            }
        };
    }

    /// Ends announcements and moments of other gateways that have expired.
    fn watch(&mut self, found: &InForce) -> Result<(), Error> {
        let holder = found.moment.as_ref().map(|moment| moment.of.as_str());
        let of_others = found.changed_by.as_deref().into_iter().chain(holder);
        for gateway in of_others.filter(|gateway| *gateway != self.endpoint.member.id) {
            self.endpoint.end_if_over(&mut self.sightings, found, gateway)?;
        }
        Ok(())
    }
}
