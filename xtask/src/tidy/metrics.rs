//! The page of metrics has one row for each metric that the server exports, and the dashboard and other pages name no metric that it
//! does not export.

use crate::repository::Repository;

const SOURCES: &str = "crates/server/src/metrics";
/// Begins the tests of a source, in which metrics have labels and values.
const TESTS: &str = "#[cfg(test)]";
const PAGE: &str = "docs/operate/metrics.md";
const DASHBOARD: &str = "docs/operate/grafana.json";
const PREFIX: &str = "trestle_";
/// What Prometheus adds to the name of a histogram.
const SERIES: &[&str] = &["_bucket", "_count", "_sum"];

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let exported = exported(repository);
    let mut faults = unknown_names(repository, &exported);
    faults.extend(rows_and_metrics(
        repository.text(PAGE).unwrap_or_default(),
        &exported,
    ));
    faults
}

/// The metrics of the server, without the prefix: in its sources, a text between two quotes that has only letters and `_` is the name of
/// one.
fn exported(repository: &Repository) -> Vec<&str> {
    let sources = repository
        .files()
        .filter(|(path, _)| path.starts_with(SOURCES))
        .filter_map(|(_, text)| text.split(TESTS).next());
    let mut names: Vec<_> = sources
        .flat_map(|text| text.split('"'))
        .filter(|part| part.contains('_') && word(part) == *part)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Each metric has one row with its type in the page, and each row has a metric.
fn rows_and_metrics(page: &str, exported: &[&str]) -> Vec<String> {
    let rows: Vec<(&str, &str)> = page.lines().filter_map(row).collect();
    let mut faults = Vec::new();
    for name in exported {
        let rows = rows.iter().filter(|(row, _)| row == name).count();
        if rows != 1 {
            faults.push(format!(
                "{PAGE} has {rows} rows of {PREFIX}{name} instead of one."
            ));
        }
    }
    for (name, kind) in rows {
        if name.ends_with("_total") != (kind == "counter") {
            faults.push(format!(
                "{PAGE} calls {PREFIX}{name} a {kind}. Names of counters, and no others, end in _total."
            ));
        }
    }
    faults
}

/// Name and type of a metric: the first two cells of a row whose first cell is a metric.
fn row(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix("| `")?.split(" | ");
    let name = cells.next()?.strip_prefix(PREFIX)?.strip_suffix('`')?;
    (word(name) == name).then_some((name, cells.next()?))
}

fn unknown_names(repository: &Repository, exported: &[&str]) -> Vec<String> {
    let pages = repository
        .with_extension("md")
        .filter(|(path, _)| path.starts_with("docs/"))
        .chain(repository.text(DASHBOARD).map(|text| (DASHBOARD, text)));
    let mut faults = Vec::new();
    for (page, text) in pages {
        for name in names(text) {
            let of_series = SERIES.iter().find_map(|suffix| name.strip_suffix(suffix));
            let is_exported = [Some(name), of_series]
                .into_iter()
                .flatten()
                .any(|name| exported.contains(&name));
            if !is_exported && !is_crate(repository, name) {
                faults.push(format!(
                    "{page} names {PREFIX}{name}, which {SOURCES} does not export."
                ));
            }
        }
    }
    faults
}

/// Pages about Rust name crates: `trestle_http_client` is in `crates/http-client`.
fn is_crate(repository: &Repository, name: &str) -> bool {
    repository.has(&format!("crates/{}", name.replace('_', "-")))
}

/// What follows the prefix, wherever it begins a word.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let beginnings = text.match_indices(PREFIX).filter(|(at, _)| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        before.is_none_or(|c| !(c.is_ascii_alphanumeric() || "_-/".contains(c)))
    });
    beginnings
        .map(|(at, prefix)| word(text.get(at + prefix.len()..).unwrap_or_default()))
        .filter(|name| !name.is_empty())
}

/// The letters and `_` at the beginning of a text.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_lowercase() || c == '_'));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "page.head(\"route_parked\", \"gauge\", \"Changes that wait.\");\n\
        page.head(\"latency_seconds\", \"histogram\", \"x\");\n\
        #[cfg(test)]\nmod tests { \"not_a_metric\" }";
    const ROWS: &str =
        "| `trestle_route_parked` | gauge | `route` | x |\n| `trestle_latency_seconds` | histogram | | x |\n";

    fn faults_of(page: &str, dashboard: &str) -> Vec<String> {
        faults(&Repository::of(&[
            (PAGE, page),
            (DASHBOARD, dashboard),
            ("crates/server/src/metrics/routes.rs", SOURCE),
            ("crates/http-client/Cargo.toml", ""),
        ]))
    }

    #[test]
    fn a_page_with_one_row_for_each_metric_passes() {
        let page = format!("{ROWS}Use `trestle_http_client`, `_trestle_order` and `trestle_route_parked`.");
        let dashboard = "rate(trestle_latency_seconds_bucket[5m])";
        assert_eq!(faults_of(&page, dashboard), Vec::<String>::new());
    }

    #[test]
    fn a_metric_without_a_row_is_named() {
        let page = ROWS.lines().next().unwrap_or_default();
        assert_eq!(
            faults_of(page, ""),
            ["docs/operate/metrics.md has 0 rows of trestle_latency_seconds instead of one."]
        );
    }

    #[test]
    fn a_name_that_is_not_exported_is_named() {
        assert_eq!(
            faults_of(ROWS, "\"expr\": \"trestle_route_gone\""),
            [
                "docs/operate/grafana.json names trestle_route_gone, which crates/server/src/metrics does not export."
            ]
        );
        let page = format!("{ROWS}| `trestle_route_gone` | gauge | | x |\n");
        assert_eq!(faults_of(&page, "").len(), 1);
    }

    #[test]
    fn a_type_that_does_not_fit_the_name_is_named() {
        assert_eq!(faults_of(&ROWS.replace("gauge", "counter"), "").len(), 1);
    }
}
