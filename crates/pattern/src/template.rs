//! Templates that build a new JSON document from an event.
//!
//! A template is JSON with holes: `{"region": <new.rgn>, "what": "layer <keys.pk> is gone"}`. Outside of text
//! a hole is replaced by the value at that path, inside of text by its text. A missing value becomes `null`,
//! or the empty text. `<<` stands for `<`, and `<.>` for the whole event. A name with a dot in it is quoted:
//! `<new.'a.b'>`; a number picks the member of a list.

mod path;
mod scan;

use path::Path;
use scan::Piece;
use serde_json::{Map, Value};

/// A document with holes, ready to be filled.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    root: Node,
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A hole is not closed, empty, or does not contain a path.
    #[error("<{path}: {message}")]
    Hole {
        /// The text after the `<`.
        path: String,
        /// What is wrong with it, and what is allowed.
        message: &'static str,
    },
    /// It is no JSON, even with its holes filled.
    #[error(
        "with its holes filled, the template must be JSON: {message} (character {column} of line {line})"
    )]
    NoJson {
        /// The error of the JSON parser.
        message: String,
        /// The line of the template, from 1.
        line: usize,
        /// The column, from 1; holes before it count as `null`.
        column: usize,
    },
}

/// A part of the document.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Fixed(Value),
    Hole(Path),
    Text(Vec<Piece>),
    List(Vec<Node>),
    Object(Vec<(Vec<Piece>, Node)>),
}

impl Template {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        let scanned = scan::scan(text)?;
        let filled = read_json(&scanned.filled(None))?;
        // Holes are marked with a letter that does not occur elsewhere, so that they can be found again after
        // parsing.
        let marker = ('\u{e000}'..='\u{f8ff}')
            .find(|letter| !contains(&filled, *letter))
            .ok_or(TemplateError::Hole {
                path: String::new(),
                message: "the template uses every private letter of Unicode; leave one out",
            })?;
        let marked = read_json(&scanned.filled(Some(marker)))?;
        let holes = scanned.into_holes();
        Ok(Template {
            root: node(marked, marker, &holes),
        })
    }

    /// The document for an event.
    pub fn fill(&self, event: &Value) -> Value {
        fill(&self.root, event)
    }
}

fn read_json(text: &str) -> Result<Value, TemplateError> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let (message, _) = message.split_once(" at line ").unwrap_or((&message, ""));
        TemplateError::NoJson {
            message: message.to_owned(),
            line: error.line(),
            column: error.column(),
        }
    })
}

fn contains(value: &Value, letter: char) -> bool {
    match value {
        Value::String(text) => text.contains(letter),
        Value::Array(members) => members.iter().any(|member| contains(member, letter)),
        Value::Object(object) => object
            .iter()
            .any(|(name, member)| name.contains(letter) || contains(member, letter)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Converts the parsed JSON to nodes; its recursion is limited by that of the JSON parser.
fn node(value: Value, marker: char, holes: &[scan::Hole]) -> Node {
    match value {
        Value::String(text) => match scan::pieces(&text, marker, holes) {
            scan::Pieces::Value(path) => Node::Hole(path),
            scan::Pieces::Text(pieces) => match pieces.as_slice() {
                [] => Node::Fixed(Value::String(String::new())),
                [Piece::Literal(text)] => Node::Fixed(Value::String(text.clone())),
                _ => Node::Text(pieces),
            },
        },
        Value::Array(members) => Node::List(
            members
                .into_iter()
                .map(|member| node(member, marker, holes))
                .collect(),
        ),
        Value::Object(object) => Node::Object(
            object
                .into_iter()
                .map(|(name, member)| {
                    let name = match scan::pieces(&name, marker, holes) {
                        scan::Pieces::Text(pieces) => pieces,
                        // A name is text, so its holes are, too.
                        scan::Pieces::Value(path) => vec![Piece::Hole(path)],
                    };
                    (name, node(member, marker, holes))
                })
                .collect(),
        ),
        fixed => Node::Fixed(fixed),
    }
}

fn fill(node: &Node, event: &Value) -> Value {
    match node {
        Node::Fixed(value) => value.clone(),
        Node::Hole(path) => path.find(event).cloned().unwrap_or_default(),
        Node::Text(pieces) => Value::String(text(pieces, event)),
        Node::List(members) => members.iter().map(|member| fill(member, event)).collect(),
        Node::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, member)| (text(name, event), fill(member, event)))
                .collect::<Map<String, Value>>(),
        ),
    }
}

fn text(pieces: &[Piece], event: &Value) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Hole(path) => match path.find(event) {
                None | Some(Value::Null) => {}
                Some(Value::String(found)) => text.push_str(found),
                Some(found) => text.push_str(&found.to_string()),
            },
        }
    }
    text
}

#[cfg(test)]
mod tests;
