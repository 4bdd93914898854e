//! Writes that depend on the stored row.

use crate::manhunt::{ARIAN, ZAVIER, contact, seed};
use crate::models::manhunt::*;
use crate::models::reindexer::{NewShard, Reindexer, Shard, ShardKey};
use crate::support::embedded;
use trestle::Wait;
use trestle::typed::{Error, Held};

fn manhunt() -> Manhunt<trestle::Embedded> {
    let db = Manhunt::apply_to(&embedded()).unwrap();
    seed(&db);
    db
}

#[test]
fn a_row_is_put_once_and_whoever_comes_second_sees_the_first() {
    let db = manhunt();
    let second = contact(ARIAN, "6f7ad1b", "Somebody Else");
    let error = db.put(&second).if_not_exists().wait().unwrap_err();
    assert!(error.is_condition());
    let Error::ConditionFailed(failed) = error else {
        panic!("{error}")
    };
    let there: Contact = failed.row().unwrap().unwrap();
    assert_eq!((failed.entity, there.name.as_str()), ("contact", "Arian Mellor"));
}

#[test]
fn a_put_that_replaces_needs_something_to_replace() {
    let db = manhunt();
    let nobody = contact("0000000", "6f7ad1b", "Nobody");
    let error = db.put(&nobody).if_exists().wait().unwrap_err();
    assert!(matches!(&error, Error::NotFound(_)), "{error}");
    assert_eq!(
        error.to_string(),
        r#"There is no row of entity contact with PK "0000000", SK "contact""#
    );
    let renamed = contact(ARIAN, "6f7ad1b", "Arian M.");
    let condition = Contact::NAME
        .begins_with("Arian")
        .and(!Contact::NAME.contains("M."));
    db.put(&renamed).only_if(condition.clone()).wait().unwrap();
    assert!(
        db.put(&renamed)
            .only_if(condition)
            .wait()
            .unwrap_err()
            .is_condition()
    );
}

#[test]
fn a_put_of_a_row_that_was_read_holds_only_while_the_row_is_the_same() {
    let db = manhunt();
    let nobody = contact("0000000", "6f7ad1b", "Nobody");
    db.put(&nobody).if_unchanged(None).wait().unwrap();
    assert_eq!(db.put(&nobody).if_unchanged(None).wait().held().unwrap(), None);
    let method = ContactMethodKey {
        contact_id: ZAVIER.into(),
        method_id: "538235b".into(),
    };
    let read = db.get(&method).wait().unwrap().unwrap();
    let changed = ContactMethod {
        destination: "+1 other".into(),
        ..read.clone()
    };
    // An attribute that is changed meanwhile, one that is added, and a row that is removed.
    let update = || db.update_contact_method(method.clone());
    assert!(read.order.is_none());
    for other in [update().set_destination("+1 moved"), update().set_order(7)] {
        other.wait().unwrap();
        let put = db.put(&changed).if_unchanged(Some(&read));
        assert_eq!(put.wait().held().unwrap(), None);
        db.put(&read).wait().unwrap();
    }
    let put = db.put(&changed).if_unchanged(Some(&read));
    assert_eq!(put.wait().held().unwrap(), Some(()));
    assert_eq!(db.get(&method).wait().unwrap(), Some(changed.clone()));
    db.delete(&method).wait().unwrap();
    let put = db.put(&read).if_unchanged(Some(&changed));
    assert_eq!(put.wait().held().unwrap(), None);
}

#[test]
fn an_update_changes_no_row_that_is_not_there() {
    let db = manhunt();
    let error = db
        .update_contact(ContactKey::new("0000000"))
        .set_name("Nobody")
        .wait()
        .unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    assert_eq!(db.contact("0000000").first().wait().unwrap(), None);
}

#[test]
fn an_update_is_refused_with_the_row_as_it_is() {
    let db = manhunt();
    let error = db
        .update_search(SearchKey::new("2ad6a19"))
        .set_status(SearchStatus::Successful)
        .only_if(Search::STATUS.equals(SearchStatus::Active))
        .wait()
        .unwrap_err();
    let Error::ConditionFailed(failed) = error else {
        panic!("{error}")
    };
    let there: Search = failed.row().unwrap().unwrap();
    assert_eq!(there.status, SearchStatus::Canceled);
}

#[test]
fn a_row_is_deleted_only_as_long_as_it_is_what_it_was() {
    let db = manhunt();
    let key = ContactKey::new(ZAVIER);
    let other = db.delete(&key).only_if(Contact::NAME.equals("Somebody"));
    assert!(other.wait().unwrap_err().is_condition());
    let same = db
        .delete(&key)
        .only_if(Contact::NAME.is_one_of(["Zavier Curtis", "Z"]));
    assert!(same.wait().unwrap());
    let gone = db.delete(&key).if_exists().wait().unwrap_err();
    assert!(matches!(gone, Error::NotFound(_)), "{gone}");
}

#[test]
fn numbers_are_compared_and_added_by_the_database() {
    let db = Reindexer::apply_to(&embedded()).unwrap();
    db.put(&NewShard { shard_id: "a".into() }).wait().unwrap();
    let raise = |to| {
        db.update_shard(ShardKey::new("a"))
            .set_desired_version(to)
            .only_if(Shard::DESIRED_VERSION.is_less_than(to))
            .wait()
    };
    assert_eq!(raise(3).unwrap().desired_version, 3);
    assert!(raise(2).unwrap_err().is_condition(), "a version is never lowered");
    let writers = 8;
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                let update = db.update_shard(ShardKey::new("a")).add_to_current_version(1);
                update.wait().unwrap();
            });
        }
    });
    assert_eq!(db.shard("a").wait().unwrap().unwrap().current_version, writers);
}

#[test]
fn whoever_is_second_learns_it_without_an_error_and_other_errors_stay_errors() {
    let db = manhunt();
    let new = contact("0000001", "6f7ad1b", "First");
    assert_eq!(db.put(&new).if_not_exists().wait().held().unwrap(), Some(()));
    assert_eq!(db.put(&new).if_not_exists().wait().held().unwrap(), None);
    let absent = db.update_contact(ContactKey::new("0000000")).set_name("Nobody");
    assert_eq!(absent.wait().held().unwrap(), None);
    let refused = db.put(&contact("not hex", "6f7ad1b", "X")).wait();
    assert!(matches!(refused.held(), Err(Error::Refused(_))));
}

#[test]
fn an_update_changes_what_there_is_a_value_for() {
    let db = manhunt();
    let rename = |name: Option<&'static str>| {
        let update = db.update_contact(ContactKey::new(ARIAN));
        update.when(name, |update, name| update.set_name(name)).wait()
    };
    assert_eq!(rename(None).unwrap().name, "Arian Mellor");
    assert_eq!(rename(Some("Arian M.")).unwrap().name, "Arian M.");
}
