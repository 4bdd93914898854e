//! PartiQL through the engine: paging, indexes, batches and transactions. The meaning of statements is tested
//! in the crates that parse and apply them.

use trestle_api::{
    BatchExecuteStatement, BatchExecuteStatementOutput, BatchStatementErrorCode, BatchStatementRequest,
    CancellationCode, Error, ErrorKind, ExecuteStatement, ExecuteStatementOutput, ExecuteTransaction,
    ExecuteTransactionOutput, ParameterizedStatement, ReturnConsumedCapacity,
    ReturnValuesOnConditionCheckFailure,
};
use trestle_engine::Engine;
use trestle_item::Item;

use crate::support::{Fixture, get, n, number, put, s, table};

/// A table `t` of 24 items in three partitions, with a global index by `g` that keeps `a`, a local one by `l` that
/// keeps nothing, and a global one of two partition attributes.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let create = table(
        "t",
        "pk:S | sk:N",
        &[("by-l", "pk:S | l:N", "KEYS_ONLY")],
        &[("by-g", "g:S | sk:N", "a"), ("by-two", "g:S, h:S", "ALL")],
    );
    fixture.engine.run(create).unwrap();
    for sk in 0..8 {
        for pk in ["a", "b", "c"] {
            let item = Item::from([
                ("pk", s(pk)),
                ("sk", n(sk)),
                ("l", n(100 - sk)),
                ("g", s(format!("g{}", sk % 2))),
                ("a", n(sk * 10)),
                ("z", s("beyond")),
            ]);
            fixture.engine.run(put("t", item)).unwrap();
        }
    }
    fixture
}

fn request(statement: &str) -> ExecuteStatement {
    ExecuteStatement {
        statement: statement.to_owned(),
        ..ExecuteStatement::default()
    }
}

fn execute(engine: &Engine, statement: &str) -> Result<ExecuteStatementOutput, Error> {
    engine.run(request(statement))
}

fn refusal(engine: &Engine, statement: &str) -> String {
    execute(engine, statement).unwrap_err().message().to_owned()
}

/// All items of a statement, read in pages of `limit`.
fn paged(engine: &Engine, statement: &str, limit: u32) -> Vec<Item> {
    let mut items = Vec::new();
    let mut next_token = None;
    for _ in 0..100 {
        let page = ExecuteStatement {
            limit: Some(limit),
            next_token,
            ..request(statement)
        };
        let page = engine.run(page).unwrap();
        items.extend(page.items);
        next_token = page.next_token;
        if next_token.is_none() {
            return items;
        }
    }
    panic!("{statement} never ends");
}

#[test]
fn pages_of_any_size_add_up_to_the_whole() {
    let fixture = fixture();
    for statement in [
        "SELECT * FROM t",
        "SELECT sk FROM t WHERE pk = 'a'",
        "SELECT sk FROM t WHERE pk = 'a' ORDER BY sk DESC",
        "SELECT pk, sk FROM t WHERE pk IN ['c', 'a'] AND a > 20",
        "SELECT pk, sk FROM t WHERE pk IN ['a', 'b'] ORDER BY pk DESC, sk DESC",
        "SELECT sk FROM t WHERE pk = 'a' AND sk IN [5, 1, 3]",
        "SELECT sk FROM t WHERE pk = 'a' AND sk > 5 OR pk = 'a' AND sk < 2",
        "SELECT a FROM t.\"by-g\" WHERE g = 'g1' AND sk < 6",
        "SELECT z FROM t.\"by-l\" WHERE pk = 'a' AND l BETWEEN 95 AND 99",
        "SELECT * FROM t WHERE pk = 'nobody'",
    ] {
        let whole = execute(&fixture.engine, statement).unwrap();
        assert_eq!(whole.next_token, None, "{statement}");
        for limit in [1, 2, 3, 7, 100] {
            assert_eq!(
                paged(&fixture.engine, statement, limit),
                whole.items,
                "{statement} by {limit}"
            );
        }
    }
}

