//! Rows and keys during a move: what they become, and what is refused.

use trestle_item::{AttributeValue, Item};
use trestle_model::{LayoutChange, Refusal};

use super::{key, layout_change};
use crate::rows::{model, row, with, written};

const LAYERS: &str = r##"model = "layers"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[table.rows.index.by_package]
key = ["gpk", "n"]
[entity.layer]
table = "rows"
key = { pk = "lyr#{rgn}.{pckg}", sk = "v{n}", gpk = "p#{pckg}" }
created = "made"
updated = "changed"
[entity.layer.attributes]
rgn = { type = "string", chars = "a-z0-9-" }
pckg = { type = "string", chars = "A-Za-z0-9_-" }
n = "integer"
mail = { type = "string", optional = true }
[entity.layer.head]
key.sk = "head"
newest_by = "n"
[entity.layer.unique.mail]
key = { pk = "mail#{mail|lower}", sk = "mail" }
"##;

/// The Python version is added, separators change, numbers are padded, and every companion changes, too.
fn layers_now() -> String {
    LAYERS
        .replace("lyr#{rgn}.{pckg}", "lyr#{rgn}:{pckg}:{py}")
        .replace("v{n}", "v{n:04}")
        .replace("p#{pckg}", "p#{pckg}:{py}")
        .replace("mail#{mail|lower}", "email#{mail|lower}")
        .replace(
            "n = \"integer\"",
            "n = \"integer\"\npy = \"string\"\nrank = { type = \"integer\", default = 7 }",
        )
        + "[entity.layer.migrate]\nset = { py = \"p3.8\" }\n"
}

fn layers() -> (LayoutChange, LayoutChange) {
    let out = layout_change(LAYERS, &layers_now());
    let back = out.reversed().unwrap();
    (out, back)
}

fn layer() -> Item {
    let given = with(
        row(&[("rgn", "eu-1"), ("pckg", "numpy"), ("mail", "A@b.c")]),
        "n",
        12_i64,
    );
    written(&model(LAYERS), "rows", None, &with(given, "kind", "layer")).unwrap()
}

#[test]
fn a_row_gets_what_it_lacks_and_keeps_what_it_has_its_times_included() {
    let (out, _) = layers();
    let former = layer();
    assert_eq!(former.get("pk"), Some(&"lyr#eu-1.numpy".into()));
    let renewed = out.renew("rows", &former).unwrap();
    let mut expected = former.clone();
    for (name, value) in [
        ("pk", "lyr#eu-1:numpy:p3.8"),
        ("sk", "v0012"),
        ("gpk", "p#numpy:p3.8"),
        ("py", "p3.8"),
    ] {
        expected.insert(name, value);
    }
    assert_eq!(renewed, with(expected, "rank", 7_i64));
    // A row that already has it keeps it.
    let other = out.renew("rows", &with(former, "py", "p3.9")).unwrap();
    assert_eq!(other.get("pk"), Some(&"lyr#eu-1:numpy:p3.9".into()));
}

#[test]
fn renewing_again_changes_nothing_and_neither_does_deriving() {
    let (out, _) = layers();
    let renewed = out.renew("rows", &layer()).unwrap();
    assert_eq!(out.renew("rows", &renewed).unwrap(), renewed);
    let now = model(&layers_now());
    let derived = now
        .derive("rows", Some(&renewed), &renewed, 1_577_734_334_000)
        .unwrap()
        .unwrap();
    assert!(derived.is_empty(), "{derived:?}");
}

#[test]
fn index_keys_of_the_version_before_go_where_the_present_one_has_none() {
    let out = layout_change(LAYERS, &layers_now().replace(", gpk = \"p#{pckg}:{py}\"", ""));
    let renewed = out.renew("rows", &layer()).unwrap();
    assert!(!renewed.contains_key("gpk"), "{renewed:?}");
    assert_eq!(out.reversed().unwrap().renew("rows", &renewed).unwrap(), layer());
}

#[test]
fn times_are_never_made_up() {
    let (out, back) = layers();
    let mut former = layer();
    former.remove("made");
    former.remove("changed");
    let renewed = out.renew("rows", &former).unwrap();
    assert!(!renewed.contains_key("made") && !renewed.contains_key("changed"));
    assert_eq!(back.renew("rows", &renewed).unwrap(), former);
}

