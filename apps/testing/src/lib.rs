//! Where the acceptance tests of the applications have their database: in this process, or at an endpoint that the environment names. The tests are
//! the same.
//!
//! | variable | the database of each test |
//! |---|---|
//! | none | in memory, or in a directory |
//! | `TRESTLE_TEST_SERVER=PROGRAM` | a Trestle server of its own without models (`--behind-gateways`), started for the test |
//! | `TRESTLE_TEST_ENDPOINT=URL` | there, under an access key of its own: DynamoDB Local keeps those apart |
//! | `TRESTLE_TEST_ENDPOINT=URL` and `TRESTLE_TEST_GATEWAY=PROGRAM` | behind a gateway of its own before the endpoint, started for the test |
//!
//! `apps/embedded-only.txt` names the tests that need the engine in this process, each with its reason.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is part of tests")]

mod expiry;
mod migration;
mod server;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trestle::remote::{AccessKey, Credentials, Settings};
use trestle::{AnyDatabase, Clock, Embedded, MemoryStore, Options};

pub use expiry::Expiry;
pub use migration::TestMigration;
use server::Server;

const SERVER: &str = "TRESTLE_TEST_SERVER";
const ENDPOINT: &str = "TRESTLE_TEST_ENDPOINT";
const GATEWAY: &str = "TRESTLE_TEST_GATEWAY";
const REGION: &str = "us-east-1";
const SECRET: &str = "secret";

/// Whether the environment names an endpoint.
#[must_use]
pub fn is_at_endpoint() -> bool {
    given(SERVER).is_some() || given(ENDPOINT).is_some()
}

fn given(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The place of one test's database. A server that was started for it ends when this is dropped.
#[derive(Clone, Debug)]
pub struct TestPlace {
    program: &'static str,
    endpoint: Option<Endpoint>,
}

#[derive(Clone, Debug)]
struct Endpoint {
    url: String,
    key: String,
    _server: Option<Arc<Server>>,
}

/// A database and its place.
#[derive(Clone, Debug)]
pub struct TestDatabase {
    database: AnyDatabase,
    // Dropped after the database.
    _place: Option<TestPlace>,
}

impl TestDatabase {
    /// An empty database of the program, with this clock.
    #[must_use]
    pub fn new(program: &'static str, clock: Arc<dyn Clock>) -> Self {
        let place = TestPlace::new(program);
        Self {
            database: place.open(clock),
            _place: Some(place),
        }
    }
}

impl From<Embedded> for TestDatabase {
    fn from(embedded: Embedded) -> Self {
        Self {
            database: embedded.into(),
            _place: None,
        }
    }
}

impl std::ops::Deref for TestDatabase {
    type Target = AnyDatabase;

    fn deref(&self) -> &AnyDatabase {
        &self.database
    }
}

impl TestPlace {
    /// An empty place, for the program of this name.
    #[must_use]
    pub fn new(program: &'static str) -> Self {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        // Only letters and digits, unique over all tests and processes.
        let key = format!(
            "test{}x{}",
            std::process::id(),
            PLACES.fetch_add(1, Ordering::Relaxed)
        );
        let serve = |program: String, arguments: &[&str]| {
            let server = Server::start(&program, arguments, |command| signed(command, &key));
            (server.url.clone(), Some(Arc::new(server)))
        };
        let place = match (given(SERVER), given(ENDPOINT), given(GATEWAY)) {
            (Some(program), _, _) => Some(serve(program, &["--in-memory", "--behind-gateways"])),
            (None, Some(url), Some(gateway)) => Some(serve(gateway, &["--backend", &url])),
            (None, Some(url), None) => Some((url, None)),
            (None, None, _) => None,
        };
        let endpoint = place.map(|(url, server)| Endpoint {
            url,
            key,
            _server: server,
        });
        Self { program, endpoint }
    }

    /// The database of the program, with this clock. Unless it is at an endpoint, each call creates another
    /// one.
    #[must_use]
    pub fn open(&self, clock: Arc<dyn Clock>) -> AnyDatabase {
        match &self.endpoint {
            None => Embedded::on(Arc::new(MemoryStore::new()), clock, Options::default())
                .unwrap()
                .into(),
            Some(endpoint) => {
                AnyDatabase::at_endpoint_with_clock(self.program, endpoint.settings(), clock).unwrap()
            }
        }
    }

    /// The database of the program: the directory that programs write, or the endpoint.
    #[must_use]
    pub fn open_directory(&self, directory: &std::path::Path) -> AnyDatabase {
        match &self.endpoint {
            None => Embedded::open(directory, Options::default()).unwrap().into(),
            Some(endpoint) => AnyDatabase::at_endpoint(self.program, endpoint.settings()).unwrap(),
        }
    }

    /// Adds the flags for the program's database, if it is at an endpoint.
    pub fn tell<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        if let Some(endpoint) = &self.endpoint {
            signed(command.args(["--endpoint", &endpoint.url]), &endpoint.key);
        }
        command
    }

    /// Rows of a table expire by this attribute and the clock of the test. A database in this process does
    /// that already; an endpoint uses only its own clock.
    #[must_use]
    pub fn expire(
        &self,
        table: &'static str,
        attribute: &'static str,
        clock: Arc<dyn Clock>,
    ) -> Option<Expiry> {
        let endpoint = self.endpoint.as_ref()?;
        Some(Expiry::start(endpoint.settings(), table, attribute, clock))
    }
}

impl Endpoint {
    fn settings(&self) -> Settings {
        let mut settings = Settings::new(&self.url);
        settings.region = Some(REGION.to_owned());
        let key = AccessKey {
            id: self.key.clone(),
            secret: SECRET.to_owned(),
        };
        settings.credentials = Credentials::from(key).into();
        settings
    }
}

fn signed(command: &mut Command, key: &str) {
    command
        .env("AWS_ACCESS_KEY_ID", key)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_REGION", REGION)
        .env_remove("AWS_PROFILE");
}
