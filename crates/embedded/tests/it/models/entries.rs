//! Entries in commits of the real engine: for every kind of write, in fills, and when the effect is changed
//! or removed.

use crate::models::support::{FILL, Found, PLAIN, TestDb, empty, expiring, on, plain, text};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trestle_api::{
    BatchWriteItem, CancellationCode, Delete, DeleteItem, ErrorKind, ExecuteStatement, Put, PutItem,
    PutRequest, Query, TransactWriteItem, TransactWriteItems, WriteRequest,
};
use trestle_binding::Outcome;
use trestle_embedded::{VerifyOptions, verify};
use trestle_env::{Clock, VirtualClock};
use trestle_item::Item;
use trestle_store::MemoryStore;

/// Runs with entries, or without.
fn model(entries: &str) -> String {
    format!(
        r#"
        model = "runs"
        [table.runs]
        key = ["pk", "sk"]
        entity_attribute = "kind"
        ttl = "until"
        [entity.run]
        table = "runs"
        key = {{ pk = "{{tenant}}#run", sk = "{{id}}" }}
        [entity.run.attributes]
        tenant = {{ type = "string", chars = "a-z" }}
        id = {{ type = "string", chars = "a-z0-9" }}
        started = "integer"
        phase = {{ type = "string", optional = true }}
        tags = {{ type = "list", optional = true }}
        labels = {{ type = "string-set", optional = true }}
        {entries}
        "#
    )
}

const BY_TAG: &str = r#"
        [entity.run.entries.by_tag]
        of = "tags"
        member = "tag"
        key = { pk = "{tenant}#tag#{tag}", sk = "{started:06}#{id}" }
        project = ["phase"]
"#;

const BY_LABEL: &str = r#"
        [entity.run.entries.by_label]
        of = "labels"
        member = "label"
        key = { pk = "{tenant}#label#{label}", sk = "{id}" }
"#;

fn database() -> TestDb {
    let models = empty();
    models.apply(&model(&[BY_TAG, BY_LABEL].concat()));
    models
}

fn run(id: &str, started: i64, tags: &[&str]) -> Value {
    json!({"kind": "run", "tenant": "t", "id": id, "started": started, "tags": tags})
}

/// The keys of all entries, sorted.
fn entries(models: &TestDb) -> Vec<String> {
    let rows = models.rows("runs");
    let entries = rows.iter().filter(|row| text(row, "kind").contains(".entries."));
    let mut keys: Vec<String> = entries
        .map(|row| format!("{} {}", text(row, "pk"), text(row, "sk")))
        .collect();
    keys.sort();
    keys
}

fn clean(models: &TestDb) {
    let mut found = Found::default();
    let verified = verify(
        &mut models.view(),
        models.now(),
        VerifyOptions::default(),
        &mut found,
    )
    .unwrap();
    assert_eq!(verified.disagreements(), 0, "{}", found.0.join("\n"));
    assert_eq!(verified.models[0].to_do.facts_to_fill, 0);
}

fn update(models: &TestDb, expression: &str, values: Value) {
    let key = json!({"kind": "run", "tenant": "t", "id": "a"});
    models.update("runs", key, expression, values).unwrap();
    clean(models);
}

fn partiql(models: &TestDb, statement: &str) {
    let statement = ExecuteStatement {
        statement: statement.to_owned(),
        ..ExecuteStatement::default()
    };
    models.run(statement).unwrap();
    clean(models);
}

