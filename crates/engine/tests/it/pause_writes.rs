//! Tables that are read-only.

use std::time::Duration;

use trestle_api::{ErrorKind, TimeToLiveSpecification, UpdateTimeToLive};
use trestle_engine::Options;
use trestle_item::Item;

use crate::support::{Fixture, get, n, put, s, table};

fn key(pk: &str) -> Item {
    Item::from([("pk", s(pk))])
}

fn tables(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn rows_are_read_and_not_written_until_the_time_is_over() {
    let fixture = Fixture::new();
    for name in ["T", "U"] {
        fixture.engine.run(table(name, "pk:S", &[], &[])).unwrap();
        fixture.engine.run(put(name, key("a"))).unwrap();
    }
    let pause = Some(Duration::from_secs(10));
    fixture.engine.pause_writes(&tables(&["T"]), pause).unwrap();
    let refused = fixture.engine.run(put("T", key("b"))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Throttling);
    assert!(refused.message().contains("Table T is read-only"), "{refused}");
    assert!(get(&fixture.engine, "T", key("a")).is_some());
    fixture.engine.run(put("U", key("b"))).unwrap();
    let paused = fixture.engine.paused_tables();
    assert_eq!(paused.len(), 1);
    assert_eq!((paused[0].name.as_str(), paused[0].until.is_some()), ("T", true));
    fixture.clock.advance(Duration::from_secs(10));
    assert!(fixture.engine.paused_tables().is_empty());
    fixture.engine.run(put("T", key("b"))).unwrap();
}

#[test]
fn a_pause_without_an_end_is_there_after_a_restart_and_ends_when_told() {
    let fixture = Fixture::on_disk(Options::default());
    fixture.engine.run(table("T", "pk:S", &[], &[])).unwrap();
    fixture.engine.pause_writes(&tables(&["T"]), None).unwrap();
    let fixture = fixture.reopen();
    let refused = fixture.engine.run(put("T", key("a"))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Validation);
    assert!(
        refused.message().contains("trestle copy resume-writes"),
        "{refused}"
    );
    fixture.engine.resume_writes(&tables(&["T"])).unwrap();
    fixture.engine.run(put("T", key("a"))).unwrap();
    let unknown = fixture.engine.pause_writes(&tables(&["none"]), None).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::ResourceNotFound);
}

#[test]
fn rows_do_not_expire_meanwhile_and_do_afterwards() {
    let fixture = Fixture::new();
    fixture.engine.run(table("T", "pk:S", &[], &[])).unwrap();
    let ttl = UpdateTimeToLive {
        table_name: "T".into(),
        time_to_live_specification: TimeToLiveSpecification {
            enabled: true,
            attribute_name: "ttl".into(),
        },
    };
    fixture.engine.run(ttl).unwrap();
    let mut item = key("a");
    item.insert("ttl", n(fixture.now().as_secs() as i64 + 5));
    fixture.engine.run(put("T", item)).unwrap();
    fixture.engine.pause_writes(&tables(&["T"]), None).unwrap();
    fixture.clock.advance(Duration::from_secs(60));
    std::thread::sleep(Duration::from_millis(200));
    let is_there = || get(&fixture.engine, "T", key("a")).is_some();
    assert!(is_there());
    fixture.engine.resume_writes(&tables(&["T"])).unwrap();
    fixture.clock.advance(Duration::from_secs(60));
    fixture.until("the row to expire", || !is_there());
}
