//! The nine queries and the sample rows; who may see what; pages.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use manhunt::model::*;
use manhunt::{Error, SearchFilter};
use testing::TestPlace;
use trestle::api::{Request, ResponseFuture};
use trestle::typed::Timestamp;
use trestle::{AnyDatabase, Database, SystemClock};

use crate::support::{DOMAIN, World, searching};

const ARIAN: &str = "9d657f8";
const ZAVIER: &str = "89fa8f8";

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn domain_of(contact: &str) -> &'static str {
    match contact {
        ARIAN => "6f7ad1b",
        _ => DOMAIN,
    }
}

/// The ten rows of the figure.
async fn seed<D: Database>(db: &Manhunt<D>) {
    for (id, domain, name) in [
        (ARIAN, "6f7ad1b", "Arian Mellor"),
        (ZAVIER, DOMAIN, "Zavier Curtis"),
    ] {
        let contact = NewContact {
            contact_id: id.into(),
            domain_id: domain.into(),
            name: name.into(),
        };
        db.put(&contact).await.unwrap();
    }
    for (contact, domain, method) in [
        (ZAVIER, DOMAIN, "538235b"),
        (ZAVIER, DOMAIN, "800e613"),
        (ARIAN, "6f7ad1b", "d3fd3a0"),
    ] {
        let method = NewContactMethod {
            contact_id: contact.into(),
            method_id: method.into(),
            domain_id: domain.into(),
            r#type: ContactMethodType::Text,
            destination: format!("+1 {method}"),
        };
        db.put(&method).await.unwrap();
    }
    let (active, canceled) = (SearchStatus::Active, SearchStatus::Canceled);
    put_search(db, "a271244", ZAVIER, "2019-12-30T19:32:14Z", active).await;
    put_search(db, "2ad6a19", ARIAN, "2019-12-30T12:14:01Z", canceled).await;
    for (search, attempt, contact, method) in [
        ("a271244", "daf3d11", ZAVIER, "538235b"),
        ("2ad6a19", "384f7b1", ARIAN, "d3fd3a0"),
        ("2ad6a19", "8cbc75c", ARIAN, "d3fd3a0"),
    ] {
        let attempt = NewSearchAttempt {
            search_id: search.into(),
            attempt_id: attempt.into(),
            contact_id: contact.into(),
            domain_id: domain_of(contact).into(),
            method_id: method.into(),
            attempted_at: at("2019-12-30T19:32:15Z"),
        };
        db.put(&attempt).await.unwrap();
    }
}

async fn put_search<D: Database>(
    db: &Manhunt<D>,
    id: &str,
    contact: &str,
    started: &str,
    status: SearchStatus,
) {
    let search = Search::from(NewSearch {
        search_id: id.into(),
        contact_id: contact.into(),
        domain_id: domain_of(contact).into(),
        started_datetime: at(started),
    });
    db.put(&Search { status, ..search }).await.unwrap();
}

fn ids(searches: &[Search]) -> Vec<&str> {
    searches.iter().map(|search| search.search_id.as_str()).collect()
}

/// A database that records the requests it passes on.
#[derive(Clone)]
struct Noted {
    stored: AnyDatabase,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Noted {
    /// Whether there was exactly one request since the last call, and it was a query.
    fn was_one_query(&self) -> bool {
        let requests = std::mem::take(&mut *self.requests.lock().unwrap());
        matches!(requests.as_slice(), [Request::Query(_)])
    }
}

impl Database for Noted {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        self.requests.lock().unwrap().push(request.clone());
        self.stored.execute(request)
    }
}

