//! `head`: exactly one newest row of each group, whatever is written, in whatever order.

use crate::database::{Database, Write, line};

/// A group lies in one partition; heads lie among the rows.
const TOGETHER: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "expires"
[table.rows.index.by_state]
key = ["stateKey", "at"]
[entity.doc]
table = "rows"
key = { pk = "doc#{name}", sk = "v#{version:04}", stateKey = "{state}#{name}" }
created = "born"
updated = "at"
[entity.doc.attributes]
name = "string"
version = "integer"
body = { type = "string", optional = true }
state = { type = "string", optional = true }
rank = { type = "integer", optional = true }
[entity.doc.head]
key.sk = "head"
newest_by = "rank"
omit = ["state"]
previous = { before = "version" }
promote = { set = { state = "live" } }
demote = { set = { state = "old" }, expire_after = "1h" }
"##;

/// A group is spread over partitions, and the head remembers where it was.
const APART: &str = r##"
model = "m"
[table.rows]
key = ["pk"]
[table.heads]
key = ["pk"]
[entity.doc]
table = "rows"
key.pk = "{name}#{version}"
[entity.doc.attributes]
name = "string"
version = "integer"
rank = { type = "integer", optional = true }
[entity.doc.head]
table = "heads"
key.pk = "{name}"
newest_by = "rank"
previous = { before = "version" }
"##;

fn versions(text: &str, ranks: &[(u32, u32)]) -> Database {
    let mut database = Database::new(text);
    for (version, rank) in ranks {
        write(&mut database, *version, *rank);
    }
    database
}

fn write(database: &mut Database, version: u32, rank: u32) {
    database.now_ms += 1_000;
    let kind = if database.all("heads").count() == 0 && is_together(database) {
        "kind=doc "
    } else {
        ""
    };
    let doc = format!("{kind}name=a version:={version} rank:={rank} body=b{version}");
    database.put("rows", &doc).unwrap();
}

fn is_together(database: &Database) -> bool {
    database.model().table("heads").is_none()
}

/// The version of the head, what it remembers, and the rows with their states.
fn state(database: &Database) -> String {
    let number = |row: &trestle_item::Item, name: &str| {
        row.get(name)
            .and_then(|value| value.as_n().map(ToString::to_string))
            .unwrap_or("-".to_owned())
    };
    let (heads, key) = if is_together(database) {
        ("rows", "pk=doc#a sk=head")
    } else {
        ("heads", "pk=a")
    };
    let head = database.row(heads, key).map_or("none".to_owned(), |head| {
        format!("{}<{}", number(&head, "version"), number(&head, "before"))
    });
    let rows = database
        .all("rows")
        .filter(|row| row.get("sk") != Some(&"head".into()));
    let rows = rows.map(|row| {
        let state = row.get("state").and_then(|state| state.as_s()).unwrap_or("-");
        let expires = if row.contains_key("expires") { "!" } else { "" };
        format!("{}:{state}{expires}", number(row, "version"))
    });
    let rows: Vec<String> = rows.collect();
    format!("{head} [{}]", rows.join(" "))
}

#[test]
fn the_greatest_rank_is_the_head_and_equals_stay_behind() {
    assert_eq!(state(&versions(TOGETHER, &[(1, 5)])), "1<- [1:live]");
    assert_eq!(
        state(&versions(TOGETHER, &[(1, 5), (2, 6)])),
        "2<1 [1:old! 2:live]"
    );
    assert_eq!(state(&versions(TOGETHER, &[(1, 5), (2, 5)])), "1<- [1:live 2:-]");
    assert_eq!(state(&versions(TOGETHER, &[(1, 5), (2, 4)])), "1<- [1:live 2:-]");
    assert_eq!(
        state(&versions(APART, &[(1, 9), (2, 10), (3, 1)])),
        "2<1 [1:- 2:- 3:-]"
    );
}