#[test]
fn a_row_comes_back_byte_for_byte() {
    let (out, back) = layers();
    let former = with(layer(), "extra", AttributeValue::L(vec!["x".into()]));
    assert_eq!(
        back.renew("rows", &out.renew("rows", &former).unwrap()).unwrap(),
        former
    );
}

#[test]
fn what_the_version_before_knows_stays_on_the_way_back() {
    let known = LAYERS.replace(
        "n = \"integer\"",
        "n = \"integer\"\npy = { type = \"string\", optional = true }",
    );
    let out = layout_change(&known, &layers_now());
    let back = out.reversed().unwrap();
    let returned = back.renew("rows", &out.renew("rows", &layer()).unwrap()).unwrap();
    assert_eq!(
        returned,
        with(layer(), "py", "p3.8"),
        "a row may have had it, and keeps it"
    );
}

#[test]
fn what_was_written_since_stays_on_the_way_back() {
    let (out, back) = layers();
    let ranked = with(out.renew("rows", &layer()).unwrap(), "rank", 9_i64);
    assert_eq!(back.renew("rows", &ranked).unwrap(), with(layer(), "rank", 9_i64));
}

#[test]
fn a_row_that_the_version_before_has_no_place_for_does_not_go_back() {
    let (out, back) = layers();
    let renewed = out.renew("rows", &with(layer(), "py", "p3.9")).unwrap();
    assert!(back.is_former("rows", &renewed));
    let refusal = back.renew("rows", &renewed).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "Entity layer: attribute py is the string \"p3.9\", and the layout before only has a place for rows where it is \
         the string \"p3.8\""
    );
    assert_eq!(back.renew_key("rows", &renewed).unwrap_err(), refusal);
}

#[test]
fn heads_and_unique_rows_move_with_their_entity() {
    let (out, back) = layers();
    let mut moved: Vec<&str> = out.moves().map(|moved| moved.entity).collect();
    moved.sort_unstable();
    assert_eq!(moved, ["layer", "layer.head", "layer.unique.mail"]);

    let head = with(with(layer(), "sk", "head"), "kind", "layer.head");
    let renewed = out.renew("rows", &head).unwrap();
    assert_eq!(renewed.get("pk"), Some(&"lyr#eu-1:numpy:p3.8".into()));
    assert_eq!(renewed.get("kind"), Some(&"layer.head".into()));
    assert_eq!(back.renew("rows", &renewed).unwrap(), head);

    let unique = row(&[
        ("pk", "mail#a@b.c"),
        ("sk", "mail"),
        ("kind", "layer.unique.mail"),
        ("mail", "A@b.c"),
    ]);
    let unique = with(with(with(unique, "rgn", "eu-1"), "pckg", "numpy"), "n", 12_i64);
    let renewed = out.renew("rows", &unique).unwrap();
    assert_eq!(renewed.get("pk"), Some(&"email#a@b.c".into()));
    assert_eq!(
        renewed.get("py"),
        Some(&"p3.8".into()),
        "what identifies the row it belongs to"
    );
    assert_eq!(back.renew("rows", &renewed).unwrap(), unique);
    // The key has only the folded text, which is enough.
    assert_eq!(
        out.former_place("rows", &key(&["email#a@b.c", "mail"])),
        Some(key(&["mail#a@b.c", "mail"]))
    );
    assert_eq!(
        out.renew_key("rows", &key(&["mail#a@b.c", "mail"])),
        Ok(key(&["email#a@b.c", "mail"]))
    );
    assert_eq!(
        out.former_place("rows", &key(&["email#A@b.c", "mail"])),
        None,
        "no key is written so"
    );
}

#[test]
fn heads_and_unique_rows_get_only_what_they_can_have() {
    let to = layers_now()
        .replace("newest_by = \"n\"", "newest_by = \"n\"\nomit = [\"colour\"]")
        .replace(
            "n = \"integer\"",
            "n = \"integer\"\ncolour = { type = \"string\", optional = true }",
        )
        .replace("set = {", "set = { colour = \"red\",");
    let out = layout_change(LAYERS, &to);
    assert_eq!(
        out.renew("rows", &layer()).unwrap().get("colour"),
        Some(&"red".into())
    );
    let head = with(with(layer(), "sk", "head"), "kind", "layer.head");
    assert_eq!(out.renew("rows", &head).unwrap().get("colour"), None);
}

