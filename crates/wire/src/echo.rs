//! Formats a value inside a message as DynamoDB does: lists `[a, b]`, maps `{k=v}`, structures
//! `Name(member=v)`.

use serde_json::Value;
use trestle_item::from_base64;

use crate::shape::{Shape, Structure, shown};

/// DynamoDB has no limit. A structure is much longer in a message than in a request, so a request of allowed
/// size could cause an answer of hundreds of megabytes; beyond this length elements become `...`.
const LENGTH_MAX: usize = 64 * 1024;

/// The value as text.
pub(crate) fn echo(value: &Value, shape: &Shape) -> String {
    let mut out = String::new();
    write(value, shape, &mut out);
    out
}

fn write(value: &Value, shape: &Shape, out: &mut String) {
    match (value, shape) {
        _ if out.len() > LENGTH_MAX => out.push_str("..."),
        (Value::Array(elements), Shape::List(list)) => {
            enclosed('[', ']', elements.iter(), out, |element, out| {
                write(element, &list.of, out)
            });
        }
        (Value::Object(entries), Shape::Map(map)) => {
            enclosed('{', '}', entries.iter(), out, |(name, entry), out| {
                out.push_str(name);
                out.push('=');
                write(entry, &map.of, out);
            });
        }
        (Value::Object(members), Shape::Structure(structure)) => {
            out.push_str(structure.name);
            enclosed('(', ')', names(structure).iter(), out, |name, out| {
                out.push_str(&shown(name));
                out.push('=');
                match (members.get(*name), structure.member(name)) {
                    (Some(value), Some(member)) => write(value, &member.shape, out),
                    _ => out.push_str("null"),
                }
            });
        }
        (Value::String(text), Shape::Blob) => {
            let length = from_base64(text).map_or(0, |bytes| bytes.len());
            out.push_str(&format!(
                "java.nio.HeapByteBuffer[pos=0 lim={length} cap={length}]"
            ));
        }
        (Value::String(text), _) => out.push_str(text),
        (other, _) => out.push_str(&other.to_string()),
    }
}

fn enclosed<T>(
    open: char,
    close: char,
    parts: impl Iterator<Item = T>,
    out: &mut String,
    mut part: impl FnMut(T, &mut String),
) {
    out.push(open);
    for (at, each) in parts.enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        if out.len() > LENGTH_MAX {
            out.push_str("...");
            break;
        }
        part(each, out);
    }
    out.push(close);
}

fn names(structure: &Structure) -> Vec<&'static str> {
    match structure.echo {
        Some(names) => names.to_vec(),
        None => structure.members.iter().map(|member| member.name).collect(),
    }
}
