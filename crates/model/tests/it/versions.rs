//! Semantic versions: they sort in keys and in `newest_by`, can be queried by ranges, and texts that could
//! not sort are refused.

use proptest::prelude::*;
use semver::Version;
use trestle_hook::{RowQuery, Rows};
use trestle_item::Item;
use trestle_model::{Bound, LayoutChange, Severity, load};

use crate::database::{Database, item, line};
use crate::rows::model;

const MODEL: &str = r##"
model = "packages"
[table.packages]
key = ["pk", "sk"]
entity_attribute = "kind"
[table.packages.index.by_version]
key = ["name", "versionKey"]
[entity.release]
table = "packages"
key = { pk = "package#{name}", sk = "v#{version}#{locale}", versionKey = "{version}" }
attributes = { name = "string", version = "semver", locale = "string" }
[entity.release.head]
key = { pk = "package#{name}#{locale}", sk = "head" }
newest_by = "version"
"##;

const COMPARISONS: [&str; 4] = ["lt", "le", "gt", "ge"];

/// The model with access patterns for each comparison: in the middle of a key, after a text and as the whole
/// key.
fn asked() -> String {
    let mut text = MODEL.to_owned();
    for comparison in COMPARISONS {
        for (name, place) in [("middle", "packages"), ("whole", "by_version")] {
            text += &format!(
                "[access.{name}_{comparison}]\nquery = {place:?}\nreturns = \"release\"\n\
                 where = {{ name = \"{{name}}\", version = {{ {comparison} = \"{{bound}}\" }} }}\n"
            );
        }
    }
    text += "[access.beginning]\nquery = \"packages\"\nreturns = \"release\"\n\
             where = { name = \"{name}\", version = { begins_with = \"{beginning}\" } }\n";
    text += "[access.between]\nquery = \"packages\"\nreturns = \"release\"\n\
             where = { name = \"{name}\", version = { between = [\"{low}\", \"{high}\"] } }\n";
    text
}

/// The same with nothing after the version, and with something before it.
fn asked_at_the_end() -> String {
    asked()
        .replace("sk = \"v#{version}#{locale}\"", "sk = \"v#{locale}#{version}\"")
        .replace(
            "name = \"{name}\", version = { l",
            "name = \"{name}\", locale = \"en\", version = { l",
        )
        .replace(
            "name = \"{name}\", version = { g",
            "name = \"{name}\", locale = \"en\", version = { g",
        )
        .replace(
            "name = \"{name}\", version = { b",
            "name = \"{name}\", locale = \"en\", version = { b",
        )
}

fn filled(text: &str, versions: &[&str]) -> Database {
    let mut database = Database::new(text);
    for version in versions {
        for locale in ["de", "en"] {
            let row = format!("kind=release name=p version={version} locale={locale}");
            database.put("packages", &row).unwrap();
        }
    }
    database
}

/// The versions that an access pattern finds, in the order of the keys.
fn found(database: &Database, pattern: &str, parameters: &str) -> Result<Vec<String>, String> {
    let bound = database.model().access(pattern).unwrap().bind(&item(parameters));
    let Bound::Query {
        table_name,
        index,
        key_condition,
        filter,
        ..
    } = bound.map_err(|refusal| refusal.to_string())?
    else {
        panic!("{pattern} is a query")
    };
    let sorted_by = if index.is_some() { "versionKey" } else { "sk" };
    let query = RowQuery {
        table: table_name,
        index,
        key_condition,
        filter,
        limit: None,
        is_guarded: false,
    };
    let mut rows = database.query(&query).map_err(|error| error.to_string())?;
    rows.retain(|row| row.get("locale") == Some(&"en".into()) && row.get("kind") == Some(&"release".into()));
    rows.sort_by_key(|row| text(row, sorted_by));
    Ok(rows.iter().map(|row| text(row, "version")).collect())
}

fn text(row: &Item, name: &str) -> String {
    row.get(name).unwrap().as_s().unwrap().to_owned()
}

fn holds(comparison: &str, version: &Version, bound: &Version) -> bool {
    match comparison {
        "lt" => version < bound,
        "le" => version <= bound,
        "gt" => version > bound,
        _ => version >= bound,
    }
}

/// What each comparison must find, by the `semver` crate.
fn check_ranges(database: &Database, versions: &[&str], bound: &str) {
    let parsed = Version::parse(bound).unwrap();
    for comparison in COMPARISONS {
        let mut expected: Vec<Version> = versions
            .iter()
            .map(|text| Version::parse(text).unwrap())
            .collect();
        expected.retain(|version| holds(comparison, version, &parsed));
        expected.sort();
        expected.dedup();
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        for place in ["middle", "whole"] {
            let pattern = format!("{place}_{comparison}");
            let found = found(database, &pattern, &format!("name=p bound={bound}")).unwrap();
            assert_eq!(found, expected, "{pattern} {bound}");
        }
    }
}

