//! A hook in the commit: keys from identity and companions, on every path that writes.

mod keeper;

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use trestle_api::{
    AttributeValueUpdate, BatchExecuteStatement, BatchGetItem, BatchStatementRequest, BatchWriteItem,
    CancellationCode, ConditionCheck, DeleteItem, DeleteRequest, Error, ErrorKind, ExecuteStatement,
    ExecuteTransaction, Get, GetItem, KeysAndAttributes, OperationType, ParameterizedStatement, PutItem,
    PutRequest, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnValue, StreamViewType,
    TimeToLiveSpecification, TransactGetItem, TransactGetItems, TransactWriteItem, TransactWriteItems,
    UpdateItem, UpdateTable, UpdateTimeToLive, WriteRequest,
};
use trestle_engine::Engine;
use trestle_hook::{By, Hook};
use trestle_item::{AttributeValue, Item};
use trestle_store::Space;

use self::keeper::{Keeper, head_key};
use crate::streams::read_all;
use crate::support::{
    Fixture, add_index, describe, get, n, number, put, s, scan, scan_all, table, transact_delete,
    transact_put, transact_update, update, with_stream,
};

/// The tables of the test hook, with a stream on documents and heads, and one that it does not cover.
fn create_tables(engine: &Engine) {
    let documents = table(
        "D",
        "pk:S | sk:N",
        &[("by-rank", "pk:S | rank:N", "ALL")],
        &[("by-author", "author:S", "KEYS_ONLY")],
    );
    let view = StreamViewType::NewAndOldImages;
    engine.run(with_stream(documents, view)).unwrap();
    engine
        .run(with_stream(table("H", "pk:S", &[], &[]), view))
        .unwrap();
    for name in ["C", "P"] {
        engine.run(table(name, "pk:S", &[], &[])).unwrap();
    }
}

fn install(engine: &Engine) -> (Arc<Keeper>, Sender<()>) {
    let (keeper, open) = Keeper::new();
    let keeper = Arc::new(keeper);
    let hook: Arc<dyn Hook> = Arc::clone(&keeper) as _;
    engine.install(Vec::new(), Some(hook)).unwrap();
    (keeper, open)
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    create_tables(&fixture.engine);
    install(&fixture.engine);
    fixture
}

fn identity(id: &str, version: i64) -> Item {
    Item::from([("id", s(id)), ("version", n(version))])
}

fn key(id: &str, version: i64) -> Item {
    Item::from([("pk", s(format!("doc#{id}"))), ("sk", n(version))])
}

/// A document with more attributes.
fn document<const N: usize>(id: &str, version: i64, more: [(&str, AttributeValue); N]) -> Item {
    let mut item = identity(id, version);
    for (name, value) in more {
        item.insert(name, value);
    }
    item
}

/// The newest version and the number of versions, as the head has them.
fn head(engine: &Engine, id: &str) -> Option<(i64, i64)> {
    let head = get(engine, "H", head_key(id))?;
    Some((number(&head, "latest"), number(&head, "versions")))
}

fn label(engine: &Engine, id: &str, version: i64) -> Option<String> {
    let found = get(engine, "D", key(id, version))?;
    Some(found.get("label")?.as_s()?.to_owned())
}

fn delete(id: &str, version: i64) -> DeleteItem {
    DeleteItem {
        table_name: "D".into(),
        key: identity(id, version),
        ..DeleteItem::default()
    }
}

fn transaction(items: Vec<TransactWriteItem>) -> TransactWriteItems {
    TransactWriteItems {
        transact_items: items,
        ..TransactWriteItems::default()
    }
}

fn execute(engine: &Engine, statement: &str) -> Result<Vec<Item>, Error> {
    let request = ExecuteStatement {
        statement: statement.to_owned(),
        ..ExecuteStatement::default()
    };
    engine.run(request).map(|answer| answer.items)
}