#[test]
fn companions_of_a_renamed_entity_are_found_by_the_name_it_had() {
    let renamed = layers_now()
        .replace("[entity.layer", "[entity.bundle")
        .replace("created =", "tag = \"layer\"\ncreated =");
    let out = layout_change(LAYERS, &renamed.replace("set =", "from = \"layer\"\nset ="));
    let mut moves: Vec<_> = out
        .moves()
        .map(|moved| (moved.entity, moved.former_entity))
        .collect();
    moves.sort_unstable();
    assert_eq!(
        moves,
        [
            ("bundle", "layer"),
            ("bundle.head", "layer.head"),
            ("bundle.unique.mail", "layer.unique.mail")
        ]
    );
    let head = with(with(layer(), "sk", "head"), "kind", "layer.head");
    assert_eq!(
        out.renew("rows", &head).unwrap().get("kind"),
        Some(&"layer.head".into())
    );
}

#[test]
fn what_is_folded_in_the_key_has_its_way_back_in_lower_case() {
    let text = |key: &str, more: &str| {
        format!(
            "model = \"m\"\n[table.rows]\nkey = [\"pk\"]\n[entity.e]\ntable = \"rows\"\nkey.pk = \"e#{{a}}\"\nattributes = {{ a =              \"string\", c = {{ type = \"string\", optional = true }} }}\n[entity.e.unique.a]\nkey.pk = \"{key}\"\n{more}"
        )
    };
    let now = text(
        "w#{a|lower}#{c|lower}",
        "[entity.e.migrate]\nset = { c = \"K\" }\n",
    );
    let back = layout_change(&text("u#{a|lower}", ""), &now).reversed().unwrap();
    assert_eq!(back.former_place("rows", &key(&["u#i"])), Some(key(&["w#i#k"])));
    assert_eq!(back.renew_key("rows", &key(&["w#i#k"])), Ok(key(&["u#i"])));
    let refusal = back.renew_key("rows", &key(&["w#i#m"])).unwrap_err();
    assert!(matches!(refusal, Refusal::NoWayBack { .. }), "{refusal}");
}

#[test]
fn what_identifies_a_row_may_be_in_its_key_only() {
    let (out, back) = layers();
    let renewed = out.renew("rows", &key(&["lyr#eu-1.numpy", "v12"])).unwrap();
    assert_eq!(renewed.get("rgn"), Some(&"eu-1".into()));
    assert_eq!(renewed.get("n"), Some(&12_i64.into()));
    assert_eq!(renewed.get("pk"), Some(&"lyr#eu-1:numpy:p3.8".into()));
    let whole = back.renew("rows", &renewed).unwrap();
    assert_eq!(whole.get("pk"), Some(&"lyr#eu-1.numpy".into()));
    assert_eq!(out.renew("rows", &whole).unwrap(), renewed);
}

#[test]
fn a_number_that_is_wider_than_its_place_stays_and_says_why() {
    let (out, _) = layers();
    let wide = with(with(layer(), "n", 12_345_i64), "sk", "v12345");
    assert!(out.is_former("rows", &wide));
    let refusal = out.renew("rows", &wide).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "Entity layer: attribute n is 12345, which is wider than the 4 digits of the key"
    );
    assert_eq!(out.renew_key("rows", &wide).unwrap_err(), refusal);
}

#[test]
fn a_row_whose_attributes_give_another_key_stays_and_says_why() {
    let (out, _) = layers();
    let refusal = out.renew("rows", &with(layer(), "pckg", "pandas")).unwrap_err();
    assert!(matches!(refusal, Refusal::Mismatch { .. }), "{refusal}");
    let refusal = out.renew("rows", &with(layer(), "kind", "build")).unwrap_err();
    assert!(matches!(refusal, Refusal::UnknownTag { .. }), "{refusal}");
}

