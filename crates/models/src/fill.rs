//! Existing rows when a model is applied: missing attributes are filled in, and derived rows are written.
//!
//! It is a repair that also reports derived rows that never existed. The model is already in force, so that
//! rows that clients write meanwhile are complete; what an audit finds missing stays missing until it is
//! repaired, and the error of a sum does not change. A repetition changes nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use trestle_api::Error;
use trestle_binding::Misfit;
use trestle_binding::clearing::Leftovers;
use trestle_binding::rows::add;
use trestle_hook::Host;
use trestle_item::codec;
use trestle_model::Model;
use trestle_model::audit::{AuditOptions, Finding};

use crate::mending::Repair;
use crate::watcher::Watcher;

/// Fills in the rows of a model. Returns those that could not be filled in, by table.
pub(crate) fn fill(
    host: &dyn Host,
    model: &Arc<Model>,
    options: AuditOptions,
    leftovers: Vec<Leftovers>,
    watcher: &mut dyn Watcher,
) -> Result<BTreeMap<String, Vec<Misfit>>, Error> {
    let repair = Repair {
        host,
        model,
        options: AuditOptions {
            fill: true,
            ..options
        },
        leftovers,
        doing: "filling in rows",
    };
    misfits(repair.run(watcher)?.left)
}

/// Findings as rows that do not fit, by table and reason.
pub(crate) fn misfits(mut left: Vec<(Finding, String)>) -> Result<BTreeMap<String, Vec<Misfit>>, Error> {
    let mut misfits: BTreeMap<String, BTreeMap<String, Misfit>> = BTreeMap::new();
    // A row that cannot be written at all lacks other things, too.
    left.sort_by_key(|(finding, _)| finding.can_be_mended());
    let mut named = HashSet::new();
    for (finding, reason) in left {
        if !named.insert((finding.table.clone(), codec::encode(&finding.key))) {
            continue;
        }
        let of_table = misfits.entry(finding.table.clone()).or_default();
        let reason = if finding.can_be_mended() {
            reason
        } else {
            let of = match finding.effect.as_str() {
                "" => format!("entity {}", finding.entity),
                effect => effect.to_owned(),
            };
            format!("{of}: {}", finding.wanted)
        };
        add(of_table, reason, &finding.there, &finding.key)?;
    }
    let misfits = misfits.into_iter();
    Ok(misfits
        .map(|(table, reasons)| (table, reasons.into_values().collect()))
        .collect())
}
