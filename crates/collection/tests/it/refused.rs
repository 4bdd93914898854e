//! What is refused, with the messages.

use trestle_api::{ErrorKind, Wait};
use trestle_collection::{CollectionBookmark, CollectionRows, StepBounds};
use trestle_item::{AttributeValue, Item, ScalarType};
use trestle_model::Model;

use crate::support::{RUNS, create, empty, keys, partition, with_rows};

fn refusal(db: &trestle_embedded::Embedded, table: &str, value: AttributeValue) -> trestle_api::Error {
    CollectionRows::of_partition(db, table, value).wait().unwrap_err()
}

#[test]
fn own_tables_and_unknown_tables_are_refused() {
    let db = empty();
    let own = refusal(&db, "_trestle.queues", "q".into());
    assert!(own.message().contains("belongs to Trestle"), "{own}");
    assert_eq!(
        refusal(&db, "nowhere", "q".into()).kind(),
        ErrorKind::ResourceNotFound
    );
}

#[test]
fn values_that_do_not_fit_the_key_are_named() {
    let db = with_rows([]);
    create(&db, "N", &[("id", ScalarType::N), ("at", ScalarType::N)]);
    create(&db, "H", &[("pk", ScalarType::S)]);
    let said = |error: trestle_api::Error| error.message().to_owned();
    assert_eq!(
        said(refusal(&db, "N", "seven".into())),
        "The value \"seven\" for id is not a number"
    );
    assert!(said(refusal(&db, "T", 7_i64.into())).contains("Key pk is of type S"));
    assert!(said(refusal(&db, "T", "".into())).contains("is empty"));
    let prefix = |table: &str, pk: &str| {
        let rows = CollectionRows::of_partition(&db, table, pk.into())
            .wait()
            .unwrap();
        said(rows.beginning_with("a".into()).unwrap_err())
    };
    assert!(prefix("N", "7").contains("sort key at of table N is a number"));
    assert!(prefix("H", "a").contains("has no sort key"));
}

#[test]
fn a_bookmark_of_another_collection_deletes_nothing() {
    let db = with_rows((0..4).flat_map(|n| [format!("p/{n}"), format!("q/{n}")]));
    let bounds = StepBounds {
        rows: 2,
        ..StepBounds::default()
    };
    let of_p = partition(&db, "T", "p").delete(&db, None, bounds).wait().unwrap();
    let of_q = partition(&db, "T", "q");
    assert!(of_q.delete(&db, of_p.next.as_ref(), bounds).wait().is_err());
    let nonsense = CollectionBookmark::from("nonsense".to_owned());
    assert!(of_q.delete(&db, Some(&nonsense), bounds).wait().is_err());
    assert_eq!(keys(&db, "T"), ["p/2", "p/3", "q/0", "q/1", "q/2", "q/3"]);
}

#[test]
fn an_access_pattern_must_be_known_be_a_query_and_have_its_parameters() {
    let text = format!(
        "{RUNS}\n[access.run]\nget = \"run\"\nwhere = {{ run = \"{{run}}\" }}\n\
         [access.everything]\nquery = \"runs\"\nscan = true\nreturns = \"run\"\n"
    );
    let model: Model = trestle_model::load(&text).model.unwrap();
    let said = |access: &str, parameters: Item| {
        let refused = CollectionRows::of_access(&model, access, &parameters).unwrap_err();
        refused.message().to_owned()
    };
    let run = || Item::from([("run", "r")]);
    assert!(
        said("rows", run()).contains("no access pattern rows; it has"),
        "{}",
        said("rows", run())
    );
    assert!(said("run", run()).contains("reads one row"));
    assert!(
        said("steps_of_run", Item::new()).contains("run"),
        "what is missing is named"
    );
}
