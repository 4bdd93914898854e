//! Source files have a maximum length.

use crate::repository::Repository;

const LINES_MAX: usize = 900;
const SOURCES: &[&str] = &["rs", "py", "mjs", "js", "css"];

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let sources = SOURCES
        .iter()
        .flat_map(|extension| repository.with_extension(extension));
    let long = sources
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX);
    long.map(|(path, lines)| {
        format!("{path} has {lines} lines, more than {LINES_MAX}; cut it at a natural seam.")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_too_many_is_a_fault() {
        let (fits, long) = ("\n".repeat(LINES_MAX), "\n".repeat(LINES_MAX + 1));
        let found = faults(&Repository::of(&[
            ("a.rs", &fits),
            ("b.rs", &long),
            ("data.json", &long),
        ]));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("b.rs has 901 lines"), "{found:?}");
    }
}