const VERSIONS: [&str; 10] = [
    "1.0.0",
    "1.0.0+b.2",
    "1.0.0-rc.1",
    "1.0.0-rc.10",
    "1.0.0-rc.2",
    "1.9.0",
    "1.10.0",
    "10.0.0",
    "2.0.0-0",
    "2.0.0",
];

#[test]
fn ranges_find_versions_by_precedence_wherever_they_stand_in_the_key() {
    for text in [asked(), asked_at_the_end()] {
        let database = filled(&text, &VERSIONS);
        for bound in VERSIONS
            .iter()
            .chain(&["0.0.0", "1.0.0-rc.5", "1.0.0+b.1", "99.0.0"])
        {
            check_ranges(&database, &VERSIONS, bound);
        }
    }
}

#[test]
fn a_beginning_is_the_first_numbers_and_anything_else_is_refused() {
    for text in [asked(), asked_at_the_end()] {
        let database = filled(&text, &VERSIONS);
        let beginning = |text: &str| found(&database, "beginning", &format!("name=p beginning={text}"));
        assert_eq!(beginning("1.9").unwrap(), ["1.9.0"]);
        assert_eq!(beginning("2").unwrap(), ["2.0.0-0", "2.0.0"]);
        assert_eq!(
            beginning("1.0.0").unwrap(),
            ["1.0.0-rc.1", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.0+b.2"]
        );
        let refused = beginning("1.0.0-rc").unwrap_err();
        assert!(
            refused.contains("the first one, two or three numbers of a version"),
            "{refused}"
        );
        let between = found(&database, "between", "name=p low=1.0.0-rc.2 high=1.9.0").unwrap();
        assert_eq!(
            between,
            ["1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.0+b.2", "1.9.0"]
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn ranges_of_any_versions_are_those_of_the_standard(
        versions in prop::collection::vec("[01]\\.(0|9|10)\\.0(-(0|1|a|a-)(\\.(1|12|b))?)?(\\+(0|00|b))?", 1..8),
        bound in "[01]\\.(0|9|10)\\.0(-(0|1|a|a-)(\\.(1|12|b))?)?(\\+(0|00|b))?",
    ) {
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        for text in [asked(), asked_at_the_end()] {
            check_ranges(&filled(&text, &versions), &versions, &bound);
        }
    }

    #[test]
    fn the_head_is_the_greatest_version(
        versions in prop::collection::vec("[01]\\.(0|9|10)\\.0(-(0|1|a|a-)(\\.(1|12|b))?)?(\\+(0|00|b))?", 1..8),
    ) {
        let texts: Vec<&str> = versions.iter().map(String::as_str).collect();
        let database = filled(MODEL, &texts);
        let head = database.row("packages", "pk=package#p#en sk=head").unwrap();
        let newest = versions.iter().map(|text| Version::parse(text).unwrap()).max().unwrap();
        prop_assert_eq!(text(&head, "version"), newest.to_string());
        prop_assert_eq!(database.wrong(), Vec::<String>::new());
    }
}

#[test]
fn a_key_tells_the_version_and_the_version_the_key() {
    let mut database = Database::new(MODEL);
    database
        .put("packages", "kind=release name=p version=1.10.0-rc.1 locale=en")
        .unwrap();
    let row = database
        .row("packages", "pk=package#p sk=v#1.a10.0-~rc,1#en")
        .unwrap();
    assert_eq!(
        line(&row, &["kind", "pk", "versionKey"]),
        "locale=en name=p sk=v#1.a10.0-~rc,1#en version=1.10.0-rc.1"
    );
    database
        .put("packages", "kind=release pk=package#p sk=v#2.0.0~#en name=p")
        .unwrap();
    let read = database
        .row("packages", "name=p version=2.0.0 locale=en kind=release")
        .unwrap();
    assert_eq!(text(&read, "version"), "2.0.0");
    for (sk, why) in [("v#2.0.0#en", "v#2.0.0#en"), ("v#a2.0.0~#en", "v#a2.0.0~#en")] {
        let refused = database.put(
            "packages",
            &format!("kind=release pk=package#p sk={sk} name=p version=2.0.0 locale=en"),
        );
        assert!(refused.clone().unwrap_err().contains(why), "{refused:?}");
    }
}

#[test]
fn a_text_that_is_no_version_is_refused_with_its_fault() {
    let mut database = Database::new(MODEL);
    for (version, fault) in [
        ("v1.0.0", "unexpected character 'v'"),
        (
            "1.0",
            "unexpected end of input while parsing minor version number",
        ),
        ("1.0.0-01", "invalid leading zero in pre-release identifier"),
    ] {
        let row = format!("kind=release name=p version={version} locale=en");
        let refused = database.put("packages", &row).unwrap_err();
        assert!(refused.contains(fault), "{refused}");
        assert!(
            refused.contains("must be a semantic version (semver 2.0.0)"),
            "{refused}"
        );
    }
}

#[test]
fn what_could_not_sort_does_not_load() {
    for (from, to, says) in [
        (
            "sk = \"v#{version}#{locale}\"",
            "sk = \"v#{version}:{locale}\"",
            "versions would not sort, because ':' sorts after \"+\"",
        ),
        (
            "sk = \"v#{version}#{locale}\"",
            "sk = \"v#{version}.{locale}\"",
            "which a value of type semver may contain",
        ),
        (
            "key = [\"name\", \"versionKey\"]",
            "key = [\"name\", \"version\"]",
            "is the attribute itself, which is of type semver and does not sort as it is written",
        ),
        (
            "newest_by = \"version\"",
            "newest_by = \"version\"\n[access.filtered]\nquery = \"packages\"\nreturns = \"release.head\"\n\
             where = { name = \"{name}\", locale = \"{locale}\", version = { lt = \"{bound}\" } }",
            "versions sort only in a sort key",
        ),
        (
            "newest_by = \"version\"",
            "newest_by = \"version\"\n[access.wrong]\nquery = \"packages\"\nreturns = \"release\"\n\
             where = { name = \"{name}\", version = { begins_with = \"1.x\" } }",
            "such as \"1.4\", but is \"1.x\"",
        ),
        (
            "version = \"semver\"",
            "version = { type = \"semver\", default = \"1\" }",
            "must be a semantic version",
        ),
    ] {
        assert!(MODEL.contains(from), "{from}");
        let loaded = load(&MODEL.replacen(from, to, 1));
        let said = loaded
            .problems
            .iter()
            .any(|problem| problem.severity == Severity::Error && problem.message.contains(says));
        let shown: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        assert!(said, "{says}: {}", shown.join("\n"));
    }
}

#[test]
fn in_a_partition_key_any_other_separator_may_stand_behind_a_version() {
    let text = MODEL.replace(
        "pk = \"package#{name}\", sk = \"v#{version}#{locale}\"",
        "pk = \"{name}:{version}:{locale}\", sk = \"release\"",
    );
    assert_ne!(text, MODEL);
    let mut database = Database::new(&text);
    database
        .put("packages", "kind=release name=p version=1.0.0 locale=en")
        .unwrap();
    assert!(database.row("packages", "pk=p:1.0.0~:en sk=release").is_some());
}

fn change(from: &str, to: &str) -> Result<LayoutChange, String> {
    let change = LayoutChange::between(&std::sync::Arc::new(model(from)), &std::sync::Arc::new(model(to)));
    change.map_err(|hindrances| {
        hindrances
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    })
}

#[test]
fn keys_of_texts_become_keys_of_versions_where_the_two_can_be_told_apart() {
    let before = MODEL.replace("version = \"semver\"", "version = \"string\"");
    let refused = change(&before, MODEL).unwrap_err();
    assert!(
        refused.contains("such a row could lie in either place"),
        "{refused}"
    );
    assert!(
        refused.contains("begin the present key with a text of its own"),
        "{refused}"
    );
    let now = MODEL.replace("sk = \"v#{version}", "sk = \"version#{version}");
    assert_ne!(now, MODEL);
    let out = change(&before, &now).unwrap();
    let mut old = Database::new(&before);
    for version in ["1.10.0", "latest"] {
        old.put(
            "packages",
            &format!("kind=release name=p version={version} locale=en"),
        )
        .unwrap();
    }
    let row = old.row("packages", "pk=package#p sk=v#1.10.0#en").unwrap();
    let moved = out.renew("packages", &row).unwrap();
    assert_eq!(text(&moved, "sk"), "version#1.a10.0~#en");
    assert_eq!(text(&moved, "versionKey"), "1.a10.0~");
    let stuck = old.row("packages", "pk=package#p sk=v#latest#en").unwrap();
    let refused = out.renew("packages", &stuck).unwrap_err().to_string();
    assert!(refused.contains("must be a semantic version"), "{refused}");
}
