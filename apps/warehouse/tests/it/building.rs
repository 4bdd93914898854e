//! Builds: each locale once, whatever fails meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use warehouse::model::{NewStatusEvent, StatusEvent, StatusEventEventType};
use warehouse::{Bundler, Env, File, Files, JOBS, Job, Source, Spec};

use crate::support::{Pkg, Wishes, World};

const THREE: [&str; 3] = ["de-DE", "en-US", "fr-FR"];

/// A receiver of webhooks.
struct Receiver {
    url: String,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Receiver {
    async fn new() -> Self {
        let heard = Arc::<Mutex<Vec<Value>>>::default();
        let hear = async |State(heard): State<Arc<Mutex<Vec<Value>>>>, Json(body): Json<Value>| {
            heard.lock().unwrap().push(body);
        };
        let router = Router::new()
            .route("/", post(hear))
            .with_state(Arc::clone(&heard));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, heard }
    }

    fn count(&self, event: &str) -> usize {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|notice| notice["event"] == event).count()
    }
}

/// Fails or waits, as the test wants.
#[derive(Default)]
struct Moody {
    failures: AtomicUsize,
    bundles: AtomicUsize,
    in_locale: Option<&'static str>,
    /// While it is closed, bundles wait at it.
    gate: Option<Semaphore>,
}