#[test]
fn single_item_operations_take_identity_instead_of_the_key() {
    let fixture = fixture();
    let engine = &fixture.engine;
    engine
        .run(put("D", document("a", 1, [("text", s("x"))])))
        .unwrap();
    assert_eq!(label(engine, "a", 1).as_deref(), Some("a@1"));
    let found = get(engine, "D", identity("a", 1)).unwrap();
    assert_eq!(found.get("pk"), Some(&s("doc#a")));
    // An update that creates the item starts with its key, and the hook adds the rest.
    engine
        .run(update(
            "D",
            identity("a", 2),
            "SET t = :t",
            Item::from([(":t", n(7))]),
        ))
        .unwrap();
    let made = get(engine, "D", key("a", 2)).unwrap();
    assert_eq!((number(&made, "t"), number(&made, "version")), (7, 2));
    assert_eq!(head(engine, "a"), Some((2, 2)));
    engine.run(delete("a", 2)).unwrap();
    assert_eq!(head(engine, "a"), Some((1, 1)));
    // The key itself still does.
    let by_key = DeleteItem {
        key: key("a", 1),
        ..delete("a", 1)
    };
    engine.run(by_key).unwrap();
    assert_eq!(head(engine, "a"), None);
    assert!(fixture.rows(Space::Items).is_empty());
    fixture.assert_sound();
}

#[test]
fn what_the_hook_says_of_a_key_reaches_the_client() {
    let fixture = fixture();
    let half = Item::from([("id", s("a"))]);
    let request = GetItem {
        table_name: "D".into(),
        key: half.clone(),
        ..GetItem::default()
    };
    let refusals = [
        fixture.engine.run(request).unwrap_err(),
        fixture.engine.run(put("D", half.clone())).unwrap_err(),
        fixture
            .engine
            .run(update("D", half, "SET a = :a", Item::from([(":a", n(1))])))
            .unwrap_err(),
        execute(&fixture.engine, "DELETE FROM D WHERE id = 'a'").unwrap_err(),
    ];
    for refusal in refusals {
        assert_eq!(
            refusal.message(),
            "A document is identified by id and version: give both"
        );
    }
    // Rules about the key remain those of the table.
    let touching = update("D", identity("a", 1), "SET sk = :a", Item::from([(":a", n(1))]));
    let refusal = fixture.engine.run(touching).unwrap_err();
    assert!(
        refusal.message().contains("Cannot update attribute sk"),
        "{refusal}"
    );
}

#[test]
fn batches_take_identity_instead_of_keys() {
    let fixture = fixture();
    let engine = &fixture.engine;
    let put = |item| WriteRequest {
        put_request: Some(PutRequest { item }),
        delete_request: None,
    };
    let remove = |key| WriteRequest {
        put_request: None,
        delete_request: Some(DeleteRequest { key }),
    };
    let write = |requests| BatchWriteItem {
        request_items: [("D".to_owned(), requests)].into(),
        ..BatchWriteItem::default()
    };
    let puts = (1..=3).map(|version| put(identity("a", version))).collect();
    engine.run(write(puts)).unwrap();
    assert_eq!(head(engine, "a"), Some((3, 3)));
    engine
        .run(write(vec![remove(identity("a", 3)), put(identity("b", 1))]))
        .unwrap();
    assert_eq!(head(engine, "a"), Some((2, 2)));
    let twice = write(vec![remove(identity("a", 2)), put(key("a", 2))]);
    let refusal = engine.run(twice).unwrap_err();
    assert_eq!(
        refusal.message(),
        "Provided list of item keys contains duplicates"
    );

    let read = |keys| BatchGetItem {
        request_items: [(
            "D".to_owned(),
            KeysAndAttributes {
                keys,
                ..KeysAndAttributes::default()
            },
        )]
        .into(),
        ..BatchGetItem::default()
    };
    let found = engine.run(read(vec![identity("a", 1), key("a", 2)])).unwrap();
    assert_eq!(found.responses.get("D").unwrap().len(), 2);
    let refusal = engine.run(read(vec![identity("a", 1), key("a", 1)])).unwrap_err();
    assert_eq!(
        refusal.message(),
        "Provided list of item keys contains duplicates"
    );
    fixture.assert_sound();
}