#[test]
fn equal_keys_are_not_former() {
    let text = |sk: &str| {
        format!(
            "model = \"m\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\n[entity.e]\ntable = \"rows\"\nkey = {{ pk = \"x\", sk = \"{sk}\" \
             }}\nattributes = {{ n = \"integer\" }}\n"
        )
    };
    let out = layout_change(&text("v{n}"), &text("v{n:02}"));
    for (sk, former) in [
        ("v1", true),
        ("v01", false),
        ("v10", false),
        ("v100", true),
        ("v010", false),
    ] {
        assert_eq!(out.is_former("rows", &key(&["x", sk])), former, "{sk}");
    }
    assert_eq!(
        out.former_place("rows", &key(&["x", "v01"])),
        Some(key(&["x", "v1"]))
    );
    assert_eq!(out.former_place("rows", &key(&["x", "v10"])), None);
    let row = with(key(&["x", "v10"]), "n", 10_i64);
    assert_eq!(out.renew("rows", &row).unwrap(), row);
    assert_eq!(out.renew_key("rows", &key(&["x", "v10"])), Ok(key(&["x", "v10"])));
}

#[test]
fn a_key_that_says_two_things_of_one_attribute_is_no_key() {
    let text = |pk: &str| {
        format!(
            "model = \"m\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\n[entity.e]\ntable = \"rows\"\nkey = {{ pk = \"{pk}\", sk =              \"y#{{a}}\" }}\nattributes = {{ a = \"string\" }}\n"
        )
    };
    let out = layout_change(&text("x#{a}"), &text("z#{a}"));
    assert!(out.is_former("rows", &key(&["x#i", "y#i"])));
    assert!(!out.is_former("rows", &key(&["x#i", "y#j"])));
    assert_eq!(out.former_place("rows", &key(&["z#i", "y#j"])), None);
}

#[test]
fn a_key_that_is_a_number_moves_with_its_partition() {
    let text = |pk: &str| {
        format!(
            "model = \"m\"\n[table.rows]\nkey = [\"pk\", {{ name = \"n\", type = \"number\" }}]\n[entity.e]\ntable = \
             \"rows\"\nkey.pk = \"{pk}\"\nattributes = {{ a = \"string\", n = \"number\" }}\n"
        )
    };
    let out = layout_change(&text("x#{a}"), &text("y#{a}"));
    let place = |pk: &str| with(row(&[("pk", pk)]), "n", AttributeValue::N("1.5".parse().unwrap()));
    assert_eq!(out.former_place("rows", &place("y#i")), Some(place("x#i")));
    assert_eq!(out.renew_key("rows", &place("x#i")), Ok(place("y#i")));
    let renewed = out.renew("rows", &place("x#i")).unwrap();
    assert_eq!(renewed, with(place("y#i"), "a", "i"));
}

#[test]
fn a_key_of_the_layout_before_says_what_it_lacks() {
    let (out, _) = layers();
    assert_eq!(
        out.renew_key("rows", &key(&["lyr#eu-1.numpy", "v12"])),
        Ok(key(&["lyr#eu-1:numpy:p3.8", "v0012"]))
    );
    let without = layers_now().replace("set = { py = \"p3.8\" }", "set = { rank = 7 }");
    let refusal = layout_change(LAYERS, &without)
        .renew_key("rows", &key(&["lyr#eu-1.numpy", "v12"]))
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "Entity layer: the key is of the layout before, which does not say `py`; give the key in the present layout, or \
         the identifying attributes"
    );
    // Where rows could have it already, what `set` gives is not assumed.
    let known = LAYERS.replace(
        "n = \"integer\"",
        "n = \"integer\"\npy = { type = \"string\", optional = true }",
    );
    let refusal = layout_change(&known, &layers_now()).renew_key("rows", &key(&["lyr#eu-1.numpy", "v12"]));
    assert!(matches!(refusal, Err(Refusal::FormerKey { .. })), "{refusal:?}");
}

