//! Every operation of the API, supported or not, is in COMPAT.md.

use crate::repository::Repository;

const COMPAT: &str = "COMPAT.md";
const LIST: &str = "crates/api/src/operation.rs";

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let (Some(compat), Some(list)) = (repository.text(COMPAT), repository.text(LIST)) else {
        return vec![format!("{COMPAT} or {LIST} is missing.")];
    };
    let named: Vec<_> = supported(list).chain(unsupported(list)).collect();
    if named.is_empty() {
        return vec![format!("{LIST} lists no operations; has its form changed?")];
    }
    let absent = named.iter().filter(|name| !compat.contains(&format!("`{name}`")));
    absent
        .map(|name| format!("The operation `{name}` is not in {COMPAT}."))
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
            (COMPAT, "`PutItem` `GetRecords` `CreateBackup`"),
        ]));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn absent_operations_are_named() {
        let found = faults(&Repository::of(&[
            (LIST, OPERATIONS),
            (COMPAT, "PutItem and `GetRecords`"),
        ]));
        assert_eq!(
            found,
            [
                "The operation `PutItem` is not in COMPAT.md.",
                "The operation `CreateBackup` is not in COMPAT.md."
            ]
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