#[test]
fn transactions_take_identity_instead_of_keys() {
    let fixture = fixture();
    let engine = &fixture.engine;
    engine.run(put("D", identity("a", 1))).unwrap();
    let check = TransactWriteItem {
        condition_check: Some(Box::new(ConditionCheck {
            table_name: "D".into(),
            key: identity("a", 1),
            condition_expression: "attribute_exists(label)".into(),
            ..ConditionCheck::default()
        })),
        ..TransactWriteItem::default()
    };
    let set = transact_update(
        "D",
        identity("b", 5),
        "SET t = :t",
        None,
        Item::from([(":t", n(1))]),
    );
    let items = vec![check, transact_put("D", identity("a", 2)), set];
    engine.run(transaction(items)).unwrap();
    assert_eq!(
        (head(engine, "a"), head(engine, "b")),
        (Some((2, 2)), Some((5, 1)))
    );
    let items = vec![
        transact_delete("D", identity("a", 2), None),
        transact_delete("D", identity("b", 5), None),
    ];
    engine.run(transaction(items)).unwrap();
    assert_eq!((head(engine, "a"), head(engine, "b")), (Some((1, 1)), None));
    let twice = vec![
        transact_put("D", identity("a", 1)),
        transact_delete("D", key("a", 1), None),
    ];
    let refusal = engine.run(transaction(twice)).unwrap_err();
    assert!(
        refusal.message().contains("multiple operations on one item"),
        "{refusal}"
    );
    let read = TransactGetItems {
        transact_items: vec![TransactGetItem {
            get: Get {
                table_name: "D".into(),
                key: identity("a", 1),
                ..Get::default()
            },
        }],
        ..TransactGetItems::default()
    };
    let found = engine.run(read).unwrap().responses;
    assert!(found.first().unwrap().item.is_some());
    fixture.assert_sound();
}

#[test]
fn statements_take_identity_instead_of_keys() {
    let fixture = fixture();
    let engine = &fixture.engine;
    execute(engine, "INSERT INTO D VALUE {'id': 'a', 'version': 1, 't': 1}").unwrap();
    let again = execute(engine, "INSERT INTO D VALUE {'id': 'a', 'version': 1}").unwrap_err();
    assert_eq!(again.kind(), ErrorKind::DuplicateItem);
    let shown = execute(
        engine,
        "UPDATE D SET t = 2 WHERE id = 'a' AND version = 1 AND t = 1 RETURNING ALL NEW *",
    );
    let shown = shown.unwrap();
    assert_eq!(number(shown.first().unwrap(), "t"), 2);
    assert_eq!(shown.first().unwrap().get("label"), Some(&s("a@1")));
    let late = execute(
        engine,
        "UPDATE D SET t = 3 WHERE id = 'a' AND version = 1 AND t = 1",
    )
    .unwrap_err();
    assert_eq!(late.kind(), ErrorKind::ConditionalCheckFailed);
    let statement = |text: &str| ParameterizedStatement {
        statement: text.to_owned(),
        ..ParameterizedStatement::default()
    };
    let together = ExecuteTransaction {
        transact_statements: vec![
            statement("EXISTS(SELECT * FROM D WHERE id = 'a' AND version = 1 AND t = 2)"),
            statement("INSERT INTO D VALUE {'id': 'a', 'version': 2}"),
        ],
        ..ExecuteTransaction::default()
    };
    engine.run(together).unwrap();
    assert_eq!(head(engine, "a"), Some((2, 2)));
    execute(engine, "DELETE FROM D WHERE version = 2 AND id = 'a'").unwrap();
    execute(engine, "DELETE FROM D WHERE pk = 'doc#a' AND sk = 1").unwrap();
    assert_eq!(head(engine, "a"), None);
    fixture.assert_sound();
}

#[test]
fn a_refused_statement_of_a_batch_leaves_nothing_and_the_others_go_on() {
    let fixture = fixture();
    let statement = |text: &str| BatchStatementRequest {
        statement: text.to_owned(),
        ..BatchStatementRequest::default()
    };
    let request = BatchExecuteStatement {
        statements: vec![
            statement("INSERT INTO D VALUE {'id': 'a', 'version': 1}"),
            statement("INSERT INTO D VALUE {'id': 'a', 'version': 2, 'head_refused': true}"),
            statement("INSERT INTO D VALUE {'id': 'a', 'version': 3, 'panics': true}"),
            statement("INSERT INTO D VALUE {'id': 'a', 'version': 4}"),
        ],
        ..BatchExecuteStatement::default()
    };
    let answers = fixture.engine.run(request).unwrap().responses;
    let failed: Vec<bool> = answers.iter().map(|answer| answer.error.is_some()).collect();
    assert_eq!(failed, [false, true, true, false]);
    assert_eq!(head(&fixture.engine, "a"), Some((4, 2)));
    assert_eq!(get(&fixture.engine, "D", key("a", 2)), None);
    fixture.assert_sound();
}