#[test]
fn of_equals_the_one_with_the_smallest_key_follows_in_whichever_order_a_request_names_them() {
    let row = |version: u32| format!("kind=doc name=a version:={version}");
    let (first, newest) = (row(1), row(4));
    let second = format!("{} rank:=5", row(2));
    let writes = [
        Write::Update("rows", &first, ""),
        Write::Delete("rows", &newest),
        Write::Put("rows", &second),
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut database = versions(TOGETHER, &[(1, 5), (4, 6)]);
        database.transact(&order.map(|at| writes[at])).unwrap();
        assert_eq!(state(&database), "1<- [1:live 2:-]", "{order:?}");
    }
}

#[test]
fn a_row_without_a_rank_takes_no_part_until_it_has_one() {
    let mut database = versions(TOGETHER, &[(1, 5)]);
    database.put("rows", "kind=doc name=a version:=2").unwrap();
    assert_eq!(state(&database), "1<- [1:live 2:-]");
    let second = "name=a version:=2 kind=doc";
    database.update("rows", second, "rank:=6", &[]).unwrap();
    assert_eq!(state(&database), "2<1 [1:old! 2:live]");
    // A row that loses its rank is demoted.
    database.update("rows", second, "", &["rank"]).unwrap();
    assert_eq!(state(&database), "1<- [1:live 2:old!]");
}

#[test]
fn a_retired_row_is_never_the_newest_and_no_head_goes_back_to_it() {
    let with_retired = TOGETHER.replace(
        "[entity.doc.head]\n",
        "gone = { type = \"string\", optional = true }\n[entity.doc.head]\nretired_by = \"gone\"\n",
    );
    let mut database = versions(&with_retired, &[(1, 5), (2, 6), (3, 7)]);
    database
        .put("rows", "kind=doc name=a version:=9 rank:=9 gone=now")
        .unwrap();
    assert_eq!(state(&database), "3<2 [1:old! 2:old! 3:live 9:-]");
    // A retired row is demoted, and is no successor.
    let row = |version: u32| format!("name=a version:={version} kind=doc");
    database.update("rows", &row(3), "gone=now", &[]).unwrap();
    assert_eq!(state(&database), "2<- [1:old! 2:live 3:old! 9:-]");
    database.update("rows", &row(1), "gone=now", &[]).unwrap();
    database.delete("rows", &row(2)).unwrap();
    assert_eq!(state(&database), "none [1:old! 3:old! 9:-]");
}

#[test]
fn the_head_follows_every_change_of_its_row() {
    let mut database = versions(TOGETHER, &[(1, 5), (2, 6)]);
    database.now_ms += 5_000;
    database
        .update("rows", "name=a version:=2 kind=doc", "body=new", &[])
        .unwrap();
    let head = database.row("rows", "pk=doc#a sk=head").unwrap();
    assert_eq!(
        line(&head, &[]),
        "at=2019-12-30T19:32:21.000Z before:=1 body=new born=2019-12-30T19:32:16.000Z kind=doc.head name=a pk=doc#a \
         rank:=6 sk=head version:=2"
    );
    assert_eq!(database.followed, 1);
    // Other rows do not move the head.
    database
        .update("rows", "name=a version:=1 kind=doc", "body=new", &[])
        .unwrap();
    assert_eq!(database.followed, 0);
}

#[test]
fn a_newest_row_that_goes_back_among_the_others_is_the_newest_no_more() {
    let mut database = versions(TOGETHER, &[(1, 5), (2, 8)]);
    let second = "name=a version:=2 kind=doc";
    database.update("rows", second, "rank:=6", &[]).unwrap();
    assert_eq!(state(&database), "2<1 [1:old! 2:live]");
    database.update("rows", second, "rank:=1", &[]).unwrap();
    assert_eq!(state(&database), "1<- [1:live 2:old!]");
    // Where the group cannot be read, the head stays with its row.
    let mut database = versions(APART, &[(1, 5), (2, 6)]);
    database
        .update("rows", "name=a version:=2", "rank:=1", &[])
        .unwrap();
    assert_eq!(state(&database), "2<1 [1:- 2:-]");
}

