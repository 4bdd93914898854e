//! Warehouse: many tables, sets, maps, heads, inverses and counters.

use crate::models::warehouse::*;
use crate::support::{Counted, at, embedded};
use std::collections::BTreeSet;
use trestle::{AttributeValue, Database, Map, Wait};

fn set(members: &[&str]) -> BTreeSet<String> {
    members.iter().map(|member| (*member).to_owned()).collect()
}

fn build(version: &str, promoted: &str) -> Build {
    let new = NewBuild {
        name: "web".into(),
        env: BuildEnv::Prod,
        version: version.into(),
        locale: "en-US".into(),
        build_id: format!("web!prod!{version}!en-US"),
    };
    Build {
        promoted_at: Some(at(promoted)),
        artifacts: set(&["a.js", "b.js"]),
        ..new.into()
    }
}

fn builds<D: Database>(db: &Warehouse<D>) {
    for (version, promoted) in [
        ("1.0.0", "2020-01-01T00:00:00.000Z"),
        ("2.0.0", "2020-02-01T00:00:00.000Z"),
    ] {
        db.put(&build(version, promoted)).wait().unwrap();
    }
    let whole = BuildWhere {
        name: "web",
        env: BuildEnv::Prod,
        version: "1.0.0",
        locale: "en-US",
    };
    let first = db.build(whole).wait().unwrap().unwrap();
    assert_eq!(first.artifacts, set(&["a.js", "b.js"]));
    assert_eq!(first.recommended, set(&[]), "no set is as good as an empty one");
    assert!(first.created_at.is_some() && first.updated_at.is_some());
    let of_version = BuildsOfVersionWhere {
        name: "web",
        env: BuildEnv::Prod,
        version: "2.0.0",
    };
    assert_eq!(
        db.builds_of_version(of_version).collect().wait().unwrap().len(),
        1
    );
    let head = BuildHeadWhere {
        name: "web",
        env: BuildEnv::Prod,
        locale: "en-US",
    };
    let head = db.build_head(head).wait().unwrap().unwrap();
    assert_eq!(head.version, "2.0.0");
    assert_eq!(head.previous_build_id.as_deref(), Some("web!prod!1.0.0!en-US"));
    let heads = db.build_heads("web", BuildEnv::Prod).collect().wait().unwrap();
    assert_eq!(heads.len(), 1);

    let changed = db
        .update_build(&first)
        .add_to_artifacts(["c.js"])
        .take_from_artifacts(["a.js"])
        .wait()
        .unwrap();
    assert_eq!(
        changed.artifacts,
        set(&["b.js"]),
        "an attribute changes in one way: the last counts"
    );
    db.update_build(&first)
        .set_artifacts(BTreeSet::new())
        .wait()
        .unwrap();
    assert_eq!(db.get(&first).wait().unwrap().unwrap().artifacts, set(&[]));
    assert!(db.delete(&first).wait().unwrap());
}

fn files<D: Database>(db: &Warehouse<D>) {
    let file = NewBuildFile {
        fingerprint: "f00".into(),
        build_id: "web!prod!1.0.0!en-US".into(),
        url: "http://localhost/f00".into(),
        env: "prod".into(),
        locale: "en-US".into(),
        name: "web".into(),
        version: "1.0.0".into(),
    };
    db.put(&file).wait().unwrap();
    assert_eq!(db.build_file("f00").wait().unwrap().unwrap().name, "web");
    assert!(db.delete(file.key()).wait().unwrap());
    assert_eq!(db.build_file("f00").wait().unwrap(), None);
}

fn packages<D: Database>(db: &Warehouse<D>) {
    let package = Package {
        dist_tags: Some(Map::from([("latest", "1.0.0")])),
        ..NewPackage {
            name: "web".into(),
            version: "1.0.0".into(),
        }
        .into()
    };
    db.put(&package).wait().unwrap();
    let tagged = db
        .update_package(PackageKey::new("web"))
        .set_in_dist_tags("prod", "1.0.0")
        .set_in_dist_tags("test", "2.0.0")
        .remove_from_dist_tags("latest")
        .wait()
        .unwrap();
    let tags = tagged.dist_tags.unwrap();
    assert_eq!(tags, Map::from([("prod", "1.0.0"), ("test", "2.0.0")]));
    assert_eq!(db.package("web").wait().unwrap().unwrap().dist_tags, Some(tags));
    assert_eq!(db.packages().collect().wait().unwrap().len(), 1);
    let version = NewVersion {
        name: "web".into(),
        version: "1.0.0".into(),
        value: "{}".into(),
    };
    db.put(&version).wait().unwrap();
    let one = VersionWhere {
        name: "web",
        version: "1.0.0",
    };
    assert_eq!(db.version(one).wait().unwrap().unwrap().value, "{}");
    assert_eq!(db.versions("web").collect().wait().unwrap().len(), 1);
    let rest = db.get(version.key()).wait().unwrap().unwrap().rest;
    assert_eq!(rest, Map::new());
    assert!(db.delete(version.key()).wait().unwrap());
    assert!(db.delete(PackageKey::new("web")).wait().unwrap());
}