#[test]
fn a_refused_companion_refuses_the_write_and_leaves_nothing() {
    let fixture = fixture();
    let engine = &fixture.engine;
    engine.run(put("D", identity("a", 1))).unwrap();
    let before: Vec<_> = [Space::Items, Space::Index, Space::Changes]
        .map(|space| fixture.rows(space))
        .into();
    let refused = document("a", 2, [("head_refused", AttributeValue::from(true))]);
    let refusal = engine.run(put("D", refused.clone())).unwrap_err();
    assert_eq!(refusal.message(), "no such head, please");
    let other = transact_put("P", Item::from([("pk", s("b"))]));
    let refusal = engine
        .run(transaction(vec![other, transact_put("D", refused.clone())]))
        .unwrap_err();
    let codes: Vec<_> = refusal.reasons().iter().map(|reason| reason.code).collect();
    assert_eq!(codes, [CancellationCode::None, CancellationCode::ValidationError]);
    // It is not determined from which of two documents the head follows.
    let items = vec![transact_put("D", identity("b", 1)), transact_put("D", refused)];
    let refusal = engine.run(transaction(items)).unwrap_err();
    assert_eq!(refusal.message(), "no such head, please");
    let after: Vec<_> = [Space::Items, Space::Index, Space::Changes]
        .map(|space| fixture.rows(space))
        .into();
    assert_eq!(before, after);
    fixture.assert_sound();
}

#[test]
fn many_writers_never_lose_a_head_or_a_count() {
    let fixture = fixture();
    let engine = &fixture.engine;
    std::thread::scope(|scope| {
        for writer in 0..16 {
            scope.spawn(move || {
                for step in 0..200 {
                    let version = writer * 200 + step;
                    engine.run(put("D", identity("a", version))).unwrap();
                    if step % 4 == 3 {
                        engine.run(delete("a", version)).unwrap();
                    }
                }
            });
        }
    });
    // Every fourth was removed: of the last writer's, 3,199.
    assert_eq!(head(engine, "a"), Some((3198, 16 * 150)));
    assert_eq!(describe(engine, "D").item_count, 16 * 150);
    fixture.assert_sound();
}

#[test]
fn a_query_sees_what_is_staged_before_it_in_the_same_group() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    create_tables(engine);
    let (_, open) = install(engine);
    for version in [1, 2, 3] {
        engine.run(put("D", identity("a", version))).unwrap();
    }
    let waits = document("w", 1, [("waits", AttributeValue::from(true))]);
    let author = |version| document("b", version, [("author", s("x"))]);
    // The first waits in the committer until all others are queued behind it.
    let started = [
        engine.start(put("D", waits).into()),
        engine.start(delete("a", 3).into()),
        engine.start(delete("a", 2).into()),
        engine.start(put("D", author(1)).into()),
        engine.start(put("D", author(2)).into()),
        engine.start(delete("b", 1).into()),
        engine.start(put("D", author(3)).into()),
    ];
    open.send(()).unwrap();
    for completion in started {
        completion.wait().unwrap();
    }
    assert_eq!(head(engine, "a"), Some((1, 1)));
    let peers = |version| number(&get(engine, "D", key("b", version)).unwrap(), "peers");
    assert_eq!((peers(2), peers(3)), (1, 1));
    fixture.assert_sound();
}

#[test]
fn a_transaction_is_asked_about_once_and_sees_the_state_before_it() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    create_tables(engine);
    let (keeper, _open) = install(engine);
    for version in [1, 2, 3] {
        engine.run(put("D", identity("a", version))).unwrap();
    }
    let author = |version| transact_put("D", document("b", version, [("author", s("x"))]));
    let items = vec![
        transact_delete("D", identity("a", 3), None),
        transact_delete("D", identity("a", 2), None),
        author(1),
        author(2),
    ];
    keeper.asked.lock().clear();
    engine.run(transaction(items)).unwrap();
    let asked: Vec<usize> = keeper.asked.lock().iter().map(Vec::len).collect();
    assert_eq!(asked, [4, 1, 1], "all documents together, then each of two heads");
    assert_eq!(head(engine, "a"), Some((1, 1)));
    assert_eq!(head(engine, "b"), Some((2, 2)));
    assert_eq!(number(&get(engine, "D", key("b", 2)).unwrap(), "peers"), 0);
    fixture.assert_sound();
}

