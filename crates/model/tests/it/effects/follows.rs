//! Heads that follow a row: all of a version move together, or none.

use proptest::prelude::*;
use trestle_model::audit::AuditOptions;
use trestle_model::{Severity, load};

use crate::database::{Database, Write, line};

/// Builds of a version in several locales; the row of `release` says which version is live.
const BUILDS: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.build]
table = "rows"
key = { pk = "build#{name}#{env}", sk = "{version}#{locale}" }
updated = "at"
[entity.build.attributes]
name = "string"
env = "string"
version = "semver"
locale = "string"
url = { type = "string", optional = true }
state = { type = "string", optional = true }
[entity.build.head]
key = { pk = "head#{name}#{env}", sk = "locale#{locale}" }
follows = "release"
omit = ["state"]
previous = { before = "version" }
promote = { set = { state = "live" } }
demote = { remove = ["state"] }
[entity.release]
table = "rows"
key = { pk = "head#{name}#{env}", sk = "release" }
attributes = { name = "string", env = "string", version = { type = "semver", optional = true }, by = { type = "string", optional = true } }
"##;

fn build(version: &str, locale: &str) -> String {
    format!("kind=build name=p env=prod version={version} locale={locale} url={version}/{locale}")
}

fn release(version: &str) -> String {
    format!("kind=release name=p env=prod version={version}")
}

fn filled(builds: &[(&str, &str)]) -> Database {
    let mut database = Database::new(BUILDS);
    for (version, locale) in builds {
        database.put("rows", &build(version, locale)).unwrap();
    }
    database
}

/// The heads as `locale:version<before`, and the builds that are marked as live.
fn state(database: &Database) -> String {
    let text = |row: &trestle_item::Item, name: &str| {
        let value = row.get(name).and_then(|value| value.as_s());
        value.unwrap_or("-").to_owned()
    };
    let of = |kind: &str| {
        let kind = kind.into();
        database
            .all("rows")
            .filter(move |row| row.get("kind") == Some(&kind))
    };
    let heads = of("build.head").map(|row| {
        assert_eq!(
            text(row, "url"),
            format!("{}/{}", text(row, "version"), text(row, "locale"))
        );
        format!(
            "{}:{}<{}",
            text(row, "locale"),
            text(row, "version"),
            text(row, "before")
        )
    });
    let heads: Vec<String> = heads.collect();
    let live = of("build").filter(|row| text(row, "state") == "live");
    let live: Vec<String> = live
        .map(|row| format!("{}/{}", text(row, "version"), text(row, "locale")))
        .collect();
    format!("{} [{}]", heads.join(" "), live.join(" "))
}

const THREE: [(&str, &str); 5] = [
    ("1.0.0", "de"),
    ("1.0.0", "en"),
    ("1.10.0", "en"),
    ("1.10.0", "de"),
    ("1.10.0", "fr"),
];

#[test]
fn all_heads_of_a_version_move_with_one_write_and_back() {
    let mut database = filled(&THREE);
    assert_eq!(state(&database), " []", "no build becomes a head by itself");
    database.put("rows", &release("1.0.0")).unwrap();
    assert_eq!(state(&database), "de:1.0.0<- en:1.0.0<- [1.0.0/de 1.0.0/en]");
    let key = "kind=release name=p env=prod";
    database
        .update("rows", key, "version=1.10.0 by=ann", &[])
        .unwrap();
    assert_eq!(
        state(&database),
        "de:1.10.0<1.0.0 en:1.10.0<1.0.0 fr:1.10.0<- [1.10.0/de 1.10.0/en 1.10.0/fr]"
    );
    database.update("rows", key, "version=1.0.0", &[]).unwrap();
    assert_eq!(
        state(&database),
        "de:1.0.0<1.10.0 en:1.0.0<1.10.0 [1.0.0/de 1.0.0/en]",
        "a locale that the version lacks has no head"
    );
    database.update("rows", key, "by=bob", &["version"]).unwrap();
    assert_eq!(
        state(&database),
        " []",
        "a row that names no version has no heads"
    );
    database.update("rows", key, "version=1.0.0", &[]).unwrap();
    database.delete("rows", key).unwrap();
    assert_eq!(state(&database), " []");
    assert_eq!(database.wrong(), Vec::<String>::new());
}

#[test]
fn a_version_without_rows_is_refused_and_nothing_moves() {
    let mut database = filled(&THREE);
    database.put("rows", &release("1.0.0")).unwrap();
    let before = database.clone();
    let refused = database.put("rows", &release("2.0.0")).unwrap_err();
    assert!(
        refused.contains("Entity release can only be pointed at an existing row of entity build")
            && refused.contains("version \"2.0.0\""),
        "{refused}"
    );
    assert_eq!(database, before);
}

