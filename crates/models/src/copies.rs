//! Copies that follow their originals in the background: notes are processed in turn, a page of copies each,
//! and every row is checked again in the commit that writes it. That commit also stores the position in the
//! note, so that a crash repeats at most the current page.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::{Error, ErrorKind, GetItem, Query, Request};
use trestle_binding::{counted, stopped};
use trestle_env::Timestamp;
use trestle_hook::Companion;
use trestle_hook::{Amending, amend};
use trestle_item::Item;
use trestle_model::{Bound, COPIES_TABLE, CopyNote, CopyPage, Model, NotedCopies, Refusal, Stopped};

use crate::call::call;
use crate::sweep::or_gone;
use crate::{BindError, Held, Models};

/// Notes that are processed together, so that small ones share commits.
const NOTES: usize = 16;
/// Copies that are processed in one commit for one note.
const PAGE: u32 = 100;

/// The time for which further errors are not logged after one was: retries mostly fail for the same reason.
const QUIET: Duration = Duration::from_secs(5);

/// The position of a round through all notes. It is not stored.
#[derive(Debug, Default)]
pub(super) struct CopyRound {
    next: Option<Vec<u8>>,
    quiet_until: Option<Timestamp>,
}

impl CopyRound {
    /// Logs an error, unless one was logged recently.
    fn say(&mut self, error: &BindError, now: Timestamp) {
        if self.quiet_until.is_none_or(|until| until <= now) {
            tracing::warn!(%error, "some copies that follow in the background stay as they are for now");
            self.quiet_until = Some(now.plus(QUIET));
        }
    }
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyTurn {
    /// There may be more to do immediately.
    More,
    /// There is nothing to do.
    Nothing,
    /// There is work, but none of it could be done now.
    Failed,
}

/// A note, its model, and the next page of its copies.
struct Turn {
    model: Arc<Model>,
    note: CopyNote,
    page: CopyPage,
}

impl Models {
    /// Processes the next notes: a page of copies of each.
    pub(super) fn copy_turn(&self, round: &mut CopyRound) -> CopyTurn {
        let is_first = round.next.is_none();
        let notes = match or_gone(self.host.lying(COPIES_TABLE, round.next.as_deref(), NOTES)) {
            Ok(notes) => notes,
            Err(error) => {
                round.say(&error, self.clock.now());
                return CopyTurn::Failed;
            }
        };
        round.next = notes.next;
        match (notes.rows.is_empty(), is_first) {
            (true, true) => return CopyTurn::Nothing,
            // Notes before the point at which this round began may have been added since.
            (true, false) => return CopyTurn::More,
            (false, _) => {}
        }
        // The hook must not change meanwhile.
        let _one_at_a_time = self.applying.lock();
        if !self.are_in_force() {
            return CopyTurn::Failed;
        }
        let held = self.held.lock().clone();
        let turns: Vec<_> = notes.rows.iter().map(|row| self.begin_turn(&held, row)).collect();
        let mut done = false;
        for turn in turns {
            match turn.and_then(|(turn, started)| self.end_turn(turn.as_ref(), started)) {
                Ok(()) => done = true,
                Err(error) => round.say(&error, self.clock.now()),
            }
        }
        match done || !is_first {
            true => CopyTurn::More,
            false => CopyTurn::Failed,
        }
    }

    /// Starts to write the next page of a note; removes the note if no model has such copies now.
    fn begin_turn(&self, held: &[Held], row: &Item) -> Result<(Option<Turn>, Amending<()>), BindError> {
        let note = CopyNote::from_item(row)
            .ok_or_else(|| Error::internal(format!("a row of {COPIES_TABLE} is no copy note: {row:?}")))?;
        let Some(held) = held.iter().find(|held| held.stored.name == note.model) else {
            return Ok((None, self.drop_note(&note)));
        };
        let model = held.model()?;
        let Some(noted) = model.noted_copies(&note) else {
            return Ok((None, self.drop_note(&note)));
        };
        let turn = Turn {
            page: self.copy_page(held, &note, &noted)?,
            model: Arc::clone(model),
            note,
        };
        let started = self.write_page(&turn, turn.page.clone());
        Ok((Some(turn), started))
    }

