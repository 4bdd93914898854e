//! One table of a TOML file, read field by field; values that do not fit become problems and are left out.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trestle_item::{AttributeValue, Number};

use crate::draft::Name;
use crate::fields::Field;
use crate::problem::{Placed, Problems, suggestion};

/// The name of the file itself in messages. Its sections are called by their names alone.
pub(crate) const THE_FILE: &str = "the file";

/// A section of the file and its name in messages.
pub(crate) struct Section<'t> {
    /// Such as "entity `layer`".
    pub(crate) what: String,
    pub(crate) at: usize,
    table: &'t DeTable<'t>,
}

pub(crate) type Value<'t> = Spanned<DeValue<'t>>;

impl<'t> Section<'t> {
    /// Opens a section and reports unknown and missing fields.
    pub(crate) fn open(
        what: String,
        at: usize,
        table: &'t DeTable<'t>,
        fields: &'static [Field],
        problems: &mut Problems<'_>,
    ) -> Self {
        for (key, _) in table {
            let name = key.get_ref().as_ref();
            if !fields.iter().any(|field| field.name == name) {
                let help = suggestion(name, fields.iter().map(|field| field.name));
                problems.error(
                    key.span().start,
                    format!("{what} has an unknown field `{name}`"),
                    help,
                );
            }
        }
        for field in fields.iter().filter(|field| field.required) {
            if !table.contains_key(field.name) {
                let help = format!("add `{} = …`. {}", field.name, field.about);
                problems.error(at, format!("{what} has no `{}`", field.name), help);
            }
        }
        Section { what, at, table }
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'t Value<'t>> {
        self.table.get(name)
    }

    fn wrong(&self, name: &str, value: &Value<'_>, wanted: &str, problems: &mut Problems<'_>) {
        problems.error(
            value.span().start,
            format!("{}: `{name}` is {}", self.what, described(value)),
            format!("write {wanted}"),
        );
    }

    pub(crate) fn text(&self, name: &str, problems: &mut Problems<'_>) -> Option<Name> {
        let value = self.value(name)?;
        let found = text(value);
        match &found {
            None => self.wrong(name, value, "a text in quotes", problems),
            Some(text) if text.value.is_empty() => {
                problems.error(
                    text.at,
                    format!("{}: `{name}` is empty", self.what),
                    "write a text, or leave it out",
                );
                return None;
            }
            Some(_) => {}
        }
        found
    }

    pub(crate) fn plain(&self, name: &str, problems: &mut Problems<'_>) -> Option<String> {
        self.text(name, problems).map(|text| text.value)
    }

    pub(crate) fn flag(&self, name: &str, problems: &mut Problems<'_>) -> Option<Placed<bool>> {
        let value = self.value(name)?;
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.wrong(name, value, "true or false", problems);
        }
        found.map(|flag| Placed::new(flag, value.span().start))
    }

    pub(crate) fn is_set(&self, name: &str, problems: &mut Problems<'_>) -> bool {
        self.flag(name, problems).is_some_and(|flag| flag.value)
    }

    pub(crate) fn count(&self, name: &str, problems: &mut Problems<'_>) -> Option<u32> {
        let value = self.value(name)?;
        let found = integer(value)
            .and_then(|number| u32::try_from(number).ok())
            .filter(|count| *count > 0);
        if found.is_none() {
            self.wrong(name, value, "a whole number from 1 on", problems);
        }
        found
    }

    /// One of some words.
    pub(crate) fn choice(
        &self,
        name: &str,
        words: &[&'static str],
        problems: &mut Problems<'_>,
    ) -> Option<&'static str> {
        let text = self.text(name, problems)?;
        let found = words.iter().find(|word| **word == text.value);
        if found.is_none() {
            problems.error(
                text.at,
                format!("{}: `{name}` is {:?}, which it cannot be", self.what, text.value),
                suggestion(&text.value, words.iter().copied()),
            );
        }
        found.copied()
    }

    /// Several texts, or one where one is enough.
    pub(crate) fn texts(&self, name: &str, problems: &mut Problems<'_>) -> Vec<Name> {
        let Some(value) = self.value(name) else {
            return Vec::new();
        };
        if let Some(one) = text(value) {
            return vec![one];
        }
        let Some(list) = value.get_ref().as_array() else {
            self.wrong(name, value, "a list of texts", problems);
            return Vec::new();
        };
        let mut texts = Vec::new();
        for member in list.iter() {
            match text(member) {
                Some(text) => texts.push(text),
                None => self.wrong(name, member, "a text in quotes", problems),
            }
        }
        texts
    }