#[tokio::test]
async fn point_01_each_of_the_nine_queries_is_one_query_and_finds_the_figures_rows_in_order() {
    let place = TestPlace::new("manhunt");
    let stored = place.open(Arc::new(SystemClock::new()));
    let own = Manhunt::apply_to(&stored).unwrap();
    seed(&own).await;
    put_search(&own, "e1", ZAVIER, "2019-12-30T08:00:00Z", SearchStatus::Active).await;
    put_search(&own, "c1", ZAVIER, "2019-12-30T09:00:00Z", SearchStatus::Failed).await;
    own.put(&NewContact {
        contact_id: "aa".into(),
        domain_id: DOMAIN.into(),
        name: "Ada".into(),
    })
    .await
    .unwrap();
    let noted = Noted {
        stored,
        requests: Arc::default(),
    };
    let db = Manhunt::on(noted.clone()).model_applied();

    assert_eq!(
        db.search("a271244").first().await.unwrap().unwrap().contact_id,
        ZAVIER
    );
    assert!(noted.was_one_query());
    let found = db.search_with_attempts("2ad6a19").gather().await.unwrap();
    assert!(noted.was_one_query());
    assert_eq!(found.search.unwrap().status, SearchStatus::Canceled);
    let attempts = found
        .search_attempt
        .iter()
        .map(|attempt| attempt.attempt_id.as_str());
    assert_eq!(attempts.collect::<Vec<_>>(), ["384f7b1", "8cbc75c"]);
    assert_eq!(
        db.contact(ARIAN).first().await.unwrap().unwrap().name,
        "Arian Mellor"
    );
    assert!(noted.was_one_query());
    let found = db.contact_with_methods(ARIAN).gather().await.unwrap();
    assert!(noted.was_one_query());
    assert_eq!(found.contact.unwrap().name, "Arian Mellor");
    let methods = found
        .contact_method
        .iter()
        .map(|method| method.method_id.as_str());
    assert_eq!(methods.collect::<Vec<_>>(), ["d3fd3a0"]);
    let contacts = db.contacts_of_domain(DOMAIN).collect().await.unwrap();
    assert!(noted.was_one_query());
    let names: Vec<&str> = contacts.iter().map(|contact| contact.name.as_str()).collect();
    assert_eq!(names, ["Ada", "Zavier Curtis"]);
    let searches = db.searches_of_contact(ZAVIER).collect().await.unwrap();
    assert!(noted.was_one_query());
    assert_eq!(ids(&searches), ["e1", "c1", "a271244"]);
    let noon = || at("2019-12-30T12:00:00Z");
    let searches = db
        .searches_of_contact_before(ZAVIER, noon())
        .collect()
        .await
        .unwrap();
    assert!(noted.was_one_query());
    assert_eq!(ids(&searches), ["e1", "c1"]);
    let searches = db
        .searches_by_status(ZAVIER, SearchStatus::Active)
        .collect()
        .await
        .unwrap();
    assert!(noted.was_one_query());
    assert_eq!(ids(&searches), ["e1", "a271244"]);
    let searches = db.searches_by_status_before(ZAVIER, SearchStatus::Active, noon());
    assert_eq!(ids(&searches.collect().await.unwrap()), ["e1"]);
    assert!(noted.was_one_query());
}

#[tokio::test]
async fn point_02_rows_of_a_partition_are_told_apart_by_entity_and_not_by_their_place() {
    let world = World::new().await;
    seed(&world.service().db).await;
    let rows = world
        .service()
        .db
        .contact_with_methods(ZAVIER)
        .collect()
        .await
        .unwrap();
    let shown: Vec<&str> = rows
        .iter()
        .map(|row| match row {
            ContactWithMethodsRow::Contact(contact) => contact.name.as_str(),
            ContactWithMethodsRow::ContactMethod(method) => method.method_id.as_str(),
        })
        .collect();
    assert_eq!(shown, ["538235b", "800e613", "Zavier Curtis"]);
    let rows = world
        .service()
        .db
        .contact_with_methods(ARIAN)
        .collect()
        .await
        .unwrap();
    assert!(matches!(
        rows.as_slice(),
        [
            ContactWithMethodsRow::Contact(_),
            ContactWithMethodsRow::ContactMethod(_)
        ]
    ));
}

