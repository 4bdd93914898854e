//! Infers key templates from the keys of rows of one entity.

mod source;

use std::collections::BTreeMap;

use trestle_item::{Item, ScalarType};
use trestle_model::{AttributeKind, KeyAttribute};

use crate::attribute::precision;
use crate::draft::{DraftAttribute, DraftKey, Part};
use crate::facts::TableFacts;
use crate::name;
use crate::row::text_of;
use crate::token::{STRONG, Tokens, WEAK, is_shouted, is_timestamp, is_word, tokens};
pub(crate) use source::{Source, Sources};

/// How much is claimed. Each level claims less than the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Everything that the rows suggest.
    Precise,
    /// Only what strong separators show, and only strings where only the key is known.
    Plain,
    /// The common prefix of all keys; the rest is one field.
    Prefix,
    /// The key is an attribute.
    Whole,
}

impl Level {
    pub(crate) fn weaker(self) -> Option<Self> {
        match self {
            Level::Precise => Some(Level::Plain),
            Level::Plain => Some(Level::Prefix),
            Level::Prefix => Some(Level::Whole),
            Level::Whole => None,
        }
    }
}

/// Fewer rows are not enough to infer the type of an attribute that only the key has.
const ROWS_FOR_TYPE: usize = 3;
/// If all numbers have at least this many digits, they are probably times, and stay that long.
const DIGITS_OF_TIMES: usize = 10;
/// A number of this many digits is certainly valid.
const DIGITS_MAX: usize = 18;

/// Infers the templates of one entity, key by key; fields found in one key can be used in the next.
pub(crate) struct Reader<'r> {
    facts: &'r TableFacts,
    rows: &'r [&'r Item],
    level: Level,
    sources: Sources,
    /// Attributes that only the keys have.
    pub(crate) placeholders: BTreeMap<String, DraftAttribute>,
}

/// A token in all rows, with its position.
struct Column<'c> {
    key: &'c str,
    texts: Vec<String>,
    position: usize,
    /// Whether it is the whole key.
    whole: bool,
    /// The separator after it.
    before: Option<char>,
    /// The word before it.
    hint: String,
}

impl Column<'_> {
    fn constant(&self) -> Option<&str> {
        let first = self.texts.first()?;
        self.texts
            .iter()
            .all(|text| text == first)
            .then_some(first.as_str())
    }

    /// The same position with other texts.
    fn with(&self, texts: Vec<String>, hint: &str) -> Self {
        Column {
            key: self.key,
            texts,
            position: self.position + 1,
            whole: false,
            before: self.before,
            hint: hint.to_owned(),
        }
    }
}

