//! The application on a loopback port, and packages to publish there.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use testing::TestPlace;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use trestle::api::Scan;
use trestle::app::{PublicFiles, Webhooks};
use trestle::{AnyDatabase, DatabaseExt as _, SystemClock};
use warehouse::{Bundler, Files, Running, Service, Setup, api};

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The application under test.
pub(crate) struct World {
    pub(crate) url: String,
    pub(crate) running: Running,
    pub(crate) database: AnyDatabase,
    _place: TestPlace,
    _folder: TempDir,
    pub(crate) client: Client,
    server: JoinHandle<()>,
}

/// Settings that a test changes.
pub(crate) struct Wishes {
    pub(crate) bundler: Arc<dyn Bundler>,
    pub(crate) hooks: Vec<String>,
    pub(crate) cdn_url: Option<String>,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            bundler: Arc::new(Files),
            hooks: Vec::new(),
            cdn_url: None,
        }
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Wishes::default()).await
    }

    pub(crate) async fn with(wishes: Wishes) -> Self {
        let place = TestPlace::new("warehouse");
        let database = place.open(Arc::new(SystemClock::new()));
        Self::on(place, database, tempfile::tempdir().unwrap(), wishes).await
    }

    /// On an existing database.
    pub(crate) async fn on(place: TestPlace, database: AnyDatabase, folder: TempDir, wishes: Wishes) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let cdn_url = wishes.cdn_url.unwrap_or_else(|| format!("{url}/cdn"));
        let assets = folder.path().join("assets");
        let setup = Setup {
            assets: PublicFiles::open(assets.to_str().unwrap(), None, &cdn_url).unwrap(),
            bundler: wishes.bundler,
            hooks: Webhooks::new(wishes.hooks.iter().map(String::as_str)).unwrap(),
            base_url: url.clone(),
            builds_at_once: 4,
        };
        let running = Service::start(&database, setup).await.unwrap();
        let router = api::router(Arc::clone(&running.service));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            running,
            database,
            _place: place,
            _folder: folder,
            client: Client::new(),
            server,
        }
    }

    pub(crate) fn service(&self) -> &Service {
        &self.running.service
    }

    /// A request; returns the status and the JSON, which may be missing.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let request = self.client.request(method, format!("{}{path}", self.url));
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.call(Method::GET, path, None).await
    }

    /// The answer of a path, which must exist.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let (status, body) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Publishes a package, which must be accepted.
    pub(crate) async fn publish(&self, package: &Pkg) {
        let (status, said) = self.put(package).await;
        assert_eq!(status, 201, "{said}");
    }

    pub(crate) async fn put(&self, package: &Pkg) -> (StatusCode, Value) {
        let path = format!("/{}", package.name.replace('/', "%2f"));
        self.call(Method::PUT, &path, Some(&package.payload())).await
    }

    /// Gives a tag to a version.
    pub(crate) async fn tag(&self, name: &str, tag: &str, version: &str) -> StatusCode {
        let path = format!("/-/package/{}/dist-tags/{tag}", name.replace('/', "%2f"));
        self.call(Method::PUT, &path, Some(&json!(version))).await.0
    }

    pub(crate) async fn tags(&self, name: &str) -> Value {
        self.read(&format!("/-/package/{name}/dist-tags")).await
    }

    /// Publishes a package and waits until it is built.
    pub(crate) async fn publish_and_build(&self, package: &Pkg) {
        self.publish(package).await;
        self.built(&package.name, "dev", &package.version).await;
    }

    /// Every row of the database, as JSON.
    pub(crate) async fn rows(&self) -> Vec<Value> {
        let scan = Scan {
            table_name: "warehouse".into(),
            ..Scan::default()
        };
        let found = self.database.scan(scan).await.unwrap();
        assert_eq!(found.last_evaluated_key, None, "one page has them all");
        let items = found.items.unwrap();
        items.to_vec().iter().map(trestle::plain_json).collect()
    }

    /// Waits until a version is built.
    pub(crate) async fn built(&self, name: &str, env: &str, version: &str) {
        let path = format!("/status/{name}/{env}/{version}");
        self.until(&path, async || self.get(&path).await.1["complete"] == true)
            .await;
    }

    /// Waits until an environment uses a version in this locale.
    pub(crate) async fn in_use(&self, name: &str, env: &str, version: &str) {
        let path = format!("/builds/{name}/{env}");
        self.until(&format!("{path} to be {version}"), async || {
            self.get(&path).await.1["version"] == version
        })
        .await;
    }

    /// Waits until no job waits or runs.
    pub(crate) async fn rest(&self) {
        self.until("the jobs to be done", async || {
            let counts = self.service().queues.counts(warehouse::JOBS).await.unwrap();
            counts.visible + counts.in_flight + counts.delayed == 0
        })
        .await;
    }

    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        let wait = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, wait).await;
        assert!(waited.is_ok(), "waited for {what} in vain");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A package to publish.
#[derive(Clone)]
pub(crate) struct Pkg {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest: Value,
    pub(crate) files: Vec<(String, String)>,
}

impl Pkg {
    /// A package that is built in en-US.
    pub(crate) fn new(name: &str, version: &str) -> Self {
        let manifest = json!({ "name": name, "version": version, "main": "index.js", "build": "es" });
        let code = format!("export default '{name} {version}';\n");
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            manifest,
            files: vec![("index.js".to_owned(), code)],
        }
    }

    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.manifest[key] = value;
        self
    }

    pub(crate) fn locales(self, locales: &[&str]) -> Self {
        self.with("locales", json!(locales))
    }

    pub(crate) fn needs(mut self, name: &str, range: &str) -> Self {
        if self.manifest["dependencies"].is_null() {
            self.manifest["dependencies"] = json!({});
        }
        self.manifest["dependencies"][name] = json!(range);
        self
    }

    pub(crate) fn file(mut self, name: &str, content: &str) -> Self {
        self.files.push((name.to_owned(), content.to_owned()));
        self
    }

    /// The files in a folder, in npm's form.
    pub(crate) fn write(&self, folder: &Path) {
        let manifest = serde_json::to_string(&self.manifest).unwrap();
        let manifest = ("package.json".to_owned(), manifest);
        for (name, content) in self.files.iter().chain([&manifest]) {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
        }
    }

    /// Packed like by npm.
    pub(crate) fn tarball(&self) -> Vec<u8> {
        let mut tarball = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        let manifest = ("package.json".to_owned(), self.manifest.to_string());
        for (name, content) in self.files.iter().chain([&manifest]) {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            let path = format!("package/{name}");
            tarball
                .append_data(&mut header, path, content.as_bytes())
                .unwrap();
        }
        tarball.into_inner().unwrap().finish().unwrap()
    }

    /// Sent like by npm.
    pub(crate) fn payload(&self) -> Value {
        let file = format!("{}-{}.tgz", self.name, self.version);
        self.payload_with(&[(file, self.tarball())])
    }

    pub(crate) fn payload_with(&self, files: &[(String, Vec<u8>)]) -> Value {
        let mut attachments = json!({});
        for (name, content) in files {
            attachments[name] = json!({ "data": BASE64.encode(content), "length": content.len() });
        }
        json!({
            "_id": self.name,
            "name": self.name,
            "dist-tags": { "latest": self.version },
            "versions": { &self.version: self.manifest },
            "_attachments": attachments,
        })
    }
}
