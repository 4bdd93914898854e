//! The application in either version, with a clock that only the test advances, called over its HTTP API.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use testing::{TestDatabase, TestMigration};
use tower::ServiceExt as _;
use trestle::migrate::{Rate, StartOptions};
use trestle::queue::Worker;
use trestle::{Background, Embedded, MemoryStore, Options, Store, Timestamp, VirtualClock, WithModels as _};

pub(crate) const START: Timestamp = Timestamp::from_secs(1_800_000_000);

/// The application's model.
pub(crate) const MODEL: &str = "littlehorse";

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The application under test.
pub(crate) struct World {
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) stored: TestDatabase,
    router: Router,
    /// Without it there is no background work.
    timers: Option<Worker>,
}

impl World {
    /// The previous version, on an empty database.
    pub(crate) async fn old() -> Self {
        let clock = Arc::new(VirtualClock::starting_at(START));
        let stored = empty(&clock);
        Self::old_of(clock, stored).await
    }

    pub(crate) async fn old_on(store: Arc<dyn Store>) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(START));
        let embedded = Embedded::on(store, clock.clone(), unswept()).unwrap();
        Self::old_of(clock, embedded).await
    }

    pub(crate) async fn old_of(clock: Arc<VirtualClock>, stored: impl Into<TestDatabase>) -> Self {
        let stored = stored.into();
        let db = littlehorse_v1::model::Littlehorse::apply_to(&*stored).unwrap();
        let (service, timers) = littlehorse_v1::Service::start(&stored, db).await.unwrap();
        let router = littlehorse_v1::api::router(service);
        World {
            clock,
            stored,
            router,
            timers: Some(timers),
        }
    }

    /// The present version, on an empty database.
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(VirtualClock::starting_at(START));
        let stored = empty(&clock);
        Self::new_of(clock, stored).await
    }

    pub(crate) async fn new_of(clock: Arc<VirtualClock>, stored: impl Into<TestDatabase>) -> Self {
        let stored = stored.into();
        let options = StartOptions {
            rate: "3000".parse::<Rate>().unwrap(),
            // In this process nothing moves by itself.
            paused: testing::is_at_endpoint(),
            ..StartOptions::default()
        };
        let (db, _) = littlehorse::model::Littlehorse::migrate_to(&*stored, options).unwrap();
        let (service, timers) = littlehorse::Service::start(&stored, db).await.unwrap();
        let router = littlehorse::api::router(service);
        World {
            clock,
            stored,
            router,
            timers: Some(timers),
        }
    }

    /// The present version without its timers: only requests have effects.
    pub(crate) fn still(clock: Arc<VirtualClock>, stored: impl Into<TestDatabase>) -> Self {
        let stored = stored.into();
        let db = littlehorse::model::Littlehorse::apply_to(&*stored).unwrap();
        let queues = stored.queues().clone();
        let service = Arc::new(littlehorse::Service { db, queues });
        let router = littlehorse::api::router(service);
        World {
            clock,
            stored,
            router,
            timers: None,
        }
    }

    /// Ends the program and starts the present version on its data.
    pub(crate) async fn upgrade(self) -> Self {
        let (clock, stored) = self.stop().await;
        Self::new_of(clock, stored).await
    }

    /// Ends the program and starts the previous version on its data.
    pub(crate) async fn downgrade(self) -> Self {
        let (clock, stored) = self.stop().await;
        Self::old_of(clock, stored).await
    }

    pub(crate) async fn stop(self) -> (Arc<VirtualClock>, TestDatabase) {
        if let Some(timers) = self.timers {
            timers.stop().await;
        }
        (self.clock, self.stored)
    }

    /// Sends a request; returns status and JSON.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let (status, text) = self.asked(method, path, body).await;
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// The text of an answer, as sent.
    pub(crate) async fn text(&self, path: &str) -> String {
        let (status, text) = self.asked("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {text}");
        text
    }

    async fn asked(&self, method: &str, path: &str, body: Option<Value>) -> (u16, String) {
        let request = Request::builder().method(method).uri(path);
        let request = match body {
            Some(body) => {
                let request = request.header("content-type", "application/json");
                request.body(Body::from(body.to_string()))
            }
            None => request.body(Body::empty()),
        };
        let response = self.router.clone().oneshot(request.unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask("POST", path, Some(body)).await;
        assert!(status < 300, "{path}: {status} {answer}");
        answer
    }

    /// Begins a run.
    pub(crate) async fn run(&self, tenant: &str, workflow: &str, id: &str, variables: Value) -> Value {
        let run = json!({ "wfSpecName": workflow, "wfRunId": id, "variables": variables });
        self.post(&format!("/tenants/{tenant}/wf-runs"), run).await
    }

    /// Applies a command to a run.
    pub(crate) async fn command(&self, tenant: &str, run: &str, command: Value) -> Value {
        self.post(&format!("/tenants/{tenant}/wf-runs/{run}"), command)
            .await
    }

    /// Takes the next task, if there is one.
    pub(crate) async fn poll(&self, tenant: &str, task: &str) -> Option<Value> {
        let poll = json!({ "taskDefName": task, "workerId": "w1" });
        let (status, task) = self
            .ask("POST", &format!("/tenants/{tenant}/tasks/poll"), Some(poll))
            .await;
        (status == 200).then_some(task)
    }

    /// Takes the next task, which must exist: a row is visible a moment before the queue knows its message.
    pub(crate) async fn next_task(&self, tenant: &str, task: &str) -> Value {
        let begun = std::time::Instant::now();
        loop {
            if let Some(task) = self.poll(tenant, task).await {
                return task;
            }
            assert!(begun.elapsed() < PATIENCE, "there is no task {task}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Takes the next task and executes it.
    pub(crate) async fn work(&self, tenant: &str, task: &str, output: &str) -> Value {
        let task = self.next_task(tenant, task).await;
        let done = json!({ "guid": task["taskGuid"], "attempt": task["attempt"], "output": output });
        let run = task["wfRunId"].as_str().unwrap();
        self.command(tenant, run, json!({ "reportTask": done })).await
    }

    /// All rows of a type of a run.
    pub(crate) async fn list(&self, tenant: &str, run: &str, kind: &str) -> Vec<Value> {
        let listed = self.get(&format!("/tenants/{tenant}/wf-runs/{run}/{kind}")).await;
        listed["items"].as_array().unwrap().clone()
    }

    pub(crate) async fn status(&self, tenant: &str, run: &str) -> String {
        let run = self.get(&format!("/tenants/{tenant}/wf-runs/{run}")).await;
        run["status"].as_str().unwrap().to_owned()
    }

    /// Waits until the run has this status: timers work in the background.
    pub(crate) async fn wait_for(&self, tenant: &str, run: &str, status: &str) {
        let path = format!("/tenants/{tenant}/wf-runs/{run}");
        self.wait_until(&path, |run| run["status"] == status).await;
    }

    /// Polls until a condition on the answer holds.
    pub(crate) async fn wait_until(&self, path: &str, so: impl Fn(&Value) -> bool) {
        let begun = std::time::Instant::now();
        loop {
            let (_, answer) = self.ask("GET", path, None).await;
            if so(&answer) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{path}: {answer}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// The application's migration.
    pub(crate) fn migration(&self) -> TestMigration<'_> {
        TestMigration::new(&self.stored, MODEL)
    }

    /// Goes back to the version before.
    pub(crate) fn roll_back(&self) {
        let plan = self.stored.roll_back_migration(MODEL).unwrap();
        assert!(plan.is_none_or(|plan| !plan.is_refused()));
    }

    /// The engine, for tests that need it.
    pub(crate) fn embedded(&self) -> &Embedded {
        self.stored.embedded().unwrap()
    }
}

/// An empty database: in this process, where rows move when the test says so, or at an endpoint.
fn empty(clock: &Arc<VirtualClock>) -> TestDatabase {
    match testing::is_at_endpoint() {
        true => TestDatabase::new("littlehorse", clock.clone()),
        false => Embedded::on(Arc::new(MemoryStore::new()), clock.clone(), unswept())
            .unwrap()
            .into(),
    }
}

/// Rows move when the test says so.
pub(crate) fn unswept() -> Options {
    Options {
        background: Background::Tables,
        ..Options::default()
    }
}

/// A workflow with one task, like the canary's.
pub(crate) fn canary() -> Value {
    json!({ "name": "canary", "nodes": [{ "name": "work", "run": { "task": { "taskDefName": "greet" } } }] })
}

/// A workflow with every kind of node, and more than ten of them.
pub(crate) fn order() -> Value {
    let mut nodes = vec![
        json!({ "name": "confirm", "output": "greeting",
            "run": { "task": { "taskDefName": "greet", "input": ["name"], "retries": 1, "timeoutSeconds": 30 } } }),
        json!({ "name": "paid", "run": { "externalEvent": { "event": "payment", "correlate": "orderId" } },
            "output": "payment" }),
        json!({ "name": "approve", "run": { "userTask": { "form": "approval" } }, "output": "approved" }),
        json!({ "name": "cool-off", "run": { "sleep": 3600 } }),
    ];
    nodes.extend((0..9).map(|at| {
        json!({ "name": format!("announce-{at}"), "run": { "throwEvent": { "event": "done", "content": "payment" } } })
    }));
    let variables =
        json!({ "orderId": null, "name": null, "greeting": null, "payment": null, "approved": "no" });
    json!({ "name": "order", "variables": variables, "nodes": nodes })
}