#[test]
fn a_row_that_is_replaced_keeps_its_mark_and_nobody_else_gets_it() {
    let mut database = versions(TOGETHER, &[(1, 5), (2, 6)]);
    write(&mut database, 2, 6);
    assert_eq!(state(&database), "2<1 [1:old! 2:live]");
    database
        .put("rows", "kind=doc name=a version:=2 rank:=6 state=old")
        .unwrap();
    assert_eq!(state(&database), "2<1 [1:old! 2:live]");
    database
        .put("rows", "kind=doc name=a version:=1 rank:=5 state=live")
        .unwrap();
    assert_eq!(state(&database), "2<1 [1:old! 2:live]");
    let moved = database.row("rows", "name=a version:=2 kind=doc").unwrap();
    assert_eq!(
        moved.get("stateKey"),
        Some(&"live#a".into()),
        "index keys follow the mark"
    );
}

#[test]
fn removing_the_newest_row_goes_back_to_the_newest_that_is_left() {
    let mut database = versions(TOGETHER, &[(1, 5), (2, 9), (3, 7)]);
    assert_eq!(state(&database), "2<1 [1:old! 2:live 3:-]");
    database.delete("rows", "name=a version:=2 kind=doc").unwrap();
    assert_eq!(state(&database), "3<- [1:old! 3:live]");
    database.expire("rows", "name=a version:=3 kind=doc");
    assert_eq!(state(&database), "1<- [1:live]");
    database.delete("rows", "name=a version:=1 kind=doc").unwrap();
    assert!(database.rows.is_empty());
}

#[test]
fn removing_the_row_of_a_head_that_was_set_back_does_not_bring_back_what_it_was_set_back_from() {
    let mut database = versions(TOGETHER, &[(1, 5), (2, 6), (3, 7)]);
    database
        .update("rows", "pk=doc#a sk=head", "version:=2", &[])
        .unwrap();
    assert_eq!(state(&database), "2<3 [1:old! 2:live 3:old!]");
    database.delete("rows", "name=a version:=2 kind=doc").unwrap();
    assert_eq!(state(&database), "1<- [1:live 3:old!]");
    database.delete("rows", "name=a version:=1 kind=doc").unwrap();
    assert_eq!(state(&database), "3<- [3:live]", "better than none");
}

#[test]
fn a_row_whose_time_is_over_does_not_come_back() {
    let mut database = versions(TOGETHER, &[(1, 5), (2, 6)]);
    database.now_ms += 3_601_000;
    database.delete("rows", "name=a version:=2 kind=doc").unwrap();
    assert_eq!(state(&database), "none [1:old!]");
}

#[test]
fn a_group_that_is_spread_goes_back_to_what_its_head_remembers() {
    let mut database = versions(APART, &[(1, 5), (2, 6), (3, 7)]);
    database.delete("rows", "name=a version:=3").unwrap();
    assert_eq!(state(&database), "2<- [1:- 2:-]");
    let refused = database.delete("rows", "name=a version:=2").unwrap_err();
    assert!(
        refused.contains("which one comes next cannot be found"),
        "{refused}"
    );
    assert!(
        refused.contains("point entity doc.head at another row first"),
        "{refused}"
    );
    let before = state(&database);
    assert_eq!(before, "2<- [1:- 2:-]", "nothing happened");
    database.update("heads", "pk=a", "version:=1", &[]).unwrap();
    assert_eq!(state(&database), "1<2 [1:- 2:-]");
    database.delete("rows", "name=a version:=1").unwrap();
    assert_eq!(state(&database), "2<- [2:-]");
    // An expiry is not refused.
    database.expire("rows", "name=a version:=2");
    assert!(database.rows.is_empty());
}