#[test]
fn rows_of_the_version_come_go_and_change_with_their_heads() {
    let mut database = filled(&THREE);
    database.put("rows", &release("1.0.0")).unwrap();
    database.put("rows", &build("1.0.0", "fr")).unwrap();
    database
        .delete("rows", "kind=build name=p env=prod version=1.0.0 locale=de")
        .unwrap();
    assert_eq!(state(&database), "en:1.0.0<- fr:1.0.0<- [1.0.0/en 1.0.0/fr]");
    database
        .update(
            "rows",
            "kind=build name=p env=prod version=1.0.0 locale=en",
            "note=x",
            &["state"],
        )
        .unwrap();
    let head = database.row("rows", "pk=head#p#prod sk=locale#en").unwrap();
    assert_eq!(
        line(&head, &["kind", "pk", "sk", "at"]),
        "env=prod locale=en name=p note=x url=1.0.0/en version=1.0.0"
    );
    assert_eq!(state(&database), "en:1.0.0<- fr:1.0.0<- [1.0.0/en 1.0.0/fr]");
}

#[test]
fn only_the_row_that_heads_follow_moves_them() {
    let mut database = filled(&THREE);
    database.put("rows", &release("1.0.0")).unwrap();
    for refused in [
        database.update("rows", "pk=head#p#prod sk=locale#en", "version=1.10.0", &[]),
        database.delete("rows", "pk=head#p#prod sk=locale#en"),
        database.put("rows", "kind=build.head name=p env=prod locale=fr version=1.10.0"),
    ] {
        let refused = refused.unwrap_err();
        assert!(
            refused.contains(
                "Rows of entity build.head are kept by the database; write those of entity release instead"
            ),
            "{refused}"
        );
    }
    let unmarked = database.update(
        "rows",
        "kind=build name=p env=prod version=1.10.0 locale=en",
        "state=live",
        &[],
    );
    unmarked.unwrap();
    assert_eq!(state(&database), "de:1.0.0<- en:1.0.0<- [1.0.0/de 1.0.0/en]");
}

#[test]
fn a_row_that_does_not_change_is_not_written() {
    let text = BUILDS
        .replace("promote = { set = { state = \"live\" } }\n", "")
        .replace("demote = { remove = [\"state\"] }\n", "");
    let mut database = Database::new(&text);
    for (version, locale) in THREE {
        database.put("rows", &build(version, locale)).unwrap();
    }
    database.put("rows", &release("1.0.0")).unwrap();
    database.now_ms += 1_000;
    database.put("rows", &release("1.10.0")).unwrap();
    assert_eq!(database.followed, 3, "three heads, and no build");
}

#[test]
fn a_transaction_moves_to_a_version_that_it_writes_in_any_order() {
    let first = build("1.10.0", "en");
    let second = build("1.10.0", "fr");
    let changed = build("1.0.0", "en") + " note=x";
    let pointer = release("1.10.0");
    let mut writes = [
        Write::Put("rows", &pointer),
        Write::Put("rows", &first),
        Write::Put("rows", &second),
        Write::Put("rows", &changed),
        Write::Delete("rows", "kind=build name=p env=prod version=1.0.0 locale=de"),
    ];
    let mut results = Vec::new();
    for _ in 0..writes.len() {
        writes.rotate_left(1);
        let mut database = filled(&THREE[..2]);
        database.put("rows", &release("1.0.0")).unwrap();
        database.transact(&writes).unwrap();
        assert_eq!(
            state(&database),
            "en:1.10.0<1.0.0 fr:1.10.0<- [1.10.0/en 1.10.0/fr]"
        );
        assert_eq!(database.wrong(), Vec::<String>::new());
        results.push(database.rows);
    }
    results.dedup();
    assert_eq!(results.len(), 1, "the order makes no difference");
}

#[test]
fn more_rows_than_can_move_together_are_refused() {
    let mut database = Database::new(BUILDS);
    for locale in 0..1_001 {
        database.put_raw("rows", &build("1.0.0", &format!("l{locale}")));
    }
    let refused = database.put("rows", &release("1.0.0")).unwrap_err();
    assert!(
        refused.contains("names 1001 rows of entity build, and at most 1000 heads move together"),
        "{refused}"
    );
    database
        .delete("rows", "kind=build name=p env=prod version=1.0.0 locale=l0")
        .unwrap();
    database.put("rows", &release("1.0.0")).unwrap();
    assert_eq!(database.all("rows").count(), 1_000 + 1_000 + 1);
}

