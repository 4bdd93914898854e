//! The possible sources of a key's fields: attributes of the rows, and fields of previous keys.

use std::cmp::Reverse;

use trestle_item::{AttributeValue, Item};
use trestle_model::AttributeKind;

use crate::name::{fits_template, likeness};
use crate::row::text_of;

/// The kind of a source's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Truth,
}

/// An attribute with its text in each row that has it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    kind: Kind,
    texts: Vec<Option<String>>,
    present: usize,
}

impl Source {
    pub(crate) fn of_texts(name: &str, texts: &[&str], kind: AttributeKind) -> Self {
        let number = |text: &str| text.trim_start_matches('0').to_owned();
        let texts: Vec<Option<String>> = texts
            .iter()
            .map(|text| match (kind.is_numeric(), number(text)) {
                (true, digits) if digits.is_empty() => Some("0".to_owned()),
                (true, digits) => Some(digits),
                (false, _) => Some((*text).to_owned()),
            })
            .collect();
        Source {
            name: name.to_owned(),
            kind: if kind.is_numeric() {
                Kind::Number
            } else {
                Kind::Text
            },
            present: texts.len(),
            texts,
        }
    }

    fn of_rows(name: &str, rows: &[&Item]) -> Option<Self> {
        let mut kind = None;
        let mut texts = Vec::with_capacity(rows.len());
        for row in rows {
            let Some(value) = row.get(name) else {
                texts.push(None);
                continue;
            };
            let its = match value {
                AttributeValue::S(_) => Kind::Text,
                AttributeValue::N(_) => Kind::Number,
                AttributeValue::Bool(_) => Kind::Truth,
                _ => return None,
            };
            if kind.replace(its).is_some_and(|other| other != its) {
                return None;
            }
            texts.push(text_of(value));
        }
        Some(Source {
            name: name.to_owned(),
            kind: kind?,
            present: texts.iter().flatten().count(),
            texts,
        })
    }

    /// Whether a column of a key equals this attribute wherever it is present.
    fn explains(&self, column: &[&str]) -> bool {
        self.is_plain(column) || self.width_in(column).is_some()
    }

    fn is_plain(&self, column: &[&str]) -> bool {
        self.pairs(column).all(|(own, text)| own == text)
    }

    fn pairs<'s>(&'s self, column: &'s [&str]) -> impl Iterator<Item = (&'s str, &'s str)> {
        let both = self.texts.iter().zip(column);
        both.filter_map(|(own, text)| Some((own.as_deref()?, *text)))
    }

    /// The width to which the column pads this number, if it does.
    pub(crate) fn width_in(&self, column: &[&str]) -> Option<usize> {
        if self.kind != Kind::Number || self.is_plain(column) {
            return None;
        }
        let width = column.first()?.len();
        let padded = column.iter().all(|text| text.len() == width)
            && self
                .pairs(column)
                .all(|(own, text)| !own.contains(['-', '.']) && format!("{own:0>width$}") == text);
        (padded && width <= 38).then_some(width)
    }

    /// Whether enough rows have it, or it has the right name.
    fn is_present_enough(&self, hint: &str) -> bool {
        self.present * 2 >= self.texts.len() || likeness(hint, &self.name) >= 2
    }
}

/// All sources of one entity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    all: Vec<Source>,
}

impl Sources {
    /// The attributes of rows that a template can name, without those that are left out.
    pub(crate) fn of(rows: &[&Item], is_left_out: impl Fn(&str) -> bool) -> Self {
        let mut names: Vec<&String> = rows.iter().flat_map(|row| row.keys()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| fits_template(name) && !is_left_out(name));
        let all = names.into_iter().filter_map(|name| Source::of_rows(name, rows));
        Sources { all: all.collect() }
    }

    pub(crate) fn add(&mut self, source: Source) {
        self.all.push(source);
    }

    /// Only the rows for which `keep` is true.
    pub(crate) fn restricted_to(&self, keep: &[bool]) -> Self {
        let restrict = |source: &Source| {
            let kept = source.texts.iter().zip(keep).filter(|(_, keep)| **keep);
            let texts: Vec<Option<String>> = kept.map(|(text, _)| text.clone()).collect();
            Source {
                name: source.name.clone(),
                kind: source.kind,
                present: texts.iter().flatten().count(),
                texts,
            }
        };
        Sources {
            all: self
                .all
                .iter()
                .map(restrict)
                .filter(|source| source.present > 0)
                .collect(),
        }
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.all.retain(|source| source.name != name);
        self
    }

    /// The texts of an attribute, if every row has it.
    pub(crate) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let source = self.all.iter().find(|source| source.name == name)?;
        source.texts.iter().cloned().collect()
    }

    /// Without attributes that some of the rows lack.
    pub(crate) fn always_present(mut self) -> Self {
        self.all.retain(|source| source.present == source.texts.len());
        self
    }

    /// The attribute that equals a column of a key; of several, the one whose name is most similar to the
    /// word before the column.
    pub(crate) fn find(&self, column: &[&str], hint: &str) -> Option<&Source> {
        let fitting = self
            .all
            .iter()
            .filter(|source| source.present > 0 && source.is_present_enough(hint) && source.explains(column));
        fitting.min_by_key(|source| source.rank(hint))
    }

    /// A description of an attribute that equals the column in most rows, but not in all.
    pub(crate) fn nearly(&self, column: &[&str]) -> Option<String> {
        let counted = self.all.iter().map(|source| {
            let equal = source.pairs(column).filter(|(own, text)| own == text).count();
            (equal, source)
        });
        let (equal, source) = counted.max_by_key(|(equal, _)| *equal)?;
        (equal >= 3 && equal * 10 >= column.len() * 8 && equal < column.len())
            .then(|| format!("the same as {} in {equal} of {} rows", source.name, column.len()))
    }

    /// The attribute that is a prefix of every text, up to a separator that it does not contain; and the
    /// rest.
    pub(crate) fn find_before(
        &self,
        texts: &[String],
        separator: char,
        hint: &str,
    ) -> Option<(String, Vec<String>)> {
        let cut: Vec<(&str, &str)> = texts
            .iter()
            .map(|text| text.split_once(separator))
            .collect::<Option<_>>()?;
        if cut
            .iter()
            .any(|(left, right)| left.is_empty() || right.is_empty())
        {
            return None;
        }
        let left: Vec<&str> = cut.iter().map(|(left, _)| *left).collect();
        let source = self
            .all
            .iter()
            .filter(|source| source.present == texts.len() && source.is_plain(&left))
            .min_by_key(|source| source.rank(hint))?;
        Some((
            source.name.clone(),
            cut.iter().map(|(_, right)| (*right).to_owned()).collect(),
        ))
    }
}

impl Source {
    fn rank(&self, hint: &str) -> (Reverse<usize>, Reverse<usize>, usize, &str) {
        (
            Reverse(likeness(hint, &self.name)),
            Reverse(self.present),
            self.name.len(),
            &self.name,
        )
    }
}
