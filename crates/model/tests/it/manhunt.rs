//! Manhunt's ten sample rows: recognised by tag, and given exactly the keys of its schema; and its nine queries.

use crate::rows::{row, system, text, with, written};
use trestle_expr::{KeyCondition, Placeholders};
use trestle_item::Item;
use trestle_model::{Bound, Model};

/// Entity, attributes, and PK, SK, GSI1PK, GSI1SK, GSI2PK, GSI2SK.
type Sample = (&'static str, Item, [Option<&'static str>; 6]);

fn contact(id: &'static str, domain: &'static str, name: &'static str) -> Sample {
    let attributes = row(&[
        ("entityType", "contact"),
        ("contactId", id),
        ("domainId", domain),
        ("name", name),
    ]);
    (
        "contact",
        attributes,
        [Some(id), Some("contact"), Some(domain), Some(name), None, None],
    )
}

fn method(contact: &'static str, domain: &'static str, id: &'static str) -> Sample {
    let attributes = row(&[
        ("entityType", "contactMethod"),
        ("contactId", contact),
        ("domainId", domain),
        ("methodId", id),
        ("type", "text"),
        ("destination", "+49 30 1234"),
    ]);
    (
        "contactMethod",
        attributes,
        [Some(contact), Some(id), None, None, None, None],
    )
}

fn search(
    id: &'static str,
    contact: &'static str,
    domain: &'static str,
    at: &'static str,
    status: &'static str,
) -> Sample {
    let attributes = row(&[
        ("entityType", "search"),
        ("searchId", id),
        ("contactId", contact),
        ("domainId", domain),
        ("startedDatetime", at),
        ("status", status),
    ]);
    let by_status = match status {
        "active" => "active#89fa8f8",
        _ => "canceled#9d657f8",
    };
    (
        "search",
        attributes,
        [
            Some(id),
            Some("search"),
            Some(contact),
            Some(at),
            Some(by_status),
            Some(at),
        ],
    )
}

fn attempt(search: &'static str, contact: &'static str, domain: &'static str, id: &'static str) -> Sample {
    let attributes = row(&[
        ("entityType", "searchAttempt"),
        ("searchId", search),
        ("attemptId", id),
        ("contactId", contact),
        ("domainId", domain),
        ("methodId", "538235b"),
        ("attemptedAt", "2019-12-30T19:33:00Z"),
    ]);
    (
        "searchAttempt",
        attributes,
        [Some(search), Some(id), None, None, None, None],
    )
}

fn samples() -> Vec<Sample> {
    let (arian, zavier) = ("6f7ad1b", "db3280c");
    vec![
        attempt("2ad6a19", "9d657f8", arian, "384f7b1"),
        method("89fa8f8", zavier, "538235b"),
        method("89fa8f8", zavier, "800e613"),
        attempt("2ad6a19", "9d657f8", arian, "8cbc75c"),
        contact("9d657f8", arian, "Arian Mellor"),
        contact("89fa8f8", zavier, "Zavier Curtis"),
        method("9d657f8", arian, "d3fd3a0"),
        attempt("a271244", "89fa8f8", zavier, "daf3d11"),
        search("a271244", "89fa8f8", zavier, "2019-12-30T19:32:14Z", "active"),
        search("2ad6a19", "9d657f8", arian, "2019-12-30T12:14:01Z", "canceled"),
    ]
}

const KEYS: [&str; 6] = ["PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"];

#[test]
fn the_ten_rows_get_exactly_the_keys_of_the_schema() {
    let model = system("manhunt");
    assert_eq!(samples().len(), 10);
    for (entity, attributes, keys) in samples() {
        let stored = written(&model, "manhunt", None, &attributes).unwrap();
        let derived: Vec<Option<&str>> = KEYS.iter().map(|key| text(&stored, key)).collect();
        assert_eq!(derived, keys, "{entity}");
        let recognised = model.recognise("manhunt", &stored).unwrap().unwrap();
        assert_eq!(recognised.name(), entity);
    }
}

