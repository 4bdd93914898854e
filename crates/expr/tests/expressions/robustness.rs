//! No text of an expression makes the program panic.

use proptest::prelude::*;
use trestle_expr::{Condition, KeyCondition, Kind, Placeholders, Projection, Update};

use crate::cases::{condition, item, update, with_placeholders};

fn parse_as_everything(text: &str) {
    let _ = condition(text).map(|condition| condition.holds(&item()));
    let _ = update(text).and_then(|update| update.apply(&mut item()));
    let _ = with_placeholders(|p| Projection::parse(text, p)).map(|projection| projection.apply(&item()));
    let _ = with_placeholders(|p| KeyCondition::parse(text, p));
}

/// Fragments that reach far into the grammars.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "l",
        "m",
        "#a",
        "#undefined",
        ":s",
        ":n",
        ":l",
        ":undefined",
        "(",
        ")",
        "[",
        "]",
        "0",
        "99",
        ".",
        ",",
        "=",
        "<>",
        "<",
        ">=",
        "+",
        "-",
        "AND",
        "OR",
        "NOT",
        "BETWEEN",
        "IN",
        "SET",
        "REMOVE",
        "ADD",
        "DELETE",
        "size(",
        "contains(",
        "attribute_exists(",
        "if_not_exists(",
        "list_append(",
        "!",
        "é",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>()) {
        parse_as_everything(&text);
    }

    #[test]
    fn any_mixture_of_tokens_is_parsed_or_refused(text in pieces()) {
        parse_as_everything(&text);
    }
}

#[test]
fn depth_bombs_are_refused_on_a_small_stack() {
    let repeated = |before: &str, middle: &str, after: &str, times: usize| {
        format!("{}{middle}{}", before.repeat(times), after.repeat(times))
    };
    let bombs = [
        repeated("(", "a = :s", ")", 2000),
        repeated("(", "", "", 4096),
        repeated("NOT ", "a = :s", "", 1000),
        repeated("NOT(", "a = :s", ")", 800),
        repeated(&format!("{}(", "NOT ".repeat(250)), "a = :s", ")", 4),
        repeated("(a<:s OR ", "a = :s", ")", 400),
        repeated("f(", "a", ")", 1300),
        repeated("size(", "a", ")", 600),
        repeated("attribute_exists((", "a", "))", 200),
        repeated("SET a = ", "", "", 500),
        format!("SET a = {}", repeated("if_not_exists(a,", "b", ")", 230)),
        format!("SET a = {}", repeated("f(", "b", ")", 1300)),
        format!("SET a = {}", repeated("(", "b", ")", 2000)),
        format!("a{}", ".a".repeat(2000)),
        format!("a{}", "[0]".repeat(1300)),
    ];
    let small = std::thread::Builder::new().stack_size(1024 * 1024);
    let bombs_go_off = move || bombs.iter().for_each(|bomb| parse_as_everything(bomb));
    small.spawn(bombs_go_off).unwrap().join().unwrap();
}

#[test]
fn the_deepest_conditions_allowed_are_parsed_and_evaluated() {
    let nested = format!("{}attribute_exists(a){}", "NOT (".repeat(299), ")".repeat(299));
    let condition = Condition::parse(Kind::Filter, &nested, &mut Placeholders::none()).unwrap();
    assert!(
        condition.holds(&trestle_item::Map::new()),
        "an odd number of negations"
    );
    let chain = format!("SET a = {}b{}", "if_not_exists(a,".repeat(225), ")".repeat(225));
    assert!(Update::parse(&chain, &mut Placeholders::none()).is_ok());
}
