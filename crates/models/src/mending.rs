//! Repairing derived rows: audits and repairs alternate, and each repair is a separate commit among those of
//! clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use trestle_api::{Error, ErrorKind};
use trestle_binding::clearing::Leftovers;
use trestle_binding::stopped;
use trestle_hook::{Amending, Host, HostView, amend};
use trestle_model::Model;
use trestle_model::audit::{AuditOptions, Finding, FindingKind};

use crate::audit::{Audited, audit};
use crate::watcher::{Watcher, go_on};

/// How many repairs run together, so that they share commits.
const TOGETHER: usize = 128;

/// After so many audits, something seems to undo the repairs.
const ROUNDS_MAX: u32 = 1000;

/// A client may remove the row that a repair needs, each time: after so many successive audits without a
/// repair, the work ends.
const IDLE_ROUNDS_MAX: u32 = 10;

/// The result of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mended {
    /// Rows were written.
    Rows,
    /// Nothing was written: each finding had changed before it could be repaired.
    Nothing,
    /// Nothing could be repaired.
    NothingMore,
}

/// A repair of one model's rows.
pub(crate) struct Repair<'r> {
    pub(crate) host: &'r dyn Host,
    pub(crate) model: &'r Arc<Model>,
    pub(crate) options: AuditOptions,
    /// Rows that are being removed.
    pub(crate) leftovers: Vec<Leftovers>,
    /// The description of the work for the watcher.
    pub(crate) doing: &'static str,
}

/// The result of a repair.
#[derive(Debug, Default)]
pub(crate) struct Repaired {
    /// The findings of the first audit.
    pub(crate) first: Audited,
    pub(crate) mended: BTreeMap<FindingKind, u64>,
    /// The findings that are left, and why.
    pub(crate) left: Vec<(Finding, String)>,
}

impl Repair<'_> {
    /// Alternates audits and repairs until an audit finds nothing that can be repaired.
    pub(crate) fn run(&self, watcher: &mut dyn Watcher) -> Result<Repaired, Error> {
        let mut repaired = Repaired::default();
        let (mut idle, mut to_copy) = (0, u64::MAX);
        for round in 0..ROUNDS_MAX {
            // Held until all is repaired: a sum is repaired by its error, which no other process may correct
            // meanwhile.
            let moment = self.host.moment()?;
            let audited = self.look(&*moment, watcher)?;
            let mut findings = audited.findings.clone();
            if findings.to_copy >= to_copy {
                // Clients change originals as fast as their copies are updated. The background continues with
                // those.
                findings.pending.clear();
            }
            to_copy = findings.to_copy;
            let findings = findings.in_order();
            if round == 0 {
                repaired.first = audited;
            }
            repaired.left.clear();
            idle = match self.mend_all(findings, &mut repaired, watcher)? {
                Mended::Rows => 0,
                Mended::Nothing => idle + 1,
                Mended::NothingMore => break,
            };
            if idle == IDLE_ROUNDS_MAX {
                break;
            }
        }
        Ok(repaired)
    }

    /// One audit of the rows of one moment.
    pub(crate) fn look(&self, moment: &dyn HostView, watcher: &mut dyn Watcher) -> Result<Audited, Error> {
        let now = self.host.clock().now();
        let name = self.model.name();
        let (options, leftovers) = (self.options.clone(), self.leftovers.clone());
        audit(moment, self.model, now, options, leftovers, &mut |rows| {
            watcher.rows("checking rows", name, rows);
            go_on(watcher)
        })
    }

    /// Repairs findings, and returns the result.
    fn mend_all(
        &self,
        findings: Vec<Finding>,
        repaired: &mut Repaired,
        watcher: &mut dyn Watcher,
    ) -> Result<Mended, Error> {
        let (mut outcome, mut done) = (Mended::NothingMore, 0);
        let mut findings = findings.into_iter().peekable();
        while findings.peek().is_some() {
            let started: Vec<_> = findings
                .by_ref()
                .take(TOGETHER)
                .map(|finding| {
                    let finding = Arc::new(finding);
                    let amendment = finding
                        .can_be_mended()
                        .then(|| mend(self.host, self.model, &finding));
                    (finding, amendment)
                })
                .collect();
            for (finding, amendment) in started {
                done += 1;
                let written = amendment.map(mended).transpose()?;
                match written {
                    Some(Ok(0)) if outcome == Mended::NothingMore => outcome = Mended::Nothing,
                    Some(Ok(0)) => {}
                    Some(Ok(_)) => {
                        outcome = Mended::Rows;
                        *repaired.mended.entry(finding.kind).or_default() += 1;
                    }
                    Some(Err(error)) => {
                        let left = Arc::unwrap_or_clone(finding);
                        repaired.left.push((left, error.message().to_owned()));
                    }
                    None => {
                        let left = Arc::unwrap_or_clone(finding);
                        let reason = "no repair can decide which is right".to_owned();
                        repaired.left.push((left, reason));
                    }
                }
            }
            watcher.rows(self.doing, self.model.name(), done);
            go_on(watcher)?;
        }
        Ok(outcome)
    }
}

/// Starts one repair; returns how many rows it writes.
pub(super) fn mend(host: &dyn Host, model: &Arc<Model>, finding: &Arc<Finding>) -> Amending<usize> {
    let (model, finding) = (Arc::clone(model), Arc::clone(finding));
    amend(host, move |rows, now| {
        let companions = model.mend(&finding, rows, now).map_err(stopped)?;
        let count = companions.len();
        Ok((companions, count))
    })
}

/// Waits for a repair. The outer error means that nothing can be written; the inner one concerns this row.
pub(super) fn mended(amendment: Amending<usize>) -> Result<Result<usize, Error>, Error> {
    match amendment.wait() {
        Err(error) if error.kind() != ErrorKind::Validation && error.taken_value().is_none() => Err(error),
        written => Ok(written),
    }
}
