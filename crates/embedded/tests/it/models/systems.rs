//! The models of five systems, on a real engine.

use crate::models::support::{PLAIN, TestDb, empty, plain, text};
use serde_json::{Value, json};
use trestle_api::Response;
use trestle_binding::Outcome;
use trestle_item::Item;

pub(crate) const NAMES: [&str; 5] = ["klayers", "littlehorse", "manhunt", "reindexer", "warehouse"];

/// The text of one of the models.
pub(crate) fn model(name: &str) -> String {
    let path = format!("{}/../../models/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn all_five_live_in_one_database_and_the_second_time_there_is_nothing_to_do() {
    let models = empty();
    for name in NAMES {
        models.apply(&model(name));
    }
    for name in NAMES {
        let again = models.try_apply(&model(name), PLAIN);
        assert_eq!(again.outcome, Outcome::NothingToDo, "{again}");
    }
    assert_eq!(models.db().models().list().len(), 5);
}

/// Manhunt with its ten sample rows, written without any key.
fn manhunt() -> TestDb {
    let models = empty();
    models.apply(&model("manhunt"));
    let (arian, zavier) = (("9d657f8", "6f7ad1b"), ("89fa8f8", "db3280c"));
    for ((contact, domain), name) in [(arian, "Arian Mellor"), (zavier, "Zavier Curtis")] {
        put(
            &models,
            json!({"entityType": "contact", "contactId": contact, "domainId": domain, "name": name}),
        );
    }
    for ((contact, domain), method) in [(zavier, "538235b"), (zavier, "800e613"), (arian, "d3fd3a0")] {
        put(
            &models,
            json!({
                "entityType": "contactMethod", "contactId": contact, "domainId": domain, "methodId": method,
                "type": "text", "destination": format!("+1 {method}"),
            }),
        );
    }
    search(
        &models,
        zavier,
        ("a271244", "active", "2019-12-30T19:32:14Z"),
        &[("daf3d11", "538235b")],
    );
    search(
        &models,
        arian,
        ("2ad6a19", "canceled", "2019-12-30T12:14:01Z"),
        &[("384f7b1", "d3fd3a0"), ("8cbc75c", "d3fd3a0")],
    );
    assert_eq!(models.rows("manhunt").len(), 10);
    models
}

fn search(
    models: &TestDb,
    (contact, domain): (&str, &str),
    (id, status, started): (&str, &str, &str),
    attempts: &[(&str, &str)],
) {
    put(
        models,
        json!({
            "entityType": "search", "searchId": id, "contactId": contact, "domainId": domain, "status": status,
            "startedDatetime": started,
        }),
    );
    for (attempt, method) in attempts {
        put(
            models,
            json!({
                "entityType": "searchAttempt", "searchId": id, "attemptId": attempt, "contactId": contact,
                "domainId": domain, "methodId": method, "attemptedAt": started,
            }),
        );
    }
}

fn put(models: &TestDb, row: Value) {
    models.put("manhunt", row).unwrap();
}

/// What an access pattern returns, each row as its key.
fn found(models: &TestDb, pattern: &str, parameters: Value) -> Vec<(String, String)> {
    let key = |row: &Item| (text(row, "PK").to_owned(), text(row, "SK").to_owned());
    rows(models, pattern, parameters).iter().map(key).collect()
}

fn rows(models: &TestDb, pattern: &str, parameters: Value) -> Vec<Item> {
    let model = models.db().models().model("manhunt").unwrap();
    let bound = model.access(pattern).unwrap().bind(&plain(parameters)).unwrap();
    match models.db().start(bound.into_request()).wait().unwrap() {
        Response::GetItem(answer) => answer.item.into_iter().collect(),
        Response::Query(answer) => {
            assert_eq!(answer.last_evaluated_key, None);
            answer.items.unwrap().to_vec()
        }
        other => panic!("{other:?}"),
    }
}

fn keys(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(pk, sk): &(&str, &str)| ((*pk).to_owned(), (*sk).to_owned());
    expected.iter().map(owned).collect()
}

#[test]
fn manhunts_nine_queries_find_the_exact_rows_in_the_exact_order() {
    let models = manhunt();
    let (arian, zavier) = (json!("9d657f8"), json!("89fa8f8"));
    let check = |pattern: &str, parameters: Value, expected: &[(&str, &str)]| {
        let found = found(&models, pattern, parameters.clone());
        assert_eq!(found, keys(expected), "{pattern} {parameters}");
    };
    check("search", json!({"searchId": "a271244"}), &[("a271244", "search")]);
    check("search", json!({"searchId": "89fa8f8"}), &[]);
    check(
        "search_with_attempts",
        json!({"searchId": "a271244"}),
        &[("a271244", "daf3d11"), ("a271244", "search")],
    );
    check(
        "search_with_attempts",
        json!({"searchId": "2ad6a19"}),
        &[
            ("2ad6a19", "384f7b1"),
            ("2ad6a19", "8cbc75c"),
            ("2ad6a19", "search"),
        ],
    );
    check("contact", json!({"contactId": arian}), &[("9d657f8", "contact")]);
    check(
        "contact_with_methods",
        json!({"contactId": zavier}),
        &[
            ("89fa8f8", "538235b"),
            ("89fa8f8", "800e613"),
            ("89fa8f8", "contact"),
        ],
    );
    check(
        "contact_with_methods",
        json!({"contactId": arian}),
        &[("9d657f8", "contact"), ("9d657f8", "d3fd3a0")],
    );
    check(
        "contacts_of_domain",
        json!({"domainId": "db3280c"}),
        &[("89fa8f8", "contact")],
    );
    check(
        "contacts_of_domain",
        json!({"domainId": "6f7ad1b"}),
        &[("9d657f8", "contact")],
    );
    check(
        "searches_of_contact",
        json!({"contactId": zavier}),
        &[("a271244", "search")],
    );
    let before = |contact: &Value, time: &str| json!({"contactId": contact, "before": time});
    check(
        "searches_of_contact_before",
        before(&arian, "2019-12-30T12:14:02Z"),
        &[("2ad6a19", "search")],
    );
    check(
        "searches_of_contact_before",
        before(&arian, "2019-12-30T12:14:01Z"),
        &[],
    );
    let with = |contact: &Value, status: &str| json!({"contactId": contact, "status": status});
    check(
        "searches_by_status",
        with(&zavier, "active"),
        &[("a271244", "search")],
    );
    check("searches_by_status", with(&zavier, "canceled"), &[]);
    let both = json!({"contactId": arian, "status": "canceled", "before": "2020-01-01T00:00:00Z"});
    check("searches_by_status_before", both, &[("2ad6a19", "search")]);
    let both = json!({"contactId": arian, "status": "canceled", "before": "2019-12-30T12:14:01Z"});
    check("searches_by_status_before", both, &[]);
}

#[test]
fn manhunts_lists_are_in_order_of_name_and_time() {
    let models = manhunt();
    put(
        &models,
        json!({"entityType": "contact", "contactId": "0000001", "domainId": "db3280c", "name": "Ada Lovelace"}),
    );
    let domain = found(&models, "contacts_of_domain", json!({"domainId": "db3280c"}));
    assert_eq!(domain, keys(&[("0000001", "contact"), ("89fa8f8", "contact")]));
    let zavier = ("89fa8f8", "db3280c");
    search(
        &models,
        zavier,
        ("ffff001", "failed", "2019-12-31T00:00:00Z"),
        &[],
    );
    search(
        &models,
        zavier,
        ("ffff002", "active", "2019-12-29T00:00:00Z"),
        &[],
    );
    let searches = found(&models, "searches_of_contact", json!({"contactId": "89fa8f8"}));
    let all = keys(&[
        ("ffff002", "search"),
        ("a271244", "search"),
        ("ffff001", "search"),
    ]);
    assert_eq!(searches, all);
}

#[test]
fn an_attempt_keeps_what_its_method_was() {
    let models = manhunt();
    let method = json!({"contactId": "89fa8f8", "methodId": "538235b"});
    let new = json!({":d": "+1 other"});
    models
        .update("manhunt", method, "SET destination = :d", new)
        .unwrap();
    let attempts = rows(&models, "search_with_attempts", json!({"searchId": "a271244"}));
    assert_eq!(text(&attempts[0], "destination"), "+1 538235b");
}
