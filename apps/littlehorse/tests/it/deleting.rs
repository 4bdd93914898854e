//! A delete deletes a run as of one moment, whatever is written meanwhile and however large its rows are.

use serde_json::{Value, json};
use trestle::Item;

use crate::layouts::rows_of;
use crate::support::{World, canary};

const T: &str = "acme";

async fn delete(world: &World, run: &str) -> Value {
    let path = format!("/tenants/{T}/wf-runs/{run}");
    let (status, answer) = world.ask("DELETE", &path, None).await;
    assert_eq!(status, 200, "{run}: {answer}");
    answer
}

/// Sends an event to a run; returns whether the run was still there.
async fn put_event(world: &World, run: &str, guid: &str) -> bool {
    let event = json!({ "putEvent": { "eventName": "note", "guid": guid } });
    let path = format!("/tenants/{T}/wf-runs/{run}");
    let (status, answer) = world.ask("POST", &path, Some(event)).await;
    assert!([200, 404].contains(&status), "{run}: {status} {answer}");
    status == 200
}

#[tokio::test]
async fn an_event_that_comes_while_a_run_is_deleted_goes_with_it_or_is_refused() {
    for world in [World::old().await, World::new().await] {
        world.post(&format!("/tenants/{T}/wf-specs"), canary()).await;
        let mut taken = 0;
        for run in (0..20).map(|at| format!("wf-{at}")) {
            world.run(T, "canary", &run, json!({})).await;
            world.command(T, &run, json!("stop")).await;
            // Each reads before another one writes.
            let (first, second, deleted, third) = tokio::join!(
                put_event(&world, &run, "1"),
                put_event(&world, &run, "2"),
                delete(&world, &run),
                put_event(&world, &run, "3"),
            );
            assert_eq!(deleted["done"], true, "{run}");
            taken += [first, second, third].into_iter().filter(|taken| *taken).count();
            assert_eq!(rows_of(&world, T, &run), Vec::<Item>::new(), "{run}");
        }
        assert!(taken > 0, "no event came before the delete");
    }
}

#[tokio::test]
async fn a_run_whose_row_lies_behind_those_of_a_request_is_deleted_whole() {
    let world = World::new().await;
    let task =
        |at: usize| json!({ "name": format!("t-{at}"), "run": { "task": { "taskDefName": "greet" } } });
    let spec = json!({ "name": "large", "nodes": (0..6).map(task).collect::<Vec<_>>() });
    world.post(&format!("/tenants/{T}/wf-specs"), spec).await;
    world.run(T, "large", "wf", json!({})).await;
    for _ in 0..6 {
        // Four of them are more than a request reads, and come before the row of the run.
        world.work(T, "greet", &"x".repeat(300_000)).await;
    }
    let (clock, embedded) = world.stop().await;
    let still = World::still(clock, embedded);
    let all = rows_of(&still, T, "wf")
        .iter()
        .filter(|row| !row.contains_key("tag"))
        .count();
    let first = delete(&still, "wf").await;
    assert_eq!(first["done"], false, "{first}");
    let marked = still.get(&format!("/tenants/{T}/wf-runs/wf")).await;
    assert_eq!(marked["deleting"], true);
    assert!(
        !put_event(&still, "wf", "late").await,
        "nothing happens to it any more"
    );
    let mut deleted = first["deleted"].as_u64().unwrap() as usize;
    loop {
        let step = delete(&still, "wf").await;
        deleted += step["deleted"].as_u64().unwrap() as usize;
        if step["done"] == true {
            break;
        }
    }
    assert_eq!(deleted, all, "each row once");
    assert_eq!(rows_of(&still, T, "wf"), Vec::<Item>::new());
}
