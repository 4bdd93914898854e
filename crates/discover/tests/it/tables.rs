//! Realistic tables, and the proposals for them.

use trestle_discover::{Proposal, TableFacts};
use trestle_item::{AttributeValue, Item, ScalarType};
use trestle_model::{AttributeKind, Index, KeyAttribute, KeySchema, Model, Projection};

use crate::reading::loaded;

fn keys(hash: &str, range: &str) -> KeySchema {
    let key = |name: &str| KeyAttribute {
        name: name.to_owned(),
        kind: ScalarType::S,
    };
    KeySchema {
        hash: vec![key(hash)],
        range: vec![key(range)],
    }
}

pub(crate) fn facts(name: &str, indexes: &[&str]) -> TableFacts {
    let indexes = indexes.iter().map(|name| Index {
        name: (*name).to_owned(),
        key: keys(&format!("{name}PK"), &format!("{name}SK")),
        projection: Projection::All,
        local: false,
    });
    TableFacts {
        name: name.to_owned(),
        key: keys("pk", "sk"),
        indexes: indexes.collect(),
        ..TableFacts::default()
    }
}

fn row(texts: &[(&str, String)]) -> Item {
    texts.iter().map(|(name, text)| (*name, text.as_str())).collect()
}

/// Users with orders, whose items are in the partition of the order, distinguished by `Type`.
fn shop() -> Proposal {
    let mut rows = Vec::new();
    for user in ["alice", "bob", "carol"] {
        rows.push(row(&[
            ("pk", format!("USER#{user}")),
            ("sk", format!("PROFILE#{user}")),
            ("Type", "User".to_owned()),
            ("username", user.to_owned()),
        ]));
        for order in 1..=5_i64 {
            let id = format!("{}{order}", &user[..1]);
            let status = if order % 2 == 0 { "PLACED" } else { "SENT" };
            let placed = format!("2024-02-0{order}T00:00:00Z");
            rows.push(row(&[
                ("pk", format!("USER#{user}")),
                ("sk", format!("ORDER#{id}")),
                ("Type", "Order".to_owned()),
                ("username", user.to_owned()),
                ("orderId", id.clone()),
                ("status", status.to_owned()),
                ("placed", placed.clone()),
                ("GSI1PK", format!("STATUS#{status}")),
                ("GSI1SK", placed),
            ]));
            let mut item = row(&[
                ("pk", format!("ORDER#{id}")),
                ("sk", format!("ITEM#{order:03}")),
                ("Type", "OrderItem".to_owned()),
                ("orderId", id),
            ]);
            item.insert("line", order);
            rows.push(item);
        }
    }
    trestle_discover::infer(&facts("shop", &["GSI1"]), rows)
}

/// Every template of an entity as `key = template`, sorted.
fn templates(model: &Model, entity: &str) -> Vec<String> {
    let entity = model.entity(entity).unwrap();
    let all = entity.table_key().iter().chain(entity.index_keys());
    let mut found: Vec<String> = all
        .map(|key| format!("{} = {}", key.attribute(), key.source()))
        .collect();
    found.sort();
    found
}

#[test]
fn a_shop_is_found_with_its_tag_padding_and_index_keys() {
    let proposal = shop();
    let model = loaded(&proposal);
    assert_eq!(model.tables()[0].entity_attribute(), Some("Type"));
    assert_eq!(
        templates(&model, "Order"),
        [
            "GSI1PK = STATUS#{status}",
            "GSI1SK = {placed}",
            "pk = USER#{username}",
            "sk = ORDER#{orderId}"
        ]
    );
    assert_eq!(
        templates(&model, "OrderItem"),
        ["pk = ORDER#{orderId}", "sk = ITEM#{line:03}"]
    );
    assert_eq!(
        templates(&model, "User"),
        ["pk = USER#{username}", "sk = PROFILE#{username}"]
    );
}

#[test]
fn a_closed_set_is_proposed_for_a_status_but_not_for_what_identifies_a_row() {
    let model = loaded(&shop());
    let order = model.entity("Order").unwrap();
    let values = |name: &str| order.attribute(name).unwrap().one_of.len();
    assert_eq!((values("status"), values("username")), (2, 0));
}

/// Events of a build, each with its own id; `typed` decides which of them have a type.
fn events(typed: impl Fn(usize) -> bool) -> Model {
    let ids = [
        "amber", "birch", "cedar", "dune", "elm", "fern", "grove", "heath", "iris", "jade", "kelp", "lark",
    ];
    let rows = ids.iter().enumerate().map(|(at, id)| {
        let mut event = row(&[("pk", "BUILD#1".to_owned()), ("sk", (*id).to_owned())]);
        if typed(at) {
            event.insert("eventType", ["queued", "error", "complete"][at % 3]);
        }
        event
    });
    loaded(&trestle_discover::infer(&facts("events", &[]), rows))
}

#[test]
fn what_varies_among_rows_with_ids_of_their_own_is_no_tag() {
    for model in [events(|_| true), events(|at| at > 0)] {
        assert_eq!(model.tables()[0].entity_attribute(), None);
        assert_eq!(model.entities().len(), 1);
    }
}

