//! A table in the first layout of the keys, and its migration to the present one, step by step.

mod answers;
mod killed;
mod reading;
mod rolled_back;
mod writing;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::future::join_all;
use klayers::model::KlayersModel;
use klayers::{App, LayerArn, LayerStore as _};
use testing::TestPlace;
use trestle::api::Scan;
use trestle::migrate::{MigrationState, MigrationStatus, Rate, StartOptions};
use trestle::models::{Models, Unwatched};
use trestle::typed::Model as _;
use trestle::{
    Background, Clock as _, Durability, Embedded, FjallStore, Item, MemoryStore, Options, Store,
    StoreSettings, SystemClock, Timestamp, VirtualClock,
};

use crate::patterns::{TABLE, import, is_new_layout};
use crate::support::{Layers, START, World, v1};

/// The only version of Python of the first layout.
const PYTHON: &str = "p3.8";
const REGIONS: [&str; 6] = [
    "ap-south-1",
    "eu-central-1",
    "eu-west-1",
    "eu-west-2",
    "us-east-1",
    "us-west-2",
];
/// Among them names of which one is the beginning of another, and names with the characters that keys use.
const PACKAGES: [&str; 8] = [
    "Pillow",
    "boto3",
    "psycopg2-binary",
    "requests",
    "requests-oauthlib",
    "ruamel",
    "ruamel.yaml",
    "zope.interface",
];
const VERSIONS: i64 = 3;
/// Between the first package in the first region and all the others.
const PAUSE: Duration = Duration::from_secs(100 * 24 * 60 * 60);

/// A table that was created with the first version of the model.
struct First {
    embedded: Embedded,
    clock: Arc<VirtualClock>,
    layers: Arc<Layers>,
    db: v1::Klayers<Embedded>,
}

impl First {
    async fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new()), START, unswept()).await
    }

    /// With all background work: rows expire, and move at their rate.
    async fn at_work() -> Self {
        Self::on(Arc::new(MemoryStore::new()), START, Options::default()).await
    }

    /// In a directory. Written bytes are with the operating system, as after a kill of the process.
    async fn in_directory(place: &Path) -> Self {
        // Programs that open it have the system's clock.
        Self::on(store_in(place), SystemClock::new().now(), unswept()).await
    }

    async fn on(store: Arc<dyn Store>, start: Timestamp, options: Options) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(start));
        let embedded = Embedded::on(store, clock.clone(), options).unwrap();
        import::<v1::KlayersModel>(&embedded.clone().into(), |pk| !is_new_layout(pk));
        let db = v1::Klayers::apply_to(&embedded).unwrap();
        let first = First {
            embedded,
            clock,
            layers: Arc::default(),
            db,
        };
        first.fill().await;
        first
    }

    /// Every version of every package in every region.
    async fn fill(&self) {
        for version in 1..=VERSIONS {
            self.deploy(REGIONS[0], PACKAGES[0], version).await;
        }
        self.clock.advance(PAUSE);
        for version in 1..=VERSIONS {
            join_all(PACKAGES.map(|package| self.build(package, version))).await;
            for package in PACKAGES {
                let others = REGIONS
                    .iter()
                    .filter(|region| (**region, package) != (REGIONS[0], PACKAGES[0]));
                join_all(others.map(|region| self.deploy(region, package, version))).await;
            }
        }
    }

    async fn deploy(&self, region: &str, package: &str, version: i64) {
        let layer = LayerArn::layer_name(package, PYTHON);
        let arn = self
            .layers
            .publish(region, &layer, 0, Bytes::new())
            .await
            .unwrap();
        assert_eq!(arn.version, version);
        let layer = v1::Layer {
            rqrmnts_txt: Some(format!("{package}=={version}.0")),
            rqrmnts_hsh: Some(hash(package, version)),
            ..v1::NewLayer {
                rgn: region.to_owned(),
                pckg: package.to_owned(),
                lyr_vrsn: version,
                arn: arn.to_string(),
                pckg_vrsn: format!("{version}.0"),
            }
            .into()
        };
        self.db.put(&layer).if_not_exists().await.unwrap();
    }

    async fn build(&self, package: &str, version: i64) {
        let build = v1::Build {
            pckg_vrsn: Some(format!("{version}.0")),
            rqrmnts_hsh: Some(hash(package, version)),
            ..v1::NewBuild {
                blt_vrsn: version,
                pckg: package.to_owned(),
            }
            .into()
        };
        self.db.put(&build).if_not_exists().await.unwrap();
    }

    /// Puts the present version into effect. Nothing moves yet.
    fn migrate(self) -> Migrating {
        let options = StartOptions {
            rate: "400".parse().unwrap(),
            ..StartOptions::default()
        };
        let models = self.embedded.models();
        let plan = models.start_migration(KlayersModel::definition().text(), options, &mut Unwatched);
        let plan = plan.unwrap();
        assert!(!plan.is_refused(), "{plan}");
        Migrating::on(self.embedded, self.clock, self.layers)
    }
}

