//! Reasons against a new layout are reported before anything moves.

use super::{between, layout_change, shown};

/// One entity `e` with the given key and attributes, and more lines.
fn version(pk: &str, sk: &str, attributes: &str, more: &str) -> String {
    format!(
        "model = \"m\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\n[entity.e]\ntable = \"rows\"\nkey = {{ pk = \"{pk}\", sk = \
         \"{sk}\" }}\nattributes = {{ {attributes} }}\n{more}"
    )
}

const AB: &str = "a = { type = \"string\", chars = \"a-z\" }, b = { type = \"string\", chars = \"a-z\" }";

#[track_caller]
fn hindered(from: &str, to: &str, says: &str, help: &str) {
    let shown = shown(&between(from, to).unwrap_err());
    assert!(shown.contains(says), "no {says:?} in:\n{shown}");
    assert!(shown.contains(help), "no {help:?} in:\n{shown}");
}

#[test]
fn the_same_templates_move_nothing() {
    let text = version("x#{a}", "y#{b}", AB, "");
    let wider = version(
        "x#{a}",
        "y#{b}",
        "a = \"string\", b = { type = \"string\", length = \"1..9\" }",
        "",
    );
    for to in [&text, &wider] {
        let same = layout_change(&text, to);
        assert!(same.is_empty());
        assert_eq!((same.tables().count(), same.moves().count()), (0, 0));
        assert!(!same.is_former("rows", &super::key(&["x#a", "y#b"])));
    }
}

#[test]
fn what_moves_is_listed_with_its_templates() {
    let out = layout_change(
        &version("x#{a}", "y#{b}", AB, ""),
        &version("x.{a}", "y#{b}", AB, ""),
    );
    assert_eq!(out.tables().collect::<Vec<_>>(), ["rows"]);
    let moves: Vec<_> = out.moves().collect();
    let keys: Vec<_> = moves[0]
        .keys
        .iter()
        .map(|key| (key.attribute, key.before, key.now))
        .collect();
    assert_eq!(
        (moves[0].entity, moves[0].former_entity, moves[0].table),
        ("e", "e", "rows")
    );
    assert_eq!(keys, [("pk", "x#{a}", "x.{a}"), ("sk", "y#{b}", "y#{b}")]);
}

#[test]
fn a_field_that_the_present_key_lacks_hides_where_rows_lay() {
    hindered(
        &version("x#{a}", "y#{b}", AB, ""),
        &version("x.{a}", "y", AB, ""),
        "entity `e` had the key (pk = \"x#{a}\", sk = \"y#{b}\") and has the key (pk = \"x.{a}\", sk = \"y\"), which does \
         not say `b`",
        "use `b` in the present key, too",
    );
}

#[test]
fn a_field_that_is_folded_now_does_not_say_what_it_was() {
    let unique = |key: &str| {
        version("x#{a}", "y", AB, "[entity.e.unique.b]\n")
            + &format!("key = {{ pk = \"{key}\", sk = \"u\" }}\n")
    };
    hindered(
        &unique("u#{b}"),
        &unique("w#{b|lower}"),
        "which does not say `b`",
        "use `b` in the present key",
    );
    layout_change(&unique("u#{b|lower}"), &unique("w#{b|lower}"));
    let out = layout_change(&unique("u#{b|lower}"), &unique("w#{b}"));
    assert_eq!(
        out.former_place("rows", &super::key(&["w#q", "u"])),
        Some(super::key(&["u#q", "u"]))
    );
    let refusal = out.renew_key("rows", &super::key(&["u#q", "u"])).unwrap_err();
    assert!(refusal.to_string().contains("does not say `b`"), "{refusal}");
}

#[test]
fn a_field_of_another_type_cannot_be_read_back() {
    hindered(
        &version("x#{a}", "y", "a = \"string\"", ""),
        &version("x.{a}", "y", "a = \"integer\"", ""),
        "`a` in its key, which was of type string and is of type integer",
        "give it the type that it had",
    );
}

#[test]
fn a_key_of_both_layouts_is_shown() {
    hindered(
        &version("x#{a}", "y", "a = \"string\"", ""),
        &version("x#z#{a}", "y", "a = \"string\"", ""),
        "(pk = \"x#z#x\", sk = \"y\") is a key of both",
        "narrow what the former key is made of",
    );
    // Swapped fields: every key belongs to both layouts, and means another row.
    hindered(
        &version("{a}#{b}", "y", AB, ""),
        &version("{b}#{a}", "y", AB, ""),
        "such a row could lie in either place",
        "begin the present key with a text of its own",
    );
}

