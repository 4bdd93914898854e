//! The requirements on every proposal.

use trestle_discover::{Proposal, TableFacts};
use trestle_item::{AttributeValue, Item};
use trestle_model::{Entity, Model};

/// The model of a proposal, which must load.
pub(crate) fn loaded(proposal: &Proposal) -> Model {
    let loaded = trestle_model::load(&proposal.text);
    let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    loaded
        .model
        .unwrap_or_else(|| panic!("{}\n{}", problems.join("\n"), proposal.text))
}

/// Panics unless the model recognises every row and derives the same keys for it.
pub(crate) fn makes_every_key_again(model: &Model, facts: &TableFacts, rows: &[Item], text: &str) {
    for row in rows {
        let entity = model.recognise(&facts.name, row).unwrap();
        let entity = entity.unwrap_or_else(|| panic!("no entity for {row:?} in\n{text}"));
        makes_its_table_key(entity, row, text);
        makes_its_index_keys(model, facts, entity, row, text);
    }
}

fn makes_its_table_key(entity: &Entity, row: &Item, text: &str) {
    let identity = entity.identify(row);
    let identity = identity.unwrap_or_else(|| panic!("{} cannot read {row:?}\n{text}", entity.name()));
    for template in entity.table_key() {
        let made = template.render(&identity).unwrap();
        assert_eq!(Some(&made), row.get(template.attribute()), "{text}");
    }
}

fn makes_its_index_keys(model: &Model, facts: &TableFacts, entity: &Entity, row: &Item, text: &str) {
    let is_made = |name: &str| {
        let declared = entity.attribute(name).is_some();
        !declared && entity.index_keys().iter().any(|key| key.attribute() == name)
    };
    let mut bare = row.clone();
    bare.retain(|name, _| !is_made(name));
    let derived = model.derive(&facts.name, None, &bare, 0);
    let derived = derived.unwrap_or_else(|refusal| panic!("{refusal}: {row:?}\n{text}"));
    derived.unwrap().apply(&mut bare);
    let made = |item: &Item| -> Vec<(String, AttributeValue)> {
        let made = item.iter().filter(|(name, _)| is_made(name));
        made.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    assert_eq!(made(&bare), made(row), "{text}");
}