#[async_trait]
impl Bundler for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }

    async fn bundle(&self, source: Source<'_>) -> Result<Vec<File>, String> {
        self.bundles.fetch_add(1, Ordering::SeqCst);
        if let Some(gate) = &self.gate {
            drop(gate.acquire().await.unwrap());
        }
        let is_meant = self.in_locale.is_none_or(|locale| locale == source.locale);
        let fewer = |left: usize| left.checked_sub(1);
        if is_meant
            && self
                .failures
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer)
                .is_ok()
        {
            return Err("as the test says".to_owned());
        }
        Files.bundle(source).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_2_three_locales_are_three_jobs_and_one_completion() {
    let receiver = Receiver::new().await;
    let gated = Arc::new(Moody {
        gate: Some(Semaphore::new(0)),
        ..Moody::default()
    });
    let wishes = Wishes {
        bundler: gated.clone(),
        hooks: vec![receiver.url.clone(), format!("other={}", receiver.url)],
        ..Wishes::default()
    };
    let world = World::with(wishes).await;
    let package = Pkg::new("p", "1.0.0").locales(&THREE);
    let package = package.with(
        "repository",
        json!({ "type": "git", "url": "https://example.org/p.git" }),
    );
    world.publish(&package).await;
    // While no bundle ends, only the jobs of the locales remain.
    world
        .until("three jobs and nothing else", async || {
            let counts = world.service().queues.counts(JOBS).await.unwrap();
            (counts.visible, counts.in_flight, counts.delayed) == (0, 3, 0)
                && gated.bundles.load(Ordering::SeqCst) == 3
        })
        .await;
    assert_eq!(world.read("/progress/p/dev").await["count"], 0);
    gated.gate.as_ref().unwrap().add_permits(1);
    world.built("p", "dev", "1.0.0").await;
    assert_eq!(
        world.read("/progress/p/dev").await,
        json!({ "progress": 100, "count": 3, "total": 3 })
    );
    let status = world.read("/status/p/dev").await;
    assert_eq!(
        (&status["complete"], &status["error"]),
        (&json!(true), &json!(false))
    );
    let events = world.read("/status-events/p/dev").await;
    let kinds: Vec<&str> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["eventType"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["queued", "complete", "complete", "complete"]);
    world
        .until("the webhooks", async || receiver.count("build_completed") > 0)
        .await;
    world.rest().await;
    assert_eq!(
        (receiver.count("build_started"), receiver.count("build_completed")),
        (1, 1)
    );
    let heard = receiver.heard.lock().unwrap().clone();
    let completed = heard.iter().find(|notice| notice["event"] == "build_completed");
    let told = json!({ "event": "build_completed", "pkg": "p", "env": "dev", "version": "1.0.0",
        "repository": "https://example.org/p.git" });
    assert_eq!(completed, Some(&told));
    assert_eq!(
        gated.bundles.load(Ordering::SeqCst),
        3,
        "no locale is built twice"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_3_jobs_that_come_again_count_once() {
    let receiver = Receiver::new().await;
    let wishes = Wishes {
        hooks: vec![receiver.url.clone()],
        ..Wishes::default()
    };
    let world = World::with(wishes).await;
    world
        .publish_and_build(&Pkg::new("p", "1.0.0").locales(&THREE))
        .await;
    let spec = Spec::new("p", Env::Dev, "1.0.0".parse().unwrap());
    let again = THREE.iter().cycle().take(9).map(|locale| Job::Build {
        spec: spec.clone(),
        locale: (*locale).to_owned(),
    });
    world.service().queues.send_jobs(JOBS, again).await.unwrap();
    world.rest().await;
    assert_eq!(
        world.read("/progress/p/dev").await,
        json!({ "progress": 100, "count": 3, "total": 3 })
    );
    let events = world.read("/status-events/p/dev").await;
    assert_eq!(events.as_array().unwrap().len(), 4, "{events}");
    let status = world.service().db.status("p", Env::Dev, spec.version.clone());
    let status = status.gather().await.unwrap().status;
    assert_eq!(status.unwrap().count, 3);
    // The database counts a locale once, even if its completion is reported twice.
    for locale in THREE {
        let again = NewStatusEvent {
            pkg: "p".to_owned(),
            env: Env::Dev,
            version: spec.version.clone(),
            event_id: format!("again-{locale}"),
            created_at: world.service().db.now(),
        };
        let again = StatusEvent {
            event_type: Some(StatusEventEventType::Complete),
            locale: Some(locale.to_owned()),
            ..again.into()
        };
        world.service().db.put(&again).await.unwrap();
    }
    let status = world.service().db.status("p", Env::Dev, spec.version);
    let status = status.gather().await.unwrap().status;
    assert_eq!(status.unwrap().count, 3);
    assert_eq!(receiver.count("build_completed"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_4_builds_that_are_skipped_are_complete() {
    let world = World::new().await;
    world
        .publish_and_build(&Pkg::new("p", "2.0.0").locales(&THREE))
        .await;
    world
        .publish_and_build(&Pkg::new("p", "1.0.0").locales(&THREE))
        .await;
    assert_eq!(world.read("/progress/p/dev/1.0.0").await["progress"], 100);
    assert_eq!(
        world.get("/builds/p/dev/1.0.0").await.0,
        404,
        "older than what is in use"
    );
    assert_eq!(world.read("/builds/p/dev").await["version"], "2.0.0");
    // A requested version is built nevertheless, and used.
    assert_eq!(world.tag("p", "dev", "1.0.0").await, 201);
    world.in_use("p", "dev", "1.0.0").await;
    assert_eq!(
        world.read("/progress/p/dev/1.0.0").await,
        json!({ "progress": 100, "count": 3, "total": 3 })
    );
    // A package that is not to be built is done immediately.
    world
        .publish(&Pkg::new("plain", "1.0.0").with("build", json!(false)))
        .await;
    assert_eq!(
        world.read("/progress/plain/dev").await,
        json!({ "progress": 100, "count": 0, "total": 0 })
    );
    assert_eq!(
        world.read("/status-events/plain/dev").await[0]["eventType"],
        "ignored"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_fails_says_why_and_leaves_the_heads_alone() {
    let moody = Arc::new(Moody {
        in_locale: Some("fr-FR"),
        ..Moody::default()
    });
    let world = World::with(Wishes {
        bundler: moody.clone(),
        ..Wishes::default()
    })
    .await;
    world
        .publish_and_build(&Pkg::new("p", "1.0.0").locales(&THREE))
        .await;
    moody.failures.store(1, Ordering::SeqCst);
    world.publish(&Pkg::new("p", "1.1.0").locales(&THREE)).await;
    world.rest().await;
    let status = world.read("/status/p/dev").await;
    assert_eq!(
        (&status["complete"], &status["error"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(
        world.read("/progress/p/dev").await,
        json!({ "progress": 66, "count": 2, "total": 3 })
    );
    let events = world.read("/status-events/p/dev").await;
    let failed: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["error"] == true)
        .collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (&failed[0]["locale"], &failed[0]["details"]),
        (&json!("fr-FR"), &json!("as the test says"))
    );
    for locale in THREE {
        assert_eq!(
            world.read(&format!("/builds/p/dev?locale={locale}")).await["version"],
            "1.0.0"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_13_catching_up_queues_what_lags_behind_and_nothing_else() {
    let moody = Arc::new(Moody {
        in_locale: Some("fr-FR"),
        ..Moody::default()
    });
    let world = World::with(Wishes {
        bundler: moody.clone(),
        ..Wishes::default()
    })
    .await;
    for version in ["1.0.0", "1.1.0"] {
        world
            .publish_and_build(&Pkg::new("good", version).locales(&THREE))
            .await;
    }
    // A rollback does not count as outdated.
    assert_eq!(world.tag("good", "dev", "1.0.0").await, 201);
    world
        .publish_and_build(&Pkg::new("p", "1.9.0").locales(&THREE))
        .await;
    moody.failures.store(1, Ordering::SeqCst);
    world.publish(&Pkg::new("p", "1.10.0").locales(&THREE)).await;
    world.rest().await;
    world
        .publish(&Pkg::new("plain", "1.0.0").with("build", json!(false)))
        .await;
    let built = moody.bundles.load(Ordering::SeqCst);
    let (status, caught) = world
        .call(Method::POST, "/catchup", Some(&json!({ "env": "dev" })))
        .await;
    assert_eq!(
        (status.as_u16(), &caught),
        (
            201,
            &json!({ "packages": 3, "queued": ["p!dev!1.10.0!fr-FR"], "failed": {} })
        )
    );
    world.in_use("p", "dev", "1.10.0").await;
    assert_eq!(moody.bundles.load(Ordering::SeqCst), built + 1);
    assert_eq!(
        world.read("/progress/p/dev").await,
        json!({ "progress": 100, "count": 3, "total": 3 })
    );
    let (_, caught) = world
        .call(Method::POST, "/catchup", Some(&json!({ "env": "dev" })))
        .await;
    assert_eq!(caught["queued"], json!([]));
    assert_eq!(world.read("/builds/good/dev").await["version"], "1.0.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_13_the_highest_version_lags_although_a_lower_one_was_published_after_it() {
    let moody = Arc::new(Moody {
        in_locale: Some("fr-FR"),
        ..Moody::default()
    });
    let world = World::with(Wishes {
        bundler: moody.clone(),
        ..Wishes::default()
    })
    .await;
    world
        .publish_and_build(&Pkg::new("p", "1.0.0").locales(&THREE))
        .await;
    moody.failures.store(1, Ordering::SeqCst);
    world.publish(&Pkg::new("p", "2.0.0").locales(&THREE)).await;
    world.rest().await;
    world
        .publish_and_build(&Pkg::new("p", "1.0.1").locales(&THREE))
        .await;
    world.in_use("p", "dev", "1.0.1").await;
    let (_, caught) = world
        .call(Method::POST, "/catchup", Some(&json!({ "env": "dev" })))
        .await;
    assert_eq!(caught["queued"], json!(["p!dev!2.0.0!fr-FR"]));
    world.in_use("p", "dev", "2.0.0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_package_that_cannot_be_built_holds_up_no_other() {
    let moody = Arc::new(Moody {
        in_locale: Some("fr-FR"),
        ..Moody::default()
    });
    let world = World::with(Wishes {
        bundler: moody.clone(),
        ..Wishes::default()
    })
    .await;
    for name in ["base", "a", "bad", "c"] {
        let package = Pkg::new(name, "1.0.0").locales(&THREE);
        let package = if name == "base" {
            package
        } else {
            package.needs("base", "^1.0.0")
        };
        world.publish_and_build(&package).await;
        world.rest().await;
    }
    let version = world.service().db.version("bad", "1.0.0".parse().unwrap());
    let mut version = version.await.unwrap().unwrap();
    version.value = "no manifest".to_owned();
    world.service().db.put(&version).await.unwrap();
    world
        .publish_and_build(&Pkg::new("base", "1.1.0").locales(&THREE))
        .await;
    for name in ["a", "c"] {
        world.in_use(name, "dev", "1.0.1-0").await;
    }
    // Nor do the packages that are checked after it.
    moody.failures.store(1, Ordering::SeqCst);
    world.publish(&Pkg::new("c", "2.0.0").locales(&THREE)).await;
    world.rest().await;
    let (status, caught) = world
        .call(Method::POST, "/catchup", Some(&json!({ "env": "dev" })))
        .await;
    assert_eq!((status.as_u16(), &caught["packages"]), (201, &json!(4)));
    assert_eq!(caught["queued"], json!(["c!dev!2.0.0!fr-FR"]));
    let failed = caught["failed"].as_object().unwrap();
    let why = failed["bad"].as_str().unwrap();
    assert!(
        failed.len() == 1 && why.contains("bad@1.0.0: its manifest"),
        "{caught}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_8_a_locale_falls_back_and_files_are_filtered() {
    let world = World::new().await;
    let package = Pkg::new("p", "1.0.0").locales(&["es", "en-US"]);
    let package = package
        .file("dist/es/hola.js", "'hola'")
        .file("dist/en-US/hello.js", "'hello'");
    world
        .publish_and_build(&package.file("dist/en-US/hello.css", "p {}"))
        .await;
    let files = async |query: &str| {
        let found = world.get(&format!("/assets/files/p/dev{query}")).await;
        let files = found.1["files"].as_array().cloned().unwrap_or_default();
        let name = |url: &Value| url.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let mut names: Vec<String> = files.iter().map(name).collect();
        names.sort();
        (found.0.as_u16(), names)
    };
    let hola = vec!["hola.js".to_owned()];
    let hello = vec!["hello.css".to_owned(), "hello.js".to_owned()];
    assert_eq!(files("?locale=es-MX").await, (200, hola.clone()));
    assert_eq!(files("?locale=es").await, (200, hola));
    assert_eq!(files("?locale=fr-FR").await, (200, hello.clone()));
    assert_eq!(files("").await, (200, hello));
    assert_eq!(
        files("/1.0.0?filter=.css").await,
        (200, vec!["hello.css".to_owned()])
    );
    assert_eq!(files("/2.0.0").await, (404, vec![]));
    assert_eq!(files(&format!("?filter={}", "x".repeat(50))).await, (200, vec![]));
    assert_eq!(files(&format!("?filter={}", "x".repeat(51))).await.0, 400);
    // Without en-US there is no fallback, but the environments of a version have its first locale.
    world
        .publish_and_build(&Pkg::new("q", "1.0.0").locales(&["fi-FI", "de-DE"]))
        .await;
    let meta = world.read("/builds/-/meta/q/1.0.0").await;
    assert_eq!(meta["envs"]["dev"]["buildId"], "q!dev!1.0.0!de-DE");
    assert_eq!(world.get("/assets/files/q/dev?locale=fr-FR").await.0, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_11_a_locale_that_is_there_is_a_conflict_and_a_new_one_is_added() {
    let world = World::new().await;
    let package = Pkg::new("p", "1.0.0");
    let files = [
        ("a.js".to_owned(), b"a".to_vec()),
        ("img/b.svg".to_owned(), b"<svg/>".to_vec()),
    ];
    let put = async |locale: &str, body: &Value| {
        let path = format!("/builds/p/test?locale={locale}");
        world.call(Method::PUT, &path, Some(body)).await
    };
    assert_eq!(put("en-US", &package.payload_with(&files)).await.0, 204);
    let version = world.read("/p").await;
    let (status, said) = put("en-US", &package.payload_with(&files)).await;
    assert_eq!(status, 409, "{said}");
    let tarball = package
        .clone()
        .file("dist/c.js", "c")
        .with("description", json!("changed"));
    assert_eq!(put("de-DE", &tarball.payload()).await.0, 204);
    assert_eq!(
        world.read("/p").await,
        version,
        "neither the version nor the package is written again"
    );
    let build = world.read("/builds/p/test?locale=de-DE").await;
    assert!(build["files"][0].as_str().unwrap().ends_with("/c.js"), "{build}");
    let build = world.read("/builds/p/test/1.0.0").await;
    assert_eq!(build["files"].as_array().unwrap().len(), 2);
    // A later version waits until it is promoted, in all its locales.
    let later = Pkg::new("p", "1.1.0");
    assert_eq!(put("en-US", &later.payload_with(&files)).await.0, 204);
    assert_eq!(world.read("/builds/p/test").await["version"], "1.0.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_15_a_build_is_there_when_each_of_its_urls_gives_its_bytes() {
    let world = World::new().await;
    let package = Pkg::new("p", "1.0.0")
        .file("dist/a.js", "let a = 1;")
        .file("dist/x/b.js", "let b = 2;");
    world.publish_and_build(&package).await;
    let build = world.read("/builds/p/dev").await;
    let files = build["files"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    for url in files {
        let url = url.as_str().unwrap();
        let is_first = url.ends_with("a.js");
        let content = if is_first { "let a = 1;" } else { "let b = 2;" };
        assert_eq!(reqwest::get(url).await.unwrap().text().await.unwrap(), content);
        let packed = reqwest::get(format!("{url}.gz"))
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap();
        let plain = std::io::read_to_string(flate2::read::GzDecoder::new(packed.as_ref())).unwrap();
        assert_eq!(plain, content);
    }
    let fingerprint = build["fingerprints"][0].as_str().unwrap();
    for fingerprint in [fingerprint.to_owned(), format!("{fingerprint}.gz")] {
        let rows = world.service().db.files(&fingerprint).collect().await.unwrap();
        assert_eq!(rows[0].build_id, "p!dev!1.0.0!en-US");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_15_a_url_is_tried_three_times_with_pauses_and_nothing_names_a_file_without_one() {
    // A CDN that returns other bytes for each URL, twice; then three times.
    let (cdn, state) = cdn().await;
    let lying = World::with(Wishes {
        cdn_url: Some(cdn),
        ..Wishes::default()
    })
    .await;
    state.lock().unwrap().origin.clone_from(&lying.url);
    state.lock().unwrap().lies = 2;
    lying.publish_and_build(&Pkg::new("p", "1.0.0")).await;
    let tries: Vec<usize> = asked_times(&state).values().map(Vec::len).collect();
    assert_eq!(tries, [3, 3], "the file and its gzip");
    state.lock().unwrap().lies = 3;
    let other = Pkg::new("p", "1.1.0").file("dist/other.js", "let other = 1;");
    lying.publish(&other).await;
    lying.rest().await;
    assert_eq!(lying.get("/builds/p/dev/1.1.0").await.0, 404);
    assert_eq!(lying.read("/builds/p/dev").await["version"], "1.0.0");
    let events = lying.read("/status-events/p/dev/1.1.0").await;
    let why = events[1]["details"].as_str().unwrap();
    assert!(why.contains("does not give the file that was stored"), "{why}");
    // Nothing names a file that cannot be fetched.
    let rows = lying.rows().await;
    let names_files = |row: &&Value| row.get("fingerprint").is_some() || row.get("fingerprints").is_some();
    let versions: Vec<&Value> = rows
        .iter()
        .filter(names_files)
        .map(|row| &row["version"])
        .collect();
    assert!(
        versions.len() > 2 && versions.iter().all(|version| *version == "1.0.0"),
        "{versions:?}"
    );
    // The first one that failed used all its attempts; files stored at the same time may have been given up
    // before.
    let asked = asked_times(&state);
    let failed = asked
        .iter()
        .filter(|(path, times)| path.contains("other.js") && times.len() == 3);
    assert!(failed.count() >= 1, "{asked:?}");
    for (path, times) in &asked {
        let pauses: Vec<Duration> = times.windows(2).map(|two| two[1] - two[0]).collect();
        let least = [Duration::from_millis(200), Duration::from_secs(1)];
        let are_kept = pauses.iter().zip(least).all(|(pause, least)| *pause >= least);
        assert!(are_kept && pauses.len() <= 2, "{path}: {pauses:?}");
    }
}

/// When a CDN was asked for each path.
fn asked_times(cdn: &SharedCdn) -> BTreeMap<String, Vec<Instant>> {
    cdn.lock().unwrap().asked.clone()
}

/// A CDN in front of an application.
#[derive(Default)]
struct Cdn {
    /// The application.
    origin: String,
    /// How often it returns other bytes for each URL.
    lies: usize,
    /// When each URL was requested.
    asked: BTreeMap<String, Vec<Instant>>,
}

type SharedCdn = Arc<Mutex<Cdn>>;

async fn cdn() -> (String, SharedCdn) {
    let state = SharedCdn::default();
    let get = async |State(cdn): State<SharedCdn>, uri: axum::http::Uri| {
        let (is_lie, origin) = {
            let mut cdn = cdn.lock().unwrap();
            let asked = cdn.asked.entry(uri.path().to_owned()).or_default();
            asked.push(Instant::now());
            let asked = asked.len();
            (asked <= cdn.lies, cdn.origin.clone())
        };
        if is_lie {
            return b"something else".to_vec();
        }
        let file = reqwest::get(format!("{origin}/cdn{}", uri.path())).await.unwrap();
        file.bytes().await.unwrap().to_vec()
    };
    let router = Router::new().fallback(get).with_state(Arc::clone(&state));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, state)
}
