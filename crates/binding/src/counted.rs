//! Numbers of things in reports.

/// A number with what it counts: `1 row`, `2 rows`.
#[must_use]
pub fn counted(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_singular() {
        let said = [0, 1, 2].map(|number| counted(number, "entry", "entries"));
        assert_eq!(said, ["0 entries", "1 entry", "2 entries"]);
    }
}
