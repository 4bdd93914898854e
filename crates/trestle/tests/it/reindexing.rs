//! Processing every row again, from a program with routes to its own functions.

use std::collections::BTreeSet;

use crate::models::klayers::*;
use tokio::sync::mpsc::unbounded_channel;
use trestle::events::{ChangeEvent, Changed, Events, Route, StartingPosition};
use trestle::reindex::{Against, ReindexScope, ReindexState, StartReindex};
use trestle::{Embedded, Options};

const LAYERS: i64 = 300;

async fn layers(db: &Klayers<Embedded>) {
    for number in 0..LAYERS {
        let layer = NewLayer {
            rgn: "eu-west-1".into(),
            pckg: format!("package{number}"),
            py_vrsn: "p3.12".into(),
            lyr_vrsn: 1,
            arn: format!("arn:{number}"),
            pckg_vrsn: "2.0".into(),
        };
        db.put(&layer).await.unwrap();
    }
}

#[tokio::test]
async fn rows_are_sent_to_a_handler_and_a_touch_needs_a_route_that_takes_it() {
    let embedded = Embedded::in_memory(Options::default()).unwrap();
    let db = Klayers::apply_to(&embedded).unwrap();
    layers(&db).await;
    let (to, mut of) = unbounded_channel();
    let router = Events::of(&embedded)
        .on("layers", from_now_on, move |change: Changed<Layer>| {
            let arn = change.new.map(|layer| layer.arn);
            std::future::ready(
                to.send((change.event, arn))
                    .map_err(|_| "the test is over".to_owned()),
            )
        })
        .start()
        .await
        .unwrap();
    let reindexer = embedded.reindexer();
    let unheard = reindexer
        .start(StartReindex::touch("kl.db-ver2"))
        .await
        .unwrap_err();
    assert!(unheard.to_string().contains("takes touches"), "{unheard}");

    let send = StartReindex {
        name: Some("one".into()),
        scope: ReindexScope::Entity("layer".into()),
        ..StartReindex::send("kl.db-ver2", "layers")
    };
    reindexer.start(send).await.unwrap();
    assert_eq!(reindexer.work("one").await.unwrap().state, ReindexState::Done);
    let mut arns = BTreeSet::new();
    while let Ok((event, arn)) = of.try_recv() {
        assert_eq!(event, ChangeEvent::Backfill);
        arns.insert(arn.unwrap());
    }
    assert_eq!(arns.len() as i64, LAYERS);
    let status = reindexer.status("one").await.unwrap();
    assert_eq!(status.counts.done as i64, LAYERS);
    let none = reindexer
        .gaps("one", &Against::Itself, &mut |id| Err(id.to_owned()))
        .await;
    assert_eq!(none, Ok(0));
    router.stop().await;
    let stopped = reindexer
        .start(StartReindex::send("kl.db-ver2", "layers"))
        .await
        .unwrap_err();
    assert!(stopped.to_string().contains("no routes are at work"), "{stopped}");
}

fn from_now_on(all: Route) -> Route {
    Route {
        starting_position: StartingPosition::Latest,
        ..all
    }
}
