//! `trestle routes dead-letters` and `replay`.

use super::letters::{Letters, LettersFlags};
use super::{ask, line};
use crate::administration::print_json;
use crate::answer;
use crate::exit::Failure;
use clap::{ArgGroup, Args, Subcommand};
use serde_json::Value;
use trestle_admin::ReplayDeadLetters;
use trestle_events::{Replayed, Selection};

/// Dead letters per request.
const PAGE: u32 = 100;

/// Flags of `trestle routes dead-letters`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DeadLettersFlags {
    #[command(subcommand)]
    command: Option<DeadLettersCommand>,
    #[command(flatten)]
    list: ListFlags,
}

/// What can be done with dead letters, besides listing and replaying them.
#[derive(Debug, Subcommand)]
enum DeadLettersCommand {
    /// Show one dead letter
    Show(ShowFlags),
    /// Move dead letters to another route, which can replay them
    Move(MoveFlags),
    /// Delete dead letters
    Drop(DropFlags),
}

#[derive(Debug, Args)]
struct ListFlags {
    /// Only those of this route
    #[arg(value_name = "ROUTE")]
    route: Option<String>,
    /// List no more than this
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: LettersFlags,
}

#[derive(Debug, Args)]
struct ShowFlags {
    /// The dead letter
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    place: LettersFlags,
}

#[derive(Debug, Args)]
struct MoveFlags {
    #[command(flatten)]
    which: Which,
    /// The route that gets them
    #[arg(long, value_name = "NAME")]
    to: String,
    #[command(flatten)]
    place: LettersFlags,
}

#[derive(Debug, Args)]
struct DropFlags {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    place: LettersFlags,
}

/// Flags of `trestle routes replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayFlags {
    #[command(flatten)]
    which: Which,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: LettersFlags,
}

/// Which dead letters; everything only by that word.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).args(["id", "route", "all"]))]
struct Which {
    /// This one
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Those of this route
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// All of them
    #[arg(long)]
    all: bool,
}

impl Which {
    fn selection(&self) -> Selection {
        match (&self.id, &self.route) {
            (Some(id), _) => Selection::One(id.clone()),
            (None, Some(route)) => Selection::Route(route.clone()),
            (None, None) => Selection::All,
        }
    }
}

pub(super) fn dead_letters(flags: &DeadLettersFlags) -> Result<(), Failure> {
    match &flags.command {
        None => list(&flags.list),
        Some(DeadLettersCommand::Show(flags)) => show(flags),
        Some(DeadLettersCommand::Move(flags)) => give(flags),
        Some(DeadLettersCommand::Drop(flags)) => forget(flags),
    }
}

fn list(flags: &ListFlags) -> Result<(), Failure> {
    let letters = Letters::to_look(&flags.place)?;
    let (mut after, mut listed) = (None, 0);
    while listed < flags.limit {
        let limit = PAGE.min(flags.limit - listed);
        let page = letters.page(flags.route.clone(), after, limit)?;
        for letter in &page.dead_letters {
            print(letter, flags.json)?;
            listed += 1;
        }
        let Some(next) = page.next else {
            if listed == 0 && !flags.json {
                line("no dead letters");
            }
            return Ok(());
        };
        after = Some(next);
    }
    if !flags.json {
        line("… and more; --limit N lists more");
    }
    Ok(())
}

fn print(letter: &Value, as_json: bool) -> Result<(), Failure> {
    if as_json {
        line(&letter.to_string());
        return Ok(());
    }
    let change = &letter["change"];
    let attempts = match answer::number(letter, "attempts")? {
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    };
    line(&format!(
        "{}  {} {} {}, {attempts}, last at {}: {}",
        answer::text(letter, "id")?,
        answer::text(change, "event")?,
        change["entity"].as_str().unwrap_or("of"),
        change["keys"],
        answer::text(letter, "last")?,
        answer::text(letter, "error")?,
    ));
    Ok(())
}

fn show(flags: &ShowFlags) -> Result<(), Failure> {
    line(&format!("{:#}", Letters::to_look(&flags.place)?.one(&flags.id)?));
    Ok(())
}

fn give(flags: &MoveFlags) -> Result<(), Failure> {
    let moved = Letters::to_change(&flags.place)?.give(flags.which.selection(), flags.to.clone())?;
    line(&format!("{moved} moved to {}", flags.to));
    Ok(())
}

fn forget(flags: &DropFlags) -> Result<(), Failure> {
    let dropped = Letters::to_change(&flags.place)?.forget(flags.which.selection())?;
    line(&format!("{dropped} dropped"));
    Ok(())
}

/// The result of a replay, in words.
pub(super) fn told(replayed: &Replayed) -> String {
    let mut tried = format!(
        "{} delivered, {} refused again",
        replayed.delivered, replayed.failed
    );
    if replayed.unanswered > 0 {
        tried += &format!(
            ", {} neither, because the target could not be reached, failed or did not answer in time",
            replayed.unanswered
        );
    }
    match replayed.left {
        0 => tried,
        left => format!(
            "{tried}, {left} left because their route is gone or off (`trestle routes dead-letters move` gives them to another \
             one), or its target does not answer"
        ),
    }
}

/// Tries dead letters again. Those that are not taken stay, with the new reason.
pub(super) fn replay(flags: &ReplayFlags) -> Result<(), Failure> {
    let server = Letters::to_replay(&flags.place)?;
    let replayed = ask(server, ReplayDeadLetters(flags.which.selection().into()))?;
    if flags.json {
        print_json(&replayed)?;
    } else {
        line(&told(&replayed));
    }
    let why = match (replayed.failed, replayed.unanswered) {
        (0, 0) => return Ok(()),
        (0, _) => "a target does not answer, or fails; its dead letters stay",
        _ => "some dead letters were refused again; they stay",
    };
    Err(Failure::failed(format!(
        "{why}, and `trestle routes dead-letters` says why"
    )))
}
