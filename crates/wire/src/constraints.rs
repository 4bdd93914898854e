//! Finds every broken constraint of a request, with DynamoDB's messages.

use serde_json::{Map as Object, Value};

use crate::echo::echo;
use crate::shape::{Length, Member, Presence, Range, Rule, Shape, Structure, Text, Voice, shown};

/// DynamoDB reports no more than this.
const VIOLATIONS_MAX: usize = 10;

/// The message of the `ValidationException`, if a constraint is broken. The tree has passed [`crate::conform`].
pub(crate) fn broken(tree: &Value, input: &Structure) -> Option<String> {
    let mut findings = Findings::default();
    if let Value::Object(object) = tree {
        members(object, input, &Path::Root, &mut findings);
    }
    findings.message()
}

/// The findings by layer: see [`Voice`].
#[derive(Default)]
struct Findings {
    sentence: Option<&'static str>,
    violations: Vec<(Voice, String)>,
    /// Whether a required value is missing.
    is_incomplete: bool,
}

impl Findings {
    /// Adds a violation. The value is formatted only if it will be printed, because that can be long.
    fn add(&mut self, voice: Voice, path: &Path<'_>, rule: &str, value: impl FnOnce() -> String) {
        if self
            .violations
            .iter()
            .filter(|(other, _)| *other == voice)
            .count()
            == VIOLATIONS_MAX
        {
            return;
        }
        let text = if voice == Voice::Terse {
            format!(
                "Value at '{}' failed to satisfy constraint: {rule}",
                path.show(true)
            )
        } else {
            format!(
                "Value {} at '{}' failed to satisfy constraint: {rule}",
                value(),
                path.show(false)
            )
        };
        self.violations.push((voice, text));
    }

    /// Adds a missing value. A missing member never reaches the layer that would have checked its value.
    fn add_null(&mut self, path: &Path<'_>) {
        self.is_incomplete = true;
        self.add(Voice::Full, path, "Member must not be null", || "null".to_owned());
    }

    fn message(self) -> Option<String> {
        if let Some(sentence) = self.sentence {
            return Some(sentence.to_owned());
        }
        let layer_of = |voice: Voice| match voice {
            Voice::AloneIfComplete if self.is_incomplete => Voice::Full,
            voice => voice,
        };
        let layer = self.violations.iter().map(|(voice, _)| layer_of(*voice)).min()?;
        let texts: Vec<String> = self
            .violations
            .into_iter()
            .filter(|(voice, _)| layer_of(*voice) == layer)
            .map(|(_, text)| text)
            .collect();
        let plural = if texts.len() == 1 { "" } else { "s" };
        Some(format!(
            "{} validation error{plural} detected: {}",
            texts.len(),
            texts.join("; ")
        ))
    }
}

/// The place of a value: `keySchema.1.member.keyType`.
enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Element(&'a Path<'a>, usize),
    Entry(&'a Path<'a>, &'a str),
}

impl Path<'_> {
    fn show(&self, wire_names: bool) -> String {
        let mut parts = Vec::new();
        let mut at = self;
        loop {
            let (parent, part) = match at {
                Path::Root => break,
                Path::Member(parent, name) if wire_names => (parent, (*name).to_owned()),
                Path::Member(parent, name) => (parent, shown(name)),
                Path::Element(parent, index) => (parent, format!("{}.member", index + 1)),
                Path::Entry(parent, key) => (parent, format!("{key}.member")),
            };
            parts.push(part);
            at = parent;
        }
        parts.reverse();
        parts.join(".")
    }
}

fn members(object: &Object<String, Value>, structure: &Structure, path: &Path<'_>, findings: &mut Findings) {
    for member in structure.members {
        let path = Path::Member(path, member.name);
        match object.get(member.name) {
            None => absent(member, &path, findings),
            Some(value) => present(member, value, &path, findings),
        }
    }
}

fn absent(member: &Member, path: &Path<'_>, findings: &mut Findings) {
    match member.presence {
        Presence::Optional => {}
        Presence::NotNull | Presence::NotEmpty(_) => findings.add_null(path),
        Presence::Demanded(sentence) => findings.sentence = findings.sentence.or(Some(sentence)),
    }
}

fn present(member: &Member, value: &Value, path: &Path<'_>, findings: &mut Findings) {
    if let (Presence::NotEmpty(sentence), Value::Object(entries)) = (member.presence, value)
        && entries.is_empty()
    {
        findings.sentence = findings.sentence.or(Some(sentence));
        return;
    }
    inspect(value, &member.shape, member.voice, path, findings);
}