#[test]
fn entries_follow_from_every_update() {
    let models = database();
    models.put("runs", run("a", 1, &["x", "y"])).unwrap();
    assert_eq!(entries(&models), ["t#tag#x 000001#a", "t#tag#y 000001#a"]);
    update(
        &models,
        "SET tags = list_append(tags, :m)",
        json!({":m": ["z", "x"]}),
    );
    assert_eq!(
        entries(&models),
        ["t#tag#x 000001#a", "t#tag#y 000001#a", "t#tag#z 000001#a"]
    );
    update(&models, "REMOVE tags[1], tags[3]", json!({}));
    assert_eq!(entries(&models), ["t#tag#x 000001#a", "t#tag#z 000001#a"]);
    update(&models, "SET started = :n", json!({":n": 2}));
    assert_eq!(entries(&models), ["t#tag#x 000002#a", "t#tag#z 000002#a"]);
    update(&models, "SET phase = :s", json!({":s": "open"}));
    update(
        &models,
        "REMOVE tags ADD labels :l",
        json!({":l": ["SS", "p", "q"]}),
    );
    assert_eq!(entries(&models), ["t#label#p a", "t#label#q a"]);
    update(&models, "DELETE labels :l", json!({":l": ["SS", "p"]}));
    assert_eq!(entries(&models), ["t#label#q a"]);
    update(&models, "DELETE labels :l", json!({":l": ["SS", "q"]}));
    assert_eq!(entries(&models), Vec::<String>::new());
}

#[test]
fn entries_follow_from_batches_transactions_and_statements() {
    let models = database();
    let put = |row: Value| WriteRequest {
        put_request: Some(PutRequest { item: plain(row) }),
        ..WriteRequest::default()
    };
    let rows = vec![put(run("a", 1, &["x"])), put(run("b", 1, &["x", "y"]))];
    models
        .run(BatchWriteItem {
            request_items: [("runs".to_owned(), rows)].into(),
            ..BatchWriteItem::default()
        })
        .unwrap();
    assert_eq!(
        entries(&models),
        ["t#tag#x 000001#a", "t#tag#x 000001#b", "t#tag#y 000001#b"]
    );
    let delete = TransactWriteItem {
        delete: Some(Box::new(Delete {
            table_name: "runs".to_owned(),
            key: plain(json!({"kind": "run", "tenant": "t", "id": "b"})),
            ..Delete::default()
        })),
        ..TransactWriteItem::default()
    };
    transact(&models, vec![delete, transact_put(run("a", 2, &["y"]))]).unwrap();
    assert_eq!(entries(&models), ["t#tag#y 000002#a"]);
    clean(&models);
    partiql(
        &models,
        "INSERT INTO runs VALUE {'pk': 't#run', 'sk': 'c', 'started': 3, 'tags': ['x', 7, true]}",
    );
    assert_eq!(entries(&models).len(), 4);
    partiql(
        &models,
        "UPDATE runs SET tags = ['w'] WHERE pk = 't#run' AND sk = 'c'",
    );
    assert_eq!(entries(&models), ["t#tag#w 000003#c", "t#tag#y 000002#a"]);
    partiql(&models, "DELETE FROM runs WHERE pk = 't#run' AND sk = 'a'");
    assert_eq!(entries(&models), ["t#tag#w 000003#c"]);
}

fn transact(models: &TestDb, items: Vec<TransactWriteItem>) -> Result<(), trestle_api::Error> {
    let transaction = TransactWriteItems {
        transact_items: items,
        ..TransactWriteItems::default()
    };
    models.run(transaction).map(drop)
}

