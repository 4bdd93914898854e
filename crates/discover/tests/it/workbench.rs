//! A file of NoSQL Workbench: rows in two layouts, facets, indexes and several tables.

use trestle_discover::Proposal;
use trestle_discover::import::{Format, import};
use trestle_model::Model;

use crate::reading::loaded;

fn lending() -> Proposal {
    import(Format::NosqlWorkbench, include_str!("data/lending.json")).unwrap()
}

fn template<'m>(model: &'m Model, entity: &str, key: &str) -> &'m str {
    let found = model.entity(entity);
    let entity = found.unwrap_or_else(|| panic!("no {entity}: {:?}", names(model)));
    entity.key_template(key).unwrap().source()
}

fn names(model: &Model) -> Vec<&str> {
    model.entities().iter().map(|entity| entity.name()).collect()
}

#[test]
fn facets_name_the_entities_whose_keys_and_attributes_they_describe() {
    let model = loaded(&lending());
    assert_eq!(
        names(&model),
        ["copy_of_book", "bk_cpy", "Reader", "LendingAudit"],
        "{:#?}",
        lending().text
    );
}

#[test]
fn two_layouts_are_kept_apart_and_the_second_is_said_to_be_one() {
    let proposal = lending();
    let model = loaded(&proposal);
    assert_eq!(template(&model, "copy_of_book", "pk"), "bk#{brnch}.{isbn}");
    assert_eq!(template(&model, "bk_cpy", "pk"), "bk#{brnch}:{isbn}:{lang}");
    assert_eq!(template(&model, "bk_cpy", "sk"), "cpy#c{cpyNr}");
    assert_eq!(template(&model, "bk_cpy", "brnch#Lang"), "{brnch}:{lang}");
    let said = "bk_cpy: perhaps another layout of `copy_of_book`: pk is \"bk#{brnch}:{isbn}:{lang}\" here and \
                \"bk#{brnch}.{isbn}\" there";
    assert!(
        proposal.notes.iter().any(|note| note == said),
        "{:#?}",
        proposal.notes
    );
    assert!(
        proposal
            .text
            .contains("# Perhaps another layout of `copy_of_book`"),
        "{}",
        proposal.text
    );
}

#[test]
fn a_facet_that_speaks_of_an_index_becomes_no_entity_and_is_mentioned() {
    let said = "no entity is called `copies_by_state`: it speaks of the index copies_in_branch, and may become an \
                access pattern";
    assert!(
        lending().notes.iter().any(|note| note == said),
        "{:#?}",
        lending().notes
    );
}

#[test]
fn tables_and_indexes_are_as_the_file_says() {
    let model = loaded(&lending());
    let tables: Vec<&str> = model.tables().iter().map(|table| table.table_name()).collect();
    assert_eq!(tables, ["Lending", "LendingAudit"]);
    let indexes: Vec<&str> = model.tables()[0]
        .indexes()
        .iter()
        .map(|index| index.name.as_str())
        .collect();
    assert_eq!(indexes, ["copies_in_branch", "copies_in_branch_by_language"]);
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    for (text, message) in [
        ("[", "is no JSON"),
        ("{}", "has no `DataModel`"),
        (r#"{"DataModel": [{}]}"#, "DataModel[0]: has no `TableName`"),
        (
            r#"{"DataModel": [{"TableName": "t"}]}"#,
            "DataModel[0].TableName: is \"t\", but a table's name has 3 to 255",
        ),
        (
            r#"{"DataModel": [{"TableName": "tab", "KeyAttributes": {"PartitionKey": {"AttributeName": "k", "AttributeType": "X"}}}]}"#,
            "DataModel[0].KeyAttributes.PartitionKey.AttributeType: is \"X\"",
        ),
    ] {
        let error = import(Format::NosqlWorkbench, text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn every_format_is_found_by_its_name() {
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
    }
    assert_eq!(Format::from_name("onetable"), None);
}