#[tokio::test]
async fn point_03_ids_of_something_else_and_of_another_domain_are_not_found() {
    let world = World::new().await;
    let service = world.service();
    seed(&service.db).await;
    let is_missing = |error: Error| matches!(error, Error::NotFound(_));
    let attempt = world.attempted(&world.contact(&[60]).await).await;
    let answer = service.respond("6f7ad1b", &attempt, "1").await;
    assert!(is_missing(answer.unwrap_err()));
    assert_eq!(world.status(&attempt.search).await, SearchStatus::Active);
    assert!(service.search(DOMAIN, "a271244").await.is_ok());
    assert!(is_missing(service.search(DOMAIN, ZAVIER).await.unwrap_err()));
    assert!(is_missing(service.contact(DOMAIN, "a271244").await.unwrap_err()));
    assert!(is_missing(service.contact(DOMAIN, ARIAN).await.unwrap_err()));
    assert!(is_missing(
        service.search("6f7ad1b", "a271244").await.unwrap_err()
    ));
    assert!(is_missing(
        service.cancel("6f7ad1b", "a271244", "").await.unwrap_err()
    ));
    assert!(is_missing(
        service.begin("6f7ad1b", searching(ZAVIER)).await.unwrap_err()
    ));
    let filter = SearchFilter {
        contact: ARIAN.into(),
        ..SearchFilter::default()
    };
    assert!(is_missing(service.searches(DOMAIN, filter).await.unwrap_err()));
    let method = ContactMethodKey {
        contact_id: ARIAN.into(),
        method_id: "d3fd3a0".into(),
    };
    let edit = service.change_method(DOMAIN, method.clone(), Default::default());
    assert!(is_missing(edit.await.unwrap_err()));
    assert!(is_missing(
        service.remove_method(DOMAIN, method).await.unwrap_err()
    ));
    assert!(is_missing(
        service
            .add_method(DOMAIN, ARIAN, crate::support::text("+4930101", 1, 0))
            .await
            .unwrap_err()
    ));
}

/// Pages of one search each, with something happening after the first.
async fn pages(world: &World, status: Option<&str>, meanwhile: impl AsyncFn()) -> Vec<String> {
    let mut filter = SearchFilter {
        contact: ZAVIER.into(),
        status: status.map(|status| status.parse().unwrap()),
        limit: NonZeroU32::new(2),
        ..SearchFilter::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = world.service().searches(DOMAIN, filter.clone()).await.unwrap();
        seen.extend(page.rows.into_iter().map(|search| search.search_id));
        assert!(seen.len() < 20, "pages without end: {seen:?}");
        meanwhile().await;
        match page.next {
            Some(bookmark) => filter.after = Some(bookmark.to_string()),
            None => return seen,
        }
    }
}

#[tokio::test]
async fn point_10_pages_of_all_searches_have_no_repeats_and_no_gaps_while_statuses_change() {
    let world = World::new().await;
    let db = &world.service().db;
    seed(db).await;
    // The middle one has another status than its neighbours, and statuses change between the pages.
    for (id, started, status) in [
        ("b1", "2020-01-01T00:00:00Z", SearchStatus::Failed),
        ("b3", "2020-01-02T00:00:00Z", SearchStatus::Canceled),
        ("b2", "2020-01-03T00:00:00Z", SearchStatus::Failed),
        ("b4", "2020-01-04T00:00:00Z", SearchStatus::Failed),
    ] {
        put_search(db, id, ZAVIER, started, status).await;
    }
    let set = async |id: &str, status: SearchStatus| {
        let search = db.update_search(SearchKey::new(id));
        search.set_status(status).await.unwrap();
    };
    let ids = ["b1", "b2", "b3", "b4"];
    let statuses = [
        SearchStatus::Successful,
        SearchStatus::Active,
        SearchStatus::Canceled,
        SearchStatus::Failed,
    ];
    let turn = Cell::new(0);
    let seen = pages(&world, None, async || {
        // Each time another status for each: some end while others begin again.
        let turn = turn.replace(turn.get() + 1);
        for (at, id) in ids.into_iter().enumerate() {
            set(id, statuses[(turn + at) % statuses.len()]).await;
        }
    })
    .await;
    assert_eq!(turn.get(), 3, "statuses changed after each of three pages");
    assert_eq!(seen, ["a271244", "b1", "b3", "b2", "b4"]);
    for id in ids {
        set(id, SearchStatus::Successful).await;
    }
    let by_status = pages(&world, Some("successful"), async || {}).await;
    assert_eq!(by_status, ["b1", "b3", "b2", "b4"]);
}

