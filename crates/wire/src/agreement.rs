//! Tests that the table in `shapes.rs`, the types in the api crate and the cheap check in `bounds.rs` agree.

use serde::de::{self, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Value, json};
use trestle_api::{OperationName, Request};

use crate::bounds::within_bounds;
use crate::decode::{decode_carefully, decode_directly};
use crate::shape::{Length, Rule, Shape, Structure, Text};
use crate::shapes::input_of;

fn inputs() -> impl Iterator<Item = (OperationName, &'static Structure)> {
    OperationName::ALL.iter().map(|name| (*name, input_of(*name)))
}

/// A value of the shape with every member there is; `turn` picks among words.
fn example(shape: &Shape, turn: usize) -> Value {
    match shape {
        Shape::Text(text) => Value::from(example_text(text, turn)),
        Shape::Integer(range) | Shape::Long(range) => Value::from(range.min.max(1)),
        Shape::Boolean => json!(true),
        Shape::Time => json!(1.5),
        Shape::Blob => json!("AA=="),
        Shape::List(list) => {
            let Length { min, .. } = list.length;
            Value::from(vec![example(&list.of, turn); min.max(1)])
        }
        Shape::Map(map) => json!({"xxx": example(&map.of, turn)}),
        // The one structure whose members exclude each other.
        Shape::Structure(structure) if structure.name == "AttributeValue" => json!({"S": "x"}),
        Shape::Structure(structure) => example_structure(structure, turn),
        Shape::Anything => json!({}),
    }
}

fn example_structure(structure: &Structure, turn: usize) -> Value {
    structure
        .members
        .iter()
        .map(|member| (member.name.to_owned(), example(&member.shape, turn)))
        .collect()
}

fn example_text(text: &Text, turn: usize) -> String {
    let mut length = 3;
    for rule in text.rules {
        match rule {
            Rule::OneOf(words) => return words[turn % words.len()].to_owned(),
            Rule::LengthMin(min) => length = length.max(*min),
            Rule::LengthMax(_) | Rule::NamePattern => {}
        }
    }
    "x".repeat(length)
}

#[test]
fn every_member_and_word_of_the_table_is_one_of_the_api() {
    for (operation, input) in inputs() {
        for turn in 0..13 {
            let body = example_structure(input, turn);
            let bytes = body.to_string().into_bytes();
            let request =
                decode_carefully(operation, &bytes).unwrap_or_else(|e| panic!("{operation}: {e} {body}"));
            assert_eq!(decode_directly(operation, &bytes).as_ref(), Some(&request));
            assert_eq!(serde_json::to_value(&request).unwrap(), body, "{operation}");
        }
    }
}

/// Collects the members that a type knows, then fails.
struct Spy<'a>(&'a mut Vec<&'static str>);

impl<'de> Deserializer<'de> for Spy<'_> {
    type Error = de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.extend(fields);
        Err(de::Error::custom("only looking"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("not a structure"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[test]
fn every_member_of_a_request_is_in_the_table() {
    for (operation, input) in inputs() {
        let mut fields = Vec::new();
        assert!(Request::deserialize(operation, Spy(&mut fields)).is_err());
        for field in fields {
            assert!(input.member(field).is_some(), "{operation}.{field}");
        }
    }
}

/// Every way to put `intruder` at one place of the tree.
fn spoiled(tree: &Value, intruder: &Value) -> Vec<Value> {
    let mut all = vec![intruder.clone()];
    match tree {
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                for worse in spoiled(element, intruder) {
                    let mut copy = elements.clone();
                    copy[at] = worse;
                    all.push(Value::Array(copy));
                }
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                for worse in spoiled(member, intruder) {
                    let mut copy = members.clone();
                    copy[name] = worse;
                    all.push(Value::Object(copy));
                }
            }
        }
        _ => {}
    }
    all
}

#[test]
fn the_cheap_check_lets_nothing_through_that_the_table_refuses() {
    // No lists in places of structures: serde accepts those as members in order, which is known and harmless.
    let intruders = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1.5),
        json!(4_000_000_000_u64),
        json!(""),
        json!("a"),
        json!("a!b"),
        json!("x".repeat(300)),
        json!("x".repeat(9000)),
        json!({}),
        json!({"": {}}),
        json!({"S": "a"}),
    ];
    for (operation, input) in inputs() {
        let body = example_structure(input, 0);
        for bad in intruders.iter().flat_map(|intruder| spoiled(&body, intruder)) {
            let bytes = bad.to_string().into_bytes();
            if let Some(request) = decode_directly(operation, &bytes).filter(within_bounds) {
                assert_eq!(
                    decode_carefully(operation, &bytes).as_ref(),
                    Ok(&request),
                    "{operation} {bad}"
                );
            }
        }
    }
}

#[test]
fn the_cheap_check_counts_elements() {
    for (operation, member, most) in [
        ("BatchExecuteStatement", "Statements", 25),
        ("ExecuteTransaction", "TransactStatements", 100),
        ("TransactWriteItems", "TransactItems", 100),
        ("TransactGetItems", "TransactItems", 100),
        ("GetItem", "AttributesToGet", 255),
        ("Query", "AttributesToGet", 255),
        ("Scan", "AttributesToGet", 255),
    ] {
        let operation: OperationName = operation.parse().unwrap();
        for (count, fits) in [(0, false), (most, true), (most + 1, false)] {
            let mut body = example_structure(input_of(operation), 0);
            let element = body[member][0].clone();
            body[member] = vec![element; count].into();
            let bytes = body.to_string().into_bytes();
            let request = decode_directly(operation, &bytes).unwrap();
            assert_eq!(within_bounds(&request), fits, "{operation} {count}");
            assert_eq!(
                decode_carefully(operation, &bytes).is_ok(),
                fits,
                "{operation} {count}"
            );
        }
    }
}
