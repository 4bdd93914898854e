//! Applies effects: computes everything that follows from the writes of a request. Pure; the caller commits
//! it.

pub mod audit;
mod catch_up;
mod copy;
mod copy_note;
mod counter;
mod entries;
mod head;
mod history;
mod inverse;
mod kept;
mod large_values;
mod ledger;
mod lookup;
mod members;
mod order;
mod orphans;
mod own_rows;
mod pairs;
mod plan;
mod roots;
mod settle;
mod touch;
mod unique;

use std::fmt;

use trestle_api::Error;
use trestle_hook::{Becomes, By, Change, Rows, Verdict};

use self::roots::Root;
use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::Refusal;

pub use catch_up::{CopyPage, NotedCopies};
pub use copy_note::{COPIES_KEY, COPIES_TABLE, CopyNote, CopyWalk};
pub(crate) use head::finds_group;
pub use large_values::{
    LOOSE_VALUES_TABLE, LooseState, LooseValue, NAMED_VALUES_TABLE, NamedValue, change_parts,
};
pub use orphans::{COUNTS_KEY, COUNTS_TABLE, OrphanCount};
pub use own_rows::{KEPT_ABOUT_ROWS, OwnTable, is_kept_about_rows};
pub(crate) use plan::{Plan, has_effects, plans};

/// Why a write does not take place.
#[derive(Clone, Debug)]
pub enum Stopped {
    /// The model refuses it.
    Refused(Refusal),
    /// Rows could not be read.
    Rows(Error),
}

/// Why the writes of a request do not take place.
#[derive(Clone, Debug)]
pub struct Blamed {
    /// The position of the write that was refused.
    pub at: usize,
    /// The reason.
    pub why: Stopped,
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Rows(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Stopped {}

/// A refusal of a derived row already says what it concerns: no row was written from which it could follow.
fn plain(stopped: Stopped) -> Stopped {
    match stopped {
        Stopped::Refused(Refusal::Following { cause, .. }) => Stopped::Refused(*cause),
        stopped => stopped,
    }
}

impl Model {
    /// The rows that the writes of a request must store, and the derived rows. The order of the writes makes
    /// no difference.
    ///
    /// The companions are complete: they are to be applied in order, and nothing else follows from them. A
    /// second call with one of them, as [`By::Companion`], changes nothing.
    ///
    /// All writes of a request have the same time and the same origin. An expiry is refused like any other
    /// write, because without it the derived rows would be wrong.
    pub fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Blamed> {
        if changes.first().is_none_or(|first| first.by == By::Companion) {
            return Ok(Verdict::default());
        }
        if changes.first().is_some_and(|first| first.by == By::Touch) {
            return touch::change(self, changes, rows);
        }
        let roots = roots::of(self, changes)?;
        if roots.iter().any(Root::is_followed) {
            roots::follow(self, changes, &roots, rows)
        } else {
            self.all_derived(changes, &roots)
        }
    }

    /// Writes from which nothing follows.
    fn all_derived(&self, changes: &[Change<'_>], roots: &[Root<'_>]) -> Result<Verdict, Blamed> {
        let mut rows = vec![Becomes::AsWritten; changes.len()];
        for root in roots {
            let (Some(change), Some(slot)) = (changes.get(root.position), rows.get_mut(root.position)) else {
                continue;
            };
            *slot = self.derived(root, change).map_err(|refusal| Blamed {
                at: root.position,
                why: refusal.into(),
            })?;
        }
        Ok(Verdict {
            rows,
            ..Verdict::default()
        })
    }

    fn derived(&self, root: &Root<'_>, change: &Change<'_>) -> Result<Becomes, Refusal> {
        let (Some(new), Some(entity)) = (change.new, root.entity) else {
            return Ok(Becomes::AsWritten);
        };
        if change.by == By::SecondLook {
            return Ok(Becomes::AsWritten);
        }
        let old = change.old.map(|old| &**old);
        let derived = self.derive_recognised(root.table, entity, old, new, change.now.as_millis())?;
        if change.by == By::Client {
            entity.check_created(old, new)?;
            self.check_version(entity, old, new)?;
        }
        if derived.is_empty() {
            return Ok(Becomes::AsWritten);
        }
        Ok(Becomes::Edited(derived.into_edits()))
    }

    pub(crate) fn plan_of(&self, entity: &Entity) -> Option<&Plan> {
        self.plans.get(entity.position)
    }
}