#[test]
fn an_index_finds_the_group_where_the_table_cannot() {
    let text = APART.replace(
        "[table.heads]",
        "[table.rows.index.by_name]\nkey = [\"name\", \"version\"]\nproject = \"keys\"\n[table.heads]",
    );
    let mut database = versions(&text, &[(1, 5), (2, 6), (3, 7)]);
    for (removed, after) in [(3, "2<- [1:- 2:-]"), (2, "1<- [1:-]"), (1, "none []")] {
        database
            .delete("rows", &format!("name=a version:={removed}"))
            .unwrap();
        assert_eq!(state(&database), after);
    }
}

#[test]
fn a_new_row_keeps_the_time_to_live_it_came_with() {
    let mut database = Database::new(TOGETHER);
    database
        .put("rows", "kind=doc name=a version:=1 rank:=1 expires:=1999999999")
        .unwrap();
    assert_eq!(state(&database), "1<- [1:live!]");
    let head = database.row("rows", "pk=doc#a sk=head").unwrap();
    assert_eq!(
        head.get("expires"),
        None,
        "a head goes with its group, not before"
    );
}

#[test]
fn times_that_decide_which_row_is_the_newest_have_one_precision() {
    let text = APART.replace("rank = { type = \"integer\"", "rank = { type = \"timestamp\"");
    let mut database = Database::new(&text);
    for (version, at) in [
        (1, "2020-01-01T00:00:00.000Z"),
        (2, "2020-01-01T00:00:00.500Z"),
        (3, "2020-01-01T00:00:00.001Z"),
    ] {
        database
            .put("rows", &format!("name=a version:={version} rank={at}"))
            .unwrap();
    }
    assert_eq!(state(&database), "2<1 [1:- 2:- 3:-]");
    let refused = database
        .put("rows", "name=a version:=4 rank=2020-01-01T00:00:01Z")
        .unwrap_err();
    assert!(
        refused.contains("write \"2020-01-01T00:00:01.000Z\""),
        "{refused}"
    );
}

#[test]
fn a_row_that_had_expired_and_stays_becomes_the_newest_again() {
    let mut database = Database::new(TOGETHER);
    let expired = database.now_ms / 1000 - 1;
    let second = "kind=doc name=a version:=2 rank:=2";
    database
        .put("rows", "kind=doc name=a version:=1 rank:=1")
        .unwrap();
    database
        .put("rows", "kind=doc name=a version:=3 rank:=3")
        .unwrap();
    database
        .put("rows", &format!("{second} expires:={expired}"))
        .unwrap();
    // The second row has expired but is not removed yet; it does not succeed the third.
    database.delete("rows", "pk=doc#a sk=v#0003").unwrap();
    let head = |database: &Database| {
        database
            .row("rows", "pk=doc#a sk=head")
            .unwrap()
            .get("version")
            .cloned()
    };
    assert_eq!(head(&database), Some(1_i64.into()));
    database.put("rows", second).unwrap();
    assert_eq!(head(&database), Some(2_i64.into()));
}

#[test]
fn keys_follow_what_being_promoted_and_demoted_changes() {
    let database = versions(TOGETHER, &[(1, 5), (2, 6), (3, 4)]);
    let key = |version: u32| {
        let row = database
            .row("rows", &format!("pk=doc#a sk=v#{version:04}"))
            .unwrap();
        row.get("stateKey").cloned()
    };
    let wanted = [(1, Some("old#a".into())), (2, Some("live#a".into())), (3, None)];
    for (version, wanted) in wanted {
        assert_eq!(key(version), wanted, "version {version}");
    }
}

#[test]
fn a_default_fills_in_the_time_to_live_that_a_row_loses_when_it_is_promoted() {
    let expires = "expires = { type = \"epoch-seconds\", default = 4000000000 }\n[entity.doc.head]";
    let model = TOGETHER.replace("[entity.doc.head]", expires);
    let mut database = versions(&model, &[(1, 5), (2, 6)]);
    let first = "pk=doc#a sk=v#0001";
    database.update("rows", first, "rank:=7", &[]).unwrap();
    let row = database.row("rows", first).unwrap();
    assert_eq!(row.get("state"), Some(&"live".into()));
    assert_eq!(row.get("expires"), Some(&4_000_000_000_i64.into()));
}