    /// Entries of a field that is a table, in the order of the file.
    pub(crate) fn entries(&self, name: &str, problems: &mut Problems<'_>) -> Vec<(Name, &'t Value<'t>)> {
        let Some(value) = self.value(name) else {
            return Vec::new();
        };
        match value.get_ref().as_table() {
            Some(table) => in_order(table),
            None => {
                self.wrong(name, value, "a table: `{ name = … }`", problems);
                Vec::new()
            }
        }
    }

    /// Like [`Section::entries`], with texts as values.
    pub(crate) fn text_map(&self, name: &str, problems: &mut Problems<'_>) -> Vec<(Name, Name)> {
        let mut pairs = Vec::new();
        for (key, value) in self.entries(name, problems) {
            match text(value) {
                Some(text) => pairs.push((key, text)),
                None => self.wrong(
                    &format!("{name}.{}", key.value),
                    value,
                    "a text in quotes",
                    problems,
                ),
            }
        }
        pairs
    }

    /// Like [`Section::entries`], with scalars as values.
    pub(crate) fn value_map(
        &self,
        name: &str,
        problems: &mut Problems<'_>,
    ) -> Vec<(Name, Placed<AttributeValue>)> {
        let mut pairs = Vec::new();
        for (key, value) in self.entries(name, problems) {
            match scalar(value) {
                Some(found) => pairs.push((key, found)),
                None => self.wrong(
                    &format!("{name}.{}", key.value),
                    value,
                    "a text, a number or true or false",
                    problems,
                ),
            }
        }
        pairs
    }

    /// The sections under a field, each opened with its own name.
    pub(crate) fn named(
        &self,
        name: &'static str,
        fields: &'static [Field],
        problems: &mut Problems<'_>,
    ) -> Vec<(Name, Section<'t>)> {
        let mut sections = Vec::new();
        for (key, value) in self.entries(name, problems) {
            let what = self.inner(name, &key.value);
            match value.get_ref().as_table() {
                Some(table) => {
                    let section = Section::open(what, key.at, table, fields, problems);
                    sections.push((key, section));
                }
                None => problems.error(
                    value.span().start,
                    format!("{what} is {}", described(value)),
                    format!("make it a section: `[{name}.{}]`", key.value),
                ),
            }
        }
        sections
    }

    /// The one section under a field.
    pub(crate) fn section(
        &self,
        name: &'static str,
        fields: &'static [Field],
        problems: &mut Problems<'_>,
    ) -> Option<Section<'t>> {
        let value = self.value(name)?;
        let what = format!("{}: `{name}`", self.what);
        match value.get_ref().as_table() {
            Some(table) => Some(Section::open(what, self.key_place(name), table, fields, problems)),
            None => {
                self.wrong(name, value, "a section with fields", problems);
                None
            }
        }
    }

    fn key_place(&self, name: &str) -> usize {
        let key = self.table.keys().find(|key| key.get_ref() == name);
        key.map_or(self.at, |key| key.span().start)
    }

    fn inner(&self, kind: &str, name: &str) -> String {
        if self.what == THE_FILE {
            format!("{kind} `{name}`")
        } else {
            format!("{}: {kind} `{name}`", self.what)
        }
    }
}

pub(crate) fn text(value: &Value<'_>) -> Option<Name> {
    let text = value.get_ref().as_str()?;
    Some(Placed::new(text.to_owned(), value.span().start))
}

pub(crate) fn integer(value: &Value<'_>) -> Option<i64> {
    let number = value.get_ref().as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A text, a number or a truth value as a value of an attribute.
pub(crate) fn scalar(value: &Value<'_>) -> Option<Placed<AttributeValue>> {
    let found = match value.get_ref() {
        DeValue::String(text) => AttributeValue::S(text.as_ref().to_owned()),
        DeValue::Boolean(truth) => AttributeValue::Bool(*truth),
        DeValue::Integer(_) => AttributeValue::from(integer(value)?),
        DeValue::Float(number) => AttributeValue::N(Number::parse(number.as_str()).ok()?),
        _ => return None,
    };
    Some(Placed::new(found, value.span().start))
}

pub(crate) fn in_order<'t>(table: &'t DeTable<'t>) -> Vec<(Name, &'t Value<'t>)> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| {
            (
                Placed::new(key.get_ref().as_ref().to_owned(), key.span().start),
                value,
            )
        })
        .collect();
    entries.sort_by_key(|(key, _)| key.at);
    entries
}

pub(crate) fn described(value: &Value<'_>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
