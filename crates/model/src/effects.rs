//! Effects, carried out: from the writes of a request to everything that follows from them. Pure; the caller commits it.

pub mod audit;
mod copy;
mod counter;
mod head;
mod inverse;
mod kept;
mod ledger;
mod members;
mod order;
mod orphans;
mod pairs;
mod plan;
mod roots;
mod settle;
mod unique;

use std::fmt;
use std::sync::Arc;

use trestle_api::Error;
use trestle_hook::{Becomes, By, Change, Rows, Verdict};

use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::Refusal;

pub use orphans::{COUNTS_KEY, COUNTS_TABLE, OrphanCount};
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
    /// The position of the write that is the reason.
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

impl Model {
    /// The rows that the writes of a request must store, and the rows that follow from them. The order of the writes
    /// makes no difference.
    ///
    /// The companions are complete and absolute: they are to be applied in order, and nothing else follows from them.
    /// Asked about one of them again, as [`By::Companion`], the answer is that it is right as it is.
    ///
    /// All writes of a request have the same time and the same origin. A row whose time is over always goes: where the
    /// model would refuse that, nothing follows from it.
    pub fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Blamed> {
        let by = match changes.first() {
            Some(first) if first.by != By::Companion => first.by,
            _ => return Ok(Verdict::default()),
        };
        let roots = roots::of(self, changes)?;
        let changed = if roots.iter().any(roots::Root::is_followed) {
            roots::follow(self, changes, &roots, rows)
        } else {
            self.all_derived(changes)
        };
        match changed {
            Err(Blamed {
                why: Stopped::Refused(refusal),
                ..
            }) if by == By::TimeToLive && !refusal.is_defect() => Ok(Verdict::default()),
            result => result,
        }
    }

    /// Writes from which nothing follows.
    fn all_derived(&self, changes: &[Change<'_>]) -> Result<Verdict, Blamed> {
        let mut verdict = Verdict::default();
        for (at, change) in changes.iter().enumerate() {
            let derived = self.derived(change).map_err(|refusal| Blamed {
                at,
                why: refusal.into(),
            })?;
            verdict.rows.push(derived);
        }
        Ok(verdict)
    }

    fn derived(&self, change: &Change<'_>) -> Result<Becomes, Refusal> {
        let Some(new) = change.new else {
            return Ok(Becomes::AsWritten);
        };
        let old = change.old.map(|old| &**old);
        let derived = self.derive(change.table, old, new, change.now.as_millis())?;
        if let Some(derived) = derived.as_ref().filter(|_| change.by == By::Client) {
            derived.entity.check_created(old, new)?;
        }
        Ok(match derived.filter(|derived| !derived.is_empty()) {
            Some(derived) => {
                let mut item = (**new).clone();
                derived.apply(&mut item);
                Becomes::Item(Arc::new(item))
            }
            None => Becomes::AsWritten,
        })
    }

    pub(crate) fn plan_of(&self, entity: &Entity) -> Option<&Plan> {
        self.plans.get(entity.position)
    }
}
