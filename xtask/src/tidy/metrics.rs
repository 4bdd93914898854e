//! The server provides the metrics that the page of metrics and the dashboard name.

use crate::repository::Repository;

const SOURCES: &str = "crates/server/src/metrics";
const PAGES: &[&str] = &["docs/operate/metrics.md", "docs/operate/grafana.json"];
/// The suffixes that Prometheus adds to the name of a histogram.
const SERIES: &[&str] = &["_bucket", "_count", "_sum"];

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let sources: Vec<_> = repository
        .files()
        .filter(|(path, _)| path.starts_with(SOURCES))
        .map(|(_, text)| text)
        .collect();
    let is_made = |name: &str| sources.iter().any(|text| text.contains(&format!("\"{name}\"")));
    let mut faults = Vec::new();
    for page in PAGES {
        for name in names(repository.text(page).unwrap_or_default()) {
            let of_series = SERIES.iter().find_map(|suffix| name.strip_suffix(suffix));
            if !is_made(name) && !of_series.is_some_and(is_made) {
                faults.push(format!(
                    "{page} names trestle_{name}, which {SOURCES} does not make."
                ));
            }
        }
    }
    faults
}

/// Names of metrics, without `trestle_`.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split("trestle_").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        rest.get(..end.unwrap_or(rest.len()))
            .filter(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(page: &str) -> Vec<String> {
        faults(&Repository::of(&[
            ("docs/operate/metrics.md", page),
            (
                "crates/server/src/metrics/routes.rs",
                r#"("latency_seconds", "route_parked")"#,
            ),
        ]))
    }

    #[test]
    fn a_metric_is_made_by_the_server() {
        let page = "`trestle_route_parked`, rate(trestle_latency_seconds_bucket[5m])";
        assert_eq!(faults_of(page), Vec::<String>::new());
        assert_eq!(
            faults_of("trestle_route_gone"),
            [
                "docs/operate/metrics.md names trestle_route_gone, which crates/server/src/metrics does not make."
            ]
        );
    }
}
