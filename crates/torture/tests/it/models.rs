//! SIGKILL at random moments while versions are deployed under a model: the write, its head and the demotion
//! of its predecessor are stored together or not at all.

use crate::{rounds, seed};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::http::Client;
use trestle_torture::server::{Server, serve};
use trestle_torture::workload::succeed;

const TABLE: &str = "kl.db-ver2";
const REGION: &str = "eu-west-1";
/// Each deploys its own package, and all of them deploy one together.
const DEPLOYERS: usize = 5;
const SHARED: &str = "shared";

/// The versions of a package.
#[derive(Debug, Default)]
struct Package {
    attempted: BTreeSet<u64>,
    /// Those that must exist.
    acknowledged: BTreeSet<u64>,
}

type Packages = BTreeMap<String, Package>;

#[test]
fn one_version_is_the_latest_and_the_head_is_it_whenever_the_server_is_killed() {
    let (rounds, mut random) = (rounds("MODEL_ROUNDS", 3), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    let packages = Mutex::new(Packages::new());
    for round in 1..=rounds {
        let server = Server::start(&mut with_model(dir.path()));
        let address = server.address.clone();
        let moment = Instant::now() + Duration::from_millis(random.u64(30..500));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                server.kill();
            });
            scope.spawn(|| watch(&address));
            for deployer in 0..DEPLOYERS {
                let (address, packages) = (&address, &packages);
                scope.spawn(move || deploy(address, &format!("own-{deployer}"), packages));
            }
        });
        let server = Server::start(&mut with_model(dir.path()));
        let mut packages = packages.lock().unwrap();
        let mut client = server.connect();
        let found = check(&mut client, &packages);
        println!("killed: round {round}, {found} versions");
        reconcile(&mut client, &mut packages);
        server.kill();
        audit::verify(dir.path()).unwrap();
    }
}

fn with_model(directory: &Path) -> Command {
    let mut command = serve(directory);
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/klayers.toml");
    command.args(["--model", model]);
    command
}

/// Deploys versions until the server is gone: two of the deployer's own package, then one of the shared one.
fn deploy(address: &str, own: &str, packages: &Mutex<Packages>) {
    let Ok(mut client) = Client::connect(address) else {
        return;
    };
    for package in [own, own, SHARED].into_iter().cycle() {
        let version = attempt(packages, package);
        let put = json!({"TableName": TABLE, "Item": {
            "rgn": {"S": REGION}, "pckg": {"S": package}, "pyVrsn": {"S": "p3.12"},
            "lyrVrsn": {"N": version.to_string()}, "arn": {"S": arn(package, version)}, "pckgVrsn": {"S": "1"},
        }});
        match client.call("PutItem", &put) {
            Ok(answer) => assert_eq!(answer.status, 200, "{}", answer.body),
            Err(_) => return,
        }
        let mut packages = packages.lock().unwrap();
        packages.get_mut(package).unwrap().acknowledged.insert(version);
    }
}

fn attempt(packages: &Mutex<Packages>, package: &str) -> u64 {
    let mut packages = packages.lock().unwrap();
    let attempted = &mut packages.entry(package.to_owned()).or_default().attempted;
    let version = attempted.last().copied().unwrap_or_default() + 1;
    attempted.insert(version);
    version
}

fn arn(package: &str, version: u64) -> String {
    format!("arn:{package}:{version}")
}

/// Checks the latest versions all the time: never two of one package, and never none where there was one.
fn watch(address: &str) {
    let Ok(mut client) = Client::connect(address) else {
        return;
    };
    let mut known = BTreeSet::new();
    while let Ok(answer) = client.call("Query", &latest_in_region()) {
        assert_eq!(answer.status, 200, "{}", answer.body);
        let found = answer.body["Items"].as_array().unwrap();
        let packages: BTreeSet<String> = found.iter().map(|row| text(row, "pckg").to_owned()).collect();
        assert_eq!(packages.len(), found.len(), "one of each: {}", answer.body);
        assert!(
            packages.is_superset(&known),
            "{known:?} were there: {}",
            answer.body
        );
        known = packages;
    }
}