    fn end_turn(&self, turn: Option<&Turn>, started: Amending<()>) -> Result<(), BindError> {
        match (started.wait(), turn) {
            (Err(error), Some(turn)) if is_refusal(&error) => self.one_by_one(turn),
            (written, _) => Ok(written?),
        }
    }

    fn drop_note(&self, note: &CopyNote) -> Amending<()> {
        let gone = Companion {
            table: COPIES_TABLE.to_owned(),
            key: note.key(),
            item: None,
        };
        amend(&*self.host, move |_, _| Ok((vec![gone.clone()], ())))
    }

    /// The next page of rows that may have copies. It is empty where the original is gone: its copies stay.
    fn copy_page(
        &self,
        held: &Held,
        note: &CopyNote,
        noted: &NotedCopies<'_>,
    ) -> Result<CopyPage, BindError> {
        // A position is valid only in the layout of keys in which it was found.
        let layout = format!("{} {}", held.stored.version, held.stored.applied.as_millis());
        let (stamp, after) = note.position(&layout);
        let mut page = CopyPage {
            keys: Vec::new(),
            stamp,
            next: None,
            layout,
        };
        let (table, key) = noted.original().map_err(refused)?;
        let finder = match self.row(table, key)? {
            Some(original) => noted.finder(&original).map_err(refused)?,
            None => None,
        };
        match finder.map(Bound::into_request) {
            Some(Request::GetItem(one)) => page.keys.push(one.key),
            Some(Request::Query(query)) => {
                let query = Query {
                    limit: Some(PAGE),
                    exclusive_start_key: after.cloned(),
                    ..query
                };
                let found = or_gone(call(&*self.host, query))?;
                let rows: Vec<Item> = found.items.into_iter().flatten().collect();
                page.keys = noted.keys(rows.iter()).map_err(refused)?;
                page.next = found.last_evaluated_key;
            }
            _ => {}
        }
        Ok(page)
    }

    fn row(&self, table: &str, key: &Item) -> Result<Option<Item>, BindError> {
        let get = GetItem {
            table_name: table.to_owned(),
            key: key.clone(),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        Ok(or_gone(call(&*self.host, get))?.item)
    }

    /// Writes a page of copies together with its note.
    fn write_page(&self, turn: &Turn, page: CopyPage) -> Amending<()> {
        let (model, note) = (Arc::clone(&turn.model), turn.note.clone());
        amend(&*self.host, move |rows, now| {
            let companions = model
                .catch_up_page(&note, page.clone(), rows, now)
                .map_err(stopped)?;
            Ok((companions, ()))
        })
    }

    /// One refused row does not stop the others of its page. Its copy stays outdated; an audit finds it.
    fn one_by_one(&self, turn: &Turn) -> Result<(), BindError> {
        let each = turn.page.keys.iter().map(|key| {
            let (model, note, key) = (Arc::clone(&turn.model), turn.note.clone(), key.clone());
            amend(&*self.host, move |rows, now| {
                let companions = model
                    .catch_up(&note, vec![key.clone()], rows, now)
                    .map_err(stopped)?;
                Ok((companions, ()))
            })
        });
        let started: Vec<Amending<()>> = each.collect();
        let (mut left, mut reason) = (0, None);
        for one in started {
            match one.wait() {
                Err(error) if is_refusal(&error) => {
                    left += 1;
                    reason.get_or_insert(error);
                }
                written => written?,
            }
        }
        if let Some(reason) = reason {
            let CopyNote {
                model, entity, copy, ..
            } = &turn.note;
            tracing::warn!(
                %reason,
                "model {model}: copy {copy} of {} of entity {entity} cannot follow and stays as it is; `trestle \
                 verify` names the rows",
                counted(left, "row", "rows")
            );
        }
        let passed = CopyPage {
            keys: Vec::new(),
            ..turn.page.clone()
        };
        Ok(self.write_page(turn, passed).wait()?)
    }
}

fn refused(refusal: Refusal) -> Error {
    stopped(Stopped::Refused(refusal))
}

/// Whether the model refuses a row, so that a retry would not help.
fn is_refusal(error: &Error) -> bool {
    error.kind() == ErrorKind::Validation || error.taken_value().is_some()
}
