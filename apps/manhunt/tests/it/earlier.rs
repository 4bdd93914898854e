//! A database that the previous version has written.

use std::sync::Arc;

use manhunt::Service;
use manhunt::model::SearchStatus;
use testing::TestPlace;
use trestle::VirtualClock;
use trestle::typed::Timestamp;

use crate::support::{DOMAIN, Recorder, START, World, settings, text};

#[allow(
    missing_docs,
    reason = "generated from the model file, which describes itself"
)]
mod before {
    trestle::model!("tests/it/earlier.toml");
}

#[tokio::test]
async fn rows_of_the_version_before_are_found_and_their_contacts_searched_for() {
    let clock = Arc::new(VirtualClock::starting_at(START));
    let place = TestPlace::new("manhunt");
    let stored = place.open(clock.clone());
    let written = before::Manhunt::apply_to(&stored).unwrap();
    let contact = before::NewContact {
        contact_id: "c0".into(),
        domain_id: DOMAIN.into(),
        name: "Zavier Curtis".into(),
    };
    written.put(&contact).await.unwrap();
    let mut method = before::ContactMethod::from(before::NewContactMethod {
        contact_id: "c0".into(),
        method_id: "a0".into(),
        domain_id: DOMAIN.into(),
        r#type: before::ContactMethodType::Text,
        destination: "+49 30 100".into(),
    });
    method.order = Some(7);
    written.put(&method).await.unwrap();
    let search = before::NewSearch {
        search_id: "b0".into(),
        contact_id: "c0".into(),
        domain_id: DOMAIN.into(),
        started_datetime: Timestamp::parse("2027-01-15T08:00:00Z").unwrap(),
    };
    written.put(&search).await.unwrap();

    let recorder = Arc::new(Recorder::default());
    let running = Service::start(&stored, recorder.clone(), settings())
        .await
        .unwrap();
    let world = World {
        clock,
        stored,
        running,
        recorder,
        place,
    };
    let (_, methods) = world.service().contact(DOMAIN, "c0").await.unwrap();
    assert_eq!((methods.len(), methods[0].retries), (1, None));
    world
        .method(
            "c0",
            manhunt::MethodDraft {
                order: None,
                ..text("next", 60, 0)
            },
        )
        .await;
    assert_eq!(world.status("b0").await, SearchStatus::Active);
    world.begin("c0").await;
    world.settle(1).await;
    assert_eq!(world.recorder.destinations(), ["+49 30 100"]);
    world.advance(300).await;
    assert_eq!(world.recorder.destinations(), ["+49 30 100", "next"]);
}