fn transact_put(row: Value) -> TransactWriteItem {
    TransactWriteItem {
        put: Some(Box::new(Put {
            table_name: "runs".to_owned(),
            item: plain(row),
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    }
}

#[test]
fn a_search_is_one_query_in_pages_with_a_bookmark() {
    let models = database();
    for started in 0..25 {
        let id = format!("r{started}");
        models
            .put(
                "runs",
                run(&id, started, &["even", "all"][usize::from(started % 2 == 1)..]),
            )
            .unwrap();
    }
    let mut found: Vec<String> = Vec::new();
    let mut bookmark: Option<Item> = None;
    for _ in 0..5 {
        let page = models
            .run(Query {
                table_name: "runs".to_owned(),
                key_condition_expression: Some("pk = :p AND sk > :s".to_owned()),
                expression_attribute_values: Some(plain(json!({":p": "t#tag#even", ":s": "000004"}))),
                scan_index_forward: Some(false),
                limit: Some(3),
                exclusive_start_key: bookmark,
                ..Query::default()
            })
            .unwrap();
        found.extend(
            page.items
                .unwrap()
                .to_vec()
                .iter()
                .map(|row| text(row, "id").to_owned()),
        );
        bookmark = page.last_evaluated_key;
        if bookmark.is_none() {
            break;
        }
    }
    let wanted: Vec<String> = (2..13).rev().map(|half| format!("r{}", 2 * half)).collect();
    assert_eq!(found, wanted);
}

#[test]
fn members_that_cannot_be_entries_refuse_the_write_and_are_named() {
    let models = database();
    let refused = models.put("runs", run("a", 1, &["x", ""])).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Validation);
    assert_eq!(
        refused.message(),
        "Entity run: attribute tags has a member of which no entry by_tag can be made: the string \"\" is empty, and a part of \
         a key may not be"
    );
    let both = vec![
        transact_put(run("a", 1, &["x"])),
        transact_put(run("b", 1, &[""])),
    ];
    let refused = transact(&models, both).unwrap_err();
    let codes: Vec<CancellationCode> = refused.reasons().iter().map(|reason| reason.code).collect();
    assert_eq!(codes, [CancellationCode::None, CancellationCode::ValidationError]);
    let long = "x".repeat(2048);
    let refused = models.put("runs", run("a", 1, &[&long])).unwrap_err();
    assert!(
        refused
            .message()
            .ends_with("gives its entry a partition key of 2054 bytes, and 2048 are the most"),
        "{}",
        refused.message()
    );
    assert!(models.rows("runs").is_empty());
}

#[test]
fn a_thousand_entries_follow_from_a_row_and_ten_thousand_from_a_request() {
    let models = database();
    let many = |id: &str, count: usize| {
        let tags: Vec<String> = (0..count).map(|n| format!("m{n}")).collect();
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        run(id, 1, &tags)
    };
    let refused = models.put("runs", many("a", 1001)).unwrap_err();
    assert_eq!(
        refused.message(),
        "Entity run: attribute tags has 1001 members, and entries by_tag makes at most 1000 rows of one; keep fewer members in \
         one row"
    );
    let eleven = (0..11).map(|n| transact_put(many(&format!("r{n}"), 1000)));
    let refused = transact(&models, eleven.collect()).unwrap_err();
    let mut reasons = refused
        .reasons()
        .iter()
        .filter_map(|reason| reason.message.as_deref());
    let said = reasons.next().unwrap();
    assert!(
        said.contains("more than 10000 rows follow from the write"),
        "{said}"
    );
    assert!(models.rows("runs").is_empty());
    models.put("runs", many("a", 1000)).unwrap();
    let others: Vec<String> = (0..1000).map(|n| format!("o{n}")).collect();
    update(&models, "SET tags = :t", json!({":t": others}));
    assert_eq!(entries(&models).len(), 1000);
}

#[test]
fn entries_go_when_time_removes_their_row() {
    let clock = Arc::new(VirtualClock::new());
    let models = on(Arc::new(MemoryStore::new()), clock.clone(), expiring());
    models.apply(&model(&[BY_TAG, BY_LABEL].concat()));
    let mut short = run("a", 1, &["x", "y"]);
    short["until"] = json!(i64::try_from(clock.now().as_secs()).unwrap() + 60);
    models.put("runs", short).unwrap();
    models.put("runs", run("b", 1, &["x"])).unwrap();
    clock.advance(Duration::from_secs(3600));
    let begun = Instant::now();
    while models
        .get("runs", json!({"kind": "run", "tenant": "t", "id": "a"}))
        .is_some()
    {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not expire");
        clock.signal().ring();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(entries(&models), ["t#tag#x 000001#b"]);
}

#[test]
fn rows_that_are_there_get_their_entries_with_a_fill() {
    let models = empty();
    models.apply(&model(""));
    for n in 0..300 {
        models
            .put(
                "runs",
                run(
                    &format!("r{n}"),
                    n,
                    &["x", if n % 2 == 0 { "even" } else { "odd" }],
                ),
            )
            .unwrap();
    }
    let refused = models.try_apply(&model(BY_TAG), PLAIN);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    assert!(refused.to_string().contains("--fill"), "{refused}");
    let filled = models.try_apply(&model(BY_TAG), FILL);
    assert_eq!(filled.outcome, Outcome::Applied, "{filled}");
    assert!(!filled.to_string().contains("missing"), "{filled}");
    assert_eq!(entries(&models).len(), 600);
    clean(&models);
    assert_eq!(
        models.try_apply(&model(BY_TAG), FILL).outcome,
        Outcome::NothingToDo
    );
}

#[test]
fn rows_with_members_that_cannot_be_entries_are_in_the_way_and_named() {
    let models = empty();
    models.apply(&model(""));
    models.put("runs", run("a", 1, &["x"])).unwrap();
    models.put("runs", run("b", 1, &["", "y"])).unwrap();
    let refused = models.try_apply(&model(BY_TAG), FILL);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    let said = refused.to_string();
    assert!(
        said.contains("members of tags of which entries can be made"),
        "{said}"
    );
    assert!(said.contains("the string \"\" is empty"), "{said}");
    assert!(said.contains(r#"{"pk":{"S":"t#run"},"sk":{"S":"b"}}"#), "{said}");
    assert_eq!(entries(&models), Vec::<String>::new());
    models.put("runs", run("b", 1, &["y"])).unwrap();
    assert_eq!(models.try_apply(&model(BY_TAG), FILL).outcome, Outcome::Applied);
    assert_eq!(entries(&models), ["t#tag#x 000001#a", "t#tag#y 000001#b"]);
}

#[test]
fn entries_that_were_dropped_go_in_the_background() {
    let models = database();
    for n in 0..400 {
        models
            .put("runs", run(&format!("r{n}"), n, &["x", "y", "z"]))
            .unwrap();
    }
    models.apply(&model(BY_LABEL));
    let mut found = Found::default();
    let verified = verify(
        &mut models.view(),
        models.now(),
        VerifyOptions::default(),
        &mut found,
    )
    .unwrap();
    assert_eq!(verified.disagreements(), 0, "{:?}", found.0);
    assert_eq!(verified.models[0].to_do.rows_to_clear, 1200);
    models.db().begin_work().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !entries(&models).is_empty() {
        assert!(Instant::now() < deadline, "entries stay");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(models.rows("runs").len(), 400);
    assert_eq!(models.try_apply(&model(BY_TAG), FILL).outcome, Outcome::Applied);
    assert_eq!(entries(&models).len(), 1200);
    clean(&models);
}

#[test]
fn another_projection_and_a_key_that_cannot_move_are_filled_in() {
    let models = database();
    for n in 0..50 {
        let mut row = run(&format!("r{n}"), n, &["x", "y"]);
        row["phase"] = json!("open");
        models.put("runs", row).unwrap();
    }
    for (other, entry) in [
        // Entries have fewer attributes.
        (BY_TAG.replace("project = [\"phase\"]", ""), "t#tag#x 000007#r7"),
        // The time is no longer in the key: the former key of an entry cannot be computed from its own.
        (BY_TAG.replace("{started:06}#{id}", "{id}"), "t#tag#x r7"),
    ] {
        let text = model(&other);
        let refused = models.try_apply(&text, PLAIN);
        assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
        let filled = models.try_apply(&text, FILL);
        assert_eq!(filled.outcome, Outcome::Applied, "{filled}");
        models.db().begin_work().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while entries(&models).len() != 100 {
            assert!(Instant::now() < deadline, "{:?}", entries(&models));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(
            entries(&models).contains(&entry.to_owned()),
            "{:?}",
            entries(&models)
        );
        clean(&models);
    }
}

#[test]
fn another_index_over_entries_is_filled_in() {
    let models = database();
    let mut row = run("a", 1, &["x"]);
    row["phase"] = json!("open");
    models.put("runs", row).unwrap();
    let indexed = |entries: &str| {
        let text = model(entries).replace(
            "ttl = \"until\"",
            "ttl = \"until\"\n[table.runs.index.by_phase]\nkey = [\"phaseKey\", \"sk\"]",
        );
        text.replace(
            "\"{started:06}#{id}\"",
            "\"{started:06}#{id}\", phaseKey = \"{tag}#{phase}\"",
        )
    };
    let without = BY_TAG.replace("project = [\"phase\"]", "");
    assert_eq!(models.try_apply(&model(&without), FILL).outcome, Outcome::Applied);
    let refused = models.try_apply(&indexed(&without), PLAIN);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    let filled = models.try_apply(&indexed(&without), FILL);
    assert_eq!(filled.outcome, Outcome::Applied, "{filled}");
    assert_eq!(
        models.partition("runs", "by_phase", "phaseKey", "x#open").len(),
        1
    );
    clean(&models);
}

const WORDS: &str = r#"
        [entity.run.entries.by_word]
        of = "tags"
        member = "word"
        key = { pk = "{tenant}#word#{word|escape}", sk = "{id}" }
        project = ["phase"]
"#;

#[test]
fn a_member_with_any_character_is_an_entry_where_the_key_escapes_it() {
    for word in ["\u{10FFFF}", "a\u{10FFFF}b", "#", "%", "\u{0}"] {
        let models = empty();
        models.apply(&model(""));
        models.put("runs", run("a", 1, &[word])).unwrap();
        let filled = models.try_apply(&model(WORDS), FILL);
        assert_eq!(filled.outcome, Outcome::Applied, "{word:?}: {filled}");
        models.put("runs", run("b", 1, &[word])).unwrap();
        assert_eq!(entries(&models).len(), 2);
        clean(&models);
        update(&models, "REMOVE tags", json!({}));
        assert_eq!(entries(&models).len(), 1);
    }
}

#[test]
fn a_row_whose_entry_would_be_too_large_is_in_the_way_and_named() {
    let models = empty();
    models.apply(&model(""));
    let mut large = run("a", 1, &[&"w".repeat(60)]);
    large["phase"] = json!("x".repeat(409_470));
    models.put("runs", large.clone()).unwrap();
    models.put("runs", run("b", 1, &["short"])).unwrap();
    let refused = models.try_apply(&model(WORDS), FILL);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    let said = refused.to_string();
    assert!(said.contains(r#"{"pk":{"S":"t#run"},"sk":{"S":"a"}}"#), "{said}");
    assert!(said.contains("entry by_word"), "{said}");
    let models = empty();
    models.apply(&model(WORDS));
    let refused = models.put("runs", large).unwrap_err();
    assert!(
        refused.message().contains("entry by_word"),
        "{}",
        refused.message()
    );
    assert!(
        refused.message().contains("attribute tags"),
        "{}",
        refused.message()
    );
}

/// This many kinds of entries, all of the tags.
fn kinds(count: usize) -> String {
    let kinds = (0..count).map(|n| {
        format!(
            "[entity.run.entries.kind{n}]\nof = \"tags\"\nmember = \"tag\"\nkey = {{ pk = \"{{tenant}}#kind{n}#{{tag}}\", sk = \"{{id}}\" }}\n"
        )
    });
    kinds.collect()
}

#[test]
fn a_row_never_gets_more_entries_than_can_go_with_it() {
    let tags: Vec<String> = (0..1000).map(|n| format!("m{n}")).collect();
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    let models = empty();
    models.apply(&model(""));
    models.put("runs", run("a", 1, &tags)).unwrap();
    models.put("runs", run("b", 1, &["x"])).unwrap();
    let refused = models.try_apply(&model(&kinds(10)), FILL);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    let said = refused.to_string();
    assert!(
        said.contains("10000 rows would be made, and 9000 are the most"),
        "{said}"
    );
    assert!(said.contains(r#"{"pk":{"S":"t#run"},"sk":{"S":"a"}}"#), "{said}");
    update(&models, "REMOVE tags", json!({}));
    assert_eq!(
        models.try_apply(&model(&kinds(10)), FILL).outcome,
        Outcome::Applied
    );
    let refused = models.put("runs", run("a", 1, &tags)).unwrap_err();
    assert!(
        refused.message().contains("9000 are the most"),
        "{}",
        refused.message()
    );
    models.put("runs", run("a", 1, &tags[..900])).unwrap();
    update(&models, "REMOVE tags", json!({}));
    assert_eq!(entries(&models).len(), 10);
}

#[test]
fn a_row_with_more_entries_than_one_write_removes_goes_after_an_update_that_takes_a_part_away() {
    let tags: Vec<String> = (0..1000).map(|n| format!("m{n}")).collect();
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    let models = empty();
    models.apply(&model(&kinds(9)));
    models.put("runs", run("a", 1, &tags)).unwrap();
    // An earlier version allowed a row to have entries of any number of kinds.
    let first: Vec<Item> = models
        .rows("runs")
        .into_iter()
        .filter(|row| text(row, "pk").contains("#kind0#"))
        .collect();
    models.behind_the_models(|engine| {
        let (name, bytes) = engine.documents().unwrap().remove(0);
        let mut stored: Value = serde_json::from_slice(&bytes).unwrap();
        stored["text"] = model(&kinds(11)).into();
        let bytes = serde_json::to_vec(&stored).unwrap();
        engine.store_documents(vec![(name, Some(bytes))]).unwrap();
        for (entry, kind) in first
            .iter()
            .flat_map(|entry| [(entry, "kind9"), (entry, "kind10")])
        {
            let renamed = entry.iter().map(|(name, value)| match value.as_s() {
                Some(text) => (name.clone(), text.replace("kind0", kind).as_str().into()),
                None => (name.clone(), value.clone()),
            });
            let put = PutItem {
                table_name: "runs".to_owned(),
                item: renamed.collect(),
                ..PutItem::default()
            };
            engine.start(put.into()).wait().unwrap();
        }
    });
    clean(&models);
    assert_eq!(entries(&models).len(), 11_000);

    let delete = || {
        models.run(DeleteItem {
            table_name: "runs".to_owned(),
            key: plain(json!({"pk": "t#run", "sk": "a"})),
            ..DeleteItem::default()
        })
    };
    let refused = delete().unwrap_err();
    assert!(
        refused
            .message()
            .contains("11000 entries of the row would go in one write, and 10000 are the most")
            && refused
                .message()
                .contains("a part of the members of tags with an update"),
        "{}",
        refused.message()
    );
    update(&models, "SET tags = :half", json!({":half": &tags[..500]}));
    assert_eq!(entries(&models).len(), 5_500);
    delete().unwrap();
    assert_eq!(entries(&models).len(), 0);
}

#[test]
fn a_member_that_an_index_key_of_its_entry_cannot_hold_is_in_the_way_and_named() {
    let indexed = |entries: &str| {
        let text = model(entries);
        text.replace(
            "ttl = \"until\"",
            "ttl = \"until\"\n[table.runs.index.by_word]\nkey = [\"wordKey\"]",
        )
    };
    let words = WORDS.replace("sk = \"{id}\" }", "sk = \"{id}\", wordKey = \"w#{word}\" }");
    let models = empty();
    models.apply(&indexed(""));
    models.put("runs", run("a", 1, &["\u{10FFFF}"])).unwrap();
    let refused = models.try_apply(&indexed(&words), FILL);
    assert_eq!(refused.outcome, Outcome::Refused, "{refused}");
    let said = refused.to_string();
    assert!(said.contains(r#"{"pk":{"S":"t#run"},"sk":{"S":"a"}}"#), "{said}");
    assert!(said.contains("contains U+10FFFF"), "{said}");
    let models = empty();
    models.apply(&indexed(&words));
    let refused = models.put("runs", run("a", 1, &["\u{10FFFF}"])).unwrap_err();
    assert!(
        refused
            .message()
            .starts_with("Entity run: attribute tags has a member"),
        "{}",
        refused.message()
    );
    assert!(
        !refused.message().contains("write that row first"),
        "{}",
        refused.message()
    );
}