#[test]
fn conditions_of_a_transaction_hold_against_the_state_before_it() {
    let fixture = fixture();
    let engine = &fixture.engine;
    // The first item's companion is the row that the second one changes.
    let many = document("a", 1, [("many", n(1))]);
    let second = |condition| {
        let values = Item::from([(":t", n(1))]);
        let key = Item::from([("pk", s("many-0"))]);
        transact_update("P", key, "SET t = :t", Some(condition), values)
    };
    let refused = transaction(vec![
        transact_put("D", many.clone()),
        second("attribute_exists(pk)"),
    ]);
    let refusal = engine.run(refused).unwrap_err();
    let codes: Vec<_> = refusal.reasons().iter().map(|reason| reason.code).collect();
    assert_eq!(
        codes,
        [CancellationCode::None, CancellationCode::ConditionalCheckFailed]
    );
    // The hook does not cover the second item's table, so it cannot know what both write to the row.
    let items = vec![transact_put("D", many), second("attribute_not_exists(pk)")];
    let refusal = engine.run(transaction(items)).unwrap_err();
    let why = refusal
        .reasons()
        .first()
        .and_then(|reason| reason.message.clone());
    assert!(
        why.is_some_and(|why| why.contains("also named as one that follows")),
        "{refusal}"
    );
    assert_eq!(describe(engine, "P").item_count, 0);
    fixture.assert_sound();
}

#[test]
fn a_hook_takes_effect_without_a_restart_and_covers_tables_made_later() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    engine.run(table("D", "pk:S | sk:N", &[], &[])).unwrap();
    let missing = engine.run(put("D", identity("a", 1))).unwrap_err();
    assert!(missing.message().contains("Missing the key pk"), "{missing}");
    let (keeper, _open) = install(engine);
    let no_head = engine.run(put("D", identity("a", 1))).unwrap_err();
    assert!(
        no_head
            .message()
            .contains("concerns table H, which does not exist"),
        "{no_head}"
    );
    engine.run(table("H", "pk:S", &[], &[])).unwrap();
    engine.run(put("D", identity("a", 1))).unwrap();
    assert_eq!(head(engine, "a"), Some((1, 1)));
    // A changed table keeps its hook.
    engine
        .run(add_index("D", "by-author", "author:S", "ALL"))
        .unwrap();
    fixture.until_active("D");
    let protect = UpdateTable {
        table_name: "D".into(),
        deletion_protection_enabled: Some(true),
        ..UpdateTable::default()
    };
    engine.run(protect).unwrap();
    engine.run(put("D", identity("a", 2))).unwrap();
    assert_eq!(head(engine, "a"), Some((2, 2)));
    let by_client = engine.run(put("H", head_key("a"))).unwrap_err();
    assert!(by_client.message().contains("write those"), "{by_client}");
    assert!(keeper.asked.lock().contains(&vec![("H".into(), By::Companion)]));
    engine.install(Vec::new(), None).unwrap();
    engine.run(put("H", head_key("a"))).unwrap();
    assert!(engine.run(put("D", identity("a", 3))).is_err());
    fixture.assert_sound();
}

