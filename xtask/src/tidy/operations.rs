//! Every operation of the API, supported or not, is in COMPAT.md.

use crate::repository::Repository;

const COMPAT: &str = "COMPAT.md";
const LIST: &str = "crates/api/src/operation.rs";

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let (Some(compat), Some(list)) = (repository.text(COMPAT), repository.text(LIST)) else {
        return vec![format!("{COMPAT} or {LIST} is missing.")];
    };
    let rows: Vec<Vec<&str>> = compat
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(cells)
        .collect();
    let mut named = 0;
    let mut faults = Vec::new();
    for name in supported(list) {
        named += 1;
        if !rows.iter().any(|row| row.first() == Some(&name)) {
            faults.push(format!(
                "{COMPAT} has no row that begins with the operation {name}."
            ));
        }
    }
    for name in unsupported(list) {
        named += 1;
        if !rows
            .iter()
            .flatten()
            .any(|cell| cell.split(", ").any(|word| word == name))
        {
            faults.push(format!(
                "{COMPAT} has no row that lists the unsupported operation {name}."
            ));
        }
    }
    if named == 0 {
        faults.push(format!("{LIST} lists no operations; has its form changed?"));
    }
    faults
}

fn cells(row: &str) -> Vec<&str> {
    row.split('|')
        .map(|cell| cell.trim().trim_matches('`'))
        .skip(1)
        .collect()
}

/// Lines of the macro: `DynamoDb PutItem PutItemOutput put_item,`.
fn supported(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(
        |line| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["DynamoDb" | "Streams", name, output, method]
                if output.starts_with(name) && method.ends_with(',') =>
            {
                Some(*name)
            }
            _ => None,
        },
    )
}

/// The strings of `UNSUPPORTED`.
fn unsupported(list: &str) -> impl Iterator<Item = &str> {
    let lines = list
        .lines()
        .skip_while(|line| !line.contains("const UNSUPPORTED"))
        .skip(1);
    lines
        .take_while(|line| !line.contains(']'))
        .flat_map(|line| line.split('"').skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATIONS: &str = "            DynamoDb PutItem PutItemOutput put_item,\n            Streams GetRecords GetRecordsOutput get_records,\npub const UNSUPPORTED: &[&str] = &[\n    \"CreateBackup\",\n];\n";

    #[test]
    fn a_full_page_passes() {
        let found = faults(&Repository::of(&[
            (LIST, OPERATIONS),
            (
                COMPAT,
                "| PutItem | yes |\n| `GetRecords` | yes |\n| backups | DeleteBackup, CreateBackup |",
            ),
        ]));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn absent_operations_are_named() {
        let found = faults(&Repository::of(&[
            (LIST, OPERATIONS),
            (COMPAT, "PutItem\n| GetRecords | yes |\n| x | CreateBackups |"),
        ]));
        assert_eq!(found.len(), 2);
        assert!(
            found[0].ends_with("the operation PutItem.") && found[1].ends_with("operation CreateBackup."),
            "{found:?}"
        );
    }

    #[test]
    fn a_list_that_cannot_be_read_is_a_fault() {
        assert_eq!(
            faults(&Repository::of(&[(LIST, "fn main() {}"), (COMPAT, "")])).len(),
            1
        );
    }
}
