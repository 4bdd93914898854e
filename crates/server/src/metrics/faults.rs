//! The metrics of injected faults.

use super::render::Page;
use crate::faults::Faults;

/// How often each fault was injected since the server started.
pub(crate) fn render(faults: &Faults) -> String {
    let mut page = Page::default();
    let name = "injected_faults_total";
    page.head(
        name,
        "counter",
        "Requests that got a fault because a rule of a test says so.",
    );
    for (fault, count) in faults.counts() {
        page.labelled(name, "fault", fault, count as f64);
    }
    page.0
}
