//! Routes into embedded queues: each change is sent exactly once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use trestle_events::{Backoff, Destination, Door, ModelTyper, QueueDoor, Route, RowSender};
use trestle_queue::{Message, QueueAttributes, Queues, Receive, Settings};

use crate::crashes::Shaky;
use crate::support::{Life, World, route};

fn queues(world: &World) -> Queues {
    Queues::new(
        Arc::new(world.engine.clone()),
        world.clock.clone(),
        Settings::default(),
    )
}

fn create(life: &Life, queues: &Queues, name: &str) {
    let (attributes, tags) = (QueueAttributes::default(), BTreeMap::new());
    life.block_on(queues.create(name, &attributes, &tags)).unwrap();
}

/// Everything in a queue; the messages stay there, invisible for an hour.
fn receive_all(life: &Life, queues: &Queues, name: &str) -> Vec<Message> {
    let mut all = Vec::new();
    loop {
        let ask = Receive {
            max: 10,
            visibility: Some(Duration::from_secs(3600)),
            wait: Some(Duration::ZERO),
        };
        let some = life.block_on(queues.receive(name, ask)).unwrap();
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

fn into_queue(queue: &str) -> Route {
    Route {
        target: Destination::new("queue", queue),
        maximum_retry_attempts: 10_000,
        backoff: Backoff {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(1),
        },
        ..route("r")
    }
}

#[test]
fn a_sender_of_rows_knows_that_its_queue_is_not_there() {
    let world = World::new();
    let queues = queues(&world);
    let door = Door::Enlist(Arc::new(QueueDoor::new(queues.clone(), "mail")));
    let life = world.life_with(
        Arc::new(world.engine.clone()),
        [("mail".to_owned(), door.clone())].into(),
    );
    let open = move |_: &Route| Ok(door.clone());
    let own = Arc::new(world.engine.clone());
    let sender = RowSender::open(&into_queue("mail"), &open, Arc::new(ModelTyper::default()), own).unwrap();
    let unheard = life.block_on(sender.unheard());
    assert!(unheard.unwrap().contains("queue `mail`"));
    create(&life, &queues, "mail");
    assert_eq!(life.block_on(sender.unheard()), None);
    assert_eq!(receive_all(&life, &queues, "mail").len(), 0, "nothing was sent");
}

#[test]
fn a_message_is_the_change_as_json_and_receivers_see_it_at_once() {
    let world = World::new();
    let queues = queues(&world);
    let door = Door::Enlist(Arc::new(QueueDoor::new(queues.clone(), "mail")));
    let life = world.life_with(Arc::new(world.engine.clone()), [("mail".to_owned(), door)].into());
    create(&life, &queues, "mail");
    life.apply([into_queue("mail")]);
    world.put("layer#1", 5);
    life.until("the message", || life.status("r").delivered == 1);
    let messages = receive_all(&life, &queues, "mail");
    assert_eq!(messages.len(), 1);
    let body: Value = serde_json::from_str(&messages[0].body).unwrap();
    assert_eq!((&body["event"], &body["new"]["n"]), (&"insert".into(), &5.into()));
    let attribute = |name: &str| messages[0].attributes[name].clone();
    assert_eq!(attribute("route"), trestle_queue::MessageAttribute::text("r"));
    let id = format!("r:{}", body["id"].as_str().unwrap());
    assert_eq!(attribute("id"), trestle_queue::MessageAttribute::text(id));
}

#[test]
fn in_a_fifo_queue_each_item_is_a_group() {
    let world = World::new();
    let queues = queues(&world);
    let door = Door::Enlist(Arc::new(QueueDoor::new(queues.clone(), "mail.fifo")));
    let doors = [("mail.fifo".to_owned(), door)].into();
    let life = world.life_with(Arc::new(world.engine.clone()), doors);
    let fifo = [("FifoQueue".to_owned(), "true".to_owned())].into();
    life.block_on(queues.create("mail.fifo", &fifo, &BTreeMap::new()))
        .unwrap();
    life.apply([into_queue("mail.fifo")]);
    for n in 1..4 {
        world.put("layer#1", n);
        world.put("layer#2", n);
    }
    life.until("the messages", || life.status("r").delivered == 6);
    let messages = receive_all(&life, &queues, "mail.fifo");
    let seen = |message: &Message| {
        let body: Value = serde_json::from_str(&message.body).unwrap();
        (message.group.clone().unwrap(), body["new"]["n"].as_i64().unwrap())
    };
    let seen: Vec<(String, i64)> = messages.iter().map(seen).collect();
    let numbers: Vec<i64> = seen.iter().map(|(_, n)| *n).collect();
    assert_eq!(numbers, [1, 2, 3, 1, 2, 3], "group by group, each in order");
    assert!(seen[..3].iter().all(|(group, _)| *group == seen[0].0));
    assert_ne!(seen[0].0, seen[3].0);
}

#[test]
fn a_queue_that_is_made_later_gets_everything() {
    let world = World::new();
    let queues = queues(&world);
    let door = Door::Enlist(Arc::new(QueueDoor::new(queues.clone(), "late")));
    let life = world.life_with(Arc::new(world.engine.clone()), [("late".to_owned(), door)].into());
    life.apply([into_queue("late")]);
    world.put("a", 1);
    life.until("the missing queue to be noticed", || {
        life.status("r").last_error.is_some()
    });
    create(&life, &queues, "late");
    life.until_after("the message", Duration::from_millis(100), || {
        life.status("r").delivered == 1
    });
    assert_eq!(receive_all(&life, &queues, "late").len(), 1);
}

#[test]
fn across_crashes_and_lost_answers_each_change_is_in_the_queue_exactly_once() {
    for seed in 1..=5 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        let start = |seed: u64| {
            let database = Arc::new(Shaky::new(world.engine.clone(), seed, 5));
            let queues = Queues::new(database.clone(), world.clock.clone(), Settings::default());
            let door = Door::Enlist(Arc::new(QueueDoor::new(queues, "mail")));
            let life = world.life_with(database, [("mail".to_owned(), door)].into());
            while life
                .block_on(life.router.apply(vec![into_queue("mail")]))
                .is_err()
            {}
            life
        };
        let mut life = start(seed);
        create(&life, &queues(&world), "mail");
        let changes = 150;
        for n in 1..=changes {
            world.put(&format!("item-{}", n % 7), n);
            if random.u8(..25) == 0 {
                world.clock.advance(Duration::from_millis(random.u64(..300)));
                life.kill();
                life = start(seed * 1000 + n as u64);
            }
        }
        life.until_after("everything", Duration::from_millis(100), || {
            // A separate handle, so that it sees what is stored.
            let counts = life.block_on(queues(&world).counts("mail")).unwrap();
            counts.visible >= changes as usize
        });
        life.until_after("nothing to be left", Duration::from_millis(100), || {
            life.status("r").waiting == 0
        });
        let bodies = receive_all(&life, &queues(&world), "mail")
            .into_iter()
            .map(|message| message.body);
        let mut versions: Vec<i64> = bodies
            .map(|body| {
                serde_json::from_str::<Value>(&body).unwrap()["new"]["n"]
                    .as_i64()
                    .unwrap()
            })
            .collect();
        versions.sort_unstable();
        assert_eq!(versions, (1..=changes).collect::<Vec<i64>>(), "seed {seed}");
    }
}
