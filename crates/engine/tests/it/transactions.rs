//! Transactions: all or nothing, reasons in order, tokens.

use std::time::Duration;

use trestle_api::{
    CancellationCode, ConditionCheck, ErrorKind, ReturnValuesOnConditionCheckFailure, StreamViewType,
    TransactWriteItem, TransactWriteItems,
};
use trestle_engine::Options;
use trestle_item::Item;
use trestle_store::Space;

use crate::streams::read_all;
use crate::support::{
    Fixture, describe, get, n, number, put, s, table, transact_delete, transact_put, transact_update,
    with_stream,
};

fn key(pk: &str) -> Item {
    Item::from([("pk", s(pk))])
}

fn raise(pk: &str) -> TransactWriteItem {
    transact_update("T", key(pk), "ADD hits :one", None, Item::from([(":one", n(1))]))
}

fn transaction(items: Vec<TransactWriteItem>, token: Option<&str>) -> TransactWriteItems {
    TransactWriteItems {
        transact_items: items,
        client_request_token: token.map(str::to_owned),
        ..TransactWriteItems::default()
    }
}

fn fixture() -> Fixture {
    with_table(Fixture::new())
}

fn with_table(fixture: Fixture) -> Fixture {
    let create = table("T", "pk:S", &[], &[("g", "g:N", "ALL")]);
    fixture
        .engine
        .run(with_stream(create, StreamViewType::NewAndOldImages))
        .unwrap();
    fixture
}

fn hits(fixture: &Fixture, pk: &str) -> i64 {
    get(&fixture.engine, "T", key(pk)).map_or(0, |item| number(&item, "hits"))
}

#[test]
fn the_same_token_twice_runs_once() {
    let fixture = fixture();
    for _ in 0..3 {
        fixture
            .engine
            .run(transaction(vec![raise("a")], Some("token")))
            .unwrap();
    }
    assert_eq!(hits(&fixture, "a"), 1);
    fixture
        .engine
        .run(transaction(vec![raise("a")], Some("other")))
        .unwrap();
    assert_eq!(hits(&fixture, "a"), 2);
}

#[test]
fn a_token_with_another_request_is_refused() {
    let fixture = fixture();
    fixture
        .engine
        .run(transaction(vec![raise("a")], Some("token")))
        .unwrap();
    let error = fixture
        .engine
        .run(transaction(vec![raise("b")], Some("token")))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IdempotentParameterMismatch);
    assert_eq!(hits(&fixture, "b"), 0);
}

#[test]
fn a_token_is_remembered_for_ten_minutes_also_over_a_restart() {
    let mut fixture = with_table(Fixture::on_disk(Options::default()));
    let request = transaction(vec![raise("a")], Some("token"));
    fixture.engine.run(request.clone()).unwrap();
    fixture.clock.advance(Duration::from_secs(599));
    fixture = fixture.reopen();
    fixture.engine.run(request.clone()).unwrap();
    assert_eq!(hits(&fixture, "a"), 1);
    fixture.clock.advance(Duration::from_secs(1));
    fixture.engine.run(request).unwrap();
    assert_eq!(hits(&fixture, "a"), 2, "forgotten after ten minutes");
    fixture.clock.advance(Duration::from_secs(600));
    fixture.until("the token's row to be cleared", || {
        !fixture
            .rows(Space::Meta)
            .iter()
            .any(|(key, _)| key.starts_with(b"token/"))
    });
}

#[test]
fn a_token_of_a_failed_transaction_can_be_used_again() {
    let fixture = fixture();
    let request = transaction(
        vec![transact_update(
            "T",
            key("a"),
            "ADD hits :one",
            Some("attribute_exists(pk)"),
            Item::from([(":one", n(1))]),
        )],
        Some("token"),
    );
    fixture.engine.run(request.clone()).unwrap_err();
    fixture.engine.run(put("T", key("a"))).unwrap();
    fixture.engine.run(request).unwrap();
    assert_eq!(hits(&fixture, "a"), 1);
}

#[test]
fn one_token_from_many_threads_runs_once() {
    let fixture = fixture();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(
                || match fixture.engine.run(transaction(vec![raise("a")], Some("token"))) {
                    Ok(_) => {}
                    Err(error) => assert!(
                        matches!(
                            error.kind(),
                            ErrorKind::TransactionInProgress | ErrorKind::TransactionCanceled
                        ),
                        "{error:?}"
                    ),
                },
            );
        }
    });
    assert_eq!(hits(&fixture, "a"), 1);
}

#[test]
fn a_transaction_that_fails_leaves_nothing() {
    let fixture = fixture();
    let stored = Item::from([("pk", s("kept")), ("g", n(1))]);
    fixture.engine.run(put("T", stored.clone())).unwrap();
    let before: Vec<_> = Space::ALL.iter().map(|space| fixture.rows(*space)).collect();
    let failing = transact_delete("T", key("missing"), Some("attribute_exists(pk)"));
    let request = transaction(
        vec![
            transact_put("T", Item::from([("pk", s("new")), ("g", n(2))])),
            raise("kept"),
            failing,
        ],
        Some("token"),
    );
    let error = fixture.engine.run(request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TransactionCanceled);
    let after: Vec<_> = Space::ALL.iter().map(|space| fixture.rows(*space)).collect();
    assert_eq!(before, after, "not a byte of it is stored");
    assert_eq!(get(&fixture.engine, "T", key("kept")), Some(stored));
    let arn = describe(&fixture.engine, "T").latest_stream_arn.unwrap();
    assert_eq!(read_all(&fixture.engine, &arn).len(), 1);
    assert_eq!(describe(&fixture.engine, "T").item_count, 1);
}

#[test]
fn reasons_stand_in_the_order_of_the_request() {
    let fixture = fixture();
    let stored = Item::from([("pk", s("text")), ("hits", s("no number"))]);
    fixture.engine.run(put("T", stored.clone())).unwrap();
    let mut check = transact_delete("T", key("text"), Some("attribute_not_exists(pk)"));
    if let Some(delete) = &mut check.delete {
        delete.return_values_on_condition_check_failure = Some(ReturnValuesOnConditionCheckFailure::AllOld);
    }
    let missing = TransactWriteItem {
        condition_check: Some(Box::new(ConditionCheck {
            table_name: "T".into(),
            key: key("absent"),
            condition_expression: "attribute_exists(pk)".into(),
            ..ConditionCheck::default()
        })),
        ..TransactWriteItem::default()
    };
    let error = fixture
        .engine
        .run(transaction(vec![raise("fine"), check, missing], None))
        .unwrap_err();
    let codes: Vec<_> = error.reasons().iter().map(|reason| reason.code).collect();
    let failed = CancellationCode::ConditionalCheckFailed;
    assert_eq!(codes, [CancellationCode::None, failed, failed]);
    assert_eq!(error.reasons()[1].item, Some(stored));
    assert_eq!(error.reasons()[2].item, None);

    let error = fixture
        .engine
        .run(transaction(vec![raise("text"), raise("fine")], None))
        .unwrap_err();
    let codes: Vec<_> = error.reasons().iter().map(|reason| reason.code).collect();
    assert_eq!(codes, [CancellationCode::ValidationError, CancellationCode::None]);
}

#[test]
fn two_actions_on_one_item_are_refused_also_by_arn() {
    let fixture = fixture();
    let arn = describe(&fixture.engine, "T").table_arn;
    let request = transaction(vec![raise("a"), transact_put(&arn, key("a"))], None);
    let error = fixture.engine.run(request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Validation);
    assert_eq!(
        error.message(),
        "Transaction request cannot include multiple operations on one item"
    );
}
