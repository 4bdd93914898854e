//! Given names for kinds of rows, used for matching entities.

use trestle_item::Item;

use crate::draft::{Draft, DraftKey, Part};
use crate::facts::TableFacts;
use crate::name::likeness;

/// A name, with a description of its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Hint {
    pub(crate) name: String,
    /// The names of the key attributes for these rows, in the order of the key.
    pub(crate) key_words: Vec<String>,
    /// Attributes that these rows have.
    pub(crate) attributes: Vec<String>,
    /// Rows that certainly belong to it.
    pub(crate) rows: Vec<Item>,
}

impl Hint {
    /// The possible reason why no entity got this name.
    pub(crate) fn why_unused(&self, facts: &TableFacts) -> String {
        let is_key = |index: &&trestle_model::Index| {
            let names: Vec<&str> = index.key.attributes().map(|key| key.name.as_str()).collect();
            names == self.key_words
        };
        let name = &self.name;
        match facts.indexes.iter().find(is_key) {
            Some(index) => format!(
                "no entity is called `{name}`: it speaks of the index {}, and may become an access pattern",
                index.name
            ),
            None => format!("no entity is called `{name}`: no rows have such keys and attributes"),
        }
    }
}

/// A hint with a lower score is not used.
const SCORE_MIN: usize = 50;

/// For each draft, the best matching name; each name is used once.
pub(crate) fn names(hints: &[Hint], drafts: &[Draft], rows: &[Item]) -> Vec<Option<String>> {
    let mut scores: Vec<(usize, usize, usize)> = Vec::new();
    for (at, hint) in hints.iter().enumerate() {
        for (position, draft) in drafts.iter().enumerate() {
            let score = score(hint, draft, rows);
            if score >= SCORE_MIN {
                scores.push((score, at, position));
            }
        }
    }
    // Best first; with equal scores, in the order of the file, and the entity with most rows first.
    scores.sort_by_key(|(score, at, position)| (std::cmp::Reverse(*score), *at, *position));
    let mut found: Vec<Option<String>> = vec![None; drafts.len()];
    let mut given = vec![false; hints.len()];
    for (_, at, position) in scores {
        if let (Some(given), Some(slot), Some(hint)) =
            (given.get_mut(at), found.get_mut(position), hints.get(at))
            && !*given
            && slot.is_none()
        {
            *given = true;
            *slot = Some(hint.name.clone());
        }
    }
    found
}

/// How well a hint matches, from 0 to 100.
fn score(hint: &Hint, draft: &Draft, rows: &[Item]) -> usize {
    if !hint.rows.is_empty() {
        let own = draft.rows.iter().filter_map(|at| rows.get(*at));
        let same = |row: &Item| hint.rows.iter().any(|meant| same_key(draft, row, meant));
        let common = own.filter(|row| same(row)).count();
        return common * 100 / hint.rows.len();
    }
    let has = |name: &&String| draft.attributes.contains_key(*name);
    if !hint.attributes.iter().all(|name| has(&name)) {
        return 0;
    }
    let words: Vec<(usize, usize)> = hint
        .key_words
        .iter()
        .zip(&draft.keys)
        .map(|(words, key)| word_score(words, key))
        .collect();
    let (matched, all) = words
        .iter()
        .fold((0, 0), |sum, word| (sum.0 + word.0, sum.1 + word.1));
    // Every key must match something, or the hint is about an index.
    if words.iter().any(|(matched, _)| *matched == 0) {
        return 0;
    }
    (matched * 100).checked_div(all).unwrap_or_default()
}

fn same_key(draft: &Draft, one: &Item, two: &Item) -> bool {
    draft
        .keys
        .iter()
        .all(|key| one.get(&key.attribute) == two.get(&key.attribute))
}

/// How many words of an alias resemble a part of the template, and how many words there are.
fn word_score(alias: &str, key: &DraftKey) -> (usize, usize) {
    let mut parts: Vec<String> = Vec::new();
    for part in &key.parts {
        match part {
            Part::Literal(text) => parts.extend(words(text)),
            Part::Field { attribute, .. } => parts.extend(words(attribute)),
        }
    }
    let words = words(alias);
    let matched = words
        .iter()
        .filter(|word| parts.iter().any(|part| sound_alike(word, part)));
    (matched.count(), words.len())
}

/// The words of a text, also joined ones such as `lyrVrsn0`.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for character in text.chars() {
        if !character.is_alphanumeric() || (character.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = character.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Also `v` for a version, and `v0` for `Vrsn0`.
fn sound_alike(word: &str, part: &str) -> bool {
    let initial = part.len() == 1 && word.starts_with(part) && !word.ends_with(|c: char| c.is_ascii_digit());
    initial || likeness(word, part) > 0 || ends_alike(word, part)
}

/// `v0` and `lyrVrsn0`: the same number at the end.
fn ends_alike(word: &str, part: &str) -> bool {
    let digits = |text: &str| {
        let letters = text.trim_end_matches(|c: char| c.is_ascii_digit());
        text.get(letters.len()..).unwrap_or_default().to_owned()
    };
    !digits(word).is_empty() && digits(word) == digits(part) && word.chars().next() == part.chars().next()
}
