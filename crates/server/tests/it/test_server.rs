//! A server on an embedded database, on a separate thread.

use crate::client::{Client, Response};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use trestle_admin::{AdminAnswer, AdminCall, AdminError, Administration, move_clock, read_clock};
use trestle_embedded::{Embedded, Options};
use trestle_env::{Clock, Timestamp, VirtualClock};
use trestle_server::{BackupSource, Faults, Hooks, Server, Settings, StartError, Stopped};
use trestle_store::MemoryStore;

/// Stops when dropped.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) endpoint: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Stopped>>,
}

impl TestServer {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    /// A server with other settings than the default ones.
    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::run(change, None, None, None)
    }

    /// A server that injects faults by these rules.
    pub(crate) fn injecting(rules: &[&str]) -> (Self, Arc<Faults>) {
        let faults = Arc::new(Faults::new(
            rules.iter().map(|rule| rule.parse().unwrap()).collect(),
        ));
        (Self::run(|_| {}, None, None, Some(Arc::clone(&faults))), faults)
    }

    /// A server that sends what `source` writes as its backups.
    pub(crate) fn backing_up(source: Arc<dyn BackupSource>, change: impl FnOnce(&mut Settings)) -> Self {
        Self::run(change, None, Some(source), None)
    }

    /// As [`TestServer::backing_up`], at a given time.
    pub(crate) fn backing_up_at(
        epoch_s: u64,
        source: Arc<dyn BackupSource>,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let clock = VirtualClock::starting_at(Timestamp::from_secs(epoch_s));
        Self::run(change, Some(Arc::new(clock)), Some(source), None)
    }

    /// A server whose clock stands at the given time and can be moved.
    pub(crate) fn at(epoch_s: u64, change: impl FnOnce(&mut Settings)) -> Self {
        let clock = VirtualClock::starting_at(Timestamp::from_secs(epoch_s));
        Self::run(change, Some(Arc::new(clock)), None, None)
    }

    fn run(
        change: impl FnOnce(&mut Settings),
        movable_clock: Option<Arc<VirtualClock>>,
        backups: Option<Arc<dyn BackupSource>>,
        faults: Option<Arc<Faults>>,
    ) -> Self {
        let settings = settings(change);
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        // A separate thread also lets asynchronous tests start a server.
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let server = bind(&runtime, &settings, movable_clock, backups, faults).unwrap();
            tell.send((server.address(), server.endpoint())).unwrap();
            runtime.block_on(server.run(async {
                let _ = stopped.await;
            }))
        });
        let (address, endpoint) = told.recv().unwrap();
        TestServer {
            address,
            endpoint,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// Runs an operation on a new connection.
    pub(crate) fn call(&self, operation: &str, body: &str) -> Response {
        self.connect().call(operation, body.as_bytes())
    }

    /// Asks the server to stop, without waiting for it.
    pub(crate) fn ask_to_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    pub(crate) fn wait(&mut self) -> Stopped {
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.ask_to_stop();
    }
}

/// Why a server with these settings does not start.
pub(crate) fn refused(change: impl FnOnce(&mut Settings)) -> StartError {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    match bind(&runtime, &settings(change), None, None, None) {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    }
}

/// Moves the clock, and does nothing else.
struct ClockAdministration(Option<Arc<VirtualClock>>);

impl Administration for ClockAdministration {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let clock = self.0.as_deref();
        match call {
            AdminCall::ReadClock(_) => read_clock(clock).map(AdminAnswer::ReadClock),
            AdminCall::MoveClock(wanted) => move_clock(clock, wanted).map(AdminAnswer::MoveClock),
            other => Err(AdminError::not_found(format!(
                "{} is not for this test",
                other.info().name
            ))),
        }
    }
}

fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings {
        port: 0,
        ..Settings::default()
    };
    change(&mut settings);
    settings
}

fn bind(
    runtime: &Runtime,
    settings: &Settings,
    movable_clock: Option<Arc<VirtualClock>>,
    backups: Option<Arc<dyn BackupSource>>,
    faults: Option<Arc<Faults>>,
) -> Result<Server, StartError> {
    let mut hooks = Hooks {
        backups,
        faults,
        ..Hooks::default()
    };
    if let Some(clock) = &movable_clock {
        hooks.clock = Arc::clone(clock) as Arc<dyn Clock>;
    }
    hooks.administration = Some(Arc::new(ClockAdministration(movable_clock)));
    let store = Arc::new(MemoryStore::new());
    let db = Embedded::on(store, Arc::clone(&hooks.clock), Options::default()).unwrap();
    hooks.queues = Some(db.queues().clone());
    let counted = db.clone();
    hooks.storage = Some(Arc::new(move || counted.storage_reads()));
    runtime.block_on(Server::bind(settings, Arc::new(db), hooks))
}