fn latest_in_region() -> Value {
    json!({
        "TableName": TABLE, "IndexName": "deployed_in_region",
        "KeyConditionExpression": "rgn = :r AND dplySts = :s",
        "ExpressionAttributeValues": {":r": {"S": REGION}, ":s": {"S": "latest"}},
    })
}

/// Compares every package with what was acknowledged. Returns how many versions there are.
fn check(client: &mut Client, packages: &Packages) -> usize {
    let mut found = 0;
    let mut latest = BTreeSet::new();
    for (name, package) in packages {
        let rows = rows(client, name);
        let (heads, versions): (Vec<&Value>, Vec<&Value>) =
            rows.iter().partition(|row| text(row, "sk") == "lyrVrsn0#");
        let there: BTreeSet<u64> = versions.iter().map(|row| version(row)).collect();
        let lost: Vec<_> = package.acknowledged.difference(&there).collect();
        assert!(lost.is_empty(), "{name}: {lost:?} were acknowledged and are gone");
        let invented: Vec<_> = there.difference(&package.attempted).collect();
        assert!(invented.is_empty(), "{name}: nobody wrote {invented:?}");
        let Some(newest) = there.last() else {
            assert!(heads.is_empty(), "{name}: a head of nothing");
            continue;
        };
        assert_eq!(heads.len(), 1, "{name} has versions, and a head");
        assert_eq!(version(heads[0]), *newest, "the head of {name}");
        assert_eq!(text(heads[0], "arn"), arn(name, *newest));
        for row in versions {
            check_version(name, row, *newest);
        }
        found += there.len();
        latest.insert(arn(name, *newest));
    }
    let indexed = succeed(client, "Query", &latest_in_region());
    let indexed = indexed["Items"].as_array().unwrap().iter();
    let indexed: Vec<String> = indexed.map(|row| text(row, "arn").to_owned()).collect();
    assert_eq!(indexed.len(), latest.len(), "one for each package: {indexed:?}");
    assert_eq!(BTreeSet::from_iter(indexed), latest);
    found
}

/// The newest is the latest, and stays. Older ones are deprecated and expire, except those of the shared
/// package that were overtaken before they were written: they never were the latest.
fn check_version(package: &str, row: &Value, newest: u64) {
    let expires = row.get("exDt").is_some();
    match (text(row, "dplySts"), expires) {
        ("latest", false) => assert_eq!(version(row), newest, "{row}"),
        ("deprecated", true) => assert_ne!(version(row), newest, "{row}"),
        ("", false) => assert!(package == SHARED && version(row) != newest, "{row}"),
        _ => panic!("half of a change: {row}"),
    }
}

/// Requests without an answer were carried out, or never will be.
fn reconcile(client: &mut Client, packages: &mut Packages) {
    for (name, package) in packages {
        let rows = rows(client, name);
        let versions = rows.iter().filter(|row| text(row, "sk") != "lyrVrsn0#");
        package.acknowledged = versions.map(version).collect();
        let last = package.attempted.last().copied();
        package.attempted = package.acknowledged.iter().copied().chain(last).collect();
    }
}

fn rows(client: &mut Client, package: &str) -> Vec<Value> {
    let mut query = json!({
        "TableName": TABLE, "ConsistentRead": true, "KeyConditionExpression": "pk = :k",
        "ExpressionAttributeValues": {":k": {"S": format!("lyr#{REGION}:{package}:p3.12")}},
    });
    let mut rows = Vec::new();
    loop {
        let page = succeed(client, "Query", &query);
        rows.extend(page["Items"].as_array().unwrap().iter().cloned());
        match page.get("LastEvaluatedKey") {
            Some(key) => query["ExclusiveStartKey"] = key.clone(),
            None => return rows,
        }
    }
}

fn text<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name]["S"].as_str().unwrap_or_default()
}

fn version(row: &Value) -> u64 {
    row["lyrVrsn"]["N"].as_str().unwrap().parse().unwrap()
}