#[test]
fn heads_that_disagree_with_their_pointer_are_found_and_mended() {
    let mut right = filled(&THREE);
    right.put("rows", &release("1.0.0")).unwrap();
    for (breaks, what) in [
        ("missing", "missing-head build.head"),
        ("behind", "head-behind build.head"),
        ("stray", "stray-head build.head"),
        ("content", "wrong-head build.head"),
        ("mark", "head-mark build"),
    ] {
        let mut database = right.clone();
        let find = |database: &Database, pk: &str, sk: &str| {
            let wanted = |row: &trestle_item::Item| {
                row.get("pk") == Some(&pk.into()) && row.get("sk") == Some(&sk.into())
            };
            let mut rows = database.rows.iter();
            rows.find(|(_, row)| wanted(row))
                .map(|(place, _)| place.clone())
                .unwrap()
        };
        let head = find(&database, "head#p#prod", "locale#en");
        match breaks {
            "missing" => drop(database.rows.remove(&head)),
            "behind" => database.put_raw(
                "rows",
                "kind=build.head name=p env=prod locale=en version=1.10.0 url=1.10.0/en at=2019-12-30T19:32:14.000Z",
            ),
            "stray" => database.put_raw(
                "rows",
                "kind=build.head name=p env=prod locale=fr version=1.10.0 url=1.10.0/fr at=2019-12-30T19:32:14.000Z",
            ),
            "content" => drop(database.rows.get_mut(&head).unwrap().insert("url", "x")),
            _ => {
                let row = find(&database, "build#p#prod", "1.0.0~#en");
                database.rows.get_mut(&row).unwrap().remove("state");
            }
        }
        let wrong = database.wrong();
        assert!(
            wrong.iter().any(|finding| finding.starts_with(what)),
            "{breaks}: {wrong:?}"
        );
        assert_eq!(database.repair(&AuditOptions::default()), [], "{breaks}");
        // A repaired head remembers the row that it stood for by mistake.
        let mended = state(&database).replace("<1.10.0", "<-");
        assert_eq!(mended, state(&right), "{breaks}");
    }
}

#[test]
fn a_pointer_that_cannot_point_does_not_load() {
    for (from, to, says) in [
        (
            "follows = \"release\"\n",
            "",
            "does not say which row it stands for",
        ),
        (
            "follows = \"release\"\n",
            "follows = \"release\"\nnewest_by = \"version\"\n",
            "follows a row, and has `newest_by` or `retired_by`",
        ),
        (
            "follows = \"release\"",
            "follows = \"relese\"",
            "which does not exist",
        ),
        (
            "follows = \"release\"",
            "follows = \"build\"",
            "which clients cannot point with",
        ),
        (
            "sk = \"release\" }\nattributes = {",
            "sk = \"release#{stage}\" }\nattributes = { stage = \"string\",",
            "which is identified by `stage`, and the head is not",
        ),
        (
            "version = { type = \"semver\", optional = true }",
            "version = \"string\"",
            "which does not have `version` with the type that it has in `build`",
        ),
        (
            "pk = \"build#{name}#{env}\", sk = \"{version}#{locale}\"",
            "pk = \"build#{name}#{locale}\", sk = \"{version}#{env}\"",
            "no query finds the rows of `build` with one",
        ),
    ] {
        assert!(BUILDS.contains(from), "{from}");
        let loaded = load(&BUILDS.replacen(from, to, 1));
        let errors = loaded
            .problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        let shown: Vec<String> = errors.map(ToString::to_string).collect();
        assert!(
            shown.len() == 1 && shown.iter().any(|error| error.contains(says)),
            "{says}: {}",
            shown.join("\n")
        );
    }
}

/// What a client may do.
#[derive(Clone, Debug)]
enum Step {
    Build(usize, usize),
    Change(usize, usize),
    Remove(usize, usize),
    Release(usize),
    Withdraw,
    Together(usize, usize, usize),
}

const NAMES: [&str; 3] = ["1.0.0-rc.1", "1.0.0", "1.10.0"];
const LOCALES: [&str; 3] = ["de", "en", "fr"];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3_usize, 0..3_usize).prop_map(|(version, locale)| Step::Build(version, locale)),
        1 => (0..3_usize, 0..3_usize).prop_map(|(version, locale)| Step::Change(version, locale)),
        1 => (0..3_usize, 0..3_usize).prop_map(|(version, locale)| Step::Remove(version, locale)),
        3 => (0..3_usize).prop_map(Step::Release),
        1 => Just(Step::Withdraw),
        2 => (0..3_usize, 0..3_usize, 0..3_usize).prop_map(|(to, version, locale)| Step::Together(to, version, locale)),
    ]
}

