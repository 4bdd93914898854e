//! The derived rows of the endpoint, computed by the test: heads, inverses, entries and copies.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn text(row: &Value, name: &str) -> String {
    row[name]["S"].as_str().unwrap_or_default().to_owned()
}

fn names(row: &Value, name: &str) -> BTreeSet<String> {
    let names = row[name]["SS"].as_array().into_iter().flatten();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn of<'r>(rows: &'r [Value], kind: &str) -> impl Iterator<Item = &'r Value> {
    rows.iter().filter(move |row| row["kind"]["S"] == kind)
}

/// Checks that every head names the newest version, both sides of a relation agree, and every copy has its original's value. The audit
/// of a gateway cannot distinguish an outdated head from one that was set back on purpose.
pub(super) fn assert_derived(rows: &[Value]) {
    assert_heads(rows);
    assert_clubs(rows);
    assert_copies(rows);
}

fn assert_heads(rows: &[Value]) {
    let version = |row: &Value| row["version"]["N"].as_str().unwrap().parse::<u64>().unwrap();
    let mut newest: BTreeMap<String, u64> = BTreeMap::new();
    for page in of(rows, "page") {
        let newest = newest.entry(text(page, "name")).or_default();
        *newest = version(page).max(*newest);
    }
    let heads = rows.iter().filter(|row| row["sk"]["S"] == "head");
    let heads: BTreeMap<String, u64> = heads.map(|head| (text(head, "name"), version(head))).collect();
    assert_eq!(heads, newest, "heads, and the newest versions");
}

fn assert_clubs(rows: &[Value]) {
    let mut joined: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut entries: BTreeMap<(String, String), String> = BTreeMap::new();
    for person in of(rows, "person") {
        for club in names(person, "clubs") {
            let (id, name) = (text(person, "person"), text(person, "name"));
            joined.entry(club.clone()).or_default().insert(id.clone());
            entries.insert((format!("clubs#{club}"), id), name);
        }
    }
    let members = of(rows, "club").map(|club| (text(club, "club"), names(club, "members")));
    let members: BTreeMap<_, _> = members.filter(|(_, members)| !members.is_empty()).collect();
    assert_eq!(members, joined, "members of clubs, and who names them");
    let listed = rows.iter().filter(|row| text(row, "pk").starts_with("clubs#"));
    let listed = listed.map(|row| ((text(row, "pk"), text(row, "sk")), text(row, "name")));
    assert_eq!(listed.collect::<BTreeMap<_, _>>(), entries, "entries of clubs");
}

fn assert_copies(rows: &[Value]) {
    let people = of(rows, "person").map(|person| (text(person, "person"), text(person, "name")));
    let people: BTreeMap<String, String> = people.collect();
    for seat in of(rows, "seat") {
        let name = people.get(&text(seat, "person")).cloned().unwrap_or_default();
        assert_eq!(text(seat, "personName"), name, "{seat}");
    }
}
