//! Typed clients of an endpoint that knows no model, through a gateway of their own process.

use crate::models::klayers::Klayers;
use crate::models::littlehorse::Littlehorse;
use crate::models::manhunt::Manhunt;
use crate::models::members::*;
use crate::models::reindexer::Reindexer;
use crate::models::warehouse::Warehouse;
use crate::support::gateway;
use crate::{klayers, littlehorse, manhunt, reindexer, warehouse};
use trestle::{Gateway, Wait};

#[test]
fn what_is_done_with_each_model_in_this_process_is_done_there() {
    manhunt::story(&Manhunt::apply_to(&gateway()).unwrap());
    klayers::story(&Klayers::apply_to(&gateway()).unwrap());
    warehouse::story(&Warehouse::apply_to(&gateway()).unwrap());
    littlehorse::story(&Littlehorse::apply_to(&gateway()).unwrap());
    reindexer::story(&Reindexer::apply_to(&gateway()).unwrap());
}

fn ticket(db: &Members<Gateway>) -> TicketKey {
    let ticket = NewTicket {
        number: 1,
        column: "todo".into(),
    };
    db.put(&ticket).wait().unwrap();
    ticket.key()
}

#[test]
fn writers_who_change_different_parts_of_a_key_leave_one_that_fits_both() {
    let db = Members::apply_to(&gateway()).unwrap();
    let ticket = ticket(&db);
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
    let db = Members::apply_to(&gateway()).unwrap();
    let ticket = ticket(&db);
    db.update_ticket(&ticket).set_owner("bo").wait().unwrap();
    let place = || AtPlaceWhere {
        column: "todo",
        owner: "bo",
    };
    assert_eq!(db.at_place(place()).collect().wait().unwrap().len(), 1);
    db.update_ticket(&ticket).remove_owner().wait().unwrap();
    assert_eq!(db.at_place(place()).collect().wait().unwrap(), []);
}

#[test]
fn unique_values_and_counts_are_kept_and_a_second_program_finds_the_model() {
    let gateway = gateway();
    let db = Members::apply_to(&gateway).unwrap();
    let member = |id| NewMember {
        id,
        email: "a@b".into(),
    };
    db.put(&member(1)).wait().unwrap();
    let again = Members::apply_to(&gateway).unwrap();
    let error = again.put(&member(2)).wait().unwrap_err();
    assert!(error.is_taken(), "{error}");
}