#[test]
fn a_plan_reads_its_partitions_in_order() {
    let fixture = fixture();
    let sorts = |statement: &str| -> Vec<i64> {
        let found = execute(&fixture.engine, statement).unwrap();
        found.items.iter().map(|item| number(item, "sk")).collect()
    };
    assert_eq!(
        sorts("SELECT * FROM t WHERE pk = 'a' AND sk > 5 ORDER BY sk DESC"),
        [7, 6]
    );
    assert_eq!(
        sorts("SELECT sk FROM t WHERE pk = 'a' AND sk IN [5, 1, 3]"),
        [1, 3, 5]
    );
    assert_eq!(sorts("SELECT * FROM t WHERE pk = 'a' AND NOT sk < 6"), [6, 7]);
    assert_eq!(sorts("SELECT * FROM t WHERE sk = 4").len(), 3);
}

#[test]
fn a_token_belongs_to_its_statement() {
    let fixture = fixture();
    let first = ExecuteStatement {
        limit: Some(2),
        ..request("SELECT * FROM t WHERE pk = 'a'")
    };
    let next_token = fixture.engine.run(first).unwrap().next_token;
    let other = ExecuteStatement {
        next_token,
        ..request("SELECT * FROM t WHERE pk = 'b'")
    };
    assert_eq!(
        fixture.engine.run(other).unwrap_err().message(),
        "NextToken does not match request"
    );
}

#[test]
fn reads_cost_what_a_query_costs() {
    let fixture = fixture();
    let units = |statement: &str, consistent: bool| {
        let request = ExecuteStatement {
            consistent_read: Some(consistent),
            return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
            ..request(statement)
        };
        let consumed = fixture.engine.run(request).unwrap().consumed_capacity.unwrap();
        consumed.capacity_units.unwrap()
    };
    assert_eq!(units("SELECT * FROM t WHERE pk = 'a'", false), 0.5);
    assert_eq!(units("SELECT * FROM t WHERE pk = 'a'", true), 1.0);
    assert_eq!(units("SELECT * FROM t WHERE pk IN ['a', 'b']", false), 1.0);
}

#[test]
fn indexes_refuse_what_they_do_not_keep() {
    let fixture = fixture();
    for (statement, message) in [
        (
            "SELECT * FROM t.nope WHERE g = 'g1'",
            "The table does not have the specified index",
        ),
        (
            "SELECT z FROM t.\"by-g\" WHERE g = 'g1'",
            "One or more parameter values were invalid: Global secondary index by-g does not project [z]",
        ),
        (
            "SELECT a FROM t.\"by-g\" WHERE g = 'g1' AND z = 'x'",
            "One or more parameter values were invalid: \
             Secondary index by-g does not project one or more filter attributes: [z]",
        ),
        (
            "SELECT pk FROM t.\"by-l\" WHERE pk = 'a' AND z = 'x'",
            "One or more parameter values were invalid: \
             Secondary index by-l does not project one or more filter attributes: [z]",
        ),
        (
            "SELECT COUNT(*) FROM t.\"by-two\"",
            "PartiQL statements cannot be executed on tables with multi-attribute HASH keys \
             or multi-attribute RANGE keys.",
        ),
    ] {
        assert_eq!(refusal(&fixture.engine, statement), message, "{statement}");
    }
    let consistent = ExecuteStatement {
        consistent_read: Some(true),
        ..request("SELECT * FROM t.\"by-g\" WHERE g = 'g1'")
    };
    assert_eq!(
        fixture.engine.run(consistent).unwrap_err().message(),
        "Strongly consistent read is not supported on Global Secondary Indexes"
    );
}

