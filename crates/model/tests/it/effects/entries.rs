//! `entries`: a row for each member of a list, set or map.

use trestle_model::audit::AuditOptions;

use crate::database::{Database, Write, line};

const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "expires"
[entity.run]
table = "rows"
key = { pk = "{tenant}#run", sk = "{id}" }
[entity.run.attributes]
tenant = "string"
id = "string"
started = { type = "integer", optional = true }
status = { type = "string", optional = true }
note = { type = "string", optional = true }
tags = { type = "list", optional = true }
labels = { type = "string-set", optional = true }
scores = { type = "number-set", optional = true }
variables = { type = "map", optional = true }
[entity.run.entries.by_tag]
of = "tags"
member = "tag"
key = { pk = "{tenant}#tag#{tag}", sk = "{started:04}#{id}" }
project = ["status"]
[entity.run.entries.by_label]
of = "labels"
member = { label = { type = "string", chars = "a-z" } }
key = { pk = "{tenant}#label#{label}", sk = "{id}" }
[entity.run.entries.by_score]
of = "scores"
member.score = "integer"
key = { pk = "{tenant}#score", sk = "{score:04}#{id}" }
[entity.run.entries.by_variable]
of = "variables"
name = "variable"
value = "value"
key = { pk = "{tenant}#variable#{variable}", sk = "{value}#{id}" }
"##;

/// The entries under one name, each as a line with its key, followed by its other attributes without the tag.
fn entries(database: &Database, name: &str) -> Vec<String> {
    let kind = format!("run.entries.{name}");
    let rows = database.all("rows");
    let of_kind = rows.filter(|row| row.get("kind") == Some(&kind.as_str().into()));
    let shown = of_kind.map(|row| {
        let key = |name: &str| row.get(name).and_then(|value| value.as_s()).unwrap().to_owned();
        let content = line(row, &["pk", "sk", "kind", "tenant", "id"]);
        format!("{} {} {content}", key("pk"), key("sk"))
    });
    shown.collect()
}

const RUN: &str = "kind=run tenant=t id=1";

#[test]
fn each_member_of_a_list_has_one_entry_that_names_its_row() {
    let mut database = Database::new(MODEL);
    let tags = r#"tags*={"L":[{"S":"a"},{"S":"b"},{"S":"a"},{"N":"42"},{"BOOL":true}]}"#;
    database
        .put("rows", &format!("{RUN} started:=7 status=open {tags}"))
        .unwrap();
    assert_eq!(
        entries(&database, "by_tag"),
        [
            "t#tag#42 0007#1 started:=7 status=open tag=42",
            "t#tag#a 0007#1 started:=7 status=open tag=a",
            "t#tag#b 0007#1 started:=7 status=open tag=b",
            "t#tag#true 0007#1 started:=7 status=open tag=true",
        ]
    );
    assert_eq!(database.followed, 4);
    let entry = database.row("rows", "pk=t#tag#a sk=0007#1").unwrap();
    assert_eq!(
        line(&entry, &[]),
        "id=1 kind=run.entries.by_tag pk=t#tag#a sk=0007#1 started:=7 status=open tag=a tenant=t"
    );
}

#[test]
fn sets_and_maps_have_entries_too() {
    let mut database = Database::new(MODEL);
    let more =
        r#"labels@=y,x scores*={"NS":["12","3"]} variables*={"M":{"who":{"S":"ann"},"paid":{"BOOL":false}}}"#;
    database.put("rows", &format!("{RUN} {more}")).unwrap();
    assert_eq!(
        entries(&database, "by_label"),
        ["t#label#x 1 label=x", "t#label#y 1 label=y"]
    );
    assert_eq!(
        entries(&database, "by_score"),
        ["t#score 0003#1 score:=3", "t#score 0012#1 score:=12"]
    );
    assert_eq!(
        entries(&database, "by_variable"),
        [
            "t#variable#paid false#1 value=false variable=paid",
            "t#variable#who ann#1 value=ann variable=who",
        ]
    );
}

