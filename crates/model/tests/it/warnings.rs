//! Models that load with a warning, because they may surprise their authors.

use trestle_model::{Severity, load};

fn warnings(text: &str) -> Vec<String> {
    let loaded = load(text);
    assert!(loaded.model.is_some(), "{:#?}", loaded.problems);
    assert!(
        loaded
            .problems
            .iter()
            .all(|problem| problem.severity == Severity::Warning)
    );
    loaded.problems.iter().map(ToString::to_string).collect()
}

const BASE: &str = "model = \"m\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\n[table.rows.index.by_a]\nkey = [\"a\"]\nproject = \"keys\"\n";

#[test]
fn an_unpadded_number_in_a_sort_key() {
    let text = |sk: &str| {
        format!(
            "{BASE}[entity.e]\ntable = \"rows\"\nkey = {{ pk = \"{{n}}\", sk = \"v{sk}\" }}\nattributes = {{ n = \"integer\" }}\n"
        )
    };
    let found = warnings(&text("{n}"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("entity `e`: key `sk` = \"v{n}\" sorts the number `n` as text")
            && found[0].contains("{n:08}")
    );
    assert_eq!(warnings(&text("{n:08}")), Vec::<String>::new());
}

#[test]
fn an_access_pattern_that_scans_and_one_that_need_not() {
    let entity =
        "[entity.e]\ntable = \"rows\"\nkey = { pk = \"{a}\", sk = \"x\" }\nattributes = { a = \"string\" }\n";
    let text = |more: &str| {
        format!("{BASE}{entity}[access.all]\nquery = \"rows\"\nreturns = \"e\"\nscan = true\n{more}")
    };
    assert!(warnings(&text(""))[0].contains("access `all` scans table `rows`"));
    assert!(warnings(&text("where = { a = \"{a}\" }\n"))[0].contains("need not: it is one Query"));
}

#[test]
fn characters_that_are_allowed_and_then_refused() {
    let text = format!(
        "{BASE}[entity.e]\ntable = \"rows\"\nkey = {{ pk = \"{{a}}#x\", sk = \"x\" }}\nattributes = {{ a = {{ type = \"string\", chars = \"a-z#\" }} }}\n"
    );
    assert!(warnings(&text)[0].contains("ends `{a}` at '#', which `chars` allows in it"));
}

#[test]
fn rows_of_others_that_an_index_cannot_filter_out() {
    let text = format!(
        "{}[entity.e]\ntable = \"rows\"\nkey = {{ pk = \"e#{{a}}\", sk = \"x\" }}\nattributes = {{ a = \"string\" }}\n[entity.f]\ntable = \"rows\"\nkey = {{ pk = \"f#{{a}}\", sk = \"x\" }}\nattributes = {{ a = \"string\" }}\n[access.es]\nquery = \"by_a\"\nwhere = {{ a = \"{{a}}\" }}\nreturns = \"e\"\n",
        BASE.replace(
            "key = [\"pk\", \"sk\"]",
            "key = [\"pk\", \"sk\"]\nentity_attribute = \"kind\""
        )
    );
    assert!(
        warnings(&text)[0]
            .contains("also reads rows of `f`, and index `by_a` of table `rows` does not project `kind`")
    );
}
