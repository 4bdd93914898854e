//! Manhunt: an overloaded table, and collections.

use crate::models::manhunt::*;
use crate::support::{Counted, at, embedded};
use trestle::{Database, Wait};

pub(crate) const ARIAN: &str = "9d657f8";
pub(crate) const ZAVIER: &str = "89fa8f8";

/// The ten sample rows.
pub(crate) fn seed<D: Database>(db: &Manhunt<D>) {
    for (id, domain, name) in [
        (ARIAN, "6f7ad1b", "Arian Mellor"),
        (ZAVIER, "db3280c", "Zavier Curtis"),
    ] {
        db.put(&contact(id, domain, name)).wait().unwrap();
    }
    for (contact, domain, method) in [
        (ZAVIER, "db3280c", "538235b"),
        (ZAVIER, "db3280c", "800e613"),
        (ARIAN, "6f7ad1b", "d3fd3a0"),
    ] {
        let method = NewContactMethod {
            contact_id: contact.into(),
            method_id: method.into(),
            domain_id: domain.into(),
            r#type: ContactMethodType::Text,
            destination: format!("+1 {method}"),
        };
        db.put(&method).wait().unwrap();
    }
    let active = search("a271244", ZAVIER, "2019-12-30T19:32:14Z");
    db.put(&active).wait().unwrap();
    let canceled = Search {
        status: SearchStatus::Canceled,
        ..search("2ad6a19", ARIAN, "2019-12-30T12:14:01Z").into()
    };
    db.put(&canceled).wait().unwrap();
    for (search, attempt, method) in [
        (&active.into(), "daf3d11", "538235b"),
        (&canceled, "384f7b1", "d3fd3a0"),
        (&canceled, "8cbc75c", "d3fd3a0"),
    ] {
        db.put(&self::attempt(search, attempt, method)).wait().unwrap();
    }
}

pub(crate) fn contact(id: &str, domain: &str, name: &str) -> NewContact {
    NewContact {
        contact_id: id.into(),
        domain_id: domain.into(),
        name: name.into(),
    }
}

pub(crate) fn search(id: &str, contact: &str, started: &str) -> NewSearch {
    NewSearch {
        search_id: id.into(),
        contact_id: contact.into(),
        domain_id: "db3280c".into(),
        started_datetime: at(started),
    }
}

fn attempt(search: &Search, id: &str, method: &str) -> NewSearchAttempt {
    NewSearchAttempt {
        search_id: search.search_id.clone(),
        attempt_id: id.into(),
        contact_id: search.contact_id.clone(),
        domain_id: search.domain_id.clone(),
        method_id: method.into(),
        attempted_at: search.started_datetime.clone(),
    }
}

fn ids(searches: Vec<Search>) -> Vec<String> {
    searches.into_iter().map(|search| search.search_id).collect()
}

/// Everything that can be queried of the ten rows.
fn queries<D: Database>(db: &Manhunt<D>) {
    let search = db.search("a271244").first().wait().unwrap().unwrap();
    assert_eq!(search.status, SearchStatus::Active);
    assert_eq!(
        db.search(ZAVIER).first().wait().unwrap(),
        None,
        "an id of a contact"
    );
    assert_eq!(
        db.contact(ARIAN).first().wait().unwrap().unwrap().name,
        "Arian Mellor"
    );

    let found = db.contact_with_methods(ZAVIER).gather().wait().unwrap();
    assert_eq!(found.contact.unwrap().name, "Zavier Curtis");
    let methods: Vec<&str> = found
        .contact_method
        .iter()
        .map(|method| method.method_id.as_str())
        .collect();
    assert_eq!(methods, ["538235b", "800e613"]);

    let rows = db.search_with_attempts("2ad6a19").collect().wait().unwrap();
    let shown: Vec<&str> = rows
        .iter()
        .map(|row| match row {
            SearchWithAttemptsRow::Search(search) => search.status.as_str(),
            SearchWithAttemptsRow::SearchAttempt(attempt) => attempt.attempt_id.as_str(),
        })
        .collect();
    assert_eq!(
        shown,
        ["384f7b1", "8cbc75c", "canceled"],
        "in the order of their keys"
    );

    let contacts = db.contacts_of_domain("db3280c").collect().wait().unwrap();
    assert_eq!(contacts.len(), 1);
    assert_eq!(
        ids(db.searches_of_contact(ZAVIER).collect().wait().unwrap()),
        ["a271244"]
    );
    let before = |time| {
        db.searches_of_contact_before(ARIAN, at(time))
            .collect()
            .wait()
            .unwrap()
    };
    assert_eq!(ids(before("2019-12-30T12:14:02Z")), ["2ad6a19"]);
    assert_eq!(before("2019-12-30T12:14:01Z"), []);
    let with = |contact, status| db.searches_by_status(contact, status).collect().wait().unwrap();
    assert_eq!(ids(with(ZAVIER, SearchStatus::Active)), ["a271244"]);
    assert_eq!(with(ZAVIER, SearchStatus::Canceled), []);
    let both = db.searches_by_status_before(ARIAN, SearchStatus::Canceled, at("2020-01-01T00:00:00Z"));
    assert_eq!(ids(both.collect().wait().unwrap()), ["2ad6a19"]);
}

/// A search ends: its row moves in the index, and is no longer in its old place.
fn an_update_moves_the_index_row<D: Database>(db: &Manhunt<D>) {
    let ended = db
        .update_search(SearchKey::new("a271244"))
        .set_status(SearchStatus::Successful)
        .only_if(Search::STATUS.equals(SearchStatus::Active))
        .wait()
        .unwrap();
    assert_eq!(ended.status, SearchStatus::Successful);
    let with = |status| ids(db.searches_by_status(ZAVIER, status).collect().wait().unwrap());
    assert_eq!(with(SearchStatus::Active), Vec::<String>::new());
    assert_eq!(with(SearchStatus::Successful), ["a271244"]);
}