#[test]
fn requests_on_their_way_meet_the_old_hook_or_the_new_one() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    create_tables(engine);
    let (old, open) = install(engine);
    let (new, _) = Keeper::new();
    let new = Arc::new(new);
    std::thread::scope(|scope| {
        let waits = document("w", 1, [("waits", AttributeValue::from(true))]);
        let first = engine.start(put("D", waits).into());
        let hook: Arc<dyn Hook> = Arc::clone(&new) as _;
        let installed = scope.spawn(|| engine.install(Vec::new(), Some(hook)));
        // Long enough for the installation to be next in the queue; if it is not, the old hook is called.
        std::thread::sleep(Duration::from_millis(20));
        let second = engine.start(put("D", identity("a", 1)).into());
        open.send(()).unwrap();
        first.wait().unwrap();
        second.wait().unwrap();
        installed.join().unwrap().unwrap();
    });
    engine.run(put("D", identity("a", 2))).unwrap();
    assert_eq!(head(engine, "a"), Some((2, 2)));
    let about_documents = |keeper: &Keeper| {
        let asked = keeper.asked.lock();
        asked.iter().flatten().filter(|(table, _)| table == "D").count()
    };
    assert_eq!(about_documents(&old) + about_documents(&new), 3);
    assert!(about_documents(&new) > 0);
}

#[test]
fn documents_are_stored_replaced_removed_and_survive_a_reopening_and_a_backup() {
    let fixture = Fixture::on_disk(trestle_engine::Options::default());
    let install = |documents: Vec<(&str, Option<&[u8]>)>| {
        let owned = documents
            .into_iter()
            .map(|(name, bytes)| (name.to_owned(), bytes.map(<[u8]>::to_vec)));
        fixture.engine.install(owned.collect(), None)
    };
    install(vec![
        ("b", Some(b"1")),
        ("a", Some(&[0, 255])),
        ("gone", Some(b"")),
    ])
    .unwrap();
    install(vec![("b", Some(b"2")), ("gone", None)]).unwrap();
    let refusal = install(vec![("c", Some(b"3")), ("", Some(b"4"))]).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Validation);
    let expected = vec![("a".to_owned(), vec![0, 255]), ("b".to_owned(), b"2".to_vec())];
    assert_eq!(fixture.engine.documents().unwrap(), expected);
    let fixture = fixture.reopen();
    assert_eq!(fixture.engine.documents().unwrap(), expected);
    fixture.assert_sound();
    let mut backup = Vec::new();
    fixture.engine.backup(&mut backup).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let restored = directory.path().join("restored");
    trestle_engine::restore(backup.as_slice(), &restored, None).unwrap();
    let engine = Engine::open(
        &restored,
        trestle_engine::StoreSettings::default(),
        trestle_engine::Options::default(),
    );
    assert_eq!(engine.unwrap().documents().unwrap(), expected);
}

#[test]
fn rows_that_follow_one_from_another_are_bounded_in_depth_and_number() {
    let fixture = fixture();
    let engine = &fixture.engine;
    // The document, then chain rows 7 to 0: eight companions.
    engine.run(put("D", document("a", 1, [("chain", n(7))]))).unwrap();
    assert_eq!(describe(engine, "C").item_count, 8);
    let long = document("a", 2, [("chain", n(1008))]);
    let refusal = engine.run(put("D", long)).unwrap_err();
    assert!(refusal.message().contains("more than 8 rows"), "{refusal}");
    assert_eq!(describe(engine, "C").item_count, 8);
    // Ten thousand with the head.
    engine
        .run(put("D", document("b", 1, [("many", n(9_999))])))
        .unwrap();
    assert_eq!(describe(engine, "P").item_count, 9_999);
    let again = document("c", 1, [("many", n(10_100))]);
    engine.run(put("D", again)).unwrap(); // Existing ones need not be written.
    engine
        .run(put("D", document("d", 1, [("many", n(20_099))])))
        .unwrap();
    let refusal = engine
        .run(put("D", document("e", 1, [("many", n(30_101))])))
        .unwrap_err();
    assert!(refusal.message().contains("more than 10000 rows"), "{refusal}");
    assert_eq!(describe(engine, "P").item_count, 20_099);
    fixture.assert_sound();
}

#[test]
fn a_hook_that_moves_a_row_or_panics_refuses_only_its_own_request() {
    let fixture = fixture();
    let engine = &fixture.engine;
    let moves = document("a", 1, [("moves", AttributeValue::from(true))]);
    let refusal = engine.run(put("D", moves)).unwrap_err();
    assert!(refusal.message().contains("the key of another"), "{refusal}");
    let panics = document("a", 1, [("panics", AttributeValue::from(true))]);
    let refusal = engine.run(put("D", panics)).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::InternalServerError);
    engine.run(put("D", identity("a", 1))).unwrap();
    assert_eq!(head(engine, "a"), Some((1, 1)));
    assert_eq!(fixture.rows(Space::Items).len(), 2);
}