/// Rows move when the test triggers it.
fn unswept() -> Options {
    Options {
        background: Background::Tables,
        ..Options::default()
    }
}

fn hash(package: &str, version: i64) -> String {
    format!("hash of {package} {version}")
}

fn store_in(place: &Path) -> Arc<dyn Store> {
    let settings = StoreSettings {
        durability: Durability::Buffered,
        ..StoreSettings::default()
    };
    Arc::new(FjallStore::open(place, settings).unwrap())
}

/// Every stored row of the table, by its key.
fn rows(embedded: &Embedded) -> Vec<Item> {
    let scanned = embedded.run(Scan {
        table_name: TABLE.into(),
        consistent_read: Some(true),
        ..Scan::default()
    });
    scanned.unwrap().items.unwrap().to_vec()
}

/// The application on a table whose rows move.
struct Migrating {
    world: World,
}

impl Migrating {
    /// The state that a process of the present version finds.
    fn on(embedded: Embedded, clock: Arc<VirtualClock>, layers: Arc<Layers>) -> Self {
        let world = World::on(TestPlace::new("klayers"), embedded.into(), None, clock, layers);
        Migrating { world }
    }

    /// Migrations can be observed where the engine is in this process.
    fn embedded(&self) -> &Embedded {
        self.world.stored.embedded().unwrap()
    }

    fn app(&self) -> &App {
        &self.world.app
    }

    fn models(&self) -> &Models {
        self.embedded().models()
    }

    fn status(&self) -> MigrationStatus {
        self.models().migration_status(Some("klayers")).unwrap()
    }

    /// One page of the sweep: a few rows.
    fn page(&self) -> MigrationStatus {
        self.models().resume_migration(Some("klayers"), None).unwrap();
        let mut pages = 0..2;
        let mut first = |_: &MigrationStatus| pages.next() == Some(0);
        self.models().sweep(Some("klayers"), &mut first).unwrap()
    }

    /// Sweeps page by page, and calls a function after each. Ends when no row is left in its former place.
    async fn sweep(&self, mut after: impl AsyncFnMut(&MigrationStatus)) {
        let mut seen = Vec::new();
        for pages in 0.. {
            assert!(pages < 100, "{}", self.status());
            let status = self.page();
            if seen.last() != Some(&status.state) {
                seen.push(status.state);
            }
            after(&status).await;
            if status.state == MigrationState::Verified {
                break;
            }
        }
        let states = [
            MigrationState::Sweeping,
            MigrationState::Verifying,
            MigrationState::Verified,
        ];
        assert_eq!(seen, states, "{}", self.status());
    }

    /// Sweeps all remaining rows.
    fn sweep_all(&self) -> MigrationStatus {
        self.models()
            .resume_migration(Some("klayers"), Some(Rate::UNLIMITED))
            .unwrap();
        let mut pages = 0..100;
        let mut bounded = |_: &MigrationStatus| pages.next().is_some();
        self.models().sweep(Some("klayers"), &mut bounded).unwrap()
    }

    fn finish(&self) {
        let status = self.models().finish_migration(Some("klayers")).unwrap();
        assert_eq!(status.state, MigrationState::Done);
    }
}
