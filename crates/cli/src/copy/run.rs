//! A running copy.

use super::{CopyFlags, print, show};
use crate::bar::Bar;
use crate::exit::Failure;
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use trestle_copy::{CopyError, CopyJob, CopyOrder, CopyProgress, CopyReport, CopyStatus, StateFile};
use trestle_env::{Clock, SystemClock};
use trestle_server::termination;

/// The time between two checks of the progress and of the command to cut over.
const GLANCE: Duration = Duration::from_millis(100);
/// How long a database may be unavailable when a copy is continued.
const WAIT_TO_GO_ON: Duration = Duration::from_secs(60);
/// The time between two lines of JSON, unless the phase changes.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn run(flags: CopyFlags) -> Result<(), Failure> {
    let (Some(from), Some(to)) = (flags.from.clone(), flags.to.clone()) else {
        return Err(Failure::usage("FROM and TO are needed"));
    };
    if from == to {
        return Err(Failure::usage("FROM and TO are the same"));
    }
    // First, so that a cut-over command finds it running.
    let now = SystemClock::new().now().as_millis();
    let state = match flags.dry_run {
        true => None,
        false => Some(Arc::new(StateFile::open(&flags.state, &from, &to, now)?)),
    };
    let runtime = several_threads()?;
    // A copy may be continued while a database restarts.
    let wait = if flags.state.exists() {
        WAIT_TO_GO_ON
    } else {
        Duration::ZERO
    };
    let job = Arc::new(CopyJob {
        settings: flags.settings()?,
        from: flags.sides.from(&from, &runtime, wait)?,
        to: flags.sides.to(&to, &runtime, wait)?,
        progress: Arc::new(CopyProgress::default()),
    });
    if job.settings.model.is_some() && job.to.administration.is_none() {
        return Err(Failure::usage(
            "--model needs a directory or a server of Trestle's as the target: rows move there in a migration",
        ));
    }
    let Some(state) = state else {
        let plan = runtime.block_on(job.plan(None))?;
        if flags.json {
            return print(&plan);
        }
        show::plan(&plan);
        return Ok(());
    };
    let ended = watched(&runtime, &job, state, &flags);
    // The administration of a server has its own runtime, which must not be dropped on a thread of this one.
    drop(runtime);
    drop(job);
    let report = ended?;
    if flags.json {
        return print(&json!({ "report": report }));
    }
    show::report(&report);
    Ok(())
}

/// Runs the copy, shows its progress, and passes commands on.
fn watched(
    runtime: &Runtime,
    job: &Arc<CopyJob>,
    state: Arc<StateFile>,
    flags: &CopyFlags,
) -> Result<CopyReport, Failure> {
    let (orders, told) = watch::channel(CopyOrder {
        cut_over: flags.cut_over,
        stop: false,
    });
    let note = StateFile::cut_over_note(&flags.state);
    let _ = std::fs::remove_file(&note);
    let progress = Arc::clone(&job.progress);
    let mut shown = Shown::new(flags.json, &flags.state, flags.cut_over);
    runtime.block_on(async {
        let job = Arc::clone(job);
        let mut working = tokio::spawn(async move { job.run(state, told).await });
        let mut told_to_stop = std::pin::pin!(termination());
        let mut is_told = false;
        let ended = loop {
            tokio::select! {
                biased;
                ended = &mut working => break ended,
                () = &mut told_to_stop, if !is_told => {
                    is_told = true;
                    orders.send_modify(|order| order.stop = true);
                }
                () = tokio::time::sleep(GLANCE) => {}
            }
            if note.exists() {
                let _ = std::fs::remove_file(&note);
                orders.send_modify(|order| order.cut_over = true);
            }
            shown.show(&progress.status())?;
        };
        shown.clear();
        let ended = ended.map_err(|error| CopyError::Defect(error.to_string()))?;
        Ok(ended?)
    })
}

/// What was last shown.
struct Shown<'f> {
    json: bool,
    bar: Bar,
    last: Option<(&'static str, Instant)>,
    state: &'f Path,
    cuts_over: bool,
}

impl<'f> Shown<'f> {
    fn new(json: bool, state: &'f Path, cuts_over: bool) -> Self {
        Shown {
            json,
            bar: Bar::new(),
            last: None,
            state,
            cuts_over,
        }
    }

    fn show(&mut self, status: &CopyStatus) -> Result<(), Failure> {
        let is_new = self.last.is_none_or(|(phase, _)| phase != status.phase);
        if self.json {
            if is_new || self.last.is_some_and(|(_, at)| at.elapsed() >= LINE_INTERVAL) {
                self.last = Some((status.phase, Instant::now()));
                print(&json!({ "status": status }))?;
            }
            return Ok(());
        }
        if is_new && status.phase == "following" && !self.cuts_over {
            self.bar.clear();
            let state = self.state.display();
            let _ = writeln!(
                io::stderr(),
                "the target has everything, and changes are followed; `trestle copy cut-over --state {state}` lets it take over"
            );
        }
        self.last = Some((status.phase, Instant::now()));
        self.bar.show(status.phase, || show::status(status));
        Ok(())
    }

    fn clear(&self) {
        if !self.json {
            self.bar.clear();
        }
    }
}

fn several_threads() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))
}
