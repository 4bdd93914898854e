//! Groups rows of one kind: by their tag, or by the shape of their keys.

use std::collections::{BTreeMap, BTreeSet};

use trestle_item::{Item, ScalarType};

use crate::contrast::Profile;
use crate::facts::TableFacts;
use crate::row::text_of;
use crate::token::{Tokens, is_shouted, is_word, tokens};

/// If one position of a key has more different words than this, they are values.
const WORDS_MAX: usize = 64;
/// If keys with the same beginning have more layouts than this, a value contains separators.
const LAYOUTS_MAX: usize = 3;
/// Represents a token that is no literal; it cannot occur in a key's shape otherwise.
const ANY: &str = "\u{0}";
/// Rows are refined by one word at a time, at most this often.
const REFINEMENTS_MAX: usize = 8;

/// Rows that are treated as one entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Their value of the tag attribute, if they were grouped by it.
    pub(crate) tag: Option<String>,
    /// The positions of the rows in the table.
    pub(crate) rows: Vec<usize>,
}

/// The groups, largest first, and the rows whose keys cannot be read.
pub(crate) fn group(facts: &TableFacts, rows: &[Item], tag: Option<&str>) -> (Vec<Group>, Vec<usize>) {
    let (sound, unsound): (Vec<usize>, Vec<usize>) =
        (0..rows.len()).partition(|at| rows.get(*at).is_some_and(|row| has_key(facts, row)));
    let mut groups = Vec::new();
    let mut untagged = Vec::new();
    let mut by_tag: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in sound {
        let value = tag.and_then(|tag| rows.get(at)?.get(tag)?.as_s());
        match value {
            Some(value) => by_tag.entry(value).or_default().push(at),
            None => untagged.push(at),
        }
    }
    for (value, rows) in by_tag {
        groups.push(Group {
            tag: Some(value.to_owned()),
            rows,
        });
    }
    let by_shape = Shapes::of(facts, rows, &untagged).groups();
    groups.extend(by_shape.into_iter().map(|rows| Group { tag: None, rows }));
    groups.sort_by_key(|group| std::cmp::Reverse(group.rows.len()));
    (groups, unsound)
}

/// Whether a row has every key attribute with the right type.
fn has_key(facts: &TableFacts, row: &Item) -> bool {
    facts.key.attributes().all(|key| {
        let value = row.get(&key.name);
        value.and_then(|value| value.scalar_type()) == Some(key.kind)
            && value.and_then(text_of).is_none_or(|text| !text.is_empty())
    })
}

/// Rows with the tokens of their keys.
struct Shapes<'r> {
    facts: &'r TableFacts,
    rows: &'r [Item],
    /// For each row, its position and the tokens of each key; `None` for keys that are not text.
    cut: Vec<(usize, Vec<Option<Tokens<'r>>>)>,
}

impl<'r> Shapes<'r> {
    fn of(facts: &'r TableFacts, rows: &'r [Item], positions: &[usize]) -> Self {
        let cut = positions
            .iter()
            .filter_map(|at| Some((*at, keys_in_tokens(facts, rows.get(*at)?))))
            .collect();
        Shapes { facts, rows, cut }
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        let heads: Vec<BTreeSet<&str>> = (0..self.keys()).map(|key| self.heads(key)).collect();
        let mut by_shape: BTreeMap<(Vec<&str>, Vec<String>), Vec<usize>> = BTreeMap::new();
        for (at, (_, keys)) in self.cut.iter().enumerate() {
            let words = keys.iter().zip(&heads).map(|(tokens, heads)| match tokens {
                Some(tokens) if heads.contains(tokens.first()) => tokens.first(),
                _ => ANY,
            });
            let layout = keys.iter().map(|tokens| match tokens {
                Some(tokens) => tokens.layout(),
                None => String::new(),
            });
            by_shape
                .entry((words.collect(), layout.collect()))
                .or_default()
                .push(at);
        }
        let mut by_words: BTreeMap<Vec<&str>, Vec<Vec<usize>>> = BTreeMap::new();
        for ((words, _), rows) in by_shape {
            by_words.entry(words).or_default().push(rows);
        }
        let mut found = Vec::new();
        for (words, layouts) in by_words {
            let nameless = words.iter().all(|word| *word == ANY);
            if layouts.len() > LAYOUTS_MAX || nameless && !self.all_differ(&layouts) {
                found.push(layouts.concat());
            } else {
                for layout in layouts {
                    found.extend(self.refined(layout, REFINEMENTS_MAX));
                }
            }
        }
        let positions = |rows: Vec<usize>| {
            let found = rows.into_iter().filter_map(|at| self.cut.get(at));
            found.map(|(position, _)| *position).collect()
        };
        found.into_iter().map(positions).collect()
    }

    fn keys(&self) -> usize {
        self.facts.key.attributes().count()
    }

