//! Derived keys: filled in, checked, moved and removed.

use crate::rows::{model, row, system, text, with, written};
use trestle_item::{AttributeValue, Item};
use trestle_model::Model;

const TABLE: &str = "shop";

fn shop() -> Model {
    model(
        r##"
model = "shop"
[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"
[table.shop.index.by_status]
key = ["status_key", "placed"]
[table.shop.index.by_total]
key = ["customer", "total"]

[entity.order]
table = "shop"
key = { pk = "order#{id}", sk = "order", status_key = "{status}#{customer}" }
created = "createdAt"
updated = "changed"
[entity.order.attributes]
id = "string"
customer = "string"
status = { type = "string", optional = true }
placed = { type = "timestamp", optional = true }
total = { type = "integer", optional = true }
channel = { type = "string", default = "web", one_of = ["web", "phone"] }
origin = { type = "string", optional = true, immutable = true }
changed = "epoch-seconds"

[entity.line]
table = "shop"
key = { pk = "order#{id}", sk = "line#{number:04}" }
closed = true
attributes = { id = "string", number = "integer" }
"##,
    )
}

fn order() -> Item {
    row(&[("kind", "order"), ("id", "7"), ("customer", "c1")])
}

fn refusal(model: &Model, old: Option<&Item>, new: &Item) -> String {
    written(model, TABLE, old, new).unwrap_err()
}

#[test]
fn keys_defaults_and_times_are_filled_in() {
    let stored = written(&shop(), TABLE, None, &order()).unwrap();
    let mut expected = row(&[
        ("kind", "order"),
        ("id", "7"),
        ("customer", "c1"),
        ("pk", "order#7"),
        ("sk", "order"),
        ("channel", "web"),
        ("createdAt", "2019-12-30T19:32:14.000Z"),
    ]);
    expected.insert("changed", 1_577_734_334_i64);
    assert_eq!(stored, expected);
}

#[test]
fn an_empty_map_or_list_can_be_a_default_and_nothing_else_can() {
    let text = |tags: &str, steps: &str| {
        r#"
model = "m"
[table.things]
key = ["pk"]
entity_attribute = "kind"
[entity.e]
table = "things"
key = { pk = "{id}" }
[entity.e.attributes]
id = "string"
tags = { type = "map", default = TAGS }
steps = { type = "list", default = STEPS }
"#
        .replace("TAGS", tags)
        .replace("STEPS", steps)
    };
    let model = model(&text("{}", "[]"));
    let stored = written(&model, "things", None, &row(&[("kind", "e"), ("id", "7")])).unwrap();
    assert_eq!(
        stored.get("tags"),
        Some(&AttributeValue::M(trestle_item::Map::new()))
    );
    assert_eq!(stored.get("steps"), Some(&AttributeValue::L(Vec::new())));
    for (tags, steps) in [("{ a = 1 }", "[]"), ("[]", "[]"), ("{}", "[1]"), ("{}", "{}")] {
        assert!(
            trestle_model::load(&text(tags, steps)).model.is_none(),
            "{tags} {steps}"
        );
    }
}

#[test]
fn a_row_without_tag_is_known_by_its_key_and_gets_what_the_key_says() {
    let given = row(&[("pk", "order#7"), ("sk", "line#0012")]);
    let stored = written(&shop(), TABLE, None, &given).unwrap();
    assert_eq!(text(&stored, "kind"), Some("line"));
    assert_eq!(text(&stored, "id"), Some("7"));
    assert_eq!(stored.get("number"), Some(&AttributeValue::from(12_i64)));
}

#[test]
fn an_index_key_comes_and_goes_with_its_attribute() {
    let model = shop();
    let old = written(&model, TABLE, None, &with(order(), "status", "open")).unwrap();
    assert_eq!(text(&old, "status_key"), Some("open#c1"));
    let mut without = old.clone();
    without.remove("status");
    let new = written(&model, TABLE, Some(&old), &without).unwrap();
    assert_eq!(new.get("status_key"), None);
    let back = written(&model, TABLE, Some(&new), &with(new.clone(), "status", "paid")).unwrap();
    assert_eq!(text(&back, "status_key"), Some("paid#c1"));
}

#[test]
fn a_given_key_must_be_the_derived_one() {
    let model = shop();
    let refused = refusal(&model, None, &with(order(), "pk", "order#8"));
    assert!(
        refused.contains(
            "key pk was given as the string \"order#8\", but its attributes give the string \"order#7\""
        ),
        "{refused}"
    );
    let open = with(order(), "status", "open");
    let refused = refusal(&model, None, &with(open.clone(), "status_key", "open#c2"));
    assert!(
        refused.contains("open#c2") && refused.contains("open#c1"),
        "{refused}"
    );
    assert!(written(&model, TABLE, None, &with(open, "status_key", "open#c1")).is_ok());
    let refused = refusal(&model, None, &with(order(), "status_key", "open#c1"));
    assert!(
        refused.contains("needs the attribute status, of which its key status_key is made"),
        "{refused}"
    );
}

#[test]
fn an_identifying_attribute_cannot_change_under_its_key() {
    let model = shop();
    let old = written(&model, TABLE, None, &order()).unwrap();
    let refused = refusal(&model, Some(&old), &with(old.clone(), "id", "8"));
    assert_eq!(
        refused,
        "Entity order: attribute id identifies the row and cannot change; it is the string \"7\", and was given as the \
         string \"8\"; delete the row and put another one"
    );
}

#[test]
fn what_does_not_fit_is_named() {
    let model = shop();
    let mut lacking = order();
    lacking.remove("customer");
    let mut anonymous = order();
    anonymous.remove("id");
    for (item, says) in [
        (lacking, "Entity order needs the attribute customer"),
        (anonymous, "needs the attribute id, of which its key pk is made"),
        (
            with(order(), "customer", 5_i64),
            "attribute customer must be of type string, but is the number 5",
        ),
        (
            with(order(), "channel", "fax"),
            "must be one of `web` and `phone`, but is the string \"fax\"",
        ),
        (with(order(), "id", ""), "attribute id is empty"),
        (
            with(with(order(), "status", "a#b"), "customer", "c"),
            "contains '#', the separator behind it in the key",
        ),
        (with(order(), "placed", "yesterday"), "must be a timestamp in UTC"),
        (
            with(order(), "kind", "ordre"),
            "kind is \"ordre\", which is no entity of table shop; there is `order` and `line`",
        ),
        (
            row(&[("id", "7")]),
            "is no entity of table shop, which holds `order` and `line`; say which with kind",
        ),
        (
            row(&[
                ("kind", "line"),
                ("id", "7"),
                ("colour", "red"),
                ("pk", "order#7"),
                ("sk", "line#0001"),
            ]),
            "closed and has no attribute colour",
        ),
        (
            with(row(&[("kind", "line"), ("id", "7")]), "number", 12345_i64),
            "wider than the 4 digits of the key",
        ),
        (
            with(row(&[("kind", "line"), ("id", "7")]), "number", -1_i64),
            "may not be negative",
        ),
    ] {
        let refused = refusal(&model, None, &item);
        assert!(refused.contains(says), "{item:?}: {refused}");
    }
}

#[test]
fn what_is_immutable_is_written_once() {
    let model = shop();
    let old = written(&model, TABLE, None, &order()).unwrap();
    let set = written(&model, TABLE, Some(&old), &with(old.clone(), "origin", "de")).unwrap();
    assert!(
        refusal(&model, Some(&set), &with(set.clone(), "origin", "fr"))
            .contains("attribute origin may not change")
    );
    let mut gone = set.clone();
    gone.remove("origin");
    assert!(refusal(&model, Some(&set), &gone).contains("attribute origin may not change"));
}

#[test]
fn the_first_time_stays_and_the_last_time_moves() {
    let model = shop();
    let old = written(&model, TABLE, None, &order()).unwrap();
    let mut new = order();
    model
        .derive(TABLE, Some(&old), &new.clone(), 1_600_000_000_000)
        .unwrap()
        .unwrap()
        .apply(&mut new);
    assert_eq!(new.get("createdAt"), old.get("createdAt"));
    assert_eq!(new.get("changed"), Some(&AttributeValue::from(1_600_000_000_i64)));
}

#[test]
fn a_table_without_a_model_is_left_alone() {
    assert_eq!(shop().derive("elsewhere", None, &order(), 0).unwrap(), None);
}

#[test]
fn an_open_table_leaves_strangers_alone() {
    let text = "model = \"m\"\n[table.rows]\nkey = [\"pk\"]\nopen = true\n[entity.a]\ntable = \"rows\"\nkey.pk = \"a#{id}\"\nattributes = { id = \"string\" }\n";
    let open = model(text);
    assert_eq!(
        open.derive("rows", None, &row(&[("pk", "b#1")]), 0).unwrap(),
        None
    );
    assert_eq!(
        text_of(&written(&open, "rows", None, &row(&[("pk", "a#1")])).unwrap()),
        Some("1".to_owned())
    );
    let closed = model(&text.replace("open = true\n", ""));
    assert!(
        written(&closed, "rows", None, &row(&[("pk", "b#1")]))
            .unwrap_err()
            .contains("needs the attribute id")
    );
}

fn text_of(item: &Item) -> Option<String> {
    text(item, "id").map(str::to_owned)
}

#[test]
fn klayers_rows_are_told_apart_by_the_shape_of_their_keys() {
    let model = system("klayers");
    for (pk, sk, entity) in [
        ("lyr#ap-southeast-1:requests:p3.9", "lyrVrsn#v1", "layer"),
        ("lyr#ap-southeast-1:requests:p3.9", "lyrVrsn0#", "layer.head"),
        ("bldVrsn0#p3.9", "pckg#requests", "build.head"),
        ("bld#v1:p3.9", "pckg#requests", "build"),
        ("cnfg#pckgs", "p3.8", "config"),
    ] {
        let recognised = model
            .recognise("kl.db-ver2", &row(&[("pk", pk), ("sk", sk)]))
            .unwrap()
            .unwrap();
        assert_eq!(recognised.name(), entity, "{pk} {sk}");
    }
    // The layout before 2022 does not belong to the model.
    assert!(
        model
            .recognise(
                "kl.db-ver2",
                &row(&[("pk", "lyr#ap-southeast-1.requests"), ("sk", "lyrVrsn#v1")])
            )
            .is_err()
    );
}

#[test]
fn a_layer_gets_its_composite_index_keys_and_its_head_does_not() {
    let model = system("klayers");
    let layer = with(
        row(&[
            ("rgn", "eu-west-1"),
            ("pckg", "idna"),
            ("pyVrsn", "p3.12"),
            ("arn", "a"),
            ("pckgVrsn", "3.7"),
        ]),
        "lyrVrsn",
        2_i64,
    );
    let version = with(
        with(layer.clone(), "pk", "lyr#eu-west-1:idna:p3.12"),
        "sk",
        "lyrVrsn#v2",
    );
    let stored = written(&model, "kl.db-ver2", None, &version).unwrap();
    assert_eq!(text(&stored, "rgn#PyVrsn"), Some("eu-west-1:p3.12"));
    assert_eq!(text(&stored, "pckg#PyVrsn"), Some("idna:p3.12"));
    let head = with(with(layer, "pk", "lyr#eu-west-1:idna:p3.12"), "sk", "lyrVrsn0#");
    let stored = written(&model, "kl.db-ver2", None, &head).unwrap();
    assert_eq!(stored, head);
}
