//! What grouping is for: how many blocks are read from disk to delete a run, in the legacy layout and in the grouped one, on a
//! store whose cache is too small.
//!
//! ```sh
//! cargo run --release -p trestle-app-littlehorse --example figures
//! ```
//!
//! Runs come from the engine: begun, done by a worker, over. They are deleted in random order, as retention comes to runs that
//! began long ago. `--runs` says how many there are, `--seconds` how long the canary lasts.

#![allow(clippy::print_stdout, reason = "the figures are printed")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};
use trestle::{Durability, Embedded, OperationReads, Options, StoreSettings};

/// Blocks read from disk per deleted run, legacy layout against grouped
#[derive(Parser)]
struct Cli {
    /// How many runs the store holds
    #[arg(long, default_value_t = 20_000)]
    runs: usize,
    /// How many of them are deleted
    #[arg(long, default_value_t = 2_000)]
    deletes: usize,
    /// The store's cache, in KiB
    #[arg(long, default_value_t = 256)]
    cache_kib: u64,
    /// How long the canary lasts
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Tasks a second of the canary
    #[arg(long, default_value_t = 200)]
    rate: u64,
}

const TENANT: &str = "default";

/// A workflow of so many tasks, each with so many bytes of output: the document's shape has one.
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
    Options { store, ..Options::default() }
}

type Faults = Result<(), Box<dyn Error>>;

/// The program of one version, as far as the figures need it. Both have the same functions on types of their own.
macro_rules! layout {
    ($module:ident, $program:ident) => {
        mod $module {
            use super::*;
            use $program::{Service, model::Littlehorse};

            /// Runs a workflow to its end.
            pub(super) async fn run(service: &Service, id: String, tasks: usize) -> Faults {
                service.run_wf(TENANT, "canary", Some(id.clone()), BTreeMap::new()).await?;
                for _ in 0..tasks {
                    let task = service.poll(TENANT, "work", "w", Duration::ZERO).await?;
                    let task = task.ok_or("there is no task")?;
                    let done = json!({ "guid": task["taskGuid"], "attempt": 0, "output": "x".repeat(100) });
                    let run = task["wfRunId"].as_str().ok_or("a task has no run")?;
                    service.command(TENANT, run, json!({ "reportTask": done })).await?;
                }
                Ok(())
            }

            /// Fills a store, opens it again with a small cache, and deletes: reads per delete, and of the canary per second.
            pub(super) async fn measure(place: &Path, cli: &Cli, tasks: usize) -> Result<(OperationReads, f64), Box<dyn Error>> {
                let database = Embedded::open(place, options(64 << 10))?;
                let (service, timers) = Service::start(&database, Littlehorse::apply_to(&database)?).await?;
                service.put_spec(TENANT, spec(tasks)).await?;
                for at in 0..cli.runs {
                    run(&service, name(at, cli.runs), tasks).await?;
                }
                timers.stop().await;
                drop(service);
                database.close().await?;
                let database = Embedded::open(place, options(cli.cache_kib))?;
                let (service, timers) = Service::start(&database, Littlehorse::apply_to(&database)?).await?;
                let before = database.storage_reads();
                for at in 0..cli.deletes {
                    service.command(TENANT, &name(at, cli.runs), json!("delete")).await?;
                }
                let deletes = database.storage_reads().since(&before).total();
                let (begun, before, mut beats) = (Instant::now(), database.storage_reads(), 0);
                while begun.elapsed() < Duration::from_secs(cli.seconds) && cli.deletes + beats < cli.runs {
                    run(&service, name(cli.runs + beats, cli.runs), tasks).await?;
                    service.command(TENANT, &name(cli.deletes + beats, cli.runs), json!("delete")).await?;
                    beats += 1;
                    let due = Duration::from_secs_f64(beats as f64 * tasks as f64 / cli.rate as f64);
                    tokio::time::sleep(due.saturating_sub(begun.elapsed())).await;
                }
                let canary = database.storage_reads().since(&before).total().blocks_from_disk as f64;
                let seconds = begun.elapsed().as_secs_f64();
                timers.stop().await;
                Ok((deletes, canary / seconds))
            }
        }
    };
}

layout!(legacy, littlehorse_v1);
layout!(grouped, littlehorse);

/// Ids that are not in the order in which runs begin.
fn name(at: usize, runs: usize) -> String {
    let spread = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!("{spread:016x}-{}", at / runs.max(1))
}

#[tokio::main]
async fn main() -> Faults {
    let cli = Cli::parse();
    println!("{} runs, {} deleted, cache {} KiB", cli.runs, cli.deletes, cli.cache_kib);
    println!(
        "| tasks per run | layout | blocks from disk per delete | blocks from cache | lookups | ranges | canary: blocks/s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for tasks in [1, 8] {
        let runs = Cli { runs: cli.runs / tasks, deletes: cli.deletes / tasks, ..cli };
        let mut from_disk = Vec::new();
        for layout in ["legacy", "grouped"] {
            let place =
                std::env::temp_dir().join(format!("littlehorse-{}-{layout}-{tasks}", std::process::id()));
            let (reads, canary) = match layout {
                "legacy" => legacy::measure(&place, &runs, tasks).await?,
                _ => grouped::measure(&place, &runs, tasks).await?,
            };
            std::fs::remove_dir_all(&place)?;
            let per = |count: u64| count as f64 / runs.deletes as f64;
            let (disk, cache) = (per(reads.blocks_from_disk), per(reads.blocks_from_cache));
            let (lookups, ranges) = (per(reads.point_lookups), per(reads.ranges));
            println!(
                "| {tasks} | {layout} | {disk:.2} | {cache:.2} | {lookups:.1} | {ranges:.1} | {canary:.0} |"
            );
            from_disk.push(disk);
        }
        println!("{tasks} tasks per run: {:.1} times fewer blocks from disk", from_disk[0] / from_disk[1]);
    }
    Ok(())
}
