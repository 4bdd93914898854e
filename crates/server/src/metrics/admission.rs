//! The metrics of memory for requests and answers.

use super::render::Page;
use crate::admission::Admission;

/// What is held now, and what has been refused or closed for lack of memory since the server started.
pub(crate) fn render(admission: &Admission) -> String {
    let mut page = Page::default();
    page.single(
        "memory_budget_bytes",
        "gauge",
        "Memory for requests and answers, as set.",
        admission.bytes_max(),
    );
    let name = "memory_held_bytes";
    page.head(
        name,
        "gauge",
        "Memory held now: by clients that send or do not read yet, and by large requests that are executed.",
    );
    page.labelled(name, "by", "clients", admission.held.bytes() as f64);
    page.labelled(name, "by", "work", admission.work.bytes() as f64);
    page.single(
        "memory_throttled_requests_total",
        "counter",
        "Requests refused because no memory became free in time.",
        admission.counts.throttled(),
    );
    let name = "slow_clients_total";
    page.head(
        name,
        "counter",
        "Clients given up because they sent or read too slowly.",
    );
    page.labelled(name, "kind", "sender", admission.counts.slow_bodies() as f64);
    page.labelled(name, "kind", "reader", admission.counts.slow_readers() as f64);
    page.0
}
