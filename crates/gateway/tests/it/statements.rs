//! PartiQL statements that write modelled tables answer and leave rows like an embedded database with the
//! models.

use std::sync::Arc;

use serde_json::{Value, json};
use trestle_api::{
    AttributeDefinition, BatchExecuteStatement, BatchStatementErrorCode, BatchStatementRequest, BillingMode,
    CancellationCode, CreateTable, Database, DatabaseExt, ErrorKind, ExecuteStatement, ExecuteTransaction,
    KeySchemaElement, KeyType, ParameterizedStatement, Request, ReturnValuesOnConditionCheckFailure, Wait,
};
use trestle_env::Clock;
use trestle_item::{AttributeValue, ScalarType};

use crate::requests::{attribute, one, request, row};
use crate::same_as_embedded::compare_with;
use crate::support::{EVERYTHING, assert_exact, clock, endpoint, gateway, rows};

#[test]
fn random_statements_have_the_same_answers_and_leave_the_same_rows() {
    for seed in 0..12 {
        let clock = clock();
        let remote = endpoint(Arc::clone(&clock) as Arc<dyn Clock>);
        // With other requests in between, because statements alone leave most rows unchanged.
        compare_with(EVERYTHING, seed, clock, remote, |random| match random.u8(..4) {
            0 => request(random),
            _ => statements(random),
        });
    }
}

/// A request with one or several statements.
fn statements(random: &mut fastrand::Rng) -> Request {
    let shown = [None, Some(ReturnValuesOnConditionCheckFailure::AllOld)][random.usize(..2)];
    match random.u8(..4) {
        0 | 1 => {
            let (statement, parameters) = statement(random, true);
            Request::ExecuteStatement(ExecuteStatement {
                statement,
                parameters,
                return_values_on_condition_check_failure: shown,
                ..ExecuteStatement::default()
            })
        }
        2 => Request::BatchExecuteStatement(BatchExecuteStatement {
            statements: (0..random.usize(1..4))
                .map(|_| {
                    let (statement, parameters) = statement(random, true);
                    BatchStatementRequest {
                        statement,
                        parameters,
                        return_values_on_condition_check_failure: shown,
                        ..BatchStatementRequest::default()
                    }
                })
                .collect(),
            ..BatchExecuteStatement::default()
        }),
        _ => Request::ExecuteTransaction(ExecuteTransaction {
            transact_statements: (0..random.usize(1..4))
                .map(|_| {
                    let returns = random.u8(..20) == 0;
                    let (statement, parameters) = match random.u8(..8) {
                        0 => exists(random),
                        _ => statement(random, returns),
                    };
                    ParameterizedStatement {
                        statement,
                        parameters,
                        return_values_on_condition_check_failure: shown,
                    }
                })
                .collect(),
            ..ExecuteTransaction::default()
        }),
    }
}

type Statement = (String, Option<Vec<AttributeValue>>);

