//! An application in memory, with its own clock, a package index that can be changed, and injectable faults.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Bytes;
use klayers::http::{Service, routes};
use klayers::model::{Klayers, LatestLayerWhere, Layer, LayerDplySts, VersionsOfLayerWhere};
use klayers::{
    ACCOUNT, App, Bucket, Error, Files, Force, LayerArn, LayerStore, PackageIndex, Release, Runs, package_of,
    runs_model,
};
use testing::{Expiry, TestPlace};
use tokio::sync::Barrier;
use trestle::api::{Request, ResponseFuture};
use trestle::app::Objects;
use trestle::{AnyDatabase, Database, Timestamp, VirtualClock};

pub(crate) const REGION: &str = "eu-west-1";
pub(crate) const PYTHON: &str = "p3.12";
pub(crate) const TOKEN: &str = "open sesame";
pub(crate) const START: Timestamp = Timestamp::from_secs(1_800_000_000);

/// The first version of the model.
pub(crate) mod v1 {
    trestle::model!("klayers-v1.toml");
}

/// Everything a test needs.
pub(crate) struct World {
    pub(crate) clock: Arc<VirtualClock>,
    /// The place of the rows.
    pub(crate) stored: AnyDatabase,
    pub(crate) database: Arc<Watched>,
    pub(crate) index: Arc<Index>,
    pub(crate) layers: Arc<Layers>,
    pub(crate) app: App,
    expiry: Option<Arc<Expiry>>,
    pub(crate) place: TestPlace,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(VirtualClock::starting_at(START));
        let place = TestPlace::new("klayers");
        let stored = place.open(clock.clone());
        let expiry = place.expire("kl.db-ver2", "exDt", clock.clone()).map(Arc::new);
        Self::on(place, stored, expiry, clock, Arc::default())
    }

    /// The same database with other layers.
    pub(crate) fn with_layers(&self, layers: Arc<Layers>) -> Self {
        let (place, stored) = (self.place.clone(), self.stored.clone());
        Self::on(place, stored, self.expiry.clone(), self.clock.clone(), layers)
    }

    pub(crate) fn on(
        place: TestPlace,
        stored: AnyDatabase,
        expiry: Option<Arc<Expiry>>,
        clock: Arc<VirtualClock>,
        layers: Arc<Layers>,
    ) -> Self {
        Klayers::apply_to(&stored).unwrap();
        let database = Arc::new(Watched::new(stored.clone()));
        let index = Arc::new(Index::default());
        let db = Klayers::on(database.clone() as Arc<dyn Database>)
            .with_clock(clock.clone())
            .model_applied();
        let app = App {
            db,
            layers: layers.clone(),
            index: index.clone(),
        };
        Self {
            clock,
            stored,
            database,
            index,
            layers,
            app,
            expiry,
            place,
        }
    }

    /// The API of the application, with these lists. Calls that change something need the token.
    pub(crate) fn served(&self, files: Files) -> Router {
        routes(Service {
            runs: self.runs(files, None),
            token: Some(TOKEN.to_owned()),
            base_url: None,
        })
    }

    /// Runs once, and waits for the end.
    pub(crate) async fn run_to_its_end(&self, runs: &Arc<Runs>) {
        runs.begin(Force::default()).await.unwrap();
        until("the end of the run", &self.clock, Duration::ZERO, async || {
            let shown = runs.shown().await.unwrap();
            shown["runs"][0]["ended"].is_string() && shown.get("current").is_none()
        })
        .await;
    }

    /// Runs inside a server.
    pub(crate) fn runs(&self, files: Files, every: Option<Duration>) -> Arc<Runs> {
        let db = runs_model::Runs::apply_to(&self.stored).unwrap().shared();
        Runs::new(self.app.clone(), files, db, every)
    }

    /// Deploys the newest release of a package to a region.
    pub(crate) async fn deploy(&self, package: &str, region: &str) -> Result<klayers::Deployed, Error> {
        let build = self.app.build(package, PYTHON, Force::default()).await?;
        self.app.deploy(region, &build).await
    }

    /// Releases and deploys these versions of a package, one after another.
    pub(crate) async fn deploy_versions(&self, package: &str, region: &str, versions: &[&str]) {
        for version in versions {
            self.index.release(package, version);
            self.deploy(package, region).await.unwrap();
        }
    }

    /// The deployed versions: number, status, expiry.
    pub(crate) async fn versions(&self, package: &str, region: &str) -> Vec<Layer> {
        let versions = self.app.db.versions_of_layer(VersionsOfLayerWhere {
            region,
            package,
            python_version: PYTHON,
        });
        let mut versions = versions.collect().await.unwrap();
        versions.sort_by_key(|layer| layer.lyr_vrsn);
        versions
    }

    /// The invariants of a package in a region at every moment; returns the latest version, if there is one.
    pub(crate) async fn check(&self, package: &str, region: &str) -> Option<String> {
        check(&self.app, &*self.layers, package, region).await
    }
}