#[tokio::test]
async fn point_11_before_a_date_means_before_also_with_a_status() {
    let world = World::new().await;
    let db = &world.service().db;
    seed(db).await;
    for (id, started) in [("c1", "2019-12-30T19:32:13Z"), ("c2", "2019-12-31T00:00:00Z")] {
        put_search(db, id, ZAVIER, started, SearchStatus::Active).await;
    }
    for status in [None, Some("active")] {
        let filter = SearchFilter {
            contact: ZAVIER.into(),
            status: status.map(|status| status.parse().unwrap()),
            before: Some("2019-12-30T19:32:14Z".into()),
            ..SearchFilter::default()
        };
        let page = world.service().searches(DOMAIN, filter).await.unwrap();
        assert_eq!(ids(&page.rows), ["c1"], "{status:?}");
    }
    let nonsense = SearchFilter {
        contact: ZAVIER.into(),
        before: Some("yesterday".into()),
        ..SearchFilter::default()
    };
    let refused = world.service().searches(DOMAIN, nonsense).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused}");
}

#[tokio::test]
async fn since_a_date_includes_it_and_the_newest_can_come_first() {
    let world = World::new().await;
    let db = &world.service().db;
    seed(db).await;
    for (id, day, status) in [
        ("d1", "01", SearchStatus::Failed),
        ("d2", "02", SearchStatus::Active),
        ("d3", "03", SearchStatus::Failed),
    ] {
        put_search(db, id, ZAVIER, &format!("2020-01-{day}T00:00:00Z"), status).await;
    }
    let listed = async |status: Option<SearchStatus>, since: &str, before: &str, newest: bool| {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let mut filter = SearchFilter {
            contact: ZAVIER.into(),
            status,
            since: given(since),
            before: given(before),
            newest,
            limit: NonZeroU32::new(2),
            after: None,
        };
        let mut seen = Vec::new();
        loop {
            let page = world.service().searches(DOMAIN, filter.clone()).await.unwrap();
            seen.extend(page.rows.into_iter().map(|search| search.search_id));
            match page.next {
                Some(next) => filter.after = Some(next.to_string()),
                None => return seen.join(" "),
            }
        }
    };
    let (failed, newest, oldest) = (Some(SearchStatus::Failed), true, false);
    assert_eq!(listed(None, "", "", newest).await, "d3 d2 d1 a271244");
    assert_eq!(listed(None, "2020-01-02T00:00:00Z", "", oldest).await, "d2 d3");
    assert_eq!(
        listed(None, "2020-01-01T00:00:00.001Z", "", oldest).await,
        "d2 d3"
    );
    let (first, third) = ("2020-01-01T00:00:00Z", "2020-01-03T00:00:00Z");
    assert_eq!(listed(None, first, third, newest).await, "d2 d1");
    assert_eq!(
        listed(None, "", "2020-01-03T00:00:00.5Z", oldest).await,
        "a271244 d1 d2 d3"
    );
    assert_eq!(listed(failed, "", "", newest).await, "d3 d1");
    assert_eq!(listed(failed, "", third, oldest).await, "d1");
    assert_eq!(listed(None, third, first, oldest).await, "");
}