/// A statement that writes, with its parameters.
fn statement(random: &mut fastrand::Rng, returns: bool) -> Statement {
    let (row, key) = row(random);
    let clause = |random: &mut fastrand::Rng, of: &[&str]| match returns {
        true => one(random, of).to_owned(),
        false => String::new(),
    };
    match random.u8(..16) {
        0..=6 => {
            let fields = row.as_object().unwrap();
            let named: Vec<_> = fields.keys().map(|name| format!("'{name}': ?")).collect();
            let text = format!("INSERT INTO \"rows\" VALUE {{{}}}", named.join(", "));
            (text, Some(fields.values().map(attribute).collect()))
        }
        7..=11 => {
            let (set, mut given) = change(random, &key);
            let (wanted, values) = condition(random, &row, &key);
            given.extend(values);
            let shown = [
                "",
                "RETURNING ALL OLD *",
                "RETURNING ALL NEW *",
                "RETURNING MODIFIED OLD *",
                "RETURNING MODIFIED NEW *",
            ];
            let shown = clause(random, &shown);
            (
                format!("UPDATE \"rows\" {set} WHERE {wanted} {shown}"),
                Some(given),
            )
        }
        12..=14 => {
            let (wanted, given) = condition(random, &row, &key);
            let shown = clause(random, &["", "RETURNING ALL OLD *"]);
            (
                format!("DELETE FROM \"rows\" WHERE {wanted} {shown}"),
                Some(given),
            )
        }
        // None of these can be executed.
        _ => {
            let texts = [
                "INSERT INTO \"rows\" VALUE",
                "INSERT INTO \"none\" VALUE {'pk': 'a'}",
                "UPDATE \"rows\" SET note = 'one' WHERE pk = 'shop'",
                "UPDATE \"rows\" SET note = ? WHERE pk = 'shop' AND sk = 's'",
                "INSERT INTO \"rows\" VALUE {'kind': 'nothing'}",
                "DELETE FROM \"rows\" WHERE kind = 'order' AND price = 3",
                "EXISTS(SELECT * FROM \"rows\" WHERE pk = 'shop' AND sk = 's')",
            ];
            (one(random, &texts).to_owned(), None)
        }
    }
}

fn exists(random: &mut fastrand::Rng) -> Statement {
    let shop = one(random, &["s", "t"]);
    let text =
        format!("EXISTS(SELECT * FROM \"rows\" WHERE pk = 'shop' AND sk = '{shop}' AND kind = 'shop')");
    (text, None)
}

/// The clause that changes a row, with its parameters.
fn change(random: &mut fastrand::Rng, key: &Value) -> (String, Vec<AttributeValue>) {
    let kind = key["pk"].as_str().unwrap();
    let with = |text: &str, value: Value| (text.to_owned(), vec![attribute(&value)]);
    match kind {
        "order" if random.bool() => with("SET price = ?", json!(random.u8(1..9))),
        "order" => with("SET shop = ?", json!(one(random, &["s", "t"]))),
        "person" if random.bool() => with("SET name = ?", json!(one(random, &["Ada", "Cy"]))),
        "person" => with("SET clubs = set_delete(clubs, ?)", json!(["c"])),
        "seat" if random.bool() => ("REMOVE person".to_owned(), Vec::new()),
        "seat" => with("SET person = ?", json!(one(random, &["x", "y"]))),
        _ if kind.starts_with("doc#") => with("SET body = ?", json!(one(random, &["p", "q"]))),
        _ => with("SET note = ?", json!(one(random, &["one", "two"]))),
    }
}

/// A clause that selects the row: by its key or by its identifying attributes, and perhaps with a condition.
fn condition(random: &mut fastrand::Rng, row: &Value, key: &Value) -> (String, Vec<AttributeValue>) {
    let identity = match random.bool() {
        true => key.clone(),
        false => {
            let names: &[&str] = match row["kind"].as_str().unwrap() {
                "doc" | "part" => &["name", "version"],
                "order" => &["id"],
                "shop" => &["shop"],
                "person" => &["person"],
                "follows" => &["from", "to"],
                _ => &["seat"],
            };
            let mut identity = json!({"kind": row["kind"]});
            for name in names {
                identity[*name] = row[*name].clone();
            }
            identity
        }
    };
    let fields = identity.as_object().unwrap();
    let mut all: Vec<String> = fields.keys().map(|name| format!("\"{name}\" = ?")).collect();
    match random.u8(..6) {
        0 => all.push("kind <> 'shop'".to_owned()),
        1 => all.push("attribute_exists(note)".to_owned()),
        _ => {}
    }
    (all.join(" AND "), fields.values().map(attribute).collect())
}