/// Exactly one version is the latest, the head is its row, all others will expire, and every named layer
/// exists.
pub(crate) async fn check(app: &App, layers: &dyn LayerStore, package: &str, region: &str) -> Option<String> {
    let versions = app.db.versions_of_layer(VersionsOfLayerWhere {
        region,
        package,
        python_version: PYTHON,
    });
    let versions = versions.collect().await.unwrap();
    let latest = LatestLayerWhere {
        region,
        package,
        python_version: PYTHON,
    };
    let head = app.db.latest_layer(latest).consistent().await.unwrap();
    let is_latest = |layer: &&Layer| layer.dply_sts == Some(LayerDplySts::Latest);
    let latest: Vec<&Layer> = versions.iter().filter(is_latest).collect();
    assert_eq!(latest.len(), usize::from(!versions.is_empty()), "{versions:#?}");
    assert_eq!(
        head.as_ref().map(|head| (&head.arn, head.lyr_vrsn)),
        latest.first().map(|layer| (&layer.arn, layer.lyr_vrsn)),
        "{package} in {region}"
    );
    let stored = layers.list().await.unwrap();
    for layer in &versions {
        let arn = LayerArn::parse(&layer.arn).unwrap();
        assert_eq!(arn.version, layer.lyr_vrsn);
        assert!(stored.contains(&arn), "{arn} is named, and not there");
        assert_eq!(layer.ex_dt.is_some(), !is_latest(&layer), "{layer:#?}");
    }
    head.map(|head| head.pckg_vrsn)
}

/// The bundled lists, for one version of Python.
pub(crate) fn files() -> Files {
    Files {
        pythons: vec![PYTHON.to_owned()],
        ..Files::default()
    }
}

/// Layers as files in this directory, without checking the owner.
pub(crate) fn directory(root: &Path) -> Bucket {
    Bucket::new(Objects::directory(root).unwrap(), ACCOUNT)
}

/// A package index that a test writes. Unknown packages have a first release.
#[derive(Default)]
pub(crate) struct Index(Mutex<BTreeMap<String, String>>);

impl Index {
    pub(crate) fn release(&self, package: &str, version: &str) {
        self.0
            .lock()
            .unwrap()
            .insert(package.to_owned(), version.to_owned());
    }
}

#[async_trait]
impl PackageIndex for Index {
    async fn latest(&self, wanted: &str, _: &str) -> Result<Release, Error> {
        let package = package_of(wanted);
        let known = self.0.lock().unwrap().get(package).cloned();
        let version = known.unwrap_or_else(|| "1.0".to_owned());
        Ok(Release {
            requirements: format!("idna==3.10\n{package}=={version}"),
            version,
            ..Release::default()
        })
    }

    async fn layer(&self, release: &Release, _: &str) -> Result<Bytes, Error> {
        Ok(release.requirements.clone().into())
    }
}

type Newest = BTreeMap<(String, String), i64>;

/// Layers of which only the names are kept; it can be made to fail, and counts calls.
#[derive(Default)]
pub(crate) struct Layers {
    /// The newest version of each layer in each region, and all existing ones.
    stored: Mutex<(Newest, BTreeMap<LayerArn, Bytes>)>,
    fault: Fault,
    /// A barrier for concurrent publishers, if set.
    pub(crate) meeting: Mutex<Option<Arc<Barrier>>>,
    pub(crate) deleted: Mutex<Vec<LayerArn>>,
}

impl Layers {
    /// Everything fails after so many calls, until it is repaired.
    pub(crate) fn fail_after(&self, calls: u64, loses_answers: bool) {
        self.fault.set(calls, loses_answers);
    }

    pub(crate) fn repair(&self) {
        self.fault.set(u64::MAX, false);
    }

