//! What grouping is for: how many blocks are read from disk to delete a run, in the legacy layout and in the grouped one, on a
//! store whose cache is too small.
//!
//! ```sh
//! cargo run --release -p trestle-app-littlehorse --example figures
//! ```
//!
//! Runs come from the engine: begun, done by a worker, over. Their ids are random. The oldest are deleted first, as retention
//! does. Timers stand still meanwhile, so that nothing else reads. `--runs` says how many runs there are, `--seconds` how long
//! the canary lasts.

#![allow(clippy::print_stdout, reason = "the figures are printed")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};
use trestle::{Durability, Embedded, OperationReads, Options, StoreSettings, ids};

/// Blocks read from disk per deleted run, legacy layout against grouped
#[derive(Clone, Parser)]
pub(crate) struct Sizes {
    /// How many runs the store holds
    #[arg(long, default_value_t = 20_000)]
    pub(crate) runs: usize,
    /// How many of them are deleted
    #[arg(long, default_value_t = 2_000)]
    pub(crate) deletes: usize,
    /// The store's cache, in KiB
    #[arg(long, default_value_t = 256)]
    pub(crate) cache_kib: u64,
    /// How long the canary lasts, in seconds
    #[arg(long, default_value_t = 10)]
    pub(crate) seconds: u64,
    /// Tasks a second of the canary
    #[arg(long, default_value_t = 200)]
    pub(crate) rate: u64,
}

/// What was read in one layout.
pub(crate) struct Figures {
    /// By all deletes together.
    pub(crate) deletes: OperationReads,
    /// While runs come, and as many old ones go.
    pub(crate) canary: Canary,
}

/// What a second of the canary is, in the mean.
pub(crate) struct Canary {
    /// Tasks that were done. Fewer than wanted: the machine cannot do more.
    pub(crate) tasks: f64,
    /// Blocks that were read from disk.
    pub(crate) blocks: f64,
}

const TENANT: &str = "default";

/// Rows that are larger than what a store keeps in memory before it writes a table.
const FILLERS: i64 = 200;
const FILLER_BYTES: usize = 300_000;

/// A workflow of so many tasks. With one, a run is three nodes, a task and the run itself.
fn spec(tasks: usize) -> Value {
    let task = |at| json!({ "name": format!("task-{at}"), "run": { "task": { "taskDefName": "work" } } });
    json!({ "name": "canary", "nodes": (0..tasks).map(task).collect::<Vec<_>>() })
}

fn options(cache_kib: u64) -> Options {
    let store = StoreSettings {
        durability: Durability::Buffered,
        cache_bytes: cache_kib << 10,
        ..StoreSettings::default()
    };
    Options {
        store,
        ..Options::default()
    }
}

type Fault = Box<dyn Error>;

