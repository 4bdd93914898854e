//! Many packages published by many clients, built, promoted and rolled back while the program is killed, and a check of everything
//! afterwards.
//!
//! Small unless `WAREHOUSE_PACKAGES`, `WAREHOUSE_CLIENTS` and `WAREHOUSE_KILLS` say otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::routing::post;
use futures_util::StreamExt as _;
use futures_util::stream;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use trestle_binding::WrongFact;
use trestle_embedded::{
    DirectoryAccess, Disagreement, StorageWatcher, VerifyOptions, VerifyWatcher, verify_directory,
};

use crate::program::Program;
use crate::support::Pkg;

const LOCALES: [&str; 3] = ["de-DE", "en-US", "fr-FR"];
/// The number of packages per base of the others.
const FAMILY: usize = 8;
/// One of so many bases gets a second version.
const RENEWED: usize = 3;
/// Concurrent webhooks, which may be posted again after a kill.
const POSTED_AT_ONCE: usize = 16;
/// The time limit for each hundred packages.
const PATIENCE: Duration = Duration::from_secs(120);

fn size(name: &str, otherwise: usize) -> usize {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number"))
    })
}

/// The packages: each family has a base, and members that depend on it. The last member of every other family depends on the
/// base of the next one, too.
struct Plan {
    packages: usize,
}

impl Plan {
    fn name(number: usize) -> String {
        format!("@load/p{number:05}")
    }

    fn patience(&self) -> Duration {
        PATIENCE * u32::try_from(1 + self.packages / 100).unwrap()
    }

    fn parents(&self, number: usize) -> Vec<usize> {
        let (family, member) = (number / FAMILY, number % FAMILY);
        let next = (family + 1) * FAMILY;
        let has_two = member == FAMILY - 1 && family.is_multiple_of(2) && next < self.packages;
        let own = (member != 0).then_some(family * FAMILY);
        own.into_iter().chain(has_two.then_some(next)).collect()
    }

    fn dependents(&self, number: usize) -> impl Iterator<Item = usize> {
        (0..self.packages).filter(move |other| self.parents(*other).contains(&number))
    }

    fn bases(&self) -> impl Iterator<Item = usize> {
        (0..self.packages).step_by(FAMILY)
    }

    /// The bases that get a second version.
    fn renewed(&self) -> Vec<usize> {
        self.bases().filter(|base| Self::is_renewed(*base)).collect()
    }

    fn is_renewed(number: usize) -> bool {
        number.is_multiple_of(FAMILY * RENEWED)
    }

    /// The last version of everything.
    fn version(&self, number: usize) -> &'static str {
        let parents = self.parents(number);
        match parents.is_empty() {
            true if Self::is_renewed(number) => "1.1.0",
            true => "1.0.0",
            // A dependent is published again for each new version of a package that it depends on.
            false => match parents
                .into_iter()
                .filter(|parent| Self::is_renewed(*parent))
                .count()
            {
                0 => "1.0.0",
                1 => "1.0.1-0",
                _ => unreachable!("of two neighbours at most one is renewed"),
            },
        }
    }

    fn package(&self, number: usize, version: &str) -> Pkg {
        let package = Pkg::new(&Self::name(number), version).locales(&LOCALES);
        let needs = |package: Pkg, parent: usize| package.needs(&Self::name(parent), "^1.0.0");
        self.parents(number).into_iter().fold(package, needs)
    }

    /// All dependencies between the packages that are connected with a package.
    fn graph(&self, number: usize) -> BTreeMap<String, BTreeSet<String>> {
        let (mut found, mut to_do) = (BTreeMap::new(), vec![number]);
        while let Some(number) = to_do.pop() {
            let parents = self.parents(number);
            let names = parents.iter().map(|parent| Self::name(*parent)).collect();
            if found.insert(Self::name(number), names).is_none() {
                to_do.extend(parents.into_iter().chain(self.dependents(number)));
            }
        }
        found
    }
}

/// Everything that was posted, by its key.
type Posted = Arc<Mutex<BTreeMap<String, usize>>>;

/// A receiver of webhooks. Returns its URL.
async fn receiver(posted: Posted) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let note = async move |headers: HeaderMap| {
        let key = headers["idempotency-key"].to_str().unwrap().to_owned();
        *posted.lock().unwrap().entry(key).or_default() += 1;
    };
    let router = axum::Router::new().route("/", post(note));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// A free port. The program uses it again after each kill, so that stored URLs stay right.
fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// The program, as its clients reach it.
struct Registry {
    url: String,
    client: Client,
}