/// Deleted rows disappear from the table and from its indexes.
fn deletes<D: Database>(db: &Manhunt<D>) {
    let found = db.contact_with_methods(ARIAN).gather().wait().unwrap();
    for method in &found.contact_method {
        assert!(db.delete(method).wait().unwrap());
    }
    assert!(db.delete(ContactKey::new(ARIAN)).wait().unwrap());
    assert!(!db.delete(ContactKey::new(ARIAN)).wait().unwrap(), "it is gone");
    assert_eq!(db.contacts_of_domain("6f7ad1b").first().wait().unwrap(), None);
    let attempts = db.search_with_attempts("2ad6a19").gather().wait().unwrap();
    for attempt in attempts.search_attempt {
        assert!(db.delete(attempt.key()).wait().unwrap());
    }
    assert!(db.delete(SearchKey::new("2ad6a19")).wait().unwrap());
    let rest = db.search_with_attempts("2ad6a19").gather().wait().unwrap();
    assert_eq!(rest, SearchWithAttempts::default());
}

pub(crate) fn story<D: Database>(db: &Manhunt<D>) {
    seed(db);
    queries(db);
    an_update_moves_the_index_row(db);
    deletes(db);
}

#[test]
fn all_queries_find_their_rows_and_an_update_moves_them_on_the_engine() {
    story(&Manhunt::apply_to(&embedded()).unwrap());
}

#[test]
fn the_same_on_any_database_that_has_the_model() {
    let embedded = embedded();
    Manhunt::apply_to(&embedded).unwrap();
    let database = Counted::new(embedded);
    story(&Manhunt::on(database.clone()).model_applied());
    assert!(database.take() > 0);
}

#[test]
fn each_access_pattern_is_one_request() {
    let embedded = embedded();
    seed(&Manhunt::apply_to(&embedded).unwrap());
    let database = Counted::new(embedded);
    let db = Manhunt::on(database.clone()).model_applied();
    let count = || database.take();
    db.search("a271244").first().wait().unwrap();
    assert_eq!(count(), 1);
    db.search_with_attempts("a271244").collect().wait().unwrap();
    assert_eq!(count(), 1);
    db.contact(ZAVIER).first().wait().unwrap();
    assert_eq!(count(), 1);
    db.contact_with_methods(ZAVIER).gather().wait().unwrap();
    assert_eq!(count(), 1);
    db.contacts_of_domain("db3280c").collect().wait().unwrap();
    assert_eq!(count(), 1);
    db.searches_of_contact(ZAVIER).collect().wait().unwrap();
    assert_eq!(count(), 1);
    db.searches_by_status(ZAVIER, SearchStatus::Active)
        .first()
        .wait()
        .unwrap();
    assert_eq!(count(), 1);
    db.update_search(SearchKey::new("a271244"))
        .set_status(SearchStatus::Failed)
        .wait()
        .unwrap();
    assert_eq!(count(), 1, "the database derives the keys: no second look");
}

#[test]
fn an_attempt_keeps_what_the_method_was_when_it_was_tried() {
    let db = Manhunt::apply_to(&embedded()).unwrap();
    seed(&db);
    let method = ContactMethodKey {
        contact_id: ZAVIER.into(),
        method_id: "538235b".into(),
    };
    db.update_contact_method(method)
        .set_destination("+1 moved")
        .wait()
        .unwrap();
    let found = db.search_with_attempts("a271244").gather().wait().unwrap();
    let attempt = found.search_attempt.first().unwrap();
    assert_eq!(attempt.destination.as_deref(), Some("+1 538235b"));
    assert_eq!(attempt.r#type, Some(ContactMethodType::Text));
}

#[test]
fn a_new_row_has_the_models_defaults_before_and_after_it_is_written() {
    let db = Manhunt::apply_to(&embedded()).unwrap();
    let new = NewContactMethod {
        contact_id: ARIAN.into(),
        method_id: "d3fd3a0".into(),
        domain_id: "6f7ad1b".into(),
        r#type: ContactMethodType::Webhook,
        destination: "http://localhost/".into(),
    };
    db.put(&new).wait().unwrap();
    let made = ContactMethod::from(new.clone());
    assert_eq!((made.wait_seconds, made.enabled, made.order), (300, true, None));
    assert_eq!(db.get(new.key()).wait().unwrap(), Some(made));
}

#[test]
fn rows_that_come_unasked_are_told_apart_by_entity() {
    let db = Manhunt::apply_to(&embedded()).unwrap();
    seed(&db);
    let scan = trestle::api::Scan {
        table_name: "manhunt".into(),
        ..trestle::api::Scan::default()
    };
    let (mut contacts, mut methods, mut searches, mut attempts) = (0, 0, 0, 0);
    for item in db.database().run(scan).unwrap().items.unwrap() {
        match trestle::typed::read_from("manhunt", item).unwrap().unwrap() {
            ManhuntRow::Contact(_) => contacts += 1,
            ManhuntRow::ContactMethod(_) => methods += 1,
            ManhuntRow::Search(_) => searches += 1,
            ManhuntRow::SearchAttempt(_) => attempts += 1,
            other => panic!("the sample has no {other:?}"),
        }
    }
    assert_eq!((contacts, methods, searches, attempts), (2, 3, 2, 3));
}