#[test]
fn a_put_in_the_layout_before_is_placed_by_the_present_one() {
    let (out, _) = layers();
    let now = model(&layers_now());
    let renewed = out.renew("rows", &layer()).unwrap();
    let placed = |item: Item| {
        now.place("rows", out.renew_given("rows", item).unwrap(), 0)
            .unwrap()
    };
    let of_own_place = |item: &Item| (item.get("pk").cloned(), item.get("sk").cloned());
    // With attributes, and with keys only.
    assert_eq!(of_own_place(&placed(layer())), of_own_place(&renewed));
    assert_eq!(
        of_own_place(&placed(key(&["lyr#eu-1.numpy", "v12"]))),
        of_own_place(&renewed)
    );
    // Index keys of the former layout are not a mistake of the client.
    assert!(layer().contains_key("gpk"));
    assert!(now.derive("rows", None, &placed(layer()), 0).is_ok());
    // In the present layout it is left unchanged, even where it is wrong.
    assert_eq!(out.renew_given("rows", renewed.clone()).unwrap(), renewed);
    let wrong = key(&["lyr#eu-1:numpy:p3.8", "v12"]);
    assert_eq!(out.renew_given("rows", wrong.clone()).unwrap(), wrong);
    let contradicting = with(key(&["lyr#eu-1.numpy", "v12"]), "rgn", "us-1");
    assert!(matches!(
        out.renew_given("rows", contradicting),
        Err(Refusal::Mismatch { .. })
    ));
}

#[test]
fn a_put_in_the_newer_layout_is_placed_on_the_way_back() {
    let (out, _) = layers();
    let closed = LAYERS.replace("table = \"rows\"", "table = \"rows\"\nclosed = true");
    let back = layout_change(&closed, &layers_now()).reversed().unwrap();
    let renewed = out.renew("rows", &layer()).unwrap();
    let given = back.renew_given("rows", renewed.clone()).unwrap();
    let before = model(&closed);
    let placed = before.place("rows", given, 0).unwrap();
    assert_eq!(placed.get("pk"), Some(&"lyr#eu-1.numpy".into()));
    assert!(
        before.derive("rows", None, &placed, 0).is_ok(),
        "what it does not know is gone"
    );
    let other = with(with(renewed, "py", "p3.9"), "pk", "lyr#eu-1:numpy:p3.9");
    assert!(matches!(
        back.renew_given("rows", other),
        Err(Refusal::NoWayBack { .. })
    ));
}

#[test]
fn a_tag_attribute_that_comes_in_goes_again_on_the_way_back() {
    let untagged = LAYERS
        .replace("entity_attribute = \"kind\"\n", "")
        .replace("table = \"rows\"", "table = \"rows\"\nclosed = true");
    let out = layout_change(&untagged, &layers_now());
    let mut former = layer();
    former.remove("kind");
    let renewed = out.renew("rows", &former).unwrap();
    assert_eq!(renewed.get("kind"), Some(&"layer".into()));
    assert_eq!(out.reversed().unwrap().renew("rows", &renewed).unwrap(), former);
}

#[test]
fn escapes_follow_the_separators_of_each_layout() {
    let text = |pk: &str| {
        format!(
            "model = \"m\"\n[table.rows]\nkey = [\"pk\"]\n[entity.e]\ntable = \"rows\"\nkey.pk = \"{pk}\"\nattributes = {{ a = \
             \"string\", s = {{ type = \"string\", one_of = [\"on\", \"off\"] }} }}\n"
        )
    };
    let out = layout_change(&text("x#{a|escape}#{s}"), &text("y/{a|escape}/{s}"));
    let former = key(&["x#i/%23%25#on"]);
    let own = key(&["y/i%2F#%25/on"]);
    assert_eq!(out.renew_key("rows", &former), Ok(own.clone()));
    assert_eq!(out.former_place("rows", &own), Some(former));
    assert_eq!(out.former_place("rows", &key(&["y/i/maybe"])), None);
    assert!(!out.is_former("rows", &key(&["x#i#maybe"])));
}

#[test]
fn tables_that_nobody_moves_are_left_alone() {
    let (out, _) = layers();
    let row = layer();
    assert!(!out.is_former("others", &row));
    assert_eq!(out.former_place("others", &row), None);
    assert_eq!(out.renew("others", &row).unwrap(), row);
    assert_eq!(out.renew_key("others", &row).unwrap(), row);
    assert_eq!(out.renew_given("others", row.clone()).unwrap(), row);
    assert_eq!(
        out.sources("others", None, None),
        trestle_hook::Sources::default()
    );
}