fn carry_out(database: &mut Database, step: &Step) -> Result<(), String> {
    let row = |version: usize, locale: usize| build(NAMES[version], LOCALES[locale]);
    let key = |version: usize, locale: usize| {
        format!(
            "kind=build name=p env=prod version={} locale={}",
            NAMES[version], LOCALES[locale]
        )
    };
    match *step {
        Step::Build(version, locale) => database.put("rows", &row(version, locale)),
        Step::Change(version, locale) if database.row("rows", &key(version, locale)).is_some() => {
            database.update("rows", &key(version, locale), "note=x state=live", &[])
        }
        Step::Change(..) => Ok(()),
        Step::Remove(version, locale) => database.delete("rows", &key(version, locale)),
        Step::Release(version) => database.put("rows", &release(NAMES[version])),
        Step::Withdraw => database.delete("rows", "kind=release name=p env=prod"),
        Step::Together(to, version, locale) => database.transact(&[
            Write::Put("rows", &release(NAMES[to])),
            Write::Put("rows", &row(version, locale)),
            Write::Delete("rows", &key((version + 1) % 3, locale)),
        ]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The oracle: the heads are exactly the builds of the version that the release names, whatever was written.
    #[test]
    fn heads_are_the_rows_that_are_named(steps in prop::collection::vec(step(), 1..25)) {
        let mut database = Database::new(BUILDS);
        for step in &steps {
            let before = database.clone();
            if carry_out(&mut database, step).is_err() {
                prop_assert_eq!(&database, &before);
            }
            let pointer = database.row("rows", "kind=release name=p env=prod");
            let named = pointer.and_then(|row| row.get("version").cloned());
            let mut expected = Vec::new();
            let mut heads = Vec::new();
            for row in database.all("rows") {
                let about = (row.get("locale").cloned(), row.get("version").cloned(), row.get("note").cloned());
                match row.get("kind").and_then(|kind| kind.as_s()) {
                    Some("build") => {
                        let is_named = row.get("version") == named.as_ref();
                        prop_assert_eq!(row.get("state").is_some(), is_named, "{:?}", row);
                        if is_named {
                            expected.push(about);
                        }
                    }
                    Some("build.head") => heads.push(about),
                    _ => {}
                }
            }
            let by_locale = |one: &(Option<_>, Option<trestle_item::AttributeValue>, Option<_>)| format!("{one:?}");
            expected.sort_by_key(by_locale);
            heads.sort_by_key(by_locale);
            prop_assert_eq!(heads, expected, "{:?}", step);
            prop_assert_eq!(database.wrong(), Vec::<String>::new());
        }
    }
}

#[test]
fn a_pointer_may_lie_in_another_table_which_then_cannot_go() {
    let text = BUILDS
        .replace(
            "[entity.build]\n",
            "[table.pointers]\nkey = [\"pk\", \"sk\"]\n[entity.build]\n",
        )
        .replace(
            "[entity.release]\ntable = \"rows\"",
            "[entity.release]\ntable = \"pointers\"",
        );
    let mut database = Database::new(&text);
    database.put("rows", &build("1.0.0", "en")).unwrap();
    database.put("pointers", "name=p env=prod version=1.0.0").unwrap();
    assert_eq!(state(&database), "en:1.0.0<- [1.0.0/en]");
    let across = database.model().depends_across("pointers").unwrap();
    assert_eq!(across.effect.to_string(), "head of entity build");
    assert_eq!(across.other_table, "rows");
}

#[test]
fn a_history_is_written_with_the_pointer_or_not_at_all() {
    let text = BUILDS.to_owned()
        + "[entity.move]\ntable = \"rows\"\nkey = { pk = \"head#{name}#{env}\", sk = \"move#{moved}\" }\n\
           attributes = { name = \"string\", env = \"string\", moved = \"timestamp\", to = \"semver\" }\n";
    let mut database = Database::new(&text);
    for (version, locale) in THREE {
        database.put("rows", &build(version, locale)).unwrap();
    }
    let mut second = 0;
    let mut promote = |database: &mut Database, version: &str| {
        second += 1;
        let moved = format!("kind=move name=p env=prod moved=2020-01-01T00:00:0{second}.000Z to={version}");
        database.transact(&[Write::Put("rows", &release(version)), Write::Put("rows", &moved)])
    };
    promote(&mut database, "1.0.0").unwrap();
    promote(&mut database, "1.10.0").unwrap();
    promote(&mut database, "9.0.0").unwrap_err();
    promote(&mut database, "1.0.0").unwrap();
    let moves = database
        .all("rows")
        .filter(|row| row.get("kind") == Some(&"move".into()));
    let moves: Vec<_> = moves.map(|row| row.get("to").unwrap().as_s().unwrap()).collect();
    assert_eq!(moves, ["1.0.0", "1.10.0", "1.0.0"]);
    assert_eq!(
        state(&database),
        "de:1.0.0<1.10.0 en:1.0.0<1.10.0 [1.0.0/de 1.0.0/en]"
    );
}