impl<'r> Reader<'r> {
    pub(crate) fn new(facts: &'r TableFacts, rows: &'r [&'r Item], level: Level, sources: Sources) -> Self {
        Reader {
            facts,
            rows,
            level,
            sources,
            placeholders: BTreeMap::new(),
        }
    }

    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The template of a key of the table.
    pub(crate) fn table_key(&mut self, key: &KeyAttribute) -> DraftKey {
        let parts = match key.kind {
            ScalarType::S => self.text_key(&key.name),
            _ => vec![self.itself(key)],
        };
        DraftKey {
            attribute: key.name.clone(),
            parts,
        }
    }

    /// A key that is not text is an attribute itself.
    fn itself(&mut self, key: &KeyAttribute) -> Part {
        let attribute = self.own_name(&key.name);
        let values = || self.rows.iter().filter_map(|row| row.get(&key.name));
        let whole = |kind: AttributeKind| {
            let attribute = trestle_model::Attribute::new("key", kind);
            values().all(|value| attribute.check(value).is_ok())
        };
        let kind = match key.kind {
            ScalarType::B => AttributeKind::Binary,
            _ if self.level < Level::Whole && whole(AttributeKind::Integer) => AttributeKind::Integer,
            _ => AttributeKind::Number,
        };
        self.add_placeholder(&attribute, kind);
        Part::Field {
            attribute,
            width: None,
        }
    }

    /// The key's own name, if it is valid in a template.
    fn own_name(&self, key: &str) -> String {
        if name::fits_template(key) {
            return key.to_owned();
        }
        self.free_name(name::entity(key))
    }

    fn free_name(&self, wanted: String) -> String {
        name::free(wanted, |name| {
            self.placeholders.contains_key(name)
                || self.facts.is_table_key(name)
                || self.facts.is_index_key(name)
                || self.rows.iter().any(|row| row.contains_key(name))
        })
    }

    fn text_key(&mut self, key: &str) -> Vec<Part> {
        let texts: Vec<String> = self
            .rows
            .iter()
            .map(|row| row.get(key).and_then(text_of).unwrap_or_default())
            .collect();
        let read = match self.level {
            Level::Precise | Level::Plain => self.by_tokens(key, &texts),
            Level::Prefix => None,
            Level::Whole => return vec![self.whole(key, texts)],
        };
        match read.or_else(|| self.by_prefix(key, &texts)) {
            Some(parts) => parts,
            None => vec![self.whole(key, texts)],
        }
    }

    fn whole(&mut self, key: &str, texts: Vec<String>) -> Part {
        let column = Column {
            key,
            texts,
            position: 0,
            whole: true,
            before: None,
            hint: key.to_owned(),
        };
        let found = (self.level < Level::Whole).then(|| self.field(&column)).flatten();
        found.unwrap_or_else(|| self.placeholder(&column))
    }

    /// Token by token, if all keys have the same separators.
    fn by_tokens(&mut self, key: &str, texts: &[String]) -> Option<Vec<Part>> {
        let facts = self.facts;
        let cut: Vec<Tokens<'_>> = texts
            .iter()
            .zip(self.rows)
            .map(|(text, row)| tokens(text, row, |name| facts.is_key(name)))
            .collect();
        let layout = cut.first()?.layout();
        if cut.iter().any(|tokens| tokens.layout() != layout) {
            return None;
        }
        let separators: Vec<char> = cut.first()?.separators.chars().collect();
        let mut parts = Vec::new();
        let mut hint = String::new();
        for position in 0..=separators.len() {
            let column = Column {
                key,
                // All have the same layout, so each has a token here.
                texts: cut
                    .iter()
                    .map(|tokens| tokens.texts.get(position).map(|text| (*text).to_owned()))
                    .collect::<Option<_>>()?,
                position,
                whole: separators.is_empty(),
                before: separators.get(position).copied(),
                hint: std::mem::take(&mut hint),
            };
            let read = self.column(&column)?;
            if let [Part::Literal(word)] = read.as_slice() {
                hint.clone_from(word);
            }
            parts.extend(read);
            parts.extend(
                column
                    .before
                    .map(|separator| Part::Literal(separator.to_string())),
            );
        }
        Some(joined(parts))
    }

    /// The parts for one token; `None` if it is missing in some keys.
    fn column(&mut self, column: &Column<'_>) -> Option<Vec<Part>> {
        if column.texts.iter().any(String::is_empty) {
            return column.constant().map(|_| Vec::new());
        }
        let field = self.field(column);
        if let Some(word) = column
            .constant()
            .filter(|_| self.is_literal(column, field.as_ref()))
        {
            return Some(vec![Part::Literal(word.to_owned())]);
        }
        if self.level == Level::Precise
            && let Some(parts) = self.made_of_attributes(column)
        {
            return Some(parts);
        }
        if let Some(field) = field {
            return Some(vec![field]);
        }
        if self.level == Level::Precise
            && let Some(parts) = self.lettered_number(column).or_else(|| self.weakly_cut(column))
        {
            return Some(parts);
        }
        Some(vec![self.placeholder(column)])
    }

    /// Several attributes explain more than one that repeats them together.
    fn made_of_attributes(&mut self, column: &Column<'_>) -> Option<Vec<Part>> {
        if is_timestamp(column.texts.first()?) {
            return None;
        }
        let (known, sources) = (self.placeholders.clone(), self.sources.clone());
        let parts = self.weakly_cut(column);
        if self.placeholders.len() == known.len() {
            return parts;
        }
        (self.placeholders, self.sources) = (known, sources);
        None
    }

    /// Whether a token that is the same in all keys belongs to the template.
    fn is_literal(&self, column: &Column<'_>, field: Option<&Part>) -> bool {
        let Some(word) = column.constant().filter(|word| is_word(word)) else {
            return false;
        };
        if let Some(Part::Field { attribute, .. }) = field
            && !crate::tag::is_usual(attribute)
        {
            return false;
        }
        let rows = self.rows.len();
        let of_partition = self.facts.key.hash.iter().any(|key| key.name == column.key);
        match (column.whole, column.position) {
            _ if is_shouted(word) => true,
            // Rows of a single partition show nothing about other partitions.
            (true, _) if of_partition => rows >= 10,
            (true, _) => rows >= 3,
            (false, 0) => true,
            (false, _) => rows >= 2,
        }
    }

    fn field(&self, column: &Column<'_>) -> Option<Part> {
        let texts: Vec<&str> = column.texts.iter().map(String::as_str).collect();
        let source = self.sources.find(&texts, &column.hint)?;
        let width = source.width_in(&texts);
        if width.is_some() && self.level > Level::Precise {
            return None;
        }
        Some(Part::Field {
            attribute: source.name.clone(),
            width,
        })
    }

    /// `v17`: letters followed by a number.
    fn lettered_number(&mut self, column: &Column<'_>) -> Option<Vec<Part>> {
        let first = column.texts.first()?;
        let letters: String = first.chars().take_while(char::is_ascii_alphabetic).collect();
        if letters.is_empty() || letters.len() > 8 {
            return None;
        }
        let digits: Option<Vec<String>> = column
            .texts
            .iter()
            .map(|text| text.strip_prefix(letters.as_str()).filter(|rest| is_digits(rest)))
            .map(|rest| rest.map(str::to_owned))
            .collect();
        let hint = if column.hint.is_empty() {
            &letters
        } else {
            &column.hint
        };
        let number = column.with(digits?, hint);
        let field = self.field(&number).unwrap_or_else(|| self.placeholder(&number));
        Some(vec![Part::Literal(letters), field])
    }

    /// An attribute, a weak separator, and the rest: `ap-southeast-1.requests`.
    fn weakly_cut(&mut self, column: &Column<'_>) -> Option<Vec<Part>> {
        for separator in WEAK {
            let source = self.sources.find_before(&column.texts, *separator, &column.hint);
            let Some((attribute, rest)) = source else { continue };
            let mut parts = vec![
                Part::Field {
                    attribute,
                    width: None,
                },
                Part::Literal(separator.to_string()),
            ];
            parts.extend(self.column(&column.with(rest, ""))?);
            return Some(parts);
        }
        self.numbers_with_weak_separator(column)
    }

    /// `000001_000002`: digits on both sides of a weak separator in every key.
    fn numbers_with_weak_separator(&mut self, column: &Column<'_>) -> Option<Vec<Part>> {
        let separator = column.texts.first()?.chars().find(|c| WEAK.contains(c))?;
        let halves: Option<Vec<(String, String)>> = column
            .texts
            .iter()
            .map(|text| {
                let (left, right) = text.split_once(separator)?;
                (is_digits(left) && is_digits(right)).then(|| (left.to_owned(), right.to_owned()))
            })
            .collect();
        let halves = halves.filter(|halves| halves.len() >= ROWS_FOR_TYPE)?;
        let (left, right): (Vec<String>, Vec<String>) = halves.into_iter().unzip();
        let mut left = column.with(left, &column.hint);
        left.before = Some(separator);
        let mut parts = self.column(&left)?;
        parts.push(Part::Literal(separator.to_string()));
        parts.extend(self.column(&column.with(right, ""))?);
        Some(parts)
    }

    /// The text that all keys begin with, up to a separator, and a field for the rest.
    fn by_prefix(&mut self, key: &str, texts: &[String]) -> Option<Vec<Part>> {
        let prefix = common_prefix(texts)?;
        let rest = texts.iter().map(|text| text.strip_prefix(prefix));
        let rest: Vec<String> = rest.map(|rest| rest.map(str::to_owned)).collect::<Option<_>>()?;
        let word = prefix.trim_end_matches(STRONG).trim_end_matches(WEAK);
        let column = Column {
            key,
            texts: rest,
            position: 1,
            whole: false,
            before: None,
            hint: word.rsplit(STRONG).next().unwrap_or_default().to_owned(),
        };
        let field = self.field(&column).unwrap_or_else(|| self.placeholder(&column));
        Some(vec![Part::Literal(prefix.to_owned()), field])
    }

    /// An attribute that only the key has.
    fn placeholder(&mut self, column: &Column<'_>) -> Part {
        let texts: Vec<&str> = column.texts.iter().map(String::as_str).collect();
        let (kind, width) = self.kind(column, &texts);
        let wanted = if is_word(&column.hint) {
            name::entity(&column.hint)
        } else {
            format!("{}{}", name::entity(column.key), column.position + 1)
        };
        let attribute = if column.whole {
            self.own_name(column.key)
        } else {
            self.free_name(wanted.clone())
        };
        self.add_placeholder(&attribute, kind);
        let taken_by_index = attribute != wanted
            && self.facts.is_index_key(&wanted)
            && !self.rows.iter().any(|row| row.contains_key(&wanted));
        if let Some(draft) = self.placeholders.get_mut(&attribute) {
            draft.doubt = self.sources.nearly(&texts);
            draft.precision = precision(texts.iter().copied());
            if taken_by_index {
                draft.evidence += &format!("; {wanted} is a key of an index, which these rows do not have");
            }
        }
        self.sources.add(Source::of_texts(&attribute, &texts, kind));
        Part::Field { attribute, width }
    }

    fn kind(&self, column: &Column<'_>, texts: &[&str]) -> (AttributeKind, Option<usize>) {
        let speaks = self.level == Level::Precise && texts.len() >= ROWS_FOR_TYPE;
        // Timestamps of several precisions do not sort by time: they are treated as texts.
        let times = speaks && precision(texts.iter().copied()).is_some();
        if times
            && column
                .before
                .is_none_or(|separator| !"0123456789-:.TZ".contains(separator))
        {
            return (AttributeKind::Timestamp, None);
        }
        let numbers = speaks
            && !column.whole
            && texts
                .iter()
                .all(|text| is_digits(text) && text.len() <= DIGITS_MAX);
        if !numbers {
            return (AttributeKind::String, None);
        }
        let leading = |text: &&str| text.len() > 1 && text.starts_with('0');
        let length = texts.first().map_or(0, |text| text.len());
        let even = texts.iter().all(|text| text.len() == length);
        match (texts.iter().any(leading), even) {
            (true, true) => (AttributeKind::Integer, Some(length)),
            (false, true) if length >= DIGITS_OF_TIMES => (AttributeKind::Integer, Some(length)),
            (false, _) => (AttributeKind::Integer, None),
            (true, false) => (AttributeKind::String, None),
        }
    }

    fn add_placeholder(&mut self, attribute: &str, kind: AttributeKind) {
        let draft = DraftAttribute {
            kind,
            optional: false,
            one_of: Vec::new(),
            chars: None,
            precision: None,
            evidence: "read from the key".to_owned(),
            doubt: None,
        };
        self.placeholders.insert(attribute.to_owned(), draft);
    }

    /// The template of an index's key for the rows that have it, if attributes explain all of it.
    pub(crate) fn index_key(&mut self, key: &KeyAttribute) -> Option<DraftKey> {
        let known = self.placeholders.len();
        let texts: Vec<String> = self
            .rows
            .iter()
            .map(|row| {
                row.get(&key.name)
                    .and_then(|value| value.as_s())
                    .map(str::to_owned)
            })
            .collect::<Option<_>>()?;
        let parts = self.by_tokens(&key.name, &texts)?;
        let explained = self.placeholders.len() == known;
        explained.then(|| DraftKey {
            attribute: key.name.clone(),
            parts,
        })
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The longest common prefix that ends with a separator and is shorter than every text.
fn common_prefix(texts: &[String]) -> Option<&str> {
    let first = texts.first()?;
    let ends = first
        .char_indices()
        .rev()
        .filter(|(_, c)| STRONG.contains(c) || WEAK.contains(c));
    let mut prefixes = ends.filter_map(|(at, c)| first.get(..at + c.len_utf8()));
    prefixes.find(|prefix| {
        texts
            .iter()
            .all(|text| text.len() > prefix.len() && text.starts_with(prefix))
    })
}

/// Joins adjacent literals.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(Part::Literal(before)), Part::Literal(text)) => before.push_str(&text),
            (_, part) => joined.push(part),
        }
    }
    joined
}
