//! JSON as written by `dsbulk`. Numbers stay text: a `varint` has more digits than a floating-point number.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::literal::{DEPTH_MAX, Literal};

/// Parses one JSON value. Numbers and truth values become words.
pub fn parse_json(text: &str) -> Result<Literal<'_>, String> {
    value(read(text)?, 0)
}

fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))
}

/// Nested values are parsed from text, so that no number loses a digit.
fn value(raw: &RawValue, depth: usize) -> Result<Literal<'_>, String> {
    if depth > DEPTH_MAX {
        return Err(format!(
            "is JSON with more than {DEPTH_MAX} values inside each other"
        ));
    }
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = read(text)?;
            let pair = |(Text(name), raw)| Ok((Literal::Text(name), value(raw, depth + 1)?));
            Literal::Pairs(members.into_iter().map(pair).collect::<Result<_, String>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = read(text)?;
            let items = items.into_iter().map(|raw| value(raw, depth + 1));
            Literal::Items(items.collect::<Result<_, _>>()?)
        }
        Some(b'"') => {
            let Text(text) = read(text)?;
            Literal::Text(text)
        }
        _ if text == "null" => Literal::Null,
        _ => Literal::Word(Cow::Borrowed(text)),
    })
}

/// Borrowed if it has no escapes.
#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

/// The members of an object in their order.
struct Members<'t>(Vec<(Text<'t>, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn same(literal: &Literal<'_>, value: &Value) -> bool {
        match (literal, value) {
            (Literal::Null, Value::Null) => true,
            (Literal::Text(one), Value::String(two)) => one == two,
            (Literal::Word(word), Value::Bool(_) | Value::Number(_)) => {
                let text = value.to_string();
                *word == text
            }
            (Literal::Items(one), Value::Array(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
            }
            (Literal::Pairs(one), Value::Object(two)) => {
                one.len() == two.len()
                    && one.iter().all(|(key, value)| match key {
                        Literal::Text(key) => two.get(&**key).is_some_and(|of| same(value, of)),
                        _ => false,
                    })
            }
            _ => false,
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn digits_are_kept() {
        let digits = "123456789012345678901234567890.5";
        assert_eq!(parse_json(digits).unwrap(), Literal::Word(Cow::Borrowed(digits)));
        assert!(parse_json("1E+400").is_ok());
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse_json(&deep(33)).is_ok());
        assert!(parse_json(&deep(100_000)).unwrap_err().contains("32"));
        assert!(parse_json(&"[".repeat(100_000)).is_err());
        for wrong in [
            "", "{", "[1 2]", "{1: 2}", "nul", "\"", "\"\\q\"", "1 2", "\"a\nb\"",
        ] {
            assert!(parse_json(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_json_is_read(value in values()) {
            let text = value.to_string();
            prop_assert!(same(&parse_json(&text).unwrap(), &value), "{}", text);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\",: a\\\\n1é.-]{0,40}") {
            let _ = parse_json(&text);
        }
    }
}