#[test]
fn statements_on_tables_with_and_without_a_model_share_batches_and_transactions() {
    let clock = clock();
    let remote = endpoint(Arc::clone(&clock) as Arc<dyn Clock>);
    let gateway = gateway(Arc::clone(&remote) as Arc<dyn Database>, clock);
    gateway
        .create_table(CreateTable {
            table_name: "plain".to_owned(),
            attribute_definitions: vec![AttributeDefinition {
                attribute_name: "id".to_owned(),
                attribute_type: ScalarType::S,
            }],
            key_schema: vec![KeySchemaElement {
                attribute_name: "id".to_owned(),
                key_type: KeyType::Hash,
            }],
            billing_mode: Some(BillingMode::PayPerRequest),
            ..CreateTable::default()
        })
        .wait()
        .unwrap();
    let batch = |texts: &[&str]| BatchExecuteStatement {
        statements: texts
            .iter()
            .map(|text| BatchStatementRequest {
                statement: (*text).to_owned(),
                ..BatchStatementRequest::default()
            })
            .collect(),
        ..BatchExecuteStatement::default()
    };
    let answered = gateway
        .batch_execute_statement(batch(&[
            "INSERT INTO \"plain\" VALUE {'id': 'a'}",
            "INSERT INTO \"rows\" VALUE {'kind': 'shop', 'shop': 's'}",
            "INSERT INTO \"plain\" VALUE {'no': 'key'}",
            "INSERT INTO \"rows\" VALUE {'kind': 'order', 'id': '1', 'shop': 's', 'price': 4}",
        ]))
        .wait()
        .unwrap();
    let codes: Vec<_> = answered
        .responses
        .iter()
        .map(|response| response.error.as_ref().map(|error| error.code))
        .collect();
    let wrong = Some(BatchStatementErrorCode::ValidationError);
    assert_eq!(codes, [None, None, wrong, None]);
    assert_eq!(answered.responses[3].table_name.as_deref(), Some("rows"));

    let mixed = gateway
        .batch_execute_statement(batch(&[
            "SELECT * FROM \"plain\" WHERE id = 'a'",
            "INSERT INTO \"rows\" VALUE {'kind': 'shop', 'shop': 't'}",
        ]))
        .wait();
    assert_eq!(mixed.unwrap_err().kind(), ErrorKind::Validation);

    let transaction = |texts: &[&str]| ExecuteTransaction {
        transact_statements: texts
            .iter()
            .map(|text| ParameterizedStatement {
                statement: (*text).to_owned(),
                ..ParameterizedStatement::default()
            })
            .collect(),
        client_request_token: Some("once".to_owned()),
        ..ExecuteTransaction::default()
    };
    let both = [
        "INSERT INTO \"plain\" VALUE {'id': 'b'}",
        "INSERT INTO \"rows\" VALUE {'kind': 'order', 'id': '2', 'shop': 's', 'price': 5}",
    ];
    for _ in 0..2 {
        gateway.execute_transaction(transaction(&both)).wait().unwrap();
    }
    let other = gateway.execute_transaction(transaction(&both[1..])).wait();
    assert_eq!(other.unwrap_err().kind(), ErrorKind::IdempotentParameterMismatch);

    let refused = ExecuteTransaction {
        client_request_token: None,
        ..transaction(&[
            "UPDATE \"plain\" SET x = 1 WHERE id = 'missing'",
            "INSERT INTO \"rows\" VALUE {'kind': 'order', 'id': '3', 'shop': 's', 'price': 6}",
        ])
    };
    let refused = gateway.execute_transaction(refused).wait().unwrap_err();
    let codes: Vec<_> = refused.reasons().iter().map(|reason| reason.code).collect();
    assert_eq!(
        codes,
        [CancellationCode::ConditionalCheckFailed, CancellationCode::None]
    );

    assert_eq!(rows(&*remote, "plain").len(), 2);
    let orders = |rows: &[trestle_item::Item]| {
        rows.iter()
            .filter(|row| row.get("pk") == Some(&"order".into()))
            .count()
    };
    assert_eq!(orders(&rows(&*remote, "rows")), 2);
    assert_exact(&gateway, "after statements");
}
