//! Makes the draft of an entity from a group of rows.

use std::collections::{BTreeMap, BTreeSet};

use trestle_item::{Item, ScalarType};
use trestle_model::{AttributeKind, KeyAttribute};

use super::Subject;
use crate::attribute;
use crate::draft::{Draft, DraftAttribute, DraftKey, Part};
use crate::group::Group;
use crate::template::{Level, Reader, Sources};
use crate::token::{STRONG, is_shouted, is_word};
use crate::{name, narrow};

/// Fewer agreeing rows are not enough evidence for an index key with the name of an attribute.
const ROWS_FOR_INDEX: usize = 5;

impl Subject<'_> {
    /// The draft of a group at a level; with `narrow`, values are narrowed to their characters.
    pub(super) fn build(&self, group: &Group, level: Level, narrow: bool) -> Draft {
        let rows: Vec<&Item> = group.rows.iter().filter_map(|at| self.rows.get(*at)).collect();
        let made = self.made_index_keys(&rows);
        let tag = self.tag.map(|tag| tag.attribute.as_str());
        let is_left_out =
            |name: &str| self.facts.is_table_key(name) || made.contains(name) || tag == Some(name);
        let mut reader = Reader::new(self.facts, &rows, level, Sources::of(&rows, is_left_out));
        let keys: Vec<DraftKey> = self
            .facts
            .key
            .attributes()
            .map(|key| reader.table_key(key))
            .collect();
        let index_keys = self.index_keys(&rows, level, &reader, &made);
        let mut draft = Draft {
            name: String::new(),
            tag: group.tag.clone(),
            rows: group.rows.clone(),
            keys,
            index_keys,
            attributes: Default::default(),
            notes: Vec::new(),
            suggestions: Vec::new(),
        };
        self.add_attributes(&mut draft, &rows, level, &reader);
        if narrow {
            narrow_identity(&mut draft, &reader);
        }
        name_after_index_keys(&mut draft, &rows);
        draft.notes.extend(self.layouts(&rows));
        draft
    }

    /// Index keys that are composed, not attributes that happen to be indexed.
    fn made_index_keys(&self, rows: &[&Item]) -> BTreeSet<&str> {
        let is_made = |key: &&&KeyAttribute| {
            let texts = || rows.iter().filter_map(|row| row.get(&key.name)?.as_s());
            sounds_made(&key.name)
                || key.name.contains(STRONG)
                || texts().any(|text| text.contains(['#', '|', '!']))
        };
        let keys = self.facts.index_keys();
        keys.iter().filter(is_made).map(|key| key.name.as_str()).collect()
    }

    fn index_keys(
        &self,
        rows: &[&Item],
        level: Level,
        reader: &Reader<'_>,
        made: &BTreeSet<&str>,
    ) -> Vec<DraftKey> {
        if level > Level::Precise {
            return Vec::new();
        }
        let keys = self.facts.index_keys();
        let text_keys = keys.into_iter().filter(|key| key.kind == ScalarType::S);
        text_keys
            .filter_map(|key| self.index_key(rows, reader, key, made.contains(key.name.as_str())))
            .collect()
    }

    fn index_key(
        &self,
        rows: &[&Item],
        reader: &Reader<'_>,
        key: &KeyAttribute,
        made: bool,
    ) -> Option<DraftKey> {
        let keep: Vec<bool> = rows.iter().map(|row| row.contains_key(&key.name)).collect();
        let having: Vec<&Item> = rows
            .iter()
            .zip(&keep)
            .filter(|(_, keep)| **keep)
            .map(|(row, _)| *row)
            .collect();
        if having.is_empty() {
            return None;
        }
        let sources = reader
            .sources()
            .restricted_to(&keep)
            .always_present()
            .without(&key.name);
        let found = Reader::new(self.facts, &having, Level::Precise, sources).index_key(key)?;
        let convincing = match found.parts.as_slice() {
            [Part::Literal(word)] => made && (is_shouted(word) || having.len() >= 3),
            [_] => made || having.len() >= ROWS_FOR_INDEX,
            parts => {
                made || parts
                    .iter()
                    .filter(|part| matches!(part, Part::Field { .. }))
                    .count()
                    >= 2
            }
        };
        // Rows without the key must lack an attribute of the template, or the database would add the key.
        let identity = &reader.placeholders;
        let mut lacking = rows.iter().zip(&keep).filter(|(_, keep)| !**keep);
        let sparse = lacking.all(|(row, _)| {
            let mut fields = found.fields();
            fields.any(|field| !row.contains_key(field) && !identity.contains_key(field))
        });
        (convincing && sparse).then_some(found)
    }

    fn add_attributes(&self, draft: &mut Draft, rows: &[&Item], level: Level, reader: &Reader<'_>) {
        let is_left_out = |name: &str| {
            self.facts.is_table_key(name)
                || self.tag.is_some_and(|tag| tag.attribute == name)
                || draft.index_keys.iter().any(|key| key.attribute == name)
        };
        let (mut attributes, too_many) =
            attribute::attributes(self.facts, rows, &draft.identity(), is_left_out);
        if too_many > 0 {
            draft.notes.push(format!(
                "{too_many} rare attributes are left out; rows may have them nevertheless."
            ));
        }
        for key in self.facts.index_keys() {
            let fits = |kind: AttributeKind| kind.scalar_type() == Some(key.kind);
            if attributes.get(&key.name).is_some_and(|found| !fits(found.kind)) {
                attributes.remove(&key.name);
            }
        }
        if let Some(ttl) = &self.facts.ttl
            && attributes.get(ttl).is_some_and(|found| !found.kind.is_numeric())
        {
            attributes.remove(ttl);
        }
        attributes.extend(reader.placeholders.clone());
        for name in draft.keys.iter().flat_map(DraftKey::fields) {
            if let Some(found) = attributes.get_mut(name)
                && found.optional
            {
                found.optional = false;
                found.evidence += ", as in the key; the key has it where it is missing";
            }
        }
        if level > Level::Precise {
            for found in attributes.values_mut() {
                found.one_of.clear();
            }
        }
        let in_key = self.in_key(draft);
        settle_timestamps(&in_key, &mut attributes);
        settle_versions(&in_key, &mut attributes);
        draft.attributes = attributes;
    }

    /// The attributes in keys.
    fn in_key<'d>(&'d self, draft: &'d Draft) -> Vec<&'d str> {
        let keys = draft.keys.iter().chain(&draft.index_keys);
        let mut in_key: Vec<&str> = keys.flat_map(DraftKey::fields).collect();
        in_key.extend(self.facts.key.attributes().map(|key| key.name.as_str()));
        in_key.extend(self.facts.index_keys().into_iter().map(|key| key.name.as_str()));
        in_key
    }

    /// A note if the keys of the rows have several layouts.
    fn layouts(&self, rows: &[&Item]) -> Option<String> {
        for key in self
            .facts
            .key
            .attributes()
            .filter(|key| key.kind == ScalarType::S)
        {
            let mut seen: Vec<(String, &str)> = Vec::new();
            for row in rows {
                let Some(text) = row.get(&key.name).and_then(|value| value.as_s()) else {
                    continue;
                };
                let separators: String = text.chars().filter(|c| STRONG.contains(c)).collect();
                let separators: String = separators.chars().take(8).collect();
                if seen.len() < 2 && !seen.iter().any(|(known, _)| *known == separators) {
                    seen.push((separators, text));
                }
            }
            if let [(_, one), (_, two)] = seen.as_slice() {
                let short = |text: &str| text.chars().take(60).collect::<String>();
                return Some(format!(
                    "{} is laid out in several ways, such as {:?} and {:?}.",
                    key.name,
                    short(one),
                    short(two)
                ));
            }
        }
        None
    }
}

