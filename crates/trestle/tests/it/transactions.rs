//! Several writes as one.

use crate::manhunt::{ARIAN, ZAVIER, contact, search, seed};
use crate::models::manhunt::*;
use crate::models::members::{Members, NewMember};
use crate::support::{Counted, embedded, gateway};
use std::time::{Duration, Instant};
use trestle::api::{CancellationCode, CancellationReason, Request, ResponseFuture};
use trestle::typed::Error;
use trestle::{Database, Embedded, Wait};

/// Ends one search and begins another, if the contact exists.
fn story<D: Database>(db: &Manhunt<D>) {
    db.put(&contact(ZAVIER, "db3280c", "Zavier Curtis"))
        .wait()
        .unwrap();
    db.put(&search("a1", ZAVIER, "2019-12-30T19:32:14Z"))
        .wait()
        .unwrap();
    let next = search("a2", ZAVIER, "2019-12-31T00:00:00Z");
    let transaction = || {
        db.transaction()
            .with(
                db.update_search(SearchKey::new("a1"))
                    .set_status(SearchStatus::Failed)
                    .only_if(Search::STATUS.equals(SearchStatus::Active)),
            )
            .with(db.put(&next).if_not_exists())
            .check(ContactKey::new(ZAVIER), Contact::NAME.exists())
    };
    transaction().commit().wait().unwrap();
    let with = |status| db.searches_by_status(ZAVIER, status).collect().wait().unwrap();
    assert_eq!(with(SearchStatus::Failed).len(), 1);
    assert_eq!(with(SearchStatus::Active).len(), 1);

    let error = transaction().commit().wait().unwrap_err();
    assert!(error.is_condition() && !error.is_transient());
    let Error::Canceled(canceled) = &error else {
        panic!("{error}")
    };
    let codes: Vec<Option<CancellationCode>> = canceled
        .reasons
        .iter()
        .map(|reason| reason.as_ref().map(|reason| reason.code))
        .collect();
    let failed = Some(CancellationCode::ConditionalCheckFailed);
    assert_eq!(codes, [failed, failed, None]);
    let absent = db.transaction().put(&next).with(
        db.update_search(SearchKey::new("a9"))
            .set_status(SearchStatus::Failed),
    );
    let absent = absent.commit().wait().unwrap_err();
    let Error::Canceled(absent) = absent else {
        panic!("{absent}")
    };
    assert_eq!(
        absent.reasons.iter().map(Option::is_some).collect::<Vec<_>>(),
        [false, true]
    );

    let touch = |id| db.transaction().with(db.update_search(SearchKey::new(id)));
    touch("a1").commit().wait().unwrap();
    let absent = touch("a9").commit().wait().unwrap_err();
    assert!(
        absent.is_condition(),
        "changing nothing still needs the row: {absent}"
    );

    let first = canceled.reasons.first().unwrap().as_ref().unwrap();
    let there: Search = first.failed.row().unwrap().unwrap();
    assert_eq!(there.status, SearchStatus::Failed, "the row that was in the way");
    assert!(
        error
            .to_string()
            .contains(r#"part 1, entity search with PK "a1""#),
        "{error}"
    );
}

#[test]
fn all_parts_happen_or_none_and_each_says_why_on_the_engine() {
    story(&Manhunt::apply_to(&embedded()).unwrap());
}

#[test]
fn the_same_on_any_database_that_has_the_model() {
    let embedded = embedded();
    Manhunt::apply_to(&embedded).unwrap();
    story(&Manhunt::on(Counted::new(embedded)).model_applied());
    story(&Manhunt::apply_to(&gateway()).unwrap());
}

#[test]
fn rows_of_a_transaction_are_put_and_deleted_together() {
    let db = Manhunt::apply_to(&embedded()).unwrap();
    seed(&db);
    db.transaction()
        .put(&contact("0000001", "db3280c", "Ada Lovelace"))
        .delete(ContactKey::new(ARIAN))
        .with(db.check(ContactKey::new("0000002")).is_absent())
        .commit()
        .wait()
        .unwrap();
    assert!(db.contact("0000001").first().wait().unwrap().is_some());
    assert_eq!(db.contact(ARIAN).first().wait().unwrap(), None);
}

#[test]
fn a_transaction_with_a_token_counts_once() {
    let db = Manhunt::apply_to(&embedded()).unwrap();
    seed(&db);
    for _ in 0..2 {
        db.transaction()
            .with(
                db.put(&contact("0000001", "db3280c", "Ada Lovelace"))
                    .if_not_exists(),
            )
            .token("once")
            .commit()
            .wait()
            .unwrap();
    }
}

#[test]
fn a_transaction_of_nothing_is_made() {
    let db = Manhunt::apply_to(&embedded()).unwrap();
    db.transaction().commit().wait().unwrap();
}

#[test]
fn a_part_that_takes_a_unique_value_is_told_so() {
    let db = Members::apply_to(&embedded()).unwrap();
    let member = |id| NewMember {
        id,
        email: "a@b".into(),
    };
    db.put(&member(1)).wait().unwrap();
    let error = db.transaction().put(&member(2)).commit().wait().unwrap_err();
    assert!(error.is_taken() && !error.is_condition(), "{error}");
    assert!(error.to_string().contains("a@b"), "{error}");
}

/// A database in which another client's transaction holds everything for a while.
#[derive(Clone)]
struct Held {
    embedded: Embedded,
    until: Instant,
}

impl Database for Held {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        if Instant::now() >= self.until {
            return self.embedded.execute(request);
        }
        let conflict = || CancellationReason {
            code: CancellationCode::TransactionConflict,
            message: None,
            item: None,
            taken: None,
        };
        let error = match request {
            Request::TransactWriteItems(request) => trestle::Error::transaction_canceled(
                request.transact_items.iter().map(|_| conflict()).collect(),
            ),
            _ => trestle::Error::transaction_conflict(),
        };
        Box::pin(std::future::ready(Err(error)))
    }
}

#[test]
fn writes_wait_for_a_transaction_of_somebody_elses_as_long_as_a_commit_takes() {
    let embedded = embedded();
    Manhunt::apply_to(&embedded).unwrap();
    let held = || {
        let until = Instant::now() + Duration::from_millis(40);
        Manhunt::on(Held {
            embedded: embedded.clone(),
            until,
        })
        .model_applied()
    };
    let new = contact(ZAVIER, "db3280c", "Zavier Curtis");
    held().put(&new).if_not_exists().wait().unwrap();
    let other = contact(ARIAN, "6f7ad1b", "Arian Mellor");
    held()
        .transaction()
        .check(ContactKey::new(ZAVIER), Contact::NAME.exists())
        .put(&other)
        .commit()
        .wait()
        .unwrap();
}
