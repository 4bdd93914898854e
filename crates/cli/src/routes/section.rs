//! Removes one route from a route file and leaves the rest as it was written.

use trestle_events::{Route, read_routes};

/// The text without the sections of a route; `None` if they cannot be separated from the rest.
pub(super) fn without(text: &str, name: &str) -> Option<String> {
    let mut rest = String::new();
    let mut is_its = false;
    // Comments between two sections belong to the second.
    let mut comments = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(header) = header(line) {
            is_its = is_of(header, name);
            if !is_its {
                rest += &comments;
            }
            comments.clear();
        }
        let is_comment = line.trim().is_empty() || line.trim_start().starts_with('#');
        match (is_its, is_comment) {
            (false, _) => rest += line,
            (true, true) => comments += line,
            (true, false) => comments.clear(),
        }
    }
    // A text value may contain a line that looks like a header, so the result is checked.
    let others: Vec<Route> = routes(text)?
        .into_iter()
        .filter(|route| route.name != name)
        .collect();
    (routes(&rest)? == others).then_some(rest)
}

/// The text between the brackets of a header.
fn header(line: &str) -> Option<&str> {
    let line = line.trim().strip_prefix('[')?;
    let end = line.find(']')?;
    line.get(..end)
}

/// Whether a header belongs to the route, or to a part of it.
fn is_of(header: &str, name: &str) -> bool {
    let mut words = header
        .split('.')
        .map(|word| word.trim().trim_matches(['"', '\'']));
    words.next() == Some("route") && words.next() == Some(name)
}

/// The routes of a text without errors, except for entities that are defined in models.
fn routes(text: &str) -> Option<Vec<Route>> {
    let table: toml::Table = text.parse().ok()?;
    let count = table
        .get("route")
        .map_or(Some(0), |routes| Some(routes.as_table()?.len()))?;
    let routes = read_routes(text, &[], &|_| Vec::new()).routes;
    (routes.len() == count).then_some(routes)
}

#[cfg(test)]
mod tests {
    use super::without;

    const FILE: &str = "# Ours.\n[route.a]\ntable = \"t\"\ntarget = { handler = \"h\" }\n[route.a.backoff]\nfirst = \"1s\"\n\n\
                        # About b.\n[route.b]\ntable = \"t\"\ntarget = { handler = \"h\" }\n";

    #[test]
    fn the_rest_stays_as_it_was_written() {
        let without_a = "# Ours.\n\n# About b.\n[route.b]\ntable = \"t\"\ntarget = { handler = \"h\" }\n";
        assert_eq!(without(FILE, "a").as_deref(), Some(without_a));
        let without_b = without(FILE, "b").unwrap();
        assert!(without_b.starts_with("# Ours.\n[route.a]") && !without_b.contains("route.b"));
    }

    #[test]
    fn what_cannot_be_told_from_the_rest_is_left_alone() {
        let inline = "route = { a = { table = \"t\", target = { handler = \"h\" } } }\n";
        assert_eq!(without(inline, "a"), None);
        let hidden = "[route.a]\ntable = \"t\"\ntarget = { handler = \"h\" }\ninput = '''\n[route.b]\n'''\n";
        assert_eq!(without(hidden, "a"), None);
        assert_eq!(without("not TOML", "a"), None);
    }
}