#[test]
fn writes_answer_with_the_image_they_were_asked_for() {
    let fixture = fixture();
    let key = Item::from([("pk", s("a")), ("sk", n(1))]);
    for (statement, items) in [
        ("INSERT INTO t VALUE {'pk': 'new', 'sk': 1, 'a': 5}", vec![]),
        (
            "UPDATE t SET a = a + 1 WHERE pk = 'new' AND sk = 1 RETURNING MODIFIED NEW *",
            vec![Item::from([("a", n(6))])],
        ),
        (
            "UPDATE t SET b = a WHERE pk = 'new' AND sk = 1 RETURNING MODIFIED OLD *",
            vec![],
        ),
        (
            "UPDATE t REMOVE b WHERE pk = 'new' AND sk = 1 AND a = 6 RETURNING ALL OLD *",
            vec![Item::from([
                ("pk", s("new")),
                ("sk", n(1)),
                ("a", n(6)),
                ("b", n(6)),
            ])],
        ),
        ("DELETE FROM t WHERE pk = 'a' AND sk = 1", vec![]),
        (
            "DELETE FROM t WHERE pk = 'a' AND sk = 1 AND a = 77 RETURNING ALL OLD *",
            vec![],
        ),
        (
            "DELETE FROM t WHERE pk = 'new' AND sk = 1 RETURNING ALL OLD *",
            vec![Item::from([("pk", s("new")), ("sk", n(1)), ("a", n(6))])],
        ),
    ] {
        assert_eq!(
            execute(&fixture.engine, statement).unwrap().items,
            items,
            "{statement}"
        );
    }
    assert_eq!(get(&fixture.engine, "t", key), None);
}

#[test]
fn a_write_whose_item_does_not_fit_fails_and_changes_nothing() {
    let fixture = fixture();
    let kind = |statement: &str| execute(&fixture.engine, statement).unwrap_err().kind();
    assert_eq!(
        kind("INSERT INTO t VALUE {'pk': 'a', 'sk': 1}"),
        ErrorKind::DuplicateItem
    );
    assert_eq!(
        kind("UPDATE t SET a = 1 WHERE pk = 'nobody' AND sk = 1"),
        ErrorKind::ConditionalCheckFailed
    );
    assert_eq!(
        kind("DELETE FROM t WHERE pk = 'a' AND sk = 1 AND a = 77"),
        ErrorKind::ConditionalCheckFailed
    );
    assert_eq!(
        kind("DELETE FROM nope WHERE pk = 'a'"),
        ErrorKind::ResourceNotFound
    );
    let key = Item::from([("pk", s("a")), ("sk", n(1))]);
    assert_eq!(
        get(&fixture.engine, "t", key).map(|item| number(&item, "a")),
        Some(10)
    );
    assert_eq!(
        execute(&fixture.engine, "SELECT * FROM t").unwrap().items.len(),
        24
    );
}

fn batch(engine: &Engine, statements: &[&str]) -> Result<BatchExecuteStatementOutput, Error> {
    let statements = statements.iter().map(|statement| BatchStatementRequest {
        statement: (*statement).to_owned(),
        return_values_on_condition_check_failure: Some(ReturnValuesOnConditionCheckFailure::AllOld),
        ..BatchStatementRequest::default()
    });
    engine.run(BatchExecuteStatement {
        statements: statements.collect(),
        ..BatchExecuteStatement::default()
    })
}