#[test]
fn a_key_of_another_entity_is_shown() {
    let other = "[entity.f]\ntable = \"rows\"\nkey = { pk = \"x#{c}\", sk = \"f\" }\nattributes = { c = \"string\" }\n";
    let newcomer = "[entity.g]\ntable = \"rows\"\nkey = { pk = \"x#{c}\", sk = \"y\" }\nattributes = { c = \"string\" }\n";
    let from = version("x#{a}", "y", AB, other);
    assert_eq!(
        layout_change(&from, &version("z#{a}", "y", AB, other))
            .moves()
            .count(),
        1
    );
    hindered(
        &from,
        &version("z#{a}", "y", AB, newcomer),
        "is a key of both that and (pk = \"x#{c}\", sk = \"y\") of entity `g`",
        "begin the present key",
    );
}

#[test]
fn a_place_where_rows_of_a_lost_entity_may_lie_is_shown() {
    let lost = "[entity.lost]\ntable = \"rows\"\nkey = { pk = \"z#{c}\", sk = \"y\" }\nattributes = { c = \"string\" }\n";
    hindered(
        &version("x#{a}", "y", AB, lost),
        &version("z#{a}", "y", AB, ""),
        "was a key of entity `lost`, which is no longer in the model",
        "take `lost` out of the model in a separate version",
    );
    layout_change(&version("x#{a}", "y", AB, lost), &version("w#{a}", "y", AB, ""));
}

#[test]
fn padding_is_no_hindrance_where_digits_end() {
    let n = "n = \"integer\", m = \"integer\"";
    for (before, now) in [
        ("{n}", "{n:04}"),
        ("{n:04}", "{n}"),
        ("{n:02}#{m}", "{n:03}#{m:02}"),
    ] {
        layout_change(&version("x", before, n, ""), &version("x", now, n, ""));
    }
    // Here 12345 would be 12 and 345, or 123 and 45.
    hindered(
        &version("x", "{n:02}{m:03}", n, ""),
        &version("x", "{n:03}{m:02}", n, ""),
        "could lie in either place",
        "",
    );
}

#[test]
fn rows_stay_in_their_table_and_keep_their_tag() {
    let from = version("x#{a}", "y", AB, "");
    hindered(
        &from,
        &version("x.{a}", "y", AB, "").replace(
            "key = [\"pk\", \"sk\"]",
            "name = \"others\"\nkey = [\"pk\", \"sk\"]",
        ),
        "was in table `rows` and is in table `others`",
        "leave it in its table",
    );
    hindered(
        &from,
        &version("x.{a}", "y", AB, "")
            .replace("\"sk\"]", "{ name = \"sk\", type = \"number\" }]")
            .replace("sk = \"y\"", "sk = \"{n}\"")
            .replace("attributes = {", "attributes = { n = \"integer\","),
        "whose key is another one",
        "a table's key never changes",
    );
    let tagged = |text: String| text.replace("[entity.e]", "entity_attribute = \"kind\"\n[entity.e]");
    hindered(
        &tagged(from),
        &tagged(version("x.{a}", "y", AB, "").replace("table = \"rows\"", "table = \"rows\"\ntag = \"E\"")),
        "has the tag \"E\", and its rows have the tag \"e\"",
        "say `tag = \"e\"`",
    );
}

#[test]
fn an_entity_that_was_renamed_is_found_by_the_name_it_had() {
    let from = version("x#{a}", "y#{b}", AB, "");
    let named = |more: &str| version("x.{a}", "y#{b}", AB, more).replace("entity.e", "entity.new");
    assert!(layout_change(&from, &named("")).is_empty());
    let out = layout_change(&from, &named("[entity.new.migrate]\nfrom = \"e\"\n"));
    let moves: Vec<_> = out
        .moves()
        .map(|moved| (moved.entity, moved.former_entity))
        .collect();
    assert_eq!(moves, [("new", "e")]);
    // In the new version, its former name has no meaning.
    let later = named("[entity.new.migrate]\nfrom = \"e\"\n").replace("x.{a}", "z.{a}");
    let then = layout_change(&named("[entity.new.migrate]\nfrom = \"e\"\n"), &later);
    assert_eq!(
        then.moves()
            .map(|moved| moved.former_entity.to_owned())
            .collect::<Vec<_>>(),
        ["new"]
    );
    // With a tag, rows of the former name would belong to no entity.
    let tagged = |text: String| text.replace("[entity.", "entity_attribute = \"kind\"\n[entity.");
    let text = named("").replace("[entity.new]", "entity_attribute = \"kind\"\n[entity.new]")
        + "[entity.new.migrate]\nfrom = \"e\"\n";
    hindered(&tagged(from), &text, "has the tag \"new\"", "say `tag = \"e\"`");
}

