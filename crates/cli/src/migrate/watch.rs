//! Follows a migration: on a server by polling, in a directory by moving its rows.

use super::host::MigrationHost;
use super::{StatusFlags, show};
use crate::bar::{Bar, drawn};
use crate::exit::{Code, Failure};
use crate::runtime;
use std::io::{self, IsTerminal, Write};
use trestle_admin::{ListMigrations, MigrationList};
use trestle_binding::{MigrationStatus, counted};
use trestle_embedded::Models;

/// `trestle migrate status`.
pub(super) fn status(flags: &StatusFlags) -> Result<(), Failure> {
    let place = MigrationHost::open(&flags.place)?;
    let look = || {
        let name = flags.name.clone();
        place.ask(ListMigrations { name })
    };
    if !flags.watch {
        return show::all(&look()?, flags.json);
    }
    runtime::until_told_or(|| {
        let list: MigrationList = look()?;
        if io::stdout().is_terminal() && !flags.json {
            let _ = write!(io::stdout(), "\x1b[H\x1b[2J");
        }
        show::all(&list, flags.json)?;
        Ok(list.migrations.iter().all(MigrationStatus::is_at_rest))
    })
}

/// Continues after a start: in a directory this process moves the rows; a server does so itself.
pub(super) fn go_on(place: &MigrationHost, model: &str, watch: bool, json: bool) -> Result<(), Failure> {
    let last = match place.models() {
        Some(models) => swept(models, model)?,
        None if watch => followed(place, model)?,
        None => asked(place, model)?,
    };
    if !watch && place.models().is_none() {
        return if json { show::status(&last, json) } else { Ok(()) };
    }
    show::status(&last, json)?;
    if last.held_up {
        return Err(Failure::new(
            Code::ModelRefused,
            format!(
                "{} of model {model} cannot move",
                counted(last.stuck.rows, "row", "rows")
            ),
        ));
    }
    Ok(())
}

/// Moves the rows of a directory.
fn swept(models: &Models, model: &str) -> Result<MigrationStatus, Failure> {
    let mut bar = Bar::new();
    let mut watch = |status: &MigrationStatus| {
        bar.show(&status.state.to_string(), || line(status));
        true
    };
    let last = models.sweep(Some(model), &mut watch);
    bar.clear();
    last.map_err(Failure::failed)
}

fn asked(place: &MigrationHost, model: &str) -> Result<MigrationStatus, Failure> {
    let name = Some(model.to_owned());
    let list = place.ask(ListMigrations { name })?;
    let first = list.migrations.into_iter().next();
    first.ok_or_else(|| Failure::failed(format!("the answer has no migration of model {model}")))
}

/// Polls a server until the rows have moved.
fn followed(place: &MigrationHost, model: &str) -> Result<MigrationStatus, Failure> {
    let mut bar = Bar::new();
    let mut last = asked(place, model)?;
    runtime::until_told_or(|| {
        last = asked(place, model)?;
        bar.show(&last.state.to_string(), || line(&last));
        Ok(last.is_at_rest())
    })?;
    bar.clear();
    Ok(last)
}

fn line(status: &MigrationStatus) -> String {
    let mut line = format!(
        "{} {:5.1} %  {}, {} moved",
        drawn(status.done),
        status.done * 100.0,
        status.state,
        counted(status.rows_moved, "row", "rows")
    );
    if let Some(speed) = status.rows_per_second {
        line += &format!(", {speed:.0} rows/s looked at");
    }
    if let Some(left) = status.seconds_left {
        line += &format!(", {left:.0} s left");
    }
    line
}