#[test]
fn a_batch_runs_what_it_can_and_says_what_failed() {
    let fixture = fixture();
    let answer = batch(
        &fixture.engine,
        &[
            "UPDATE t SET a = 1 WHERE pk = 'a' AND sk = 0 RETURNING MODIFIED NEW *",
            "UPDATE t SET a = 1 WHERE pk = 'a' AND sk = 1 AND a = 77",
            "INSERT INTO t VALUE {'pk': 'a', 'sk': 2}",
            "SLECT * FROM t",
            "DELETE FROM nope WHERE pk = 'a'",
            "DELETE FROM t WHERE pk = 'b'",
            "EXISTS(SELECT * FROM t WHERE pk = 'a' AND sk = 3 AND a = 1)",
            "DELETE FROM t WHERE pk = 'b' AND sk = 0",
        ],
    );
    let answer = answer.unwrap().responses;
    let codes: Vec<_> = answer
        .iter()
        .map(|response| response.error.as_ref().map(|error| error.code))
        .collect();
    use BatchStatementErrorCode::{ConditionalCheckFailed, DuplicateItem, ResourceNotFound, ValidationError};
    assert_eq!(
        codes,
        [
            None,
            Some(ConditionalCheckFailed),
            Some(DuplicateItem),
            Some(ValidationError),
            Some(ResourceNotFound),
            Some(ValidationError),
            Some(ValidationError),
            None
        ]
    );
    let named: Vec<bool> = answer
        .iter()
        .map(|response| response.table_name.is_some())
        .collect();
    assert_eq!(
        named,
        [true, true, true, false, false, false, false, true],
        "only what came to run names its table"
    );
    assert_eq!(answer[0].item, Some(Item::from([("a", n(1))])));
    let failed = answer[1].error.as_ref().and_then(|error| error.item.as_ref());
    assert_eq!(failed.map(|item| number(item, "a")), Some(10));
    assert_eq!(
        execute(&fixture.engine, "SELECT * FROM t").unwrap().items.len(),
        23
    );
}

#[test]
fn a_batch_reads_single_items_or_writes_them_and_none_twice() {
    let fixture = fixture();
    let answer = batch(
        &fixture.engine,
        &[
            "SELECT a FROM t WHERE pk = 'a' AND sk = 3",
            "SELECT * FROM t WHERE pk = 'a'",
            "SELECT * FROM t WHERE pk = 'z' AND sk = 3",
        ],
    );
    let answer = answer.unwrap().responses;
    assert_eq!(answer[0].item, Some(Item::from([("a", n(30))])));
    assert_eq!(
        answer[1].error.as_ref().map(|error| error.message.as_str()),
        Some(
            "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
        )
    );
    assert_eq!((&answer[2].item, &answer[2].error), (&None, &None));

    let read = "SELECT * FROM t WHERE pk = 'a' AND sk = 3";
    let write = "DELETE FROM t WHERE pk = 'a' AND sk = 3";
    let message = |statements: &[&str]| {
        batch(&fixture.engine, statements)
            .unwrap_err()
            .message()
            .to_owned()
    };
    assert_eq!(
        message(&[read, write]),
        "Read and write requests together in the same batch is not supported."
    );
    for twice in [read, write] {
        assert_eq!(
            message(&[twice, twice]),
            "Provided list of item keys contains duplicates"
        );
    }
}

fn transact(
    engine: &Engine,
    token: Option<&str>,
    statements: &[&str],
) -> Result<ExecuteTransactionOutput, Error> {
    let statements = statements.iter().map(|statement| ParameterizedStatement {
        statement: (*statement).to_owned(),
        ..ParameterizedStatement::default()
    });
    engine.run(ExecuteTransaction {
        transact_statements: statements.collect(),
        client_request_token: token.map(str::to_owned),
        return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
    })
}

#[test]
fn a_transaction_reads_all_or_writes_all() {
    let fixture = fixture();
    let read = transact(
        &fixture.engine,
        None,
        &[
            "SELECT a FROM t WHERE pk = 'a' AND sk = 3",
            "SELECT * FROM t WHERE pk = 'z' AND sk = 0",
        ],
    );
    let items: Vec<_> = read
        .unwrap()
        .responses
        .into_iter()
        .map(|response| response.item)
        .collect();
    assert_eq!(items, [Some(Item::from([("a", n(30))])), None]);

    let written = transact(
        &fixture.engine,
        None,
        &[
            "INSERT INTO t VALUE {'pk': 'new', 'sk': 1}",
            "UPDATE t SET a = 1 WHERE pk = 'a' AND sk = 0",
            "EXISTS(SELECT * FROM t WHERE pk = 'a' AND sk = 1 AND a = 10)",
        ],
    );
    let written = written.unwrap();
    assert_eq!(written.responses, []);
    assert_eq!(
        written.consumed_capacity.unwrap()[0].table_name.as_deref(),
        Some("t")
    );
    assert_eq!(
        execute(&fixture.engine, "SELECT * FROM t").unwrap().items.len(),
        25
    );
}

