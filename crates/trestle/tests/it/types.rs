//! Attributes of every type, written and read back.

use std::collections::BTreeSet;

use crate::models::members::*;
use crate::support::{at, embedded};
use trestle::typed::{EpochSeconds, Version};
use trestle::{AttributeValue, Embedded, Item, Map, Number, Wait};

fn member(id: i64) -> NewMember {
    NewMember {
        id,
        email: format!("{id}@example"),
    }
}

fn everything() -> Member {
    let number = |text: &str| Number::parse(text).unwrap();
    Member {
        club: Some("chess".into()),
        level: MemberLevel::N10,
        points: number("12345678901234567890.5"),
        active: false,
        badge: Some(vec![0, 1, 255]),
        until: Some(EpochSeconds(1_600_000_000)),
        client: Version::parse("2.0.0-rc.2+007").unwrap(),
        born: Some(at("1990-01-01T00:00:00Z")),
        notes: Some(vec![AttributeValue::from("a"), AttributeValue::Null]),
        settings: Some(Map::from([("theme", "dark")])),
        nicknames: BTreeSet::from(["Bo".to_owned(), "Bobby".to_owned()]),
        lucky: BTreeSet::from([number("7"), number("0.5")]),
        keys: BTreeSet::from([vec![1], vec![2, 3]]),
        anything: Some(AttributeValue::from(true)),
        ..member(1).into()
    }
}

fn members() -> (Members<Embedded>, Embedded) {
    let embedded = embedded();
    (Members::apply_to(&embedded).unwrap(), embedded)
}

#[test]
fn a_row_with_everything_comes_back_as_it_was() {
    let (db, _) = members();
    db.put(&everything()).wait().unwrap();
    let found = db.get(MemberKey::new(1)).wait().unwrap().unwrap();
    assert!(
        found.joined.is_some() && found.seen.is_some(),
        "the database has the time"
    );
    let timeless = Member {
        joined: None,
        seen: None,
        ..found
    };
    assert_eq!(timeless, everything());
}

#[test]
fn a_row_without_anything_has_defaults_and_no_more() {
    let (db, _) = members();
    db.put(&member(2)).wait().unwrap();
    let found = db.get(MemberKey::new(2)).wait().unwrap().unwrap();
    assert_eq!((found.level, found.active), (MemberLevel::N0, true));
    assert_eq!(found.points, Number::from(0_i64));
    assert!(found.nicknames.is_empty() && found.badge.is_none());
}

#[test]
fn whole_numbers_that_are_few_are_an_enum() {
    let (db, _) = members();
    let member = Member {
        club: Some("go".into()),
        level: MemberLevel::Minus1,
        ..member(3).into()
    };
    db.put(&member).wait().unwrap();
    let found = db.of_level("go", MemberLevel::Minus1).collect().wait().unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(MemberLevel::ALL.len(), 3);
    assert_eq!(MemberLevel::Minus1.to_string(), "-1");
    assert_eq!("10".parse(), Ok(MemberLevel::N10));
    let error = "11".parse::<MemberLevel>().unwrap_err();
    assert_eq!(
        error.to_string(),
        r#""11" is no value of level, which is one of -1, 0, 10"#
    );
    let raised = db
        .update_member(&member)
        .set_level(MemberLevel::N10)
        .add_to_points(Number::from(5_i64))
        .add_to_points(Number::from(7_i64))
        .wait()
        .unwrap();
    assert_eq!(raised.level, MemberLevel::N10);
    assert_eq!(raised.points, Number::from(7_i64), "the last addition counts");
    assert!(
        db.of_level("go", MemberLevel::Minus1)
            .first()
            .wait()
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_row_that_is_no_entity_is_passed_over_in_an_open_table() {
    let (db, embedded) = members();
    db.put(&member(1)).wait().unwrap();
    let foreign = Item::from([("pk", "something else")]);
    embedded
        .run(trestle::api::PutItem {
            table_name: "members".into(),
            item: foreign,
            ..trestle::api::PutItem::default()
        })
        .unwrap();
    let found = db.everyone().gather().wait().unwrap();
    assert_eq!((found.member.len(), found.member_unique_email.len()), (1, 1));
}

#[test]
fn names_that_would_collide_are_told_apart() {
    let (db, _) = members();
    let ticket = Ticket {
        self_: Some("me".into()),
        rest: Some("nothing".into()),
        rest_of_attributes: Map::from([("more", "of it")]),
        labels: Some(Map::new()),
        ..NewTicket {
            number: 1,
            column: "todo".into(),
        }
        .into()
    };
    db.put(&ticket).wait().unwrap();
    let changed = db
        .update_ticket(&ticket)
        .set_in_labels("a text")
        .set_in_labels_("colour", "red")
        .wait()
        .unwrap();
    assert_eq!(changed.in_labels.as_deref(), Some("a text"));
    assert_eq!(changed.labels, Some(Map::from([("colour", "red")])));
    assert_eq!(changed.rest_of_attributes, ticket.rest_of_attributes);
}

#[test]
fn the_time_of_a_change_is_the_databases() {
    let (db, _) = members();
    let ticket = Ticket::from(NewTicket {
        number: 1,
        column: "todo".into(),
    });
    db.put(&ticket).wait().unwrap();
    let first = db.get(&ticket).wait().unwrap().unwrap();
    let second = db.update_ticket(&ticket).set_owner("bo").wait().unwrap();
    assert_eq!(first.opened, second.opened);
    assert!(second.touched >= first.touched);
    assert_eq!(
        db.at_place(AtPlaceWhere {
            column: "todo",
            owner: "bo"
        })
        .collect()
        .wait()
        .unwrap(),
        [second]
    );
}

#[test]
fn members_are_found_by_the_version_of_their_client() {
    let (db, _) = members();
    for (id, client) in [(1, "1.9.0"), (2, "1.10.0"), (3, "1.10.0-rc.1"), (4, "10.0.0")] {
        let row = Member {
            club: Some("chess".into()),
            client: client.parse().unwrap(),
            ..member(id).into()
        };
        db.put(&row).wait().unwrap();
    }
    let before = db.with_client_before("chess", Version::new(1, 10, 0));
    let before: Vec<i64> = before
        .collect()
        .wait()
        .unwrap()
        .into_iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(
        before,
        [1, 3],
        "by precedence: a prerelease comes before its release"
    );
    let of_one = db.with_client_of("chess", "1".to_owned());
    let of_one: Vec<i64> = of_one
        .collect()
        .wait()
        .unwrap()
        .into_iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(of_one, [1, 3, 2], "10.0.0 does not begin with 1");
}

#[test]
fn rows_and_keys_are_made_of_their_values_where_none_can_be_taken_for_another() {
    assert_eq!(Member::new(1, "1@example"), member(1).into());
    assert_eq!(MemberKey::new(1), member(1).key());
    use crate::models::shop::OrderKey;
    let named = OrderKey {
        customer: "ada".into(),
        number: 1,
    };
    assert_eq!(OrderKey::new("ada", 1), named);
}

#[test]
fn attributes_with_the_same_name_and_values_have_one_type() {
    use crate::models::manhunt::{ContactMethod, ContactMethodType, SearchAttempt};
    let _same: fn(&ContactMethod, &mut SearchAttempt) = |method, attempt| {
        attempt.r#type = Some(method.r#type);
    };
    assert_eq!("email".parse(), Ok(ContactMethodType::Email));
}
