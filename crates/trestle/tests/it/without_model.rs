//! Clients of a database that does not know the model: they derive keys themselves.

use std::sync::Arc;
use std::time::Duration;

use crate::manhunt::{ZAVIER, contact, search};
use crate::models::manhunt::*;
use crate::models::members::*;
use crate::support::{Counted, plain};
use trestle::typed::Error;
use trestle::{Timestamp, VirtualClock, Wait};

#[test]
fn an_update_moves_the_index_row_also_where_the_database_derives_nothing() {
    let database = Counted::new(plain::<ManhuntModel>());
    let db = Manhunt::on(database.clone());
    db.put(&search("a1", ZAVIER, "2019-12-30T19:32:14Z"))
        .wait()
        .unwrap();
    assert_eq!(database.take(), 1);
    db.update_search(SearchKey::new("a1"))
        .set_status(SearchStatus::Successful)
        .wait()
        .unwrap();
    assert_eq!(database.take(), 2, "the contact's id is part of the index key");
    let with = |status| db.searches_by_status(ZAVIER, status).collect().wait().unwrap();
    assert_eq!(with(SearchStatus::Active), []);
    assert_eq!(with(SearchStatus::Successful).len(), 1);
    assert_eq!(
        with(SearchStatus::Successful).first().unwrap().rest,
        trestle::Map::new()
    );
}

#[test]
fn an_update_that_says_all_of_an_index_key_needs_no_look() {
    let database = Counted::new(plain::<ManhuntModel>());
    let db = Manhunt::on(database.clone());
    db.put(&contact(ZAVIER, "db3280c", "Zavier Curtis"))
        .wait()
        .unwrap();
    database.take();
    db.update_contact(ContactKey::new(ZAVIER))
        .set_name("Zoe Curtis")
        .wait()
        .unwrap();
    assert_eq!(database.take(), 1);
    let names: Vec<String> = db
        .contacts_of_domain("db3280c")
        .stream()
        .wait()
        .map(|contact| contact.unwrap().name)
        .collect();
    assert_eq!(names, ["Zoe Curtis"]);
}

#[test]
fn writers_who_change_different_parts_of_a_key_leave_one_that_fits_both() {
    let db = Members::on(plain::<MembersModel>());
    let ticket = TicketKey::new(1);
    db.put(&NewTicket {
        number: 1,
        column: "todo".into(),
    })
    .wait()
    .unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (db, ticket) = (&db, &ticket);
            scope.spawn(move || {
                for turn in 0..5 {
                    db.update_ticket(ticket)
                        .set_column(format!("c{turn}"))
                        .wait()
                        .unwrap();
                    db.update_ticket(ticket)
                        .set_owner(format!("o{writer}{turn}"))
                        .wait()
                        .unwrap();
                }
            });
        }
    });
    let last = db.get(&ticket).wait().unwrap().unwrap();
    let place = AtPlaceWhere {
        column: &last.column,
        owner: last.owner.as_deref().unwrap(),
    };
    assert_eq!(db.at_place(place).collect().wait().unwrap(), [last]);
}

#[test]
fn a_row_leaves_the_index_with_the_attribute_its_key_needs() {
    let db = Members::on(plain::<MembersModel>());
    let ticket = Ticket {
        owner: Some("bo".into()),
        ..NewTicket {
            number: 1,
            column: "todo".into(),
        }
        .into()
    };
    db.put(&ticket).wait().unwrap();
    let place = || AtPlaceWhere {
        column: "todo",
        owner: "bo",
    };
    assert_eq!(db.at_place(place()).collect().wait().unwrap().len(), 1);
    db.update_ticket(&ticket).remove_owner().wait().unwrap();
    assert_eq!(db.at_place(place()).collect().wait().unwrap(), []);
}

#[test]
fn times_come_from_the_clients_clock() {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_600_000_000)));
    let db = Members::on(plain::<MembersModel>()).with_clock(Arc::clone(&clock) as _);
    let ticket = NewTicket {
        number: 1,
        column: "todo".into(),
    };
    db.put(&ticket).wait().unwrap();
    clock.advance(Duration::from_secs(60));
    let moved = db.update_ticket(ticket.key()).set_column("done").wait().unwrap();
    assert_eq!(moved.opened.unwrap().as_str(), "2020-09-13T12:26:40.000Z");
    assert_eq!(moved.touched.unwrap().as_str(), "2020-09-13T12:27:40.000Z");
}

#[test]
fn a_write_from_which_others_follow_is_refused_where_nobody_would_make_them() {
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