impl Registry {
    async fn read(&self, path: &str) -> Value {
        let answer = self
            .client
            .get(format!("{}{path}", self.url))
            .send()
            .await
            .unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default()
    }
}

/// Publishes until the server confirms that it did, now or before.
async fn publish(registry: &Registry, package: &Pkg) {
    let path = format!("/{}", package.name.replace('/', "%2f"));
    insist(registry, Method::PUT, &path, &package.payload()).await;
}

/// Sends a request until the server confirms that it was carried out.
async fn insist(Registry { url, client }: &Registry, method: Method, path: &str, body: &Value) {
    let begun = Instant::now();
    loop {
        let request = client.request(method.clone(), format!("{url}{path}"));
        // A stopped server is available again soon.
        if let Ok(answer) = request.json(body).send().await {
            let status = answer.status();
            assert!(status.is_success(), "{path}: {status} {:?}", answer.text().await);
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{method} {path} is not answered");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The program, which is killed and started again.
struct Victim<'a> {
    program: Program,
    arguments: &'a [&'a str],
    kills: usize,
}

impl<'a> Victim<'a> {
    fn start(arguments: &'a [&'a str]) -> Self {
        let program = Program::start(arguments);
        Self {
            program,
            arguments,
            kills: 0,
        }
    }

    fn end(&mut self) {
        self.program.child.kill().unwrap();
        self.program.child.wait().unwrap();
    }

    fn kill(&mut self) {
        self.end();
        self.kills += 1;
        self.program = Program::start(self.arguments);
        self.program.serves();
    }
}

struct Found(Vec<String>);

impl StorageWatcher for Found {
    fn found(&mut self, disagreement: Disagreement) {
        self.0.push(format!("{disagreement:?}"));
    }
}