#[test]
fn the_final_item_is_held_to_the_rules_of_items() {
    let fixture = fixture();
    let engine = &fixture.engine;
    // Just small enough as written, too large with the additions of the hook.
    let text = "x".repeat(400 * 1024 - 20);
    let large = document("a", 1, [("t", AttributeValue::from(text))]);
    let refusal = engine.run(put("D", large)).unwrap_err();
    assert!(refusal.message().contains("Item size"), "{refusal}");
    let mistyped = document("a", 1, [("author", n(1))]);
    assert!(engine.run(put("D", mistyped)).is_err());
    assert!(fixture.rows(Space::Items).is_empty());
}

#[test]
fn answers_speak_of_the_final_item_and_count_companions_of_the_same_table() {
    let fixture = fixture();
    let engine = &fixture.engine;
    let request = UpdateItem {
        return_values: Some(ReturnValue::AllNew),
        return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
        return_item_collection_metrics: Some(ReturnItemCollectionMetrics::Size),
        attribute_updates: Some(
            [(
                "t".to_owned(),
                AttributeValueUpdate {
                    value: Some(n(1)),
                    action: None,
                },
            )]
            .into(),
        ),
        table_name: "D".into(),
        key: identity("a", 1),
        ..UpdateItem::default()
    };
    let answer = engine.run(request).unwrap();
    assert_eq!(answer.attributes.unwrap().get("label"), Some(&s("a@1")));
    // The head lies in another table.
    assert_eq!(answer.consumed_capacity.unwrap().capacity_units, Some(1.0));
    let collection = answer.item_collection_metrics.unwrap().item_collection_key;
    assert_eq!(collection, Item::from([("pk", s("doc#a"))]));
    let request = DeleteItem {
        return_item_collection_metrics: Some(ReturnItemCollectionMetrics::Size),
        return_values: Some(ReturnValue::AllOld),
        ..delete("a", 9)
    };
    let answer = engine.run(request).unwrap();
    assert_eq!(answer.attributes, None);
    let collection = answer.item_collection_metrics.unwrap().item_collection_key;
    assert_eq!(collection, Item::from([("pk", s("doc#a"))]));
    // Chain rows 3 to 0 are four writes in one table.
    let request = PutItem {
        return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
        ..put("C", Item::from([("pk", s("link-3")), ("left", n(3))]))
    };
    let answer = engine.run(request).unwrap();
    assert_eq!(answer.consumed_capacity.unwrap().capacity_units, Some(4.0));
}

#[test]
fn a_table_without_a_hook_is_as_before() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    create_tables(engine);
    let (keeper, _open) = install(engine);
    let row = Item::from([("pk", s("x")), ("id", s("a"))]);
    engine.run(put("P", row.clone())).unwrap();
    assert_eq!(get(engine, "P", Item::from([("pk", s("x"))])), Some(row));
    let refusal = engine.run(put("P", identity("a", 1))).unwrap_err();
    assert_eq!(
        refusal.message(),
        "One or more parameter values were invalid: Missing the key pk in the item"
    );
    assert!(keeper.asked.lock().is_empty());
}

#[test]
fn companions_are_in_the_streams_of_their_tables() {
    let fixture = fixture();
    let engine = &fixture.engine;
    engine.run(put("D", identity("a", 1))).unwrap();
    engine.run(put("D", identity("a", 2))).unwrap();
    engine.run(delete("a", 2)).unwrap();
    engine.run(delete("a", 1)).unwrap();
    let arn = describe(engine, "H").latest_stream_arn.unwrap();
    let heads: Vec<_> = read_all(engine, &arn)
        .iter()
        .map(|record| record.event_name)
        .collect();
    assert_eq!(
        heads,
        [
            OperationType::Insert,
            OperationType::Modify,
            OperationType::Modify,
            OperationType::Remove
        ]
    );
    fixture.assert_sound();
}

fn set_ttl(engine: &Engine) {
    let request = UpdateTimeToLive {
        table_name: "D".into(),
        time_to_live_specification: TimeToLiveSpecification {
            enabled: true,
            attribute_name: "ttl".into(),
        },
    };
    engine.run(request).unwrap();
}

