//! The benefit of grouping: how many blocks are read from disk to delete a run, in the legacy layout and in
//! the grouped one, on a store whose cache is too small.
//!
//! ```sh
//! cargo run --release -p trestle-app-littlehorse --example figures
//! ```
//!
//! Runs are created by the engine: started, processed by a worker, and finished. Their ids are random, as
//! generated ones are; with `--sorted-ids` they sort by the time at which runs begin. The oldest are deleted
//! first, as retention does. Timers do not run during this time, so that nothing else reads. Both layouts
//! have the same runs, and delete the same ones in the same order.
//!
//! The store is left alone for a while when it is full, as it is between a day's work and its retention, and opened again with a
//! small cache. The first deletes warm the cache up and are not counted. `--runs` says how many runs there are.
//!
//! Afterwards the canary begins runs at a rate and deletes as many old ones, for half a minute in each layout (`--seconds`). It counts
//! what begins, what is deleted, and what either of them reads.

#![allow(clippy::print_stdout, reason = "the figures are printed")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};
use trestle::api::OperationName;
use trestle::{AnyDatabase, BlockSize, Durability, Embedded, Options, StorageReads, StoreSettings, ids};

/// Blocks read from disk per deleted run, legacy layout against grouped
#[derive(Clone, Parser)]
pub(crate) struct Sizes {
    /// How many runs the store holds
    #[arg(long, default_value_t = 20_000)]
    pub(crate) runs: usize,
    /// How many of them are deleted and counted
    #[arg(long, default_value_t = 2_000)]
    pub(crate) deletes: usize,
    /// How many are deleted before
    #[arg(long, default_value_t = 2_000)]
    pub(crate) warm_up: usize,
    /// How long the full store is left alone, in seconds
    #[arg(long, default_value_t = 10)]
    pub(crate) rest: u64,
    /// Only runs of this shape: `1 task`, say
    #[arg(long)]
    pub(crate) shape: Option<String>,
    /// Ids that sort by time
    #[arg(long)]
    pub(crate) sorted_ids: bool,
    /// The store's cache, in KiB
    #[arg(long, default_value_t = 256)]
    pub(crate) cache_kib: u64,
    /// Blocks of the store's tables, in KiB; the store's default unless it is given
    #[arg(long)]
    pub(crate) block_kib: Option<u32>,
    /// How long the canary lasts, in seconds
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u64,
    /// Tasks a second of the canary
    #[arg(long, default_value_t = 200)]
    pub(crate) rate: u64,
}

/// The reads in one layout.
pub(crate) struct Figures {
    /// By all deletes together.
    pub(crate) deletes: StorageReads,
    /// While runs are created, and as many old ones are deleted.
    pub(crate) canary: Canary,
}

/// What the canary did and read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Canary {
    /// How long it lasted.
    pub(crate) seconds: f64,
    /// Tasks that were done. Fewer than wanted in this time: the machine cannot do more.
    pub(crate) tasks: usize,
    /// Runs that were begun and done.
    pub(crate) starts: usize,
    /// Old runs that were deleted.
    pub(crate) deletes: usize,
    /// Blocks that were read from disk for runs that begin.
    pub(crate) blocks_of_starts: u64,
    /// Blocks that were read from disk for deletes.
    pub(crate) blocks_of_deletes: u64,
}

impl Canary {
    /// In each second, in the mean.
    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }
}

const TENANT: &str = "default";

/// Rows that are larger than what a store keeps in memory before it writes a table.
const FILLERS: i64 = 200;
const FILLER_BYTES: usize = 300_000;

/// The shape of a run.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// So many tasks. With one, a run is three nodes, a task and the run itself: the original's canary.
    Tasks(usize),
    /// A task, a variable, an event from outside, a task for a person and an event that the run throws: rows of every type.
    EveryType,
}

impl Shape {
    fn spec(self) -> Value {
        let task = |at| json!({ "name": format!("task-{at}"), "run": { "task": { "taskDefName": "work" } } });
        match self {
            Shape::Tasks(tasks) => {
                json!({ "name": "canary", "nodes": (0..tasks).map(task).collect::<Vec<_>>() })
            }
            Shape::EveryType => json!({ "name": "canary", "variables": { "order": "17" }, "nodes": [
                task(0),
                { "name": "paid", "run": { "externalEvent": { "event": "payment" } } },
                { "name": "sign", "run": { "userTask": { "form": "form" } } },
                { "name": "tell", "run": { "throwEvent": { "event": "done", "content": "order" } } },
            ] }),
        }
    }

    fn tasks(self) -> usize {
        match self {
            Shape::Tasks(tasks) => tasks,
            Shape::EveryType => 1,
        }
    }

    /// What happens to a run when its tasks are done.
    fn commands(self) -> Vec<Value> {
        match self {
            Shape::Tasks(_) => Vec::new(),
            Shape::EveryType => vec![
                json!({ "putEvent": { "eventName": "payment", "guid": "g" } }),
                json!({ "completeUserTask": { "guid": "0-3" } }),
            ],
        }
    }
}