#[test]
fn stored_rows_are_left_as_they_are() {
    let model = system("manhunt");
    for (entity, attributes, _) in samples() {
        let stored = written(&model, "manhunt", None, &attributes).unwrap();
        let again = model
            .derive("manhunt", Some(&stored), &stored, 0)
            .unwrap()
            .unwrap();
        assert!(again.is_empty(), "{entity}: {:?}", again.set);
    }
}

#[test]
fn a_parent_is_recognised_by_its_key_and_a_child_needs_its_tag() {
    let model = system("manhunt");
    for (entity, attributes, _) in samples() {
        let mut untagged = written(&model, "manhunt", None, &attributes).unwrap();
        untagged.remove("entityType");
        let recognised = model.recognise("manhunt", &untagged);
        match entity {
            "contact" | "search" => assert_eq!(recognised.unwrap().unwrap().name(), entity),
            _ => assert!(
                recognised
                    .unwrap_err()
                    .to_string()
                    .contains("`contactMethod` and `searchAttempt`; say which with entityType")
            ),
        }
    }
}

#[test]
fn a_new_status_moves_the_row_in_its_index() {
    let model = system("manhunt");
    let (_, attributes, _) = search("a271244", "89fa8f8", "db3280c", "2019-12-30T19:32:14Z", "active");
    let stored = written(&model, "manhunt", None, &attributes).unwrap();
    let updated = with(stored.clone(), "status", "successful");
    let moved = written(&model, "manhunt", Some(&stored), &updated).unwrap();
    assert_eq!(text(&moved, "GSI2PK"), Some("successful#89fa8f8"));
    assert_eq!(text(&moved, "GSI1PK"), Some("89fa8f8"));
}

#[test]
fn a_method_never_replaces_an_attempt_with_the_same_key() {
    let model = system("manhunt");
    let (_, old, _) = method("89fa8f8", "db3280c", "538235b");
    let old = written(&model, "manhunt", None, &old).unwrap();
    let (_, new, _) = attempt("89fa8f8", "9d657f8", "6f7ad1b", "538235b");
    let refused = written(&model, "manhunt", Some(&old), &new).unwrap_err();
    assert!(
        refused.contains("row of entity contactMethod, which a row of entity searchAttempt may not replace"),
        "{refused}"
    );
}

/// The rows a query reads, in order, as a naive database would find them.
fn asked(model: &Model, pattern: &str, parameters: &[(&str, &str)]) -> Vec<String> {
    let rows: Vec<Item> = samples()
        .iter()
        .map(|(_, row, _)| written(model, "manhunt", None, row).unwrap())
        .collect();
    let Bound::Query {
        index,
        key_condition,
        filter,
        forward,
        ..
    } = model.access(pattern).unwrap().bind(&row(parameters)).unwrap()
    else {
        panic!("{pattern} is no query");
    };
    let range = match index.as_deref() {
        Some("GSI1") => "GSI1SK",
        Some("GSI2") => "GSI2SK",
        _ => "SK",
    };
    let condition = as_condition(&key_condition);
    let mut found: Vec<&Item> = rows
        .iter()
        .filter(|row| row.contains_key(range) && condition.holds(row))
        .collect();
    found.retain(|row| filter.as_ref().is_none_or(|filter| filter.holds(row)));
    found.sort_by_key(|row| text(row, range).unwrap().to_owned());
    assert!(forward);
    found
        .iter()
        .map(|row| format!("{}/{}", text(row, "PK").unwrap(), text(row, "SK").unwrap()))
        .collect()
}

fn as_condition(key: &KeyCondition) -> trestle_expr::Condition {
    let printed = key.print();
    let mut placeholders = Placeholders::new(Some(&printed.names), Some(&printed.values));
    trestle_expr::Condition::parse(trestle_expr::Kind::Filter, &printed.text, &mut placeholders).unwrap()
}