/// The program of one version, as far as the figures need it. Both have the same functions on types of their own.
macro_rules! layout {
    ($module:ident, $program:ident) => {
        mod $module {
            use super::*;
            use $program::Service;
            use $program::model::{Littlehorse, NewWfSpec};

            /// Deletes a run, in as many steps as that takes: no timer lets it go on.
            async fn delete(service: &Service, id: &str) -> Result<(), Fault> {
                loop {
                    let delete = serde_json::from_value(json!("delete"))?;
                    if service.command(TENANT, id, delete).await?["done"] == true {
                        return Ok(());
                    }
                }
            }

            /// Runs a workflow to its end.
            async fn run(service: &Service, id: &str, tasks: usize) -> Result<(), Fault> {
                let new = json!({ "wfSpecName": "canary", "wfRunId": id });
                service.run_wf(TENANT, serde_json::from_value(new)?).await?;
                for _ in 0..tasks {
                    let poll = json!({ "taskDefName": "work", "workerId": "w" });
                    let task = service.poll(TENANT, serde_json::from_value(poll)?).await?;
                    let task = task.ok_or("there is no task")?;
                    let done = json!({ "guid": task["taskGuid"], "attempt": 0, "output": "x".repeat(100) });
                    let report = serde_json::from_value(json!({ "reportTask": done }))?;
                    let run = task["wfRunId"].as_str().ok_or("a task has no run")?;
                    service.command(TENANT, run, report).await?;
                }
                Ok(())
            }

            /// Lets runs come at a rate, and as many old ones go.
            async fn canary(
                service: &Service,
                database: &Embedded,
                sizes: &Sizes,
                tasks: usize,
                old: &[String],
            ) -> Result<Canary, Fault> {
                let before = database.storage_reads();
                let begun = Instant::now();
                let mut done = 0;
                for old in old {
                    if begun.elapsed() >= Duration::from_secs(sizes.seconds) {
                        break;
                    }
                    run(service, &ids::uuid(), tasks).await?;
                    delete(service, old).await?;
                    done += tasks;
                    let due = Duration::from_secs_f64(done as f64 / sizes.rate as f64);
                    tokio::time::sleep(due.saturating_sub(begun.elapsed())).await;
                }
                let seconds = begun.elapsed().as_secs_f64();
                let blocks = database.storage_reads().since(&before).total().blocks_from_disk;
                Ok(Canary {
                    tasks: done as f64 / seconds,
                    blocks: blocks as f64 / seconds,
                })
            }

            /// Fills a store, opens it again with a small cache, deletes, and lets the canary run.
            pub(super) async fn measure(
                place: &Path,
                sizes: &Sizes,
                tasks: usize,
                runs: &[String],
            ) -> Result<Figures, Fault> {
                let database = Embedded::open(place, options(64 << 10))?;
                let (service, timers) = Service::start(&database, Littlehorse::apply_to(&database)?).await?;
                service
                    .put_spec(TENANT, serde_json::from_value(spec(tasks))?)
                    .await?;
                for id in runs {
                    run(&service, id, tasks).await?;
                }
                // What was written last stays in memory: let that be something else.
                for version in 0..FILLERS {
                    let (tenant, name) = ("filler".to_owned(), "filler".to_owned());
                    let (created_at, definition) = (database.clock().now().into(), "x".repeat(FILLER_BYTES));
                    service.db.put(&NewWfSpec { tenant, name, version, created_at, definition }).await?;
                }
                timers.stop().await;
                drop(service);
                database.close().await?;
                let database = Embedded::open(place, options(sizes.cache_kib))?;
                let (service, timers) = Service::start(&database, Littlehorse::apply_to(&database)?).await?;
                // The timeouts of tasks that were done long ago would ring, and read their runs.
                timers.stop().await;
                let (deleted, old) = runs.split_at_checked(sizes.deletes).ok_or("--deletes is more than --runs")?;
                let before = database.storage_reads();
                for id in deleted {
                    delete(&service, id).await?;
                }
                let deletes = database.storage_reads().since(&before).total();
                let canary = canary(&service, &database, sizes, tasks, old).await?;
                Ok(Figures { deletes, canary })
            }
        }
    };
}

layout!(legacy, littlehorse_v1);
layout!(grouped, littlehorse);

/// The figures of both layouts, with so many tasks in each run.
pub(crate) async fn compare(sizes: &Sizes, tasks: usize) -> Result<[Figures; 2], Fault> {
    let place = std::env::temp_dir().join(format!("littlehorse-figures-{}-{tasks}", std::process::id()));
    let runs: Vec<String> = (0..sizes.runs).map(|_| ids::uuid()).collect();
    let legacy = legacy::measure(&place.join("legacy"), sizes, tasks, &runs).await;
    let grouped = grouped::measure(&place.join("grouped"), sizes, tasks, &runs).await;
    std::fs::remove_dir_all(&place)?;
    Ok([legacy?, grouped?])
}

/// How many tasks a run has: one, as the original's canary, which makes three nodes, a task and the run itself; and more.
const TASKS: [usize; 3] = [1, 8, 30];

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let sizes = Sizes::parse();
    println!(
        "{} runs of one task, {} of them deleted, and fewer where they have more; cache {} KiB",
        sizes.runs, sizes.deletes, sizes.cache_kib
    );
    println!("canary: {} tasks a second for {} s", sizes.rate, sizes.seconds);
    println!(
        "| tasks of a run | layout | blocks from disk per delete | from cache | lookups | ranges \
         | canary: tasks/s | blocks from disk/s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for tasks in TASKS {
        let (runs, deletes) = (sizes.runs / tasks, sizes.deletes / tasks);
        let figures = compare(
            &Sizes {
                runs,
                deletes,
                ..sizes.clone()
            },
            tasks,
        )
        .await?;
        for (
            layout,
            Figures {
                deletes: reads,
                canary,
            },
        ) in ["legacy", "grouped"].iter().zip(&figures)
        {
            let per = |count: u64| count as f64 / deletes as f64;
            let (disk, cache) = (per(reads.blocks_from_disk), per(reads.blocks_from_cache));
            let (lookups, ranges) = (per(reads.point_lookups), per(reads.ranges));
            let Canary { tasks: done, blocks } = canary;
            println!(
                "| {tasks} | {layout} | {disk:.2} | {cache:.2} | {lookups:.1} | {ranges:.1} | {done:.0} | {blocks:.0} |"
            );
        }
        let [legacy, grouped] = figures.map(|figures| figures.deletes.blocks_from_disk as f64);
        println!(
            "{tasks} tasks: {:.1} times fewer blocks from disk",
            legacy / grouped
        );
    }
    Ok(())
}