#[test]
fn an_update_writes_what_it_changes_and_nothing_else() {
    let mut database = Database::new(MODEL);
    let tags = |members: &str| format!(r#"tags*={{"L":[{members}]}}"#);
    let (a, b, c) = (r#"{"S":"a"}"#, r#"{"S":"b"}"#, r#"{"S":"c"}"#);
    let put = format!("{RUN} started:=1 {}", tags(&format!("{a},{b}")));
    database.put("rows", &put).unwrap();
    let mut update = |set: &str, remove: &[&str], followed: usize| {
        database.update("rows", RUN, set, remove).unwrap();
        assert_eq!(database.followed, followed, "{set} {remove:?}");
        entries(&database, "by_tag")
    };
    assert_eq!(update("note=x", &[], 0).len(), 2, "no entry has the note");
    update(&tags(&format!("{b},{a}")), &[], 0);
    assert_eq!(
        update(&tags(&format!("{b},{c}")), &[], 2),
        [
            "t#tag#b 0001#1 started:=1 tag=b",
            "t#tag#c 0001#1 started:=1 tag=c"
        ]
    );
    assert_eq!(
        update("status=done", &[], 2),
        [
            "t#tag#b 0001#1 started:=1 status=done tag=b",
            "t#tag#c 0001#1 started:=1 status=done tag=c",
        ],
        "what is projected follows"
    );
    assert_eq!(
        update("started:=2", &["status"], 4),
        [
            "t#tag#b 0002#1 started:=2 tag=b",
            "t#tag#c 0002#1 started:=2 tag=c"
        ],
        "another key is another row"
    );
    assert!(
        update("", &["started"], 2).is_empty(),
        "without a part of the key there is no entry"
    );
    assert_eq!(update("started:=3", &[], 2).len(), 2);
    assert!(update("", &["tags"], 2).is_empty());
    assert!(update("note=y", &[], 0).is_empty());
}

#[test]
fn entries_go_with_their_row() {
    let mut database = Database::new(MODEL);
    let put = format!("{RUN} labels@=x,y expires:=5");
    database.put("rows", &put).unwrap();
    assert_eq!(database.rows.len(), 3);
    database.delete("rows", RUN).unwrap();
    assert!(database.rows.is_empty());
    database.put("rows", &put).unwrap();
    database.expire("rows", RUN);
    assert!(database.rows.is_empty());
}

#[test]
fn rows_of_a_transaction_have_their_entries() {
    let mut database = Database::new(MODEL);
    let two = "kind=run tenant=t id=2";
    database.put("rows", &format!("{RUN} labels@=x")).unwrap();
    let writes = [
        Write::Delete("rows", RUN),
        Write::Put("rows", "kind=run tenant=t id=2 labels@=x,y"),
        Write::Put("rows", "kind=run tenant=u id=1 labels@=x"),
    ];
    database.transact(&writes).unwrap();
    assert_eq!(
        entries(&database, "by_label"),
        [
            "t#label#x 2 label=x",
            "t#label#y 2 label=y",
            "u#label#x 1 label=x"
        ]
    );
    // A client that removes all rows it sees removes entries together with their row.
    let all = [
        Write::Delete("rows", two),
        Write::Delete("rows", "pk=t#label#x sk=2"),
        Write::Delete("rows", "pk=t#label#y sk=2"),
    ];
    database.transact(&all).unwrap();
    assert_eq!(database.rows.len(), 2);
}

#[test]
fn clients_do_not_write_entries() {
    let mut database = Database::new(MODEL);
    database.put("rows", &format!("{RUN} labels@=x")).unwrap();
    let refusal =
        "Rows of entity run.entries.by_label are kept by the database; write those of entity run instead";
    let before = database.rows.clone();
    let key = "pk=t#label#x sk=1";
    let writes = [
        database.update("rows", key, "status=x", &[]).unwrap_err(),
        database.delete("rows", key).unwrap_err(),
        database
            .put("rows", "kind=run.entries.by_label tenant=t id=9 label=x")
            .unwrap_err(),
    ];
    assert_eq!(writes, [refusal; 3]);
    assert_eq!(database.rows, before);
    database
        .put("rows", "kind=run.entries.by_label tenant=t id=1 label=x")
        .unwrap();
    assert_eq!(database.rows, before, "as it is");
    database.put_raw("rows", "kind=run.entries.by_label tenant=t id=9 label=x");
    database.delete("rows", "pk=t#label#x sk=9").unwrap();
    assert_eq!(database.rows, before, "an entry of no row may go");
}

#[test]
fn members_of_which_no_entry_can_be_made_are_refused() {
    let mut database = Database::new(MODEL);
    let long = "x".repeat(2100);
    let many: Vec<String> = (0..1001).map(|n| format!(r#"{{"N":"{n}"}}"#)).collect();
    let pair = |value: &str| format!(r#"variables*={{"M":{{"who":{value}}}}}"#);
    for (set, reason) in [
        (
            r#"started:=1 tags*={"L":[{"S":"a"},{"S":""}]}"#.to_owned(),
            "tags has a member of which no entry by_tag can be made: the string \"\" is empty, and a part of a key may not be",
        ),
        (
            r#"tags*={"L":[{"M":{}}]}"#.to_owned(),
            "tags has a member of which no entry by_tag can be made: a value of type M is neither a string nor a number nor a \
             boolean",
        ),
        (
            r#"tags*={"L":[{"NULL":true}]}"#.to_owned(),
            "tags has a member of which no entry by_tag can be made: a value of type NULL is neither a string nor a number \
             nor a boolean",
        ),
        (
            format!(r#"started:=1 tags*={{"L":[{{"S":"{long}"}}]}}"#),
            "gives its entry a partition key of 2106 bytes, and 2048 are the most",
        ),
        (
            format!(r#"tags*={{"L":[{}]}}"#, many.join(",")),
            "tags has 1001 members, and entries by_tag makes at most 1000 rows of one; keep fewer members in one row",
        ),
        (
            "labels@=x,Y".to_owned(),
            "labels has a member of which no entry by_label can be made: the string \"Y\" may only contain the characters \
             a-z, but \"Y\" contains 'Y'",
        ),
        (
            r#"scores*={"NS":["1.5"]}"#.to_owned(),
            "scores has a member of which no entry by_score can be made: the number 1.5 must be of type integer, but is the \
             number 1.5",
        ),
        (
            pair(r#"{"S":"a#b"}"#),
            "variables has a member of which no entry by_variable can be made: the string \"a#b\" is \"a#b\", which contains \
             '#', the separator behind it in the key",
        ),
        (
            pair(r#"{"L":[]}"#),
            "variables has a member of which no entry by_variable can be made: \"who\" with a value of type L is neither a \
             string nor a number nor a boolean",
        ),
        (
            "started:=12345 tags*={\"L\":[{\"S\":\"a\"}]}".to_owned(),
            "Entity run: attribute started is 12345",
        ),
    ] {
        let refused = database.put("rows", &format!("{RUN} {set}")).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
        assert!(refused.starts_with("Entity run: attribute "), "{refused}");
        assert!(database.rows.is_empty());
    }
}

/// A database with a missing, a wrong and a superfluous entry, and the right state.
fn damaged() -> (Database, Database) {
    let mut database = Database::new(MODEL);
    database.put("rows", &format!("{RUN} labels@=x,y,z")).unwrap();
    assert_eq!(database.wrong(), Vec::<String>::new());
    let whole = database.clone();
    let place = |label: &str| ("rows".to_owned(), format!("S(\"t#label#{label}\") S(\"1\")"));
    assert!(database.rows.remove(&place("x")).is_some());
    database.rows.get_mut(&place("y")).unwrap().insert("id", "2");
    database.put_raw("rows", "kind=run.entries.by_label tenant=t id=9 label=x");
    (database, whole)
}

#[test]
fn audits_find_and_mend_entries_that_disagree() {
    let (mut database, whole) = damaged();
    let mut found = database.wrong();
    found.sort();
    assert_eq!(
        found,
        [
            "missing-entry run.entries.by_label: nothing",
            "stray-entry run.entries.by_label: an entry of a member that no row has",
            "wrong-entry run.entries.by_label: other attributes than those of its row",
        ]
    );
    assert!(database.repair(&AuditOptions::default()).is_empty());
    assert_eq!(database.rows, whole.rows);
}

#[test]
#[should_panic(expected = "a finding is about an effect that the model does not have")]
fn a_finding_is_mended_with_the_model_that_was_audited() {
    let (database, _) = damaged();
    let other = MODEL.split("[entity.run.entries").next().unwrap();
    let other = trestle_model::load(other).model.unwrap();
    for finding in database.audit(AuditOptions::default()) {
        let _ = other.mend(&finding, &database, database.now());
    }
}

#[test]
fn a_fill_makes_all_entries_of_a_row_at_once() {
    let (mut database, whole) = damaged();
    let options = AuditOptions {
        fill: true,
        ..AuditOptions::default()
    };
    let mut found: Vec<&str> = Vec::new();
    for finding in database.audit(options.clone()) {
        found.push(finding.kind.name());
        let companions = database
            .model()
            .mend(&finding, &database, database.now())
            .unwrap();
        let rows = match finding.kind.name() {
            "missing-entry" => 2,
            _ => 1,
        };
        assert_eq!(companions.len(), rows, "{finding:?}");
        database.store(companions);
    }
    found.sort_unstable();
    assert_eq!(found, ["missing-entry", "stray-entry"]);
    assert_eq!(database.rows, whole.rows);
    assert!(database.audit(options).is_empty());
}

#[test]
fn a_row_from_before_with_members_that_do_not_fit_is_named_and_can_be_corrected() {
    let mut database = Database::new(MODEL);
    database.put_raw("rows", &format!("{RUN} labels@=X"));
    database.put_raw("rows", "kind=run tenant=t id=2 labels@=x");
    let left = database.repair(&AuditOptions {
        fill: true,
        ..AuditOptions::default()
    });
    let [finding] = left.as_slice() else {
        panic!("{left:?}")
    };
    assert_eq!(finding.kind.name(), "unfit");
    assert_eq!(finding.effect, "entries by_label of run");
    assert_eq!(finding.wanted, "members of labels of which entries can be made");
    assert!(
        finding.there.contains("the string \"X\" may only contain"),
        "{}",
        finding.there
    );
    assert_eq!(entries(&database, "by_label"), ["t#label#x 2 label=x"]);
    let refused = database.update("rows", RUN, "note=y", &[]);
    assert_eq!(refused, Ok(()), "a write that leaves the members alone");
    database.update("rows", RUN, "labels@=y", &[]).unwrap();
    assert_eq!(database.wrong(), Vec::<String>::new());
}

#[test]
fn entries_take_no_more_room_than_a_transaction() {
    let mut database = Database::new(MODEL);
    let words: Vec<String> = (0..900).map(|n| format!(r#"{{"N":"{n}"}}"#)).collect();
    let run = |status: usize| {
        let (tags, status) = (words.join(","), "x".repeat(status));
        format!(r#"{RUN} started:=1 status={status} tags*={{"L":[{tags}]}}"#)
    };
    let refused = database.put("rows", &run(5000)).unwrap_err();
    assert_eq!(
        refused,
        "Entity run: attribute tags has so many members that the entries by_tag of the row would have more than 4194304 bytes; \
         project less into them, or keep fewer members in one row"
    );
    database.put("rows", &run(4000)).unwrap();
    assert_eq!(database.rows.len(), 901);
}

/// Entries in a separate table, without a tag, with an index.
const APART: &str = r##"
model = "m"
[table.items]
key = ["id"]
[table.search]
key = ["word", { name = "at", type = "number" }]
[table.search.index.by_color]
key = ["color", "label"]
[entity.item]
table = "items"
[entity.item.attributes]
id = "number"
at = "number"
color = { type = "string", optional = true }
words = { type = "string-set", optional = true }
[entity.item.entries.words]
of = "words"
table = "search"
member = "word"
key = { word = "{word}#{id}", label = "{color}-{id}" }
project = ["color"]
"##;

#[test]
fn a_key_attribute_that_an_entry_has_anyway_needs_another_name() {
    let found = trestle_model::load(APART).problems;
    let message = "entity `item`: entries `words` has `word` both as an attribute and as a derived key";
    assert!(
        found.iter().any(|problem| problem.message == message),
        "{found:?}"
    );
}

#[test]
fn entries_may_lie_in_another_table_and_in_its_indexes() {
    let text = APART
        .replace("member = \"word\"", "member = \"text\"")
        .replace("{word}#{id}", "{text}#{id}");
    let mut database = Database::new(&text);
    let search = |database: &Database| -> Vec<String> {
        database
            .all("search")
            .map(|row| line(row, &["id", "text"]))
            .collect()
    };
    database.put("items", "id:=1 at:=5 words@=x,y").unwrap();
    assert_eq!(search(&database), ["at:=5 word=x#1", "at:=5 word=y#1"]);
    database.update("items", "id:=1", "color=red", &[]).unwrap();
    assert_eq!(
        search(&database),
        [
            "at:=5 color=red label=red-1 word=x#1",
            "at:=5 color=red label=red-1 word=y#1"
        ],
        "also the keys of indexes follow"
    );
    database.update("items", "id:=1", "words@=y", &["color"]).unwrap();
    assert_eq!(search(&database), ["at:=5 word=y#1"]);
    let refused = database.delete("search", "word=y#1 at:=5").unwrap_err();
    assert_eq!(
        refused,
        "Rows of entity item.entries.words are kept by the database; write those of entity item instead"
    );
    assert_eq!(database.wrong(), Vec::<String>::new());
    database.delete("items", "id:=1").unwrap();
    assert!(database.rows.is_empty());
    let model = database.model();
    for (table, other) in [("items", "search"), ("search", "items")] {
        let across = model.depends_across(table).unwrap();
        assert_eq!(
            (across.effect.to_string().as_str(), across.other_table),
            ("entries words of entity item", other)
        );
    }
}