#[test]
fn the_nine_queries_find_exactly_their_rows_in_order() {
    let model = system("manhunt");
    let contact = [("contactId", "89fa8f8")];
    let canceled = ("status", "canceled");
    for (pattern, parameters, rows) in [
        ("search", vec![("searchId", "2ad6a19")], vec!["2ad6a19/search"]),
        ("contact", contact.to_vec(), vec!["89fa8f8/contact"]),
        (
            "search_with_attempts",
            vec![("searchId", "2ad6a19")],
            vec!["2ad6a19/384f7b1", "2ad6a19/8cbc75c", "2ad6a19/search"],
        ),
        (
            "contact_with_methods",
            contact.to_vec(),
            vec!["89fa8f8/538235b", "89fa8f8/800e613", "89fa8f8/contact"],
        ),
        (
            "contacts_of_domain",
            vec![("domainId", "db3280c")],
            vec!["89fa8f8/contact"],
        ),
        ("searches_of_contact", contact.to_vec(), vec!["a271244/search"]),
        (
            "searches_of_contact_before",
            vec![contact[0], ("before", "2019-12-30T19:32:14Z")],
            vec![],
        ),
        (
            "searches_of_contact_before",
            vec![contact[0], ("before", "2019-12-30T19:32:15Z")],
            vec!["a271244/search"],
        ),
        (
            "searches_by_status",
            vec![("contactId", "9d657f8"), canceled],
            vec!["2ad6a19/search"],
        ),
        ("searches_by_status", vec![contact[0], canceled], vec![]),
        (
            "searches_by_status_before",
            vec![
                ("contactId", "9d657f8"),
                canceled,
                ("before", "2020-01-01T00:00:00Z"),
            ],
            vec!["2ad6a19/search"],
        ),
    ] {
        assert_eq!(
            asked(&model, pattern, &parameters),
            rows,
            "{pattern} {parameters:?}"
        );
    }
    // A search requested with the id of a contact finds nothing.
    for pattern in ["search", "search_with_attempts"] {
        let found = asked(&model, pattern, &[("searchId", "89fa8f8")]);
        assert_eq!(found, Vec::<String>::new(), "{pattern}");
    }
}

#[test]
fn identifying_attributes_are_as_good_as_a_key() {
    let model = system("manhunt");
    for (given, key) in [
        (row(&[("searchId", "a1")]), row(&[("PK", "a1"), ("SK", "search")])),
        (
            row(&[("contactId", "a1")]),
            row(&[("PK", "a1"), ("SK", "contact")]),
        ),
        (
            row(&[("contactId", "a1"), ("methodId", "b2")]),
            row(&[("PK", "a1"), ("SK", "b2")]),
        ),
        (
            row(&[("searchId", "a1"), ("attemptId", "b2")]),
            row(&[("PK", "a1"), ("SK", "b2")]),
        ),
        (
            row(&[("PK", "a1"), ("SK", "b2")]),
            row(&[("PK", "a1"), ("SK", "b2")]),
        ),
        (
            row(&[("searchId", "a1"), ("entityType", "search"), ("PK", "a1")]),
            row(&[("PK", "a1"), ("SK", "search")]),
        ),
    ] {
        assert_eq!(model.key_of("manhunt", &given).unwrap(), key, "{given:?}");
    }
    let refused = |given: &[(&str, &str)]| model.key_of("manhunt", &row(given)).unwrap_err().to_string();
    assert!(refused(&[("methodId", "b2")]).contains("contactMethod(contactId, methodId)"));
    assert!(refused(&[("searchId", "contact")]).contains("may only contain the characters"));
    let both = refused(&[("searchId", "a1"), ("PK", "a2"), ("entityType", "search")]);
    assert!(both.contains("\"a2\"") && both.contains("\"a1\""), "{both}");
}
