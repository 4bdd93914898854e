//! The text of a model without its routes, because the program runs the routes itself.

/// The text without the sections of routes. The rest has the same meaning for rows.
pub(super) fn without_routes(text: &str) -> String {
    let Ok(mut wanted) = text.parse::<toml::Table>() else {
        // The parser of the result reports the errors.
        return text.to_owned();
    };
    if wanted.remove("route").is_none() {
        return text.to_owned();
    }
    let mut rest = String::new();
    let mut is_route = false;
    for line in text.split_inclusive('\n') {
        if let Some(header) = line.trim_start().strip_prefix('[') {
            let name = header.trim_start_matches('[').trim_start();
            is_route = name.starts_with("route.") || name.starts_with("route]");
        }
        if !is_route {
            rest += line;
        }
    }
    // A line that looks like a header may be inside a text, so the result is checked.
    match rest.parse::<toml::Table>() {
        Ok(left) if left == wanted => rest,
        _ => wanted.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_go_and_the_rest_stays_as_it_was_written() {
        let text = "# A model.\nname = \"m\"\n\n[route.a]\nentity = \"e\"\n[route.a.input]\nx = 1\n\n[[table]]\nname = \"t\" # Its table.\n";
        assert_eq!(
            without_routes(text),
            "# A model.\nname = \"m\"\n\n[[table]]\nname = \"t\" # Its table.\n"
        );
        assert_eq!(without_routes("name = \"m\"\n"), "name = \"m\"\n");
    }

    #[test]
    fn what_only_looks_like_a_section_makes_no_difference() {
        let text = "name = \"\"\"\n[route.a]\nno section\n\"\"\"\n[route.b]\nx = 1\n";
        let rest: toml::Table = without_routes(text).parse().unwrap();
        assert_eq!(rest["name"].as_str(), Some("[route.a]\nno section\n"));
        assert!(!rest.contains_key("route"));
    }
}