impl VerifyWatcher for Found {
    fn wrong(&mut self, fact: &WrongFact) {
        self.0.push(fact.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_clients_published_is_built_and_right_although_the_program_was_killed() {
    let (packages, kills) = (size("WAREHOUSE_PACKAGES", 24), size("WAREHOUSE_KILLS", 2));
    let (plan, clients) = (Plan { packages }, size("WAREHOUSE_CLIENTS", 16));
    let posted = Posted::default();
    let hook = receiver(Arc::clone(&posted)).await;
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let data = folder.path().to_str().unwrap();
    let arguments = ["serve", "--data", data, "--port", &port, "--webhook", &hook];
    let mut victim = Victim::start(&arguments);
    let url = victim.program.serves().1;
    let client = Client::builder().timeout(Duration::from_secs(30));
    let client = client.build().unwrap();
    let registry = Registry { url, client };

    // Bases first, so that their dependents find them.
    let (bases, members): (Vec<usize>, Vec<usize>) = (0..packages).partition(|number| number % FAMILY == 0);
    let waves = [(bases, "1.0.0"), (members, "1.0.0"), (plan.renewed(), "1.1.0")];
    let all: usize = waves.iter().map(|(wave, _)| wave.len()).sum();
    let done = AtomicUsize::new(0);
    let begun = Instant::now();
    let publishing = async {
        for (wave, version) in &waves {
            let work = stream::iter(wave).for_each_concurrent(clients, async |number| {
                publish(&registry, &plan.package(*number, version)).await;
                done.fetch_add(1, Ordering::Relaxed);
            });
            work.await;
        }
    };
    let killing = async {
        for kill in 1..=kills {
            while done.load(Ordering::Relaxed) < all * kill / (kills + 1) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            victim.kill();
        }
    };
    tokio::join!(publishing, killing);
    let published = begun.elapsed();

    // The dependents of the last versions have still to be published again, and built.
    let last = plan
        .renewed()
        .last()
        .and_then(|base| plan.dependents(*base).last());
    let last = last.expect("a base with dependents is renewed");
    let mut while_building = 0;
    for _ in 0..kills {
        if !is_in_use(&registry, &Plan::name(last), "dev", plan.version(last)).await {
            while_building += 1;
            victim.kill();
        }
    }
    assert!(while_building > 0, "everything was built before the first kill");
    for number in 0..packages {
        wait_for_use(&plan, number, "dev", plan.version(number), &registry).await;
    }
    let built = begun.elapsed();
    let mut versions = 0;
    for number in 0..packages {
        versions += check_builds(&plan, number, &registry).await;
    }
    for number in plan.bases() {
        check_dependencies(&plan, number, &registry).await;
    }
    versions += promote_and_roll_back(&plan, clients, &registry, &mut victim).await;
    let moved = begun.elapsed();
    // Webhooks are sent after builds.
    let waited = Instant::now();
    while posted
        .lock()
        .unwrap()
        .keys()
        .filter(|key| key.starts_with("build_completed "))
        .count()
        < versions
    {
        assert!(
            waited.elapsed() < plan.patience(),
            "of {versions} completed builds fewer were posted"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    victim.end();
    let kills = victim.kills;
    check_posted(&posted.lock().unwrap(), versions, kills);
    let mut found = Found(Vec::new());
    let table = folder.path().join("table");
    let verified = verify_directory(
        &table,
        DirectoryAccess::ReadWrite,
        VerifyOptions::default(),
        &mut found,
    );
    assert_eq!(verified.unwrap().disagreements(), 0, "{:#?}", found.0);
    println!(
        "{packages} packages, {versions} builds in {} locales, {clients} clients, {kills} kills, {while_building} of them while the \
         last versions were built: published in {published:.1?}, built in {built:.1?}, promoted and rolled back in {moved:.1?}, all with \
         the check {:.1?}",
        LOCALES.len(),
        begun.elapsed(),
    );
}

/// Lets `test` use the first version of every base with two, then the second, then the first again, and kills
/// the program each time before the dependents have followed. Returns how many versions were built for it.
async fn promote_and_roll_back(
    plan: &Plan,
    clients: usize,
    registry: &Registry,
    victim: &mut Victim<'_>,
) -> usize {
    let bases = plan.renewed();
    let steps = [
        (Method::PATCH, "promote", "/1.0.0", "1.0.0", "1.0.0"),
        (Method::PATCH, "promote", "/1.1.0", "1.1.0", "1.0.1-0"),
        (Method::POST, "rollback", "?to=1.0.0", "1.0.0", "1.0.0"),
    ];
    for (method, verb, to, own, of_dependents) in &steps {
        let asking = stream::iter(&bases).for_each_concurrent(clients, async |base| {
            let path = format!("/{verb}/{}/test{to}", Plan::name(*base).replace('/', "%2f"));
            insist(registry, method.clone(), &path, &Value::Null).await;
        });
        asking.await;
        victim.kill();
        for base in &bases {
            wait_for_use(plan, *base, "test", own, registry).await;
            for dependent in plan.dependents(*base) {
                wait_for_use(plan, dependent, "test", of_dependents, registry).await;
            }
        }
    }
    let mut built = 0;
    for base in &bases {
        check_moves(*base, "1.1.0", registry).await;
        for dependent in plan.dependents(*base) {
            check_moves(dependent, "1.0.1-0", registry).await;
        }
        built += 2 * (1 + plan.dependents(*base).count());
    }
    built
}

/// The environment used the second version and left it again, in all locales, once each.
async fn check_moves(number: usize, second: &str, registry: &Registry) {
    let path = Plan::name(number).replace('/', "%2f");
    let history = registry.read(&format!("/builds/{path}/test/-/history")).await;
    let moves = history.as_array().unwrap().iter();
    let versions: Vec<&Value> = moves.map(|moved| &moved["version"]).collect();
    assert_eq!(versions, ["1.0.0", second, "1.0.0"], "{path}");
    let heads = registry
        .read(&format!("/builds/-/head?name={path}&env=test"))
        .await;
    let heads = heads.as_array().unwrap().iter();
    let versions: Vec<&Value> = heads.map(|head| &head["version"]).collect();
    assert_eq!(versions, ["1.0.0"; 3], "{path}");
    for version in ["1.0.0", second] {
        let progress = registry.read(&format!("/progress/{path}/test/{version}")).await;
        let done = json!({ "progress": 100, "count": 3, "total": 3 });
        assert_eq!(progress, done, "{path}@{version}");
        check_events(
            &registry
                .read(&format!("/status-events/{path}/test/{version}"))
                .await,
        );
    }
}

async fn is_in_use(registry: &Registry, name: &str, env: &str, version: &str) -> bool {
    let path = format!("/builds/{}/{env}", name.replace('/', "%2f"));
    registry.read(&path).await["version"] == version
}

/// Waits until an environment uses a version of a package.
async fn wait_for_use(plan: &Plan, number: usize, env: &str, version: &str, registry: &Registry) {
    let (name, begun) = (Plan::name(number), Instant::now());
    while !is_in_use(registry, &name, env, version).await {
        let late = begun.elapsed() > plan.patience();
        assert!(!late, "{env} does not use {name}@{version}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// All versions of a package are complete, and the last is in use. Returns how many versions there are.
async fn check_builds(plan: &Plan, number: usize, registry: &Registry) -> usize {
    let (name, version) = (Plan::name(number), plan.version(number));
    let path = name.replace('/', "%2f");
    let begun = Instant::now();
    let packument = registry.read(&format!("/{path}")).await;
    let versions: Vec<&String> = packument["versions"].as_object().unwrap().keys().collect();
    let expected = if version == "1.0.0" {
        vec!["1.0.0"]
    } else {
        vec!["1.0.0", version]
    };
    assert_eq!(versions, expected, "{name}");
    for version in &versions {
        // A version that was overtaken by a newer one may be skipped after that.
        while registry.read(&format!("/status/{path}/dev/{version}")).await["complete"] != true {
            assert!(
                begun.elapsed() < plan.patience(),
                "{name}@{version} is not complete"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let status = registry.read(&format!("/status/{path}/dev/{version}")).await;
        assert_eq!(status["error"], false, "{status}");
        let progress = registry.read(&format!("/progress/{path}/dev/{version}")).await;
        assert_eq!(
            progress,
            json!({ "progress": 100, "count": 3, "total": 3 }),
            "{name}@{version}"
        );
        check_events(
            &registry
                .read(&format!("/status-events/{path}/dev/{version}"))
                .await,
        );
    }
    let heads = registry.read(&format!("/builds/-/head?name={path}")).await;
    let heads = heads.as_array().unwrap();
    let told = |head: &Value| {
        (
            head["env"].clone(),
            head["locale"].clone(),
            head["version"].clone(),
        )
    };
    let expected = LOCALES.map(|locale| (json!("dev"), json!(locale), json!(version)));
    assert_eq!(heads.iter().map(told).collect::<Vec<_>>(), expected, "{name}");
    for head in heads {
        // A version that was published again has the tarball of the first.
        check_files(
            head,
            &format!(
                "export default '{name} {}';\n",
                version.replace("1.0.1-0", "1.0.0")
            ),
            registry,
        )
        .await;
    }
    versions.len()
}

/// The URL of a build's only file returns its bytes, plain and compressed.
async fn check_files(build: &Value, content: &str, registry: &Registry) {
    let files = build["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{build}");
    let file = files[0].as_str().unwrap();
    let bytes = async |url: String| {
        let answer = registry.client.get(&url).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{url}");
        answer.bytes().await.unwrap()
    };
    assert_eq!(bytes(file.to_owned()).await, content.as_bytes(), "{file}");
    let packed = bytes(format!("{file}.gz")).await;
    let plain = std::io::read_to_string(flate2::read::GzDecoder::new(packed.as_ref()));
    assert_eq!(plain.unwrap(), content, "{file}.gz");
}

/// A locale is done once, however often its job was delivered.
fn check_events(events: &Value) {
    let events = events.as_array().unwrap();
    let done = events.iter().filter(|event| event["eventType"] == "complete");
    let mut done: Vec<&str> = done.map(|event| event["locale"].as_str().unwrap()).collect();
    done.sort_unstable();
    assert_eq!(done, LOCALES, "{events:?}");
}

/// The graph of a base, and its release lines.
async fn check_dependencies(plan: &Plan, base: usize, registry: &Registry) {
    let path = Plan::name(base).replace('/', "%2f");
    assert_eq!(
        registry.read(&format!("/graph/{path}")).await,
        json!(plan.graph(base))
    );
    let mut lines = vec![("1.0.0", Value::Null)];
    if Plan::is_renewed(base) {
        lines.push(("1.1.0", json!("1.0.0")));
    }
    for (version, previous) in lines {
        let line = registry.read(&format!("/release-line/{path}/{version}")).await;
        assert_eq!(line["previousVersion"], previous, "{line}");
        let in_line = |dependent: usize| match version {
            // A package that is published again because of one parent takes its place in the newest line of
            // the other.
            "1.0.0" if Plan::is_renewed(base) => "1.0.0",
            _ => plan.version(dependent),
        };
        let expected: BTreeMap<String, &str> = plan
            .dependents(base)
            .map(|number| (Plan::name(number), in_line(number)))
            .collect();
        assert_eq!(line["dependents"], json!(expected), "{path}@{version}");
    }
}

/// Each build was reported as begun and as completed. Posts that a kill interrupted may be repeated, with the
/// same key.
fn check_posted(posted: &BTreeMap<String, usize>, versions: usize, kills: usize) {
    for event in ["build_started ", "build_completed "] {
        let keys = posted.keys().filter(|key| key.starts_with(event));
        assert_eq!(keys.count(), versions, "{event}");
    }
    let again: usize = posted.values().map(|times| times - 1).sum();
    assert!(
        again <= kills * POSTED_AT_ONCE,
        "{again} were posted again, after {kills} kills"
    );
}