#[test]
fn a_cancelled_transaction_gives_a_reason_for_each_statement_and_changes_nothing() {
    let fixture = fixture();
    let codes = |statements: &[&str]| -> Vec<CancellationCode> {
        let error = transact(&fixture.engine, None, statements).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TransactionCanceled, "{error}");
        error.reasons().iter().map(|reason| reason.code).collect()
    };
    use CancellationCode::{ConditionalCheckFailed, DuplicateItem, ValidationError};
    let none = CancellationCode::None;
    let good = "DELETE FROM t WHERE pk = 'c' AND sk = 1";
    assert_eq!(
        codes(&[
            good,
            "INSERT INTO t VALUE {'pk': 'a', 'sk': 1}",
            "UPDATE t SET a = 1 WHERE pk = 'nobody' AND sk = 1",
            "EXISTS(SELECT * FROM t WHERE pk = 'a' AND sk = 2 AND a = 77)",
        ]),
        [
            none,
            DuplicateItem,
            ConditionalCheckFailed,
            ConditionalCheckFailed
        ]
    );
    assert_eq!(
        codes(&[good, "DELETE FROM t WHERE pk = 'a'"]),
        [none, ValidationError]
    );
    assert_eq!(
        execute(&fixture.engine, "SELECT * FROM t").unwrap().items.len(),
        24
    );
}

#[test]
fn a_transaction_refuses_what_it_cannot_hold() {
    let fixture = fixture();
    let at_first = |message: &str| format!("Validation failed in TransactStatements[0]: {message}");
    for (statements, message) in [
        (
            vec!["UPDATE t SET a = 1 WHERE pk = 'a' AND sk = 1 RETURNING ALL NEW *"],
            at_first("RETURNING clause is not supported in ExecuteTransaction."),
        ),
        (
            vec!["SELECT * FROM t.\"by-g\" WHERE g = 'g1'"],
            at_first("Reads on indices are not supported within transactions."),
        ),
        (
            vec!["SELECT * FROM t WHERE pk = 'a'"],
            at_first(
                "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
            ),
        ),
        (
            vec!["SELECT * FROM t WHERE"],
            at_first("Statement wasn't well formed, can't be processed: Unexpected term"),
        ),
        (
            vec![
                "SELECT * FROM t WHERE pk = 'a' AND sk = 1",
                "DELETE FROM t WHERE pk = 'a' AND sk = 2",
            ],
            "ExecuteTransaction API does not support both read and write operations in the same request."
                .to_owned(),
        ),
        (
            vec!["EXISTS(SELECT * FROM t WHERE pk = 'a' AND sk = 1)"],
            at_first("EXISTS() must contain a single item read with additional condition"),
        ),
    ] {
        let error = transact(&fixture.engine, None, &statements).unwrap_err();
        assert_eq!(error.message(), message, "{statements:?}");
    }
}

#[test]
fn a_transaction_with_a_token_happens_once() {
    let fixture = fixture();
    let add = "UPDATE t SET a = a + 1 WHERE pk = 'a' AND sk = 0";
    transact(&fixture.engine, Some("once"), &[add]).unwrap();
    transact(&fixture.engine, Some("once"), &[add]).unwrap();
    let key = Item::from([("pk", s("a")), ("sk", n(0))]);
    assert_eq!(
        get(&fixture.engine, "t", key).map(|item| number(&item, "a")),
        Some(1)
    );
    let other = "UPDATE t SET a = a + 2 WHERE pk = 'a' AND sk = 0";
    let error = transact(&fixture.engine, Some("once"), &[other]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IdempotentParameterMismatch);
}