/// `GSI1PK`, `gsi2sk`, `sk2`: names of keys, not of things.
fn sounds_made(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.starts_with("gsi") || name.starts_with("lsi") || bare.ends_with("pk") || bare.ends_with("sk")
}

/// An index key called `rgn#PyVrsn` names its parts, including parts that only the keys have.
fn name_after_index_keys(draft: &mut Draft, rows: &[&Item]) {
    for key in draft.index_keys.clone() {
        let words: Vec<&str> = key.attribute.split(STRONG).collect();
        let fields: Vec<&str> = key.fields().collect();
        if words.len() < 2 || words.len() != fields.len() {
            continue;
        }
        for (word, field) in words.iter().zip(fields) {
            let numbered = draft.keys.iter().any(|key| {
                let number = field.strip_prefix(name::entity(&key.attribute).as_str());
                number.is_some_and(|number| number.parse::<usize>().is_ok())
            });
            let new = lower_first(word);
            let free = !draft.attributes.contains_key(&new) && !rows.iter().any(|row| row.contains_key(&new));
            if numbered && free && is_word(word) {
                draft.rename(field, &new);
            }
        }
    }
}

fn lower_first(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}

/// Limits the identifying strings to the characters that occur.
fn narrow_identity(draft: &mut Draft, reader: &Reader<'_>) {
    let identity: Vec<String> = draft.identity().into_iter().map(str::to_owned).collect();
    for name in identity {
        let Some(found) = draft.attributes.get_mut(&name) else {
            continue;
        };
        if found.kind == AttributeKind::String
            && found.one_of.is_empty()
            && let Some(texts) = reader.sources().texts(&name)
        {
            found.chars = narrow::chars(texts.iter().map(String::as_str));
            if found.chars.is_some() {
                let gap = if found.evidence.is_empty() { "" } else { "; " };
                found.evidence += &format!("{gap}the characters it has, so that no other key looks the same");
            }
        }
    }
}

/// A timestamp in a key gets the common precision of all rows; without one, it is a text.
fn settle_timestamps(in_key: &[&str], attributes: &mut BTreeMap<String, DraftAttribute>) {
    let times = attributes
        .iter_mut()
        .filter(|(_, found)| found.kind == AttributeKind::Timestamp);
    for (name, found) in times {
        if !in_key.contains(&name.as_str()) {
            found.precision = None;
        } else if found.precision.is_none() {
            become_text(found, "times of several precisions, which do not sort");
        }
    }
}

/// A version that is not padded in a key does not sort there: it is a text.
fn settle_versions(in_key: &[&str], attributes: &mut BTreeMap<String, DraftAttribute>) {
    let versions = attributes
        .iter_mut()
        .filter(|(_, found)| found.kind == AttributeKind::Semver);
    for (_, found) in versions.filter(|(name, _)| in_key.contains(&name.as_str())) {
        become_text(
            found,
            "they do not sort in the key; type semver would give rows other keys",
        );
    }
}

fn become_text(found: &mut DraftAttribute, why: &str) {
    found.kind = AttributeKind::String;
    let gap = if found.evidence.is_empty() { "" } else { "; " };
    found.evidence += &format!("{gap}{why}");
}