    fn add(&self, region: &str, layer: &str, after: i64, content: Bytes) -> LayerArn {
        let (newest, stored) = &mut *self.stored.lock().unwrap();
        let version = newest.entry((region.to_owned(), layer.to_owned())).or_default();
        *version = (*version).max(after) + 1;
        let arn = LayerArn {
            region: region.to_owned(),
            account: ACCOUNT.to_owned(),
            layer: layer.to_owned(),
            version: *version,
        };
        stored.insert(arn.clone(), content);
        arn
    }
}

#[async_trait]
impl LayerStore for Layers {
    async fn publish(&self, region: &str, layer: &str, after: i64, content: Bytes) -> io::Result<LayerArn> {
        let meeting = self.meeting.lock().unwrap().clone();
        if let Some(meeting) = meeting {
            meeting.wait().await;
        }
        if let Err(fault) = self.fault.next() {
            if self.fault.loses_answers() {
                self.add(region, layer, after, content);
            }
            return Err(io::Error::other(fault));
        }
        Ok(self.add(region, layer, after, content))
    }

    async fn delete(&self, layer: &LayerArn) -> io::Result<bool> {
        self.fault.next().map_err(io::Error::other)?;
        self.deleted.lock().unwrap().push(layer.clone());
        Ok(self.stored.lock().unwrap().1.remove(layer).is_some())
    }

    async fn read(&self, layer: &LayerArn) -> io::Result<Option<Bytes>> {
        Ok(self.stored.lock().unwrap().1.get(layer).cloned())
    }

    async fn list(&self) -> io::Result<Vec<LayerArn>> {
        Ok(self.stored.lock().unwrap().1.keys().cloned().collect())
    }
}

/// A database that can be made to fail, and that counts requests.
pub(crate) struct Watched {
    stored: AnyDatabase,
    fault: Fault,
    reads: AtomicU64,
    writes: AtomicU64,
}

impl Watched {
    fn new(stored: AnyDatabase) -> Self {
        Self {
            stored,
            fault: Fault::default(),
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
        }
    }

    /// Everything fails after so many requests, until it is repaired.
    pub(crate) fn fail_after(&self, requests: u64, loses_answers: bool) {
        self.fault.set(requests, loses_answers);
    }

    pub(crate) fn repair(&self) {
        self.fault.set(u64::MAX, false);
    }

    /// Reads and writes since the last call.
    pub(crate) fn take(&self) -> (u64, u64) {
        let take = |count: &AtomicU64| count.swap(0, Ordering::SeqCst);
        (take(&self.reads), take(&self.writes))
    }
}

impl Database for Watched {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let is_read = matches!(
            request,
            Request::GetItem(_) | Request::BatchGetItem(_) | Request::Query(_) | Request::Scan(_)
        );
        let count = if is_read { &self.reads } else { &self.writes };
        count.fetch_add(1, Ordering::SeqCst);
        let Err(fault) = self.fault.next() else {
            return self.stored.execute(request);
        };
        let lost = self.fault.loses_answers();
        Box::pin(async move {
            if lost {
                let _ = self.stored.execute(request).await;
            }
            Err(trestle::Error::internal(fault))
        })
    }
}

struct Fault {
    /// Calls that still succeed.
    left: AtomicU64,
    /// Whether a failing call is carried out nevertheless, and only its answer lost.
    loses_answers: AtomicBool,
}

impl Default for Fault {
    fn default() -> Self {
        Self {
            left: AtomicU64::new(u64::MAX),
            loses_answers: AtomicBool::new(false),
        }
    }
}

impl Fault {
    fn set(&self, calls: u64, loses_answers: bool) {
        self.loses_answers.store(loses_answers, Ordering::SeqCst);
        self.left.store(calls, Ordering::SeqCst);
    }

    fn loses_answers(&self) -> bool {
        self.loses_answers.load(Ordering::SeqCst)
    }

    fn next(&self) -> Result<(), &'static str> {
        let left = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| match left {
                u64::MAX => Some(u64::MAX),
                left => left.checked_sub(1),
            });
        left.map(|_| ()).map_err(|_| "an injected fault")
    }
}

/// Waits for a condition, and advances the clock by `step` again and again.
pub(crate) async fn until<F: AsyncFnMut() -> bool>(
    what: &str,
    clock: &VirtualClock,
    step: Duration,
    mut done: F,
) {
    let patience = std::time::Instant::now() + Duration::from_secs(120);
    while !done().await {
        assert!(std::time::Instant::now() < patience, "still waiting for: {what}");
        clock.advance(step);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
