//! The five models of the repository, inferred again from rows that were made with them.

use proptest::prelude::*;
use trestle_model::{Model, load};

use crate::chance::Chance;
use crate::reading::{loaded, makes_every_key_again};
use crate::sample::{facts, rows};

const NAMES: [&str; 5] = ["klayers", "littlehorse", "manhunt", "reindexer", "warehouse"];

fn system(name: &str) -> Model {
    let path = format!("{}/../../models/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    load(&std::fs::read_to_string(path).unwrap()).model.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_inferred_knows_every_row_and_makes_its_keys_again(seed in any::<u64>(), most in 1_usize..20) {
        every_system_is_known_again(seed, most);
    }
}

/// The type of an event was once taken for a tag here, and an event without a type could be any of them.
#[test]
fn events_without_a_type_are_known_among_events_with_one() {
    every_system_is_known_again(12_208_665_793_621_093_018, 13);
}

/// Infers a model from up to `most` rows of each entity, for each table of the systems.
fn every_system_is_known_again(seed: u64, most: usize) {
    for name in NAMES {
        let model = system(name);
        for table in model.tables() {
            let facts = facts(table);
            let rows = rows(&model, table, most, &mut Chance::new(seed));
            let proposal = trestle_discover::infer(&facts, rows.clone());
            makes_every_key_again(&loaded(&proposal), &facts, &rows, &proposal.text);
        }
    }
}

/// The templates of the table's key, sorted.
fn templates(model: &Model) -> Vec<String> {
    let mut found: Vec<String> = model
        .entities()
        .iter()
        .map(|entity| {
            let sources: Vec<&str> = entity.table_key().iter().map(|key| key.source()).collect();
            sources.join(" ")
        })
        .collect();
    found.sort();
    found
}

#[test]
fn templates_that_the_rows_show_are_found_as_they_were_written() {
    for name in ["klayers", "manhunt"] {
        let model = system(name);
        let table = &model.tables()[0];
        let facts = facts(table);
        let rows = rows(&model, table, 40, &mut Chance::new(5));
        let proposal = trestle_discover::infer(&facts, rows);
        assert_eq!(
            templates(&loaded(&proposal)),
            templates(&model),
            "{}",
            proposal.text
        );
    }
}

#[test]
fn a_table_without_rows_gives_a_model_without_entities_and_a_way_out() {
    let model = system("manhunt");
    let proposal = trestle_discover::infer(&facts(&model.tables()[0]), []);
    assert_eq!(loaded(&proposal).tables().len(), 1);
    assert_eq!(
        proposal.notes,
        ["table manhunt: no rows, and so no entities; write some rows first, or describe them yourself"]
    );
}
