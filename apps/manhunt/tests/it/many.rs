//! Many searches at once: none is lost, and none is attempted twice.

use std::collections::HashSet;

use manhunt::model::SearchStatus;
use manhunt::{AttemptId, STEPS};
use trestle::queue::NewMessage;

use crate::support::{DOMAIN, World, text};

/// How many searches; 10,000 in the run that the README describes.
fn searches() -> usize {
    let set = std::env::var("MANHUNT_SEARCHES").ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(200)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_searches_at_once_none_is_lost_and_none_is_attempted_twice() {
    let world = World::new().await;
    let service = world.service();
    let count = searches();
    let mut begun = Vec::with_capacity(count);
    for at in 0..count {
        let contact = service
            .add_contact(DOMAIN, format!("Nr. {at}").as_str())
            .await
            .unwrap()
            .contact_id;
        for order in 0..2 {
            world
                .method(&contact, text(&format!("{contact} {order}"), 60, order))
                .await;
        }
        begun.push(world.begin(&contact).await);
    }
    world.settle(count as u64).await;
    // Every third one answers, every third one is called off, the others are never reached.
    for (at, search) in begun.iter().enumerate() {
        match at % 3 {
            0 => {
                let attempt = format!("{search}-0").parse().unwrap();
                service.respond(DOMAIN, &attempt, "here").await.unwrap();
            }
            1 => {
                service.cancel(DOMAIN, search, "").await.unwrap();
            }
            _ => {}
        }
    }
    world.advance(60).await;
    world.advance(60).await;
    for (at, search) in begun.iter().enumerate() {
        let (found, attempts) = world.look(search).await;
        let (status, made) = match at % 3 {
            0 => (SearchStatus::Successful, 1),
            1 => (SearchStatus::Canceled, 1),
            _ => (SearchStatus::Failed, 2),
        };
        assert_eq!((found.status, attempts.len()), (status, made), "search {at}");
    }
    // Each method has its own destination, so none got a notice twice, from any attempt.
    let told = world.recorder.destinations();
    assert_eq!(told.len(), count + count / 3);
    assert_eq!(told.iter().collect::<HashSet<_>>().len(), told.len());
    let counts = world.counts().await;
    assert_eq!((counts.visible, counts.in_flight, counts.delayed), (0, 0, 0));
    assert_eq!(world.dead().await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_05_copies_of_a_step_that_are_worked_on_at_once_make_one_attempt() {
    let world = World::new().await;
    let contact = world.contact(&[60]).await;
    let queues = &world.service().queues;
    for _ in 0..50 {
        let search = world.begin(&contact).await;
        let step = NewMessage::job(&AttemptId { search, number: 0 }).unwrap();
        queues.send_batch(STEPS, vec![step; 8]).await.unwrap();
    }
    world.settle(50).await;
    assert_eq!(world.recorder.sent().len(), 50);
    assert_eq!(world.counts().await.delayed, 50, "one next step each");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_ends_while_a_step_is_under_way_gets_no_further_attempt() {
    let world = World::new().await;
    let contact = world.contact(&[0, 0, 0, 0, 0, 0, 0, 0]).await;
    let mut ended = Vec::new();
    for _ in 0..100 {
        let search = world.begin(&contact).await;
        let has_begun = async || !world.look(&search).await.1.is_empty();
        world.until("the first attempt", has_begun).await;
        // Some are exhausted before they can be called off.
        if world.service().cancel(DOMAIN, &search, "").await.is_ok() {
            let (_, attempts) = world.look(&search).await;
            ended.push((search, attempts.len()));
        }
    }
    world.settle(100).await;
    for (search, made) in ended {
        assert_eq!(world.look(&search).await.1.len(), made);
    }
}