#[test]
fn expiry_reaches_the_hook_and_a_refusal_keeps_the_item_without_holding_up_others() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    create_tables(engine);
    let (keeper, _open) = install(engine);
    set_ttl(engine);
    let now = fixture.now().as_secs() as i64;
    let yes = || AttributeValue::from(true);
    // More items that the hook keeps than one commit deletes, then one that it allows to be deleted.
    for version in 0..120 {
        let kept = document("kept", version, [("ttl", n(now + 10)), ("kept", yes())]);
        engine.run(put("D", kept)).unwrap();
    }
    engine.run(put("D", document("a", 1, []))).unwrap();
    engine
        .run(put("D", document("a", 2, [("ttl", n(now + 20))])))
        .unwrap();
    fixture.clock.advance(Duration::from_secs(30));
    fixture.until("the newest version to expire", || {
        head(engine, "a") == Some((1, 1))
    });
    assert!(keeper.asked.lock().contains(&vec![("D".into(), By::TimeToLive)]));
    assert_eq!(head(engine, "kept"), Some((119, 120)));
    fixture.assert_sound();
    // No entry was lost: without the hook, those items expire, too.
    engine.install(Vec::new(), None).unwrap();
    fixture.until("kept items to expire", || {
        scan_all(engine, scan("D", None)).0.len() == 1
    });
    let arn = describe(engine, "D").latest_stream_arn.unwrap();
    let by_service = read_all(engine, &arn)
        .iter()
        .filter(|record| record.user_identity.is_some())
        .count();
    assert_eq!(by_service, 121);
    fixture.assert_sound();
}

#[test]
fn expiry_goes_on_past_an_item_on_which_the_hook_panics() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    create_tables(engine);
    set_ttl(engine);
    let now = fixture.now().as_secs() as i64;
    let mut panics = key("p", 1);
    panics.insert("ttl", n(now + 10));
    panics.insert("panics", true);
    engine.run(put("D", panics)).unwrap();
    install(engine);
    engine
        .run(put("D", document("a", 1, [("ttl", n(now + 20))])))
        .unwrap();
    fixture.clock.advance(Duration::from_secs(30));
    fixture.until("the other item to expire", || head(engine, "a").is_none());
    assert!(get(engine, "D", key("p", 1)).is_some());
    fixture.assert_sound();
}

#[test]
fn a_preview_has_every_row_that_would_change_and_leaves_everything_as_it_is() {
    let fixture = fixture();
    let engine = &fixture.engine;
    engine
        .run(put("D", document("a", 1, [("author", s("x"))])))
        .unwrap();
    let spaces = [Space::Items, Space::Index, Space::Changes, Space::Meta];
    let stored = || spaces.map(|space| fixture.rows(space));
    let before = stored();
    let change = |request| {
        let rows = engine.preview(request).unwrap().into_iter();
        let latest = |item: Option<Item>| item.map(|item| number(&item, "latest"));
        rows.map(|row| match row.table.as_str() {
            "H" => format!("H {:?} {:?}", latest(row.before), latest(row.after)),
            table => format!("{table} {} {}", row.before.is_some(), row.after.is_some()),
        })
        .collect::<Vec<_>>()
    };
    let added = put("D", document("a", 2, [("chain", n(2))]));
    assert_eq!(
        change(added.clone().into()),
        [
            "D false true",
            "C false true",
            "C false true",
            "C false true",
            "H Some(1) Some(2)"
        ]
    );
    assert_eq!(change(delete("a", 1).into()), ["D true false", "H Some(1) None"]);
    assert_eq!(change(delete("b", 1).into()), Vec::<String>::new());
    let refused = put("D", document("a", 2, [("refused", n(1))]));
    assert_eq!(
        engine.preview(refused.clone().into()).unwrap_err().to_string(),
        engine.run(refused).unwrap_err().to_string()
    );
    assert!(engine.preview(scan("D", None).into()).is_err());
    assert_eq!(stored(), before);
    // The preview is correct.
    let foretold = engine.preview(added.clone().into()).unwrap();
    engine.run(added).unwrap();
    for row in foretold {
        assert_eq!(get(engine, &row.table, row.key), row.after);
    }
    fixture.assert_sound();
}
