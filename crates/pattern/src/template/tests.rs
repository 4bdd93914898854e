use super::*;
use serde_json::json;

fn event() -> Value {
    json!({
        "event": "modify",
        "keys": {"pk": "lyr#\"7\""},
        "new": {"rgn": "eu-west-1", "sizes": [3, 5], "a.b": 1, "note": null, "of": {"it": true}},
    })
}

fn filled(template: &str) -> Value {
    Template::parse(template).unwrap().fill(&event())
}

fn refusal(template: &str) -> String {
    Template::parse(template).unwrap_err().to_string()
}

#[test]
fn a_hole_takes_the_value_as_it_is() {
    assert_eq!(
        filled(r#"{"region": <new.rgn>, "sizes": <new.sizes>, "of": <new.of>, "n": [<new.sizes.1>, 7]}"#),
        json!({"region": "eu-west-1", "sizes": [3, 5], "of": {"it": true}, "n": [5, 7]})
    );
    assert_eq!(filled("<.>"), event());
    assert_eq!(filled("<new.'a.b'>"), json!(1));
}

#[test]
fn a_hole_in_text_takes_its_text() {
    assert_eq!(
        filled(r#""<keys.pk> in <new.rgn>: <new.sizes> <new.sizes.0><new.of.it>""#),
        json!("lyr#\"7\" in eu-west-1: [3,5] 3true")
    );
    assert_eq!(
        filled(r#"{"<event>": 1, "the \"<event>\"": "\\<event>"}"#),
        json!({"modify": 1, "the \"modify\"": "\\modify"})
    );
    assert_eq!(filled(r#"["<event>"]"#), json!(["modify"]));
}

#[test]
fn what_is_missing_is_null_and_nothing_in_text() {
    assert_eq!(
        filled(r#"[<old.rgn>, <new.rgn.more>, <new.sizes.9>, <new.sizes.x>, "-<old.rgn>-<new.note>-"]"#),
        json!([null, null, null, null, "---"])
    );
}

#[test]
fn two_signs_stand_for_one() {
    assert_eq!(filled(r#""a << b <<<event>>""#), json!("a < b <modify>"));
}

#[test]
fn private_letters_of_the_template_stay_what_they_are() {
    assert_eq!(
        filled("\"\u{e000}0\u{e000} <event> \\ue001\""),
        json!("\u{e000}0\u{e000} modify \u{e001}")
    );
}

#[test]
fn what_is_no_path_is_refused_with_it() {
    assert_eq!(
        refusal(r#"{"a": <>}"#),
        "<>: must hold a path such as `new.state`, or `.` for the whole event; write `<<` for a plain `<`"
    );
    assert!(refusal("<new..a>").starts_with("<new..a>: must hold a path"));
    assert!(refusal("<new.'a>").contains("another `'`"));
    assert!(refusal("<new.'a'b>").contains("separated by dots"));
    assert!(refusal(r#"{"a": "1 < 2"}"#).starts_with("< 2\"}: the hole is not closed"));
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    assert_eq!(
        refusal("{\"a\": <event>,\n b}"),
        "with its holes filled, the template must be JSON: key must be a string (character 2 of line 2)"
    );
    for template in ["<a><b>", "1<a>", "{<a>: 1}", "-<a>", "", "\"<a>", "<a>\"b\""] {
        assert!(Template::parse(template).is_err(), "{template}");
    }
}