/// Users and teams, whose attribute `sort` has an unusual name for a tag; the first `untagged` lack it.
fn members(untagged: usize) -> Model {
    let rows = (0..20).map(|n| {
        let (sort, word) = if n % 2 == 0 { ("user", "U") } else { ("team", "T") };
        let mut member = row(&[("pk", format!("{word}#{n}")), ("sk", word.to_owned())]);
        if n >= untagged {
            member.insert("sort", sort);
        }
        member
    });
    loaded(&trestle_discover::infer(&facts("members", &[]), rows))
}

#[test]
fn an_attribute_of_any_name_is_the_tag_if_no_row_lacks_it() {
    assert_eq!(members(0).tables()[0].entity_attribute(), Some("sort"));
    assert_eq!(members(1).tables()[0].entity_attribute(), None);
}

/// Workflow runs with only their keys and a body.
fn runs() -> Proposal {
    let mut rows = Vec::new();
    for run in 0..12_i64 {
        let pk = format!("acme/RUN_GROUP/{:07x}", run * 7_654_321 % 0x0fff_ffff);
        let mut put = |pk: &str, sk: String| {
            let mut row = row(&[("pk", pk.to_owned()), ("sk", sk)]);
            row.insert("body", AttributeValue::M(Item::new()));
            rows.push(row);
        };
        put(&pk, "RUN".to_owned());
        put(&pk, format!("NODE/{:06}_{run:06}", 0));
        put(&pk, format!("EVENT/paid/{run}"));
        put("acme/TAG/state", format!("{}/{run}", 1_577_734_334_000 + run));
    }
    trestle_discover::infer(&facts("runs", &[]), rows)
}

#[test]
fn words_in_capitals_name_entities_and_words_that_may_be_values_do_not() {
    let mut names: Vec<String> = loaded(&runs())
        .entities()
        .iter()
        .map(|entity| entity.name().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["event", "node", "run", "tag"]);
}

#[test]
fn times_in_a_sort_key_are_padded_so_that_they_sort() {
    let model = loaded(&runs());
    assert_eq!(
        templates(&model, "tag"),
        ["pk = acme/TAG/state", "sk = {sk1:013}/{sk2}"]
    );
    let tag = model.entity("tag").unwrap();
    assert_eq!(tag.attribute("sk1").unwrap().kind, AttributeKind::Integer);
}

#[test]
fn a_row_beside_others_is_no_head_of_them_unless_it_says_the_same() {
    let proposal = runs();
    assert!(!proposal.text.contains("head"), "{}", proposal.text);
}

#[test]
fn rows_that_fit_no_entity_are_listed_and_may_stay() {
    let mut rows: Vec<Item> = (0..9)
        .map(|n| row(&[("pk", format!("USER#{n}")), ("sk", "PROFILE".to_owned())]))
        .collect();
    // A table that was copied by a tool may have a row without its key.
    rows.push(row(&[("pk", "USER#9".to_owned())]));
    let proposal = trestle_discover::infer(&facts("odd", &[]), rows);
    assert!(loaded(&proposal).tables()[0].is_open());
    assert!(
        proposal
            .notes
            .contains(&"table odd: 1 of 10 rows fit no entity:".to_owned()),
        "{:#?}",
        proposal.notes
    );
}

/// Whole seconds in a key stay whole seconds; times of several precisions in a key are texts.
#[test]
fn a_time_in_a_key_has_the_precision_that_all_rows_have() {
    let log = |times: [&str; 4]| {
        let rows = times.into_iter().enumerate().map(|(number, at)| {
            row(&[
                ("pk", "log".to_owned()),
                ("sk", format!("entry#{number}")),
                ("at", at.to_owned()),
                ("GSI1PK", "all".to_owned()),
                ("GSI1SK", at.to_owned()),
            ])
        });
        trestle_discover::infer(&facts("log", &["GSI1"]), rows.collect::<Vec<_>>()).text
    };
    let day = |day: &str, fraction: &str| format!("2024-02-0{day}T00:00:00{fraction}Z");
    let [one, two, three, four] = ["1", "2", "3", "4"].map(|number| day(number, ""));
    let even = log([&one, &two, &three, &four]);
    assert!(
        even.contains("at = { type = \"timestamp\", precision = \"s\" }"),
        "{even}"
    );
    let mixed = log([&one, &two, &three, &day("4", ".500")]);
    assert!(mixed.contains("at = \"string\""), "{mixed}");
}

#[test]
fn versions_are_recognised_where_no_key_is_made_of_them() {
    let mut rows = Vec::new();
    for minor in 0..12 {
        rows.push(row(&[
            ("pk", "PACKAGE#left-pad".to_owned()),
            ("sk", format!("VERSION#1.{minor}.0")),
            ("version", format!("1.{minor}.0")),
            ("needs", format!("2.{minor}.0-rc.1")),
        ]));
    }
    let proposal = trestle_discover::infer(&facts("packages", &[]), rows);
    let model = loaded(&proposal);
    let kind = |name: &str| model.entities().first().unwrap().attribute(name).unwrap().kind;
    assert_eq!(kind("needs"), AttributeKind::Semver);
    assert_eq!(
        kind("version"),
        AttributeKind::String,
        "as semver, rows would have other keys"
    );
    assert!(
        proposal.text.contains("type semver would give rows other keys"),
        "{}",
        proposal.text
    );
}
