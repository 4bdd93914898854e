//! Writes the proposal as a model file.

use trestle_item::ScalarType;
use trestle_model::{AttributeKind, Index, KeyAttribute, KeySchema, Projection, StreamView};

use crate::draft::{Draft, DraftAttribute};
use crate::facts::TableFacts;
use crate::tag::Tag;

/// A table with the findings.
pub(crate) struct Section<'s> {
    pub(crate) facts: &'s TableFacts,
    /// Its name in the model.
    pub(crate) name: &'s str,
    pub(crate) tag: Option<&'s Tag>,
    pub(crate) rows: usize,
    /// Pairs of entities that are distinguished only by the tag.
    pub(crate) same_shape: &'s [(String, String)],
    /// The number of rows without an entity, which may stay.
    pub(crate) strangers: usize,
    /// Notes about the table.
    pub(crate) notes: &'s [String],
}

/// The beginning of the file.
pub(crate) fn header(model: &str, notes: &[String]) -> String {
    let mut text = String::new();
    for note in notes {
        text += &comment(note);
    }
    text + &format!("model = {}\n", quoted(model))
}

pub(crate) fn table(section: &Section<'_>) -> String {
    let facts = section.facts;
    let mut text = String::from("\n");
    for note in section.notes {
        text += &comment(note);
    }
    let name = key(section.name);
    text += &format!("[table.{name}]\n");
    if section.name != facts.name {
        text += &format!("name = {}\n", quoted(&facts.name));
    }
    text += &format!("key = {}\n", schema(&facts.key));
    if let Some(tag) = section.tag {
        text += &format!(
            "entity_attribute = {} # {}\n",
            quoted(&tag.attribute),
            one_line(&tag.evidence)
        );
    }
    if let Some(ttl) = facts.ttl.as_ref().filter(|ttl| !facts.is_table_key(ttl)) {
        text += &format!("ttl = {}\n", quoted(ttl));
    }
    if let Some(stream) = facts.stream {
        text += &format!("stream = \"{}\"\n", view(stream));
    }
    if !section.same_shape.is_empty() {
        let pairs: Vec<String> = section
            .same_shape
            .iter()
            .map(|(one, two)| format!("[{}, {}]", quoted(one), quoted(two)))
            .collect();
        text += &comment("Keys of these entities can look alike; only the tag tells them apart.");
        text += &format!("same_shape = [{}]\n", pairs.join(", "));
    }
    if section.strangers > 0 {
        text += &format!(
            "open = true # {} of {} rows are no entity of this model\n",
            section.strangers, section.rows
        );
    }
    for found in &facts.indexes {
        text += &index(&name, found);
    }
    text
}

fn index(table: &str, index: &Index) -> String {
    let mut text = format!("\n[table.{table}.index.{}]\n", key(&index.name));
    text += &format!("key = {}\n", schema(&index.key));
    match &index.projection {
        Projection::All => {}
        Projection::Keys => text += "project = \"keys\"\n",
        Projection::Include(names) => {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            text += &format!("project = [{}]\n", names.join(", "));
        }
    }
    if index.local {
        text += "local = true\n";
    }
    text
}

pub(crate) fn entity(table: &str, rows: usize, draft: &Draft) -> String {
    let mut text = String::from("\n");
    text += &comment(&format!("{} of {rows} rows.", draft.rows.len()));
    let suggested = draft.suggestions.iter().flat_map(|found| &found.comments);
    for note in draft.notes.iter().chain(suggested) {
        text += &comment(note);
    }
    let name = key(&draft.name);
    text += &format!("[entity.{name}]\ntable = {}\n", quoted(table));
    if let Some(tag) = draft.tag.as_ref().filter(|tag| **tag != draft.name) {
        text += &format!("tag = {}\n", quoted(tag));
    }
    let templates: Vec<_> = draft
        .keys
        .iter()
        .chain(&draft.index_keys)
        .filter(|key| !key.is_itself())
        .collect();
    if !templates.is_empty() {
        text += &format!("\n[entity.{name}.key]\n");
    }
    for template in templates {
        text += &format!("{} = {}\n", key(&template.attribute), quoted(&template.source()));
    }
    if !draft.attributes.is_empty() {
        text += &format!("\n[entity.{name}.attributes]\n");
    }
    let identity = draft.identity();
    let (first, then): (Vec<_>, Vec<_>) = draft
        .attributes
        .iter()
        .partition(|(name, _)| identity.contains(&name.as_str()));
    for (name, found) in first.into_iter().chain(then) {
        text += &attribute(name, found);
    }
    text
}

fn attribute(name: &str, found: &DraftAttribute) -> String {
    let mut fields = Vec::new();
    if found.optional {
        fields.push("optional = true".to_owned());
    }
    if !found.one_of.is_empty() {
        let values: Vec<String> = found.one_of.iter().map(|value| quoted(value)).collect();
        fields.push(format!("one_of = [{}]", values.join(", ")));
    }
    if let Some(precision) = found.precision.filter(|_| found.kind == AttributeKind::Timestamp) {
        fields.push(format!("precision = {}", quoted(precision.name())));
    }
    if let Some(chars) = &found.chars {
        fields.push(format!("chars = {}", quoted(chars)));
    }
    let kind = found.kind.name();
    let mut text = if fields.is_empty() {
        format!("{} = \"{kind}\"", key(name))
    } else {
        format!("{} = {{ type = \"{kind}\", {} }}", key(name), fields.join(", "))
    };
    let why: Vec<&str> = [
        found.evidence.as_str(),
        found.doubt.as_deref().unwrap_or_default(),
    ]
    .into_iter()
    .filter(|why| !why.is_empty())
    .collect();
    if !why.is_empty() {
        text += &format!(" # {}", one_line(&why.join("; ")));
    }
    text + "\n"
}

fn schema(schema: &KeySchema) -> String {
    let sides = [&schema.hash, &schema.range];
    let sides = sides.iter().filter(|side| !side.is_empty()).map(|side| {
        let names: Vec<String> = side.iter().map(key_attribute).collect();
        match names.as_slice() {
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        }
    });
    format!("[{}]", sides.collect::<Vec<_>>().join(", "))
}

fn key_attribute(key: &KeyAttribute) -> String {
    let kind = match key.kind {
        ScalarType::S => return quoted(&key.name),
        ScalarType::N => "number",
        ScalarType::B => "binary",
    };
    format!("{{ name = {}, type = \"{kind}\" }}", quoted(&key.name))
}

fn view(stream: StreamView) -> &'static str {
    match stream {
        StreamView::KeysOnly => "keys-only",
        StreamView::NewImage => "new-image",
        StreamView::OldImage => "old-image",
        StreamView::NewAndOldImages => "new-and-old-images",
    }
}

/// A sentence as a separate line.
pub(crate) fn comment(sentence: &str) -> String {
    format!("# {}\n", one_line(sentence))
}

/// A sentence from its words.
pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// Without characters that would end a comment.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}

/// A name in the form required before the `=`.
pub(crate) fn key(name: &str) -> String {
    let bare = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if bare { name.to_owned() } else { quoted(name) }
}

/// A string of TOML.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control.is_control() => quoted += &format!("\\u{:04X}", u32::from(control)),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_can_be_written_as_a_string() {
        assert_eq!(quoted("a\"b\\\n\u{7f}"), "\"a\\\"b\\\\\\u000A\\u007F\"");
        assert_eq!(key("rgn#PyVrsn"), "\"rgn#PyVrsn\"");
        assert_eq!(key(""), "\"\"");
    }
}
