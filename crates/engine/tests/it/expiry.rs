//! Time to live: items expire when the clock has passed their time, and not earlier.

use std::time::Duration;

use trestle_api::{TimeToLiveSpecification, UpdateTimeToLive};
use trestle_engine::Options;
use trestle_item::{AttributeValue, Item};
use trestle_store::Space;

use crate::support::{Fixture, describe, get, n, put, s, scan, scan_all, table, update};

fn set_ttl(fixture: &Fixture, attribute: &str, enabled: bool) {
    let request = UpdateTimeToLive {
        table_name: "T".into(),
        time_to_live_specification: TimeToLiveSpecification {
            enabled,
            attribute_name: attribute.into(),
        },
    };
    fixture.engine.run(request).unwrap();
}

fn with_table(fixture: Fixture) -> Fixture {
    let create = table("T", "pk:S", &[], &[("g", "g:N", "KEYS_ONLY")]);
    fixture.engine.run(create).unwrap();
    fixture
}

fn key(pk: &str) -> Item {
    Item::from([("pk", s(pk))])
}

fn item(pk: &str, ttl: impl Into<AttributeValue>) -> Item {
    let mut item = key(pk);
    item.insert("ttl", ttl);
    item.insert("g", n(1));
    item
}

fn names(fixture: &Fixture) -> Vec<String> {
    let (items, _) = scan_all(&fixture.engine, scan("T", None));
    let mut names: Vec<String> = items
        .iter()
        .map(|item| item.get("pk").unwrap().as_s().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn an_item_expires_with_its_index_rows_and_counts() {
    let fixture = with_table(Fixture::new());
    set_ttl(&fixture, "ttl", true);
    let now = fixture.now().as_secs() as i64;
    fixture.engine.run(put("T", item("a", n(now + 10)))).unwrap();
    fixture.engine.run(put("T", item("b", n(now + 20)))).unwrap();
    fixture.clock.advance(Duration::from_secs(11));
    fixture.until("one item to expire", || names(&fixture) == ["b"]);
    assert_eq!(scan_all(&fixture.engine, scan("T", Some("g"))).0.len(), 1);
    assert_eq!(describe(&fixture.engine, "T").item_count, 1);
    assert_eq!(fixture.rows(Space::Expiry).len(), 1);
}

#[test]
fn only_numbers_in_the_last_five_years_expire() {
    let fixture = with_table(Fixture::new());
    set_ttl(&fixture, "ttl", true);
    let now = fixture.now().as_secs() as i64;
    let huge = AttributeValue::N("9E+125".parse().unwrap());
    let fraction = AttributeValue::N(format!("{}.5", now - 10).parse().unwrap());
    for (name, ttl) in [
        ("ancient", n(now - 6 * 365 * 86_400)),
        ("fraction", fraction),
        ("huge", huge),
        ("negative", n(-1)),
        ("recent", n(now - 10)),
        ("text", s((now - 10).to_string())),
        ("zero", n(0)),
    ] {
        fixture.engine.run(put("T", item(name, ttl))).unwrap();
    }
    fixture.until("two items to expire", || {
        names(&fixture) == ["ancient", "huge", "negative", "text", "zero"]
    });
}

#[test]
fn a_moved_expiry_counts_from_its_last_write() {
    let fixture = with_table(Fixture::new());
    set_ttl(&fixture, "ttl", true);
    let now = fixture.now().as_secs() as i64;
    for pk in ["later", "never", "still"] {
        fixture.engine.run(put("T", item(pk, n(now + 10)))).unwrap();
    }
    let later = Item::from([(":t", n(now + 100))]);
    fixture
        .engine
        .run(update("T", key("later"), "SET #ttl = :t", later).named("#ttl", "ttl"))
        .unwrap();
    fixture
        .engine
        .run(update("T", key("never"), "REMOVE #ttl", Item::new()).named("#ttl", "ttl"))
        .unwrap();
    fixture.clock.advance(Duration::from_secs(50));
    fixture.until("one item to expire", || names(&fixture) == ["later", "never"]);
    fixture.clock.advance(Duration::from_secs(51));
    fixture.until("the next to expire", || names(&fixture) == ["never"]);
    assert!(fixture.rows(Space::Expiry).is_empty());
}

trait Named {
    fn named(self, placeholder: &str, name: &str) -> Self;
}

impl Named for trestle_api::UpdateItem {
    fn named(mut self, placeholder: &str, name: &str) -> Self {
        let names = self.expression_attribute_names.get_or_insert_default();
        names.insert(placeholder.to_owned(), name.to_owned());
        self
    }
}

#[test]
fn items_older_than_the_setting_expire_too_also_over_a_restart() {
    let mut fixture = with_table(Fixture::on_disk(Options::default()));
    let now = fixture.now().as_secs() as i64;
    for at in 0..500 {
        fixture
            .engine
            .run(put("T", item(&format!("{at:03}"), n(now + 10 + at % 2 * 1000))))
            .unwrap();
    }
    set_ttl(&fixture, "ttl", true);
    fixture = fixture.reopen();
    fixture.clock.advance(Duration::from_secs(11));
    fixture.until("half of the items to expire", || {
        describe(&fixture.engine, "T").item_count == 250
    });
}

#[test]
fn nothing_expires_while_it_is_off_or_by_another_attribute() {
    let fixture = with_table(Fixture::new());
    let now = fixture.now().as_secs() as i64;
    set_ttl(&fixture, "ttl", true);
    fixture.engine.run(put("T", item("a", n(now + 10)))).unwrap();
    set_ttl(&fixture, "ttl", false);
    set_ttl(&fixture, "until", true);
    let mut other = key("b");
    other.insert("until", n(now + 10));
    fixture.engine.run(put("T", other)).unwrap();
    fixture.clock.advance(Duration::from_secs(11));
    fixture.until("one item to expire", || {
        get(&fixture.engine, "T", key("b")).is_none()
    });
    fixture.until("the entries to be used up", || {
        fixture.rows(Space::Expiry).is_empty()
    });
    assert_eq!(names(&fixture), ["a"]);
    // On again: the existing items expire after all.
    set_ttl(&fixture, "until", false);
    set_ttl(&fixture, "ttl", true);
    fixture.until("the other to expire", || names(&fixture).is_empty());
}

#[test]
fn switching_it_off_clears_what_it_kept() {
    let fixture = with_table(Fixture::new());
    let now = fixture.now().as_secs() as i64;
    set_ttl(&fixture, "ttl", true);
    for at in 0..20 {
        let far = n(now + 1_000_000_000 + at);
        fixture.engine.run(put("T", item(&format!("{at}"), far))).unwrap();
    }
    let entries = || fixture.rows(Space::Expiry).len();
    fixture.until("the entries to be made", || entries() == 20);
    set_ttl(&fixture, "ttl", false);
    fixture.until("the entries to go", || entries() == 0);
    // Off and on again at once: the clearing walk must not remove entries that are needed now.
    set_ttl(&fixture, "ttl", true);
    fixture.until("the entries to come back", || entries() == 20);
    set_ttl(&fixture, "ttl", false);
    set_ttl(&fixture, "ttl", true);
    fixture.clock.advance(Duration::from_secs(1_000_000_100));
    fixture.until("all to expire", || names(&fixture).is_empty());
}
