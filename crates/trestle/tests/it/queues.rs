//! Messages that are sent exactly if a transaction succeeds.

use std::sync::Arc;
use std::time::Duration;

use crate::manhunt::{ARIAN, contact};
use crate::models::manhunt::*;
use trestle::queue::{self, NewMessage, QueueAttributes, Receive};
use trestle::{Embedded, MemoryStore, Options, SystemClock};

#[tokio::test]
async fn a_message_is_sent_with_the_transaction_or_not_at_all() {
    let store = Arc::new(MemoryStore::new());
    let open = || Embedded::on(store.clone(), Arc::new(SystemClock::new()), Options::default()).unwrap();
    let embedded = open();
    let db = Manhunt::apply_to(&embedded).unwrap();
    let queues = embedded.queues();
    let (plain, tags) = (QueueAttributes::new(), Default::default());
    queues.create("mail", &plain, &tags).await.unwrap();
    let new = contact(ARIAN, "6f7ad1b", "Arian Mellor");
    for (round, is_new) in [(1, true), (2, false)] {
        let message = NewMessage::job(&round).unwrap().after(Duration::ZERO);
        let enlisted = queues.enlist("mail", vec![message]).await.unwrap();
        let put = db.transaction().with(db.put(&new).if_not_exists());
        let made = queue::commit(put, enlisted).await;
        assert_eq!(made.is_ok(), is_new);
        assert!(made.err().is_none_or(|error| error.is_condition()));
    }
    let ask = Receive {
        max: 10,
        ..Receive::default()
    };
    let sent = queues.receive("mail", ask).await.unwrap();
    let bodies: Vec<&str> = sent.iter().map(|message| message.body.as_str()).collect();
    assert_eq!(bodies, ["1"]);
    // The other message is not found either when the database is opened again.
    drop((db, embedded));
    let counts = open().queues().counts("mail").await.unwrap();
    assert_eq!((counts.visible + counts.in_flight, counts.delayed), (1, 0));
}
