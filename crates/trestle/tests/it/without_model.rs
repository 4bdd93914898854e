//! Clients of a database that does not know the model: they read and put rows, and refuse writes that need
//! derived rows or keys.

use std::sync::Arc;

use crate::manhunt::{ZAVIER, contact, search};
use crate::models::manhunt::*;
use crate::models::members::*;
use crate::support::{Counted, plain};
use trestle::typed::Error;
use trestle::{Timestamp, VirtualClock, Wait};

#[test]
fn a_row_is_put_with_its_keys_and_the_time_of_the_clients_clock() {
    let db = Manhunt::on(plain::<ManhuntModel>());
    db.put(&contact(ZAVIER, "db3280c", "Zavier Curtis"))
        .wait()
        .unwrap();
    assert_eq!(
        db.contacts_of_domain("db3280c").collect().wait().unwrap().len(),
        1
    );

    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_600_000_000)));
    let db = Members::on(plain::<MembersModel>()).with_clock(clock);
    let ticket = NewTicket {
        number: 1,
        column: "todo".into(),
    };
    db.put(&ticket).wait().unwrap();
    let there = db.get(ticket.key()).wait().unwrap().unwrap();
    assert_eq!(there.opened.unwrap().as_str(), "2020-09-13T12:26:40.000Z");
}

#[test]
fn an_update_that_changes_an_index_key_is_refused_and_others_are_made() {
    let database = Counted::new(plain::<ManhuntModel>());
    let db = Manhunt::on(database.clone());
    db.put(&search("a1", ZAVIER, "2019-12-30T19:32:14Z"))
        .wait()
        .unwrap();
    database.take();
    let error = db
        .update_search(SearchKey::new("a1"))
        .set_status(SearchStatus::Successful)
        .wait()
        .unwrap_err();
    assert!(
        matches!(error, Error::NotApplied { model: "manhunt", .. }),
        "{error}"
    );
    assert!(error.to_string().contains("through a gateway"), "{error}");
    let error = db
        .transaction()
        .with(
            db.update_search(SearchKey::new("a1"))
                .set_status(SearchStatus::Failed),
        )
        .commit()
        .wait()
        .unwrap_err();
    assert!(matches!(error, Error::NotApplied { .. }), "{error}");
    assert_eq!(database.take(), 0, "nothing was sent");
    db.update_search(SearchKey::new("a1")).wait().unwrap();
    assert_eq!(database.take(), 1);
}

#[test]
fn an_update_that_a_time_follows_from_is_refused() {
    let db = Members::on(plain::<MembersModel>());
    let ticket = NewTicket {
        number: 1,
        column: "todo".into(),
    };
    db.put(&ticket).wait().unwrap();
    let error = db
        .update_ticket(ticket.key())
        .set_column("done")
        .wait()
        .unwrap_err();
    assert!(matches!(error, Error::NotApplied { .. }), "{error}");
}

#[test]
fn a_write_from_which_others_follow_is_refused() {
    let database = Counted::new(plain::<MembersModel>());
    let db = Members::on(database.clone());
    let member = NewMember {
        id: 1,
        email: "a@b".into(),
    };
    let error = db.put(&member).wait().unwrap_err();
    assert!(
        matches!(error, Error::NotApplied { model: "members", .. }),
        "{error}"
    );
    assert!(error.to_string().contains("apply the model"), "{error}");
    assert_eq!(database.take(), 0, "nothing was sent");
}