    fn row(&self, at: usize) -> Option<&'r Item> {
        self.rows.get(self.cut.get(at)?.0)
    }

    fn token(&self, at: usize, key: usize, position: usize) -> Option<&'r str> {
        let tokens = self.cut.get(at)?.1.get(key)?.as_ref()?;
        tokens.texts.get(position).copied()
    }

    fn profile(&self, rows: impl Iterator<Item = usize>) -> Profile<'r> {
        let facts = self.facts;
        Profile::of(rows.filter_map(|at| self.row(at)), |name| {
            facts.is_table_key(name)
        })
    }

    fn all_differ(&self, groups: &[Vec<usize>]) -> bool {
        let profiles: Vec<_> = groups
            .iter()
            .map(|rows| self.profile(rows.iter().copied()))
            .collect();
        crate::contrast::pairs_that_differ(&profiles) == 100
    }

    /// The literal words at the beginning of a key.
    fn heads(&self, key: usize) -> BTreeSet<&'r str> {
        let is_led = |at: usize| self.token(at, key, 1).is_some();
        let all = 0..self.cut.len();
        let (led, whole): (Vec<usize>, Vec<usize>) = all.partition(|at| is_led(*at));
        let mut heads = self.led_heads(key, led);
        // A partition key that is only a word would allow one row, or one partition, of its kind.
        if key > 0 {
            heads.extend(self.whole_heads(key, whole));
        }
        heads
    }

    /// Words before a separator.
    fn led_heads(&self, key: usize, rows: Vec<usize>) -> BTreeSet<&'r str> {
        let words = self.words(key, 0, &rows);
        let count: usize = words.values().map(Vec::len).sum();
        let few = words.len() <= 8 || (words.len() <= WORDS_MAX && count >= words.len() * 3);
        words.into_keys().filter(|_| few).collect()
    }

    /// Words that are the whole key: literals if they are in capitals, or if their rows have their own
    /// attributes.
    fn whole_heads(&self, key: usize, rows: Vec<usize>) -> BTreeSet<&'r str> {
        let words = self.words(key, 0, &rows);
        if words.len() > 16 {
            return BTreeSet::new();
        }
        let in_words: BTreeSet<usize> = words.values().flatten().copied().collect();
        let others = self.profile((0..self.cut.len()).filter(|at| !in_words.contains(at)));
        let profiles: BTreeMap<&str, Profile<'_>> = words
            .iter()
            .map(|(word, rows)| (*word, self.profile(rows.iter().copied())))
            .collect();
        let is_literal = |word: &&str| {
            let Some(own) = profiles.get(word) else {
                return false;
            };
            let repeated = words.get(word).is_some_and(|rows| rows.len() >= 2);
            let different = profiles
                .iter()
                .filter(|(other, _)| *other != word)
                .all(|(_, profile)| own.differs_from(profile));
            is_shouted(word) || repeated && different && own.differs_from(&others)
        };
        words.keys().copied().filter(is_literal).collect()
    }

    /// The words at a position of a key, with their rows; without those that are an attribute's value.
    fn words(&self, key: usize, position: usize, rows: &[usize]) -> BTreeMap<&'r str, Vec<usize>> {
        let mut words: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for at in rows {
            if let Some(token) = self.token(*at, key, position).filter(|token| is_word(token)) {
                words.entry(token).or_default().push(*at);
            }
        }
        words.retain(|word, rows| {
            let values = rows.iter().filter(|at| self.is_value(**at, word)).count();
            values * 2 <= rows.len()
        });
        words
    }

    fn is_value(&self, at: usize, token: &str) -> bool {
        self.row(at).is_some_and(|row| {
            row.iter()
                .any(|(name, value)| !self.facts.is_table_key(name) && value.as_s() == Some(token))
        })
    }

    /// Splits a group if one of a few words inside its keys determines the kind of its rows.
    fn refined(&self, rows: Vec<usize>, times: usize) -> Vec<Vec<usize>> {
        let first = match rows.as_slice() {
            [first, _, ..] if times > 0 => *first,
            _ => return vec![rows],
        };
        for key in 0..self.keys() {
            let length = self.cut.get(first).and_then(|(_, keys)| keys.get(key)?.as_ref());
            for position in 1..length.map_or(0, |tokens| tokens.texts.len()) {
                let words = self.words(key, position, &rows);
                let covered: usize = words.values().map(Vec::len).sum();
                let parts: Vec<Vec<usize>> = words.values().cloned().collect();
                let few = (2..=8).contains(&parts.len()) && rows.len() >= parts.len() * 2;
                let shouted = words.keys().all(|word| is_shouted(word));
                if covered == rows.len() && few && (shouted || self.all_differ(&parts)) {
                    let refine = |part| self.refined(part, times - 1);
                    return parts.into_iter().flat_map(refine).collect();
                }
            }
        }
        vec![rows]
    }
}

fn keys_in_tokens<'r>(facts: &TableFacts, row: &'r Item) -> Vec<Option<Tokens<'r>>> {
    let keys = facts.key.attributes();
    keys.map(|key| {
        let text = row.get(&key.name).filter(|_| key.kind == ScalarType::S)?.as_s()?;
        Some(tokens(text, row, |name| facts.is_key(name)))
    })
    .collect()
}
