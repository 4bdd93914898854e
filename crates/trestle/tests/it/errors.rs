//! How a program can distinguish failures.

use crate::manhunt::{ARIAN, contact, search, seed};
use crate::models::manhunt::*;
use crate::models::members::{Members, NewMember};
use crate::support::embedded;
use trestle::api::{PutItem, Request, ResponseFuture};
use trestle::typed::Error;
use trestle::{Database, Item, Wait};

#[test]
fn a_value_that_may_be_there_only_once_is_taken() {
    let db = Members::apply_to(&embedded()).unwrap();
    let member = |id| NewMember {
        id,
        email: "a@b".into(),
    };
    db.put(&member(1)).wait().unwrap();
    let error = db.put(&member(2)).wait().unwrap_err();
    assert!(matches!(error, Error::Taken(_)) && error.is_taken(), "{error}");
    assert_eq!(
        error.to_string(),
        r#"Entity member: email "a@b" is taken by the row with id "1"; give another value, or change that row first"#
    );
}

#[test]
fn a_value_that_does_not_fit_is_refused_before_anything_is_sent() {
    let db = Manhunt::on(Nobody);
    let error = db.put(&contact("not hex", "6f7ad1b", "X")).wait().unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("contact") && text.contains("contactId"), "{text}");
    let error = db.search("not hex").first().wait().unwrap_err();
    assert!(error.to_string().contains("searchId"), "{error}");
}

#[test]
fn what_the_databases_model_refuses_is_invalid() {
    let db = Manhunt::apply_to(&embedded()).unwrap();
    seed(&db);
    let moved = contact(ARIAN, "db3280c", "Arian Mellor");
    let error = db.put(&moved).wait().unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "Entity contact: attribute domainId may not change; it is the string \"6f7ad1b\", and was given as the string \"db3280c\"; \
         leave it as it is"
    );
}

#[test]
fn a_database_without_the_tables_says_what_to_do() {
    let db = Manhunt::on(embedded());
    let error = db.search("a271244").first().wait().unwrap_err();
    assert!(matches!(error, Error::NoTable(_)), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("apply the model to the database first")
    );
}

#[test]
fn a_database_with_too_much_to_do_is_asked_again_later() {
    let error = Manhunt::on(Nobody).search("a271244").first().wait().unwrap_err();
    assert!(matches!(error, Error::Throttled(_)), "{error}");
    assert!(error.is_transient() && !error.is_condition() && !error.is_taken());
}

#[test]
fn a_row_that_is_not_what_the_model_says_is_named() {
    let db = Manhunt::on(crate::support::plain::<ManhuntModel>());
    db.put(&search("a1", ARIAN, "2019-12-30T19:32:14Z"))
        .wait()
        .unwrap();
    let item = Item::from([
        ("PK", "a1"),
        ("SK", "search"),
        ("entityType", "search"),
        ("searchId", "a1"),
        ("contactId", ARIAN),
        ("domainId", "6f7ad1b"),
        ("startedDatetime", "2019-12-30T19:32:14Z"),
        ("status", "lost"),
    ]);
    let put = PutItem {
        table_name: "manhunt".into(),
        item,
        ..PutItem::default()
    };
    db.database().run(put).unwrap();
    let error = db.search("a1").first().wait().unwrap_err();
    let Error::Misfit(misfit) = &error else {
        panic!("{error}")
    };
    assert_eq!(
        (misfit.entity.as_str(), misfit.attribute.as_str()),
        ("search", "status")
    );
    assert!(error.to_string().contains("lost"), "{error}");
}

#[test]
fn applying_a_model_to_a_database_that_contradicts_it_says_why() {
    let embedded = embedded();
    embedded
        .run(trestle::api::CreateTable {
            table_name: "manhunt".into(),
            attribute_definitions: vec![trestle::api::AttributeDefinition {
                attribute_name: "id".into(),
                attribute_type: trestle::ScalarType::S,
            }],
            key_schema: vec![trestle::api::KeySchemaElement {
                attribute_name: "id".into(),
                key_type: trestle::api::KeyType::Hash,
            }],
            billing_mode: Some(trestle::api::BillingMode::PayPerRequest),
            ..trestle::api::CreateTable::default()
        })
        .unwrap();
    let error = Manhunt::apply_to(&embedded).unwrap_err();
    assert!(matches!(error, trestle::ApplyError::Refused(_)), "{error}");
    assert!(error.to_string().contains("manhunt"), "{error}");
}

/// A database that throttles every request.
struct Nobody;

impl Database for Nobody {
    fn execute(&self, _: Request) -> ResponseFuture<'_> {
        Box::pin(std::future::ready(Err(trestle::Error::throughput_exceeded())))
    }
}