fn relations<D: Database>(db: &Warehouse<D>) {
    let both = DependentOf {
        dependent_of: set(&["core", "ui"]),
        ..NewDependentOf { pkg: "web".into() }.into()
    };
    db.put(&both).wait().unwrap();
    let dependents = |name| {
        let found = db.dependents(name).wait().unwrap();
        found.map(|found| found.dependents).unwrap_or_default()
    };
    assert_eq!(dependents("core"), set(&["web"]));
    db.update_dependent_of(DependentOfKey::new("web"))
        .take_from_dependent_of(["core"])
        .wait()
        .unwrap();
    assert_eq!(dependents("core"), set(&[]));
    assert_eq!(dependents("ui"), set(&["web"]));
    assert_eq!(
        db.dependent_of("web").wait().unwrap().unwrap().dependent_of,
        set(&["ui"])
    );
    assert!(db.delete(DependentOfKey::new("web")).wait().unwrap());
    assert_eq!(dependents("ui"), set(&[]));
}

fn releases<D: Database>(db: &Warehouse<D>) {
    let line = NewReleaseLine {
        pkg: "web".into(),
        version: "1.0.0".into(),
    };
    db.put(&line).wait().unwrap();
    let one = ReleaseLineWhere {
        pkg: "web",
        version: "1.0.0",
    };
    assert!(db.release_line(one).wait().unwrap().is_some());
    assert_eq!(
        db.release_line_head("web").wait().unwrap().unwrap().version,
        "1.0.0"
    );
    let dep = NewReleaseLineDep {
        pkg: "web".into(),
        version: "1.0.0".into(),
        dependent: "shop".into(),
        dependent_version: "3.0.0".into(),
    };
    db.put(&dep).wait().unwrap();
    let one = ReleaseLineDepWhere {
        pkg: "web",
        version: "1.0.0",
        dependent: "shop",
    };
    assert_eq!(
        db.release_line_dep(one)
            .wait()
            .unwrap()
            .unwrap()
            .dependent_version,
        "3.0.0"
    );
    let all = ReleaseLineDepsWhere {
        pkg: "web",
        version: "1.0.0",
    };
    assert_eq!(db.release_line_deps(all).collect().wait().unwrap().len(), 1);
    db.update_release_line_dep(dep.key())
        .set_dependent_version("3.0.1")
        .wait()
        .unwrap();
    assert!(db.delete(dep.key()).wait().unwrap());
    let stuck = db.delete(line.key()).wait().unwrap_err();
    assert!(stuck.to_string().contains("release_line.head"), "{stuck}");
    assert!(db.delete(ReleaseLineHeadKey::new("web")).wait().unwrap());
    assert!(db.delete(line.key()).wait().unwrap());
    assert_eq!(db.release_line_head("web").wait().unwrap(), None);
}

fn progress<D: Database>(db: &Warehouse<D>) {
    let status = Status {
        total: Some(2),
        ..NewStatus {
            pkg: "web".into(),
            env: "prod".into(),
            version: "1.0.0".into(),
        }
        .into()
    };
    db.put(&status).wait().unwrap();
    for (id, locale) in [("1", "en-US"), ("2", "en-US"), ("3", "de-DE")] {
        let event = StatusEvent {
            event_type: Some(StatusEventEventType::Complete),
            locale: Some(locale.into()),
            ..NewStatusEvent {
                pkg: "web".into(),
                env: "prod".into(),
                version: "1.0.0".into(),
                event_id: id.into(),
            }
            .into()
        };
        db.put(&event).wait().unwrap();
    }
    let of = ProgressWhere {
        pkg: "web",
        env: "prod",
        version: "1.0.0",
    };
    let counted = db.progress(of).wait().unwrap().unwrap();
    assert_eq!(counted.count, 2, "a locale counts once");
    assert_eq!(counted.locales.len(), 2);
    let events = StatusEventsWhere {
        pkg: "web",
        env: "prod",
        version: "1.0.0",
    };
    let events = db.status_events(events).collect().wait().unwrap();
    assert_eq!(events.len(), 3);
    db.update_status(&status).set_complete(true).wait().unwrap();
    let read = StatusWhere {
        pkg: "web",
        env: "prod",
        version: "1.0.0",
    };
    assert!(db.status(read).wait().unwrap().unwrap().complete);
    let head = || StatusHeadWhere {
        pkg: "web",
        env: "prod",
    };
    assert_eq!(db.status_head(head()).wait().unwrap().unwrap().total, Some(2));
    db.delete_many(&events).wait().unwrap();
    let head = db.status_head(head()).wait().unwrap().unwrap();
    assert!(db.delete(head).wait().unwrap());
    assert!(db.delete(&status).wait().unwrap());
}

pub(crate) fn story<D: Database>(db: &Warehouse<D>) {
    builds(db);
    files(db);
    packages(db);
    relations(db);
    releases(db);
    progress(db);
}

#[test]
fn fourteen_tables_with_what_follows_from_their_rows_on_the_engine() {
    story(&Warehouse::apply_to(&embedded()).unwrap());
}

#[test]
fn the_same_on_any_database_that_has_the_model() {
    let embedded = embedded();
    Warehouse::apply_to(&embedded).unwrap();
    story(&Warehouse::on(Counted::new(embedded)).model_applied());
}

#[test]
fn attributes_that_the_model_does_not_know_stay_with_the_row() {
    let db = Warehouse::apply_to(&embedded()).unwrap();
    let mut package = Package::from(NewPackage {
        name: "web".into(),
        version: "1.0.0".into(),
    });
    package.rest.insert("stars", AttributeValue::from(5_i64));
    db.put(&package).wait().unwrap();
    assert_eq!(db.package("web").wait().unwrap(), Some(package));
}