#[test]
fn there_is_no_way_back_from_a_key_that_says_more() {
    let from = version("x#{a}", "y", AB, "");
    let more = version("x.{a}.{b}", "y", AB, "");
    let shown_back = shown(&layout_change(&from, &more).reversed().unwrap_err());
    assert!(shown_back.contains("which does not say `b`"), "{shown_back}");
    assert!(
        shown_back.contains("`[entity.e.migrate] set = { b = … }`"),
        "{shown_back}"
    );
    let set = version("x.{a}.{b}", "y", AB, "[entity.e.migrate]\nset = { b = \"q\" }\n");
    let out = layout_change(&from, &set);
    let back = out.reversed().unwrap();
    assert_eq!(back.reversed().unwrap().moves().count(), 1);
    assert_eq!(
        back.former_place("rows", &super::key(&["x#i", "y"])),
        Some(super::key(&["x.i.q", "y"]))
    );
}

#[test]
fn a_key_attribute_that_was_derived_cannot_become_an_attribute() {
    let to = version("x.{a}", "y", AB, "")
        .replace("pk = \"x.{a}\", ", "")
        .replace("attributes = {", "attributes = { pk = \"string\",")
        .replace("sk = \"y\"", "sk = \"y#{a}#{b}\"");
    hindered(
        &version("x#{a}", "y", AB, ""),
        &to,
        "has the attribute `pk` as its key, which was derived before",
        "make the key of another attribute",
    );
}

#[test]
fn entities_told_apart_by_tags_move_alike_or_not_at_all() {
    let version = |one: &str, two: &str| {
        format!(
            "model = \"m\"\n[table.rows]\nkey = [\"pk\"]\nentity_attribute = \"kind\"\nsame_shape = [[\"one\", \
             \"two\"]]\n[entity.one]\ntable = \"rows\"\nkey.pk = \"{one}\"\nattributes = {{ a = {{ type = \"string\", chars = \"a-z\" }} \
             }}\n[entity.two]\ntable = \"rows\"\nkey.pk = \"{two}\"\nattributes = {{ a = {{ type = \"string\", chars = \"a-z\" }} }}\n"
        )
    };
    let out = layout_change(&version("x#{a}", "x#{a}"), &version("z#{a}", "z#{a}"));
    let row = crate::rows::row(&[("pk", "x#i"), ("a", "i"), ("kind", "two")]);
    let renewed = out.renew("rows", &row).unwrap();
    assert_eq!(
        renewed,
        crate::rows::row(&[("pk", "z#i"), ("a", "i"), ("kind", "two")])
    );
    assert_eq!(
        out.renew_key("rows", &super::key(&["x#i"])),
        Ok(super::key(&["z#i"]))
    );
    // Separate from now on: the tag decides which, and a key alone does not.
    let apart = layout_change(&version("x#{a}", "x#{a}"), &version("z#{a}", "w#{a}"));
    assert_eq!(apart.renew("rows", &row).unwrap().get("pk"), Some(&"w#i".into()));
    let refusal = apart.renew_key("rows", &super::key(&["x#i"])).unwrap_err();
    assert!(
        refusal
            .to_string()
            .contains("any of `one` and `two`; say which with kind"),
        "{refusal}"
    );
    // From two places into one.
    hindered(
        &version("x#{a}", "y#{a}"),
        &version("z#{a}", "z#{a}"),
        "rows of both could belong in one place",
        "move both alike",
    );
    hindered(
        &version("x#{a}", "y#{a}"),
        &version("y#{a}", "y#{a}"),
        "rows of both could belong in one place",
        "move both alike",
    );
}