fn options(cache_kib: u64, block_size: Option<BlockSize>) -> Options {
    let store = StoreSettings {
        block_size,
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

/// The program of one version, as far as the figures need it. Both have the same functions on their own
/// types.
macro_rules! layout {
    ($module:ident, $program:ident) => {
        mod $module {
            use super::*;
            use $program::Service;
            use $program::model::{Littlehorse, NewWfSpec};

            /// Deletes a run, in as many steps as necessary: no timer continues it.
            async fn delete(service: &Service, id: &str) -> Result<(), Fault> {
                loop {
                    let delete = serde_json::from_value(json!("delete"))?;
                    if service.command(TENANT, id, delete).await?["done"] == true {
                        return Ok(());
                    }
                }
            }

            /// Runs a workflow to its end.
            async fn run(service: &Service, id: &str, shape: Shape) -> Result<(), Fault> {
                let new = json!({ "wfSpecName": "canary", "wfRunId": id });
                service.run_wf(TENANT, serde_json::from_value(new)?).await?;
                for _ in 0..shape.tasks() {
                    let poll = json!({ "taskDefName": "work", "workerId": "w" });
                    let task = service.poll(TENANT, serde_json::from_value(poll)?).await?;
                    let task = task.ok_or("there is no task")?;
                    let done = json!({ "guid": task["taskGuid"], "attempt": 0, "output": "x".repeat(100) });
                    let report = serde_json::from_value(json!({ "reportTask": done }))?;
                    let run = task["wfRunId"].as_str().ok_or("a task has no run")?;
                    service.command(TENANT, run, report).await?;
                }
                for command in shape.commands() {
                    service.command(TENANT, id, serde_json::from_value(command)?).await?;
                }
                Ok(())
            }

            /// Creates runs at a rate, and deletes as many old ones.
            async fn canary(
                service: &Service,
                database: &Embedded,
                sizes: &Sizes,
                shape: Shape,
                old: &[String],
            ) -> Result<Canary, Fault> {
                let blocks = || database.storage_reads().total().blocks_from_disk;
                let (begun, mut done) = (Instant::now(), Canary::default());
                let mut old = old.iter();
                while begun.elapsed() < Duration::from_secs(sizes.seconds) {
                    let before = blocks();
                    run(service, &ids::uuid(), shape).await?;
                    let between = blocks();
                    let few = "the canary has no old runs left: --runs are too few for --seconds";
                    let gone = old.next().ok_or(few)?;
                    delete(service, gone).await?;
                    done.starts += 1;
                    done.deletes += 1;
                    done.tasks += shape.tasks();
                    done.blocks_of_starts += between - before;
                    done.blocks_of_deletes += blocks() - between;
                    let due = Duration::from_secs_f64(done.tasks as f64 / sizes.rate as f64);
                    tokio::time::sleep(due.saturating_sub(begun.elapsed())).await;
                }
                done.seconds = begun.elapsed().as_secs_f64();
                Ok(done)
            }

            /// Fills a store, opens it again with a small cache, deletes, and lets the canary run.
            pub(super) async fn measure(
                place: &Path,
                sizes: &Sizes,
                shape: Shape,
                runs: &[String],
            ) -> Result<Figures, Fault> {
                let block_size = sizes.block_kib.map(BlockSize::from_kib).transpose()?;
                let database = Embedded::open(place, options(64 << 10, block_size))?;
                let any = AnyDatabase::from(database.clone());
                let (service, timers) = Service::start(&any, Littlehorse::apply_to(&any)?).await?;
                drop(any);
                service
                    .put_spec(TENANT, serde_json::from_value(shape.spec())?)
                    .await?;
                for id in runs {
                    run(&service, id, shape).await?;
                }
                // The last writes stay in memory: they should be other rows.
                for version in 0..FILLERS {
                    let (tenant, name) = ("filler".to_owned(), "filler".to_owned());
                    let (created_at, definition) = (database.clock().now().into(), "x".repeat(FILLER_BYTES));
                    service.db.put(&NewWfSpec { tenant, name, version, created_at, definition }).await?;
                }
                timers.stop().await;
                tokio::time::sleep(Duration::from_secs(sizes.rest)).await;
                drop(service);
                database.close().await?;
                let database = Embedded::open(place, options(sizes.cache_kib, block_size))?;
                let any = AnyDatabase::from(database.clone());
                let (service, timers) = Service::start(&any, Littlehorse::apply_to(&any)?).await?;
                drop(any);
                // The timeouts of finished tasks would fire, and read their runs.
                timers.stop().await;
                let few = "--warm-up and --deletes are more than --runs";
                let (first, rest) = runs.split_at_checked(sizes.warm_up).ok_or(few)?;
                let (deleted, old) = rest.split_at_checked(sizes.deletes).ok_or(few)?;
                for id in first {
                    delete(&service, id).await?;
                }
                let before = database.storage_reads();
                for id in deleted {
                    delete(&service, id).await?;
                }
                let deletes = database.storage_reads().since(&before);
                let canary = canary(&service, &database, sizes, shape, old).await?;
                Ok(Figures { deletes, canary })
            }
        }
    };
}

layout!(legacy, littlehorse_v1);
layout!(grouped, littlehorse);

/// The figures of both layouts, with runs of this shape.
pub(crate) async fn compare(sizes: &Sizes, shape: Shape) -> Result<[Figures; 2], Fault> {
    let place = std::env::temp_dir().join(format!("littlehorse-figures-{}", std::process::id()));
    let id = |at: usize| match sizes.sorted_ids {
        true => format!("{at:012x}-{:08x}", ids::random_u64() as u32),
        false => ids::uuid(),
    };
    let runs: Vec<String> = (0..sizes.runs).map(id).collect();
    let legacy = legacy::measure(&place.join("legacy"), sizes, shape, &runs).await;
    let grouped = grouped::measure(&place.join("grouped"), sizes, shape, &runs).await;
    std::fs::remove_dir_all(&place)?;
    Ok([legacy?, grouped?])
}

/// The shapes by name.
const SHAPES: [(&str, Shape); 4] = [
    ("1 task", Shape::Tasks(1)),
    ("8 tasks", Shape::Tasks(8)),
    ("30 tasks", Shape::Tasks(30)),
    ("rows of every type", Shape::EveryType),
];

/// Blocks from disk for each delete, by the operations that read them.
fn by_operation(reads: &StorageReads, deletes: usize) -> String {
    let operations = OperationName::ALL
        .iter()
        .map(|name| (name.as_str(), reads.of(*name)));
    let all = operations.chain([("other", reads.other())]);
    let read = all.filter(|(_, reads)| reads.blocks_from_disk > 0);
    let shown =
        read.map(|(name, reads)| format!("{name} {:.2}", reads.blocks_from_disk as f64 / deletes as f64));
    shown.collect::<Vec<_>>().join(", ")
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let sizes = Sizes::parse();
    println!(
        "{} runs of one task, {} of them deleted and counted after {}, and fewer where they have more; cache {} KiB",
        sizes.runs, sizes.deletes, sizes.warm_up, sizes.cache_kib
    );
    println!("canary: {} tasks a second for {} s", sizes.rate, sizes.seconds);
    println!("| run | layout | blocks from disk per delete | by operation | from cache | lookups | ranges |");
    println!("|---|---|---|---|---|---|---|");
    let mut canaries = Vec::new();
    let is_asked = |name: &str| sizes.shape.as_deref().is_none_or(|asked| asked == name);
    for (name, shape) in SHAPES.into_iter().filter(|(name, _)| is_asked(name)) {
        let part = |count: usize| count / shape.tasks();
        let (runs, deletes, warm_up) = (part(sizes.runs), part(sizes.deletes), part(sizes.warm_up));
        let sizes = Sizes {
            runs,
            deletes,
            warm_up,
            ..sizes.clone()
        };
        let figures = compare(&sizes, shape).await?;
        for (layout, figures) in ["legacy", "grouped"].iter().zip(&figures) {
            let reads = figures.deletes.total();
            let per = |count: u64| count as f64 / deletes as f64;
            let (disk, cache) = (per(reads.blocks_from_disk), per(reads.blocks_from_cache));
            let (lookups, ranges) = (per(reads.point_lookups), per(reads.ranges));
            let by = by_operation(&figures.deletes, deletes);
            println!("| {name} | {layout} | {disk:.2} | {by} | {cache:.2} | {lookups:.1} | {ranges:.1} |");
            canaries.push((name, *layout, figures.canary));
        }
        let [legacy, grouped] = figures.map(|figures| figures.deletes.total().blocks_from_disk as f64);
        println!("{name}: {:.1} times fewer blocks from disk", legacy / grouped);
    }
    show_canaries(&canaries);
    Ok(())
}

/// What the canaries did and read in each second.
fn show_canaries(canaries: &[(&str, &str, Canary)]) {
    println!(
        "\n| canary of | layout | seconds | tasks/s | starts/s | deletes/s | blocks from disk/s: all | by starts | by deletes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, layout, canary) in canaries {
        let count = |count: usize| canary.per_second(count as u64);
        let (tasks, starts, deletes) = (count(canary.tasks), count(canary.starts), count(canary.deletes));
        let [by_starts, by_deletes] =
            [canary.blocks_of_starts, canary.blocks_of_deletes].map(|blocks| canary.per_second(blocks));
        let (seconds, all) = (canary.seconds, by_starts + by_deletes);
        println!(
            "| {name} | {layout} | {seconds:.0} | {tasks:.0} | {starts:.1} | {deletes:.1} | {all:.0} | {by_starts:.0} | {by_deletes:.0} |"
        );
    }
}
