//! The location of dead letters: a server that runs routes, or the directory of `trestle routes run --state`.

use super::{ask, runs_routes};
use crate::exit::Failure;
use crate::open;
use crate::runtime;
use crate::server_flags::ServerFlags;
use clap::Args;
use serde_json::Value;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use trestle_admin::{
    DeadLetterList, DropDeadLetters, ListDeadLetters, MoveDeadLetters, ReadDeadLetter, Selection,
};
use trestle_api::{Database, Error, ErrorKind};
use trestle_embedded::{Embedded, RouteSetup};
use trestle_env::SystemClock;
use trestle_events::{ModelTyper, Route, Router, RowReading, ScanSettings, Setup};

/// Flags that say where.
#[derive(Debug, Args)]
pub(super) struct LettersFlags {
    /// The directory of a `trestle routes run --state`; then no server is used. Stop that command before you change anything there
    #[arg(long, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    #[command(flatten)]
    pub(super) server: ServerFlags,
}

/// Opens a directory.
type Open = fn(&Path) -> Result<Embedded, Failure>;

/// Access to dead letters in either location.
pub(super) enum Letters<'f> {
    Server(&'f ServerFlags),
    /// A router without routes, which only reads.
    Rows(Router, Runtime),
}

impl<'f> Letters<'f> {
    /// For reading, also while `trestle routes run` is running.
    pub(super) fn to_look(flags: &'f LettersFlags) -> Result<Self, Failure> {
        Self::at(flags, open::to_look)
    }

    /// The server that tries them again. Dead letters of `trestle routes run` can only be tried by that
    /// process, because it has the targets.
    pub(super) fn to_replay(flags: &'f LettersFlags) -> Result<&'f ServerFlags, Failure> {
        if flags.state.is_none() && runs_routes(&flags.server)? {
            return Ok(&flags.server);
        }
        let place = match &flags.state {
            Some(directory) => format!("--state {}", directory.display()),
            None => format!("--endpoint {}", flags.server.endpoint),
        };
        Err(Failure::usage(format!(
            "dead letters of `trestle routes run` are tried again when it starts: end it, and start it with `trestle routes run \
             FILE {place} --replay`, which tries all of them"
        )))
    }

    /// For changing them.
    pub(super) fn to_change(flags: &'f LettersFlags) -> Result<Self, Failure> {
        Self::at(flags, open::to_read)
    }

    fn at(flags: &'f LettersFlags, open: Open) -> Result<Self, Failure> {
        if flags.state.is_none() && runs_routes(&flags.server)? {
            return Ok(Letters::Server(&flags.server));
        }
        let runtime = runtime::on_this_thread()?;
        Ok(Letters::Rows(router(flags, &runtime, open)?, runtime))
    }

    pub(super) fn page(
        &self,
        route: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> Result<DeadLetterList, Failure> {
        match self {
            Letters::Server(server) => {
                let limit = Some(limit);
                ask(server, ListDeadLetters { route, after, limit })
            }
            Letters::Rows(router, runtime) => {
                let page = wait(
                    runtime,
                    router.dead_letters(route.as_deref(), after.as_deref(), limit),
                )?;
                Ok(DeadLetterList {
                    dead_letters: page.letters.iter().map(|letter| letter.to_json()).collect(),
                    next: page.next,
                })
            }
        }
    }

    pub(super) fn one(&self, id: &str) -> Result<Value, Failure> {
        match self {
            Letters::Server(server) => ask(server, ReadDeadLetter { id: id.to_owned() }),
            Letters::Rows(router, runtime) => {
                let letter = wait(runtime, router.dead_letter(id))?;
                let letter =
                    letter.ok_or_else(|| Failure::failed(format!("there is no dead letter `{id}`")))?;
                Ok(letter.to_json())
            }
        }
    }

    /// Drops dead letters; returns how many.
    pub(super) fn forget(&self, which: Selection) -> Result<u64, Failure> {
        match self {
            Letters::Server(server) => Ok(ask(server, DropDeadLetters(which.into()))?.dropped),
            Letters::Rows(router, runtime) => wait(runtime, router.drop_dead_letters(which)),
        }
    }

    /// Moves dead letters; returns how many.
    pub(super) fn give(&self, which: Selection, to: String) -> Result<u64, Failure> {
        match self {
            Letters::Server(server) => Ok(ask(server, MoveDeadLetters::new(which, to))?.moved),
            Letters::Rows(router, runtime) => wait(runtime, router.move_dead_letters(which, &to)),
        }
    }
}

/// A router without routes on the positions of `trestle routes run`.
pub(super) fn router(flags: &LettersFlags, runtime: &Runtime, open: Open) -> Result<Router, Failure> {
    let typer = Arc::new(ModelTyper::default());
    let doors = Arc::new(|_: &Route| Err("nothing is delivered from here".to_owned()));
    let (poll, runtime) = (Duration::MAX, runtime.handle().clone());
    if let Some(directory) = &flags.state {
        let setup = RouteSetup {
            typer,
            doors,
            poll,
            runtime,
            streams: None,
        };
        let state = open(directory)?;
        return state.start_router(setup).map_err(Failure::failed);
    }
    let state: Arc<dyn Database> = Arc::new(flags.server.remote()?);
    Ok(Router::start(Setup {
        database: Arc::clone(&state),
        state,
        clock: Arc::new(SystemClock::new()),
        bell: None,
        typer,
        doors,
        rows: RowReading::Scanned(ScanSettings::default()),
        poll,
        runtime,
        held: None,
        parked_max: Setup::PARKED_MAX,
    }))
}

fn wait<T>(runtime: &Runtime, work: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
    let done = runtime.block_on(work);
    done.map_err(|error| match error.kind() {
        // The message about a name is complete.
        ErrorKind::Validation => Failure::failed(error.message()),
        _ => Failure::failed(format!("the dead letters cannot be reached: {error}")),
    })
}
