//! The destinations in docs/reference/targets.md can be opened as written there.

use crate::batches::{surroundings, try_open};

#[test]
fn every_destination_of_the_documentation_opens() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/targets.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut opened = 0;
    for line in page.lines().filter(|line| line.starts_with("target = ")) {
        let route: toml::Table = line.parse().unwrap();
        let destination = serde_json::to_value(&route["target"]).unwrap();
        // A machine without certificates cannot use https; that is not a fault of the page.
        for fault in try_open(destination, &surroundings()).err().unwrap_or_default() {
            assert!(
                fault.message.contains("no certificate authorities"),
                "{line}: {fault}"
            );
        }
        opened += 1;
    }
    assert_eq!(opened, 4);
}