fn inspect(value: &Value, shape: &Shape, voice: Voice, path: &Path<'_>, findings: &mut Findings) {
    match (value, shape) {
        (Value::Null, _) => findings.add_null(path),
        (Value::String(given), Shape::Text(text)) => inspect_text(given, text, voice, path, findings),
        (Value::Number(number), Shape::Integer(range) | Shape::Long(range)) => {
            // Conversion made it a whole number. Anything else is out of every range.
            let whole = number.as_i64();
            debug_assert!(whole.is_some(), "{number} was not made whole");
            if let Some(rule) = out_of_range(whole.unwrap_or(i64::MAX), *range) {
                findings.add(voice, path, &rule, || quoted(value, shape));
            }
        }
        (Value::Array(elements), Shape::List(list)) => {
            if let Some(rule) = wrong_length(elements.len(), list.length) {
                findings.add(voice, path, &rule, || quoted(value, shape));
            }
            for (index, element) in elements.iter().enumerate() {
                inspect(
                    element,
                    &list.of,
                    Voice::Full,
                    &Path::Element(path, index),
                    findings,
                );
            }
        }
        (Value::Object(entries), Shape::Map(map)) => {
            inspect_entries(value, shape, voice, path, findings);
            for (key, entry) in entries {
                inspect(entry, &map.of, Voice::Full, &Path::Entry(path, key), findings);
            }
        }
        (Value::Object(object), Shape::Structure(structure)) => members(object, structure, path, findings),
        _ => {}
    }
}

fn inspect_text(given: &str, text: &Text, voice: Voice, path: &Path<'_>, findings: &mut Findings) {
    for rule in text.rules.iter().filter(|rule| !holds(**rule, given)) {
        findings.add(voice, path, &worded(*rule), || format!("'{given}'"));
        if text.first_only {
            return;
        }
    }
}

/// A map reports its broken constraints once for all keys, and once for all values.
fn inspect_entries(value: &Value, shape: &Shape, voice: Voice, path: &Path<'_>, findings: &mut Findings) {
    let (Value::Object(entries), Shape::Map(map)) = (value, shape) else {
        return;
    };
    if entries
        .keys()
        .any(|key| map.key_rules.iter().any(|rule| !holds(*rule, key)))
    {
        let rules: Vec<String> = map.key_rules.iter().map(|rule| worded(*rule)).collect();
        let rule = format!("Map keys must satisfy constraint: [{}]", rules.join(", "));
        findings.add(voice, path, &rule, || quoted(value, shape));
    }
    let Some(length) = map.value_length else { return };
    let lengths = entries.values().filter_map(Value::as_array).map(Vec::len);
    if lengths
        .into_iter()
        .any(|found| found < length.min || found > length.max)
    {
        let rule = format!(
            "Map value must satisfy constraint: [Member must have length less than or equal to {}, Member must \
             have length greater than or equal to {}]",
            length.max, length.min
        );
        findings.add(voice, path, &rule, || quoted(value, shape));
    }
}

fn quoted(value: &Value, shape: &Shape) -> String {
    format!("'{}'", echo(value, shape))
}

fn holds(rule: Rule, text: &str) -> bool {
    match rule {
        Rule::NamePattern => {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        }
        Rule::LengthMin(min) => length_of(text) >= min,
        Rule::LengthMax(max) => length_of(text) <= max,
        Rule::OneOf(choices) => choices.contains(&text),
    }
}

/// DynamoDB counts UTF-16 units.
fn length_of(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}

fn worded(rule: Rule) -> String {
    match rule {
        Rule::NamePattern => "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+".to_owned(),
        Rule::LengthMin(min) => format!("Member must have length greater than or equal to {min}"),
        Rule::LengthMax(max) => format!("Member must have length less than or equal to {max}"),
        Rule::OneOf(choices) => format!("Member must satisfy enum value set: [{}]", choices.join(", ")),
    }
}

fn out_of_range(number: i64, range: Range) -> Option<String> {
    if number < range.min {
        Some(format!(
            "Member must have value greater than or equal to {}",
            range.min
        ))
    } else if number > range.max {
        Some(format!(
            "Member must have value less than or equal to {}",
            range.max
        ))
    } else {
        None
    }
}

fn wrong_length(found: usize, length: Length) -> Option<String> {
    if found < length.min {
        Some(worded(Rule::LengthMin(length.min)))
    } else if found > length.max {
        Some(worded(Rule::LengthMax(length.max)))
    } else {
        None
    }
}
