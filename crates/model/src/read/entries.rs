//! `entries` as written.

use super::attribute::attribute;
use super::section::{Section, Value, text};
use crate::attribute::{Attribute, AttributeKind};
use crate::draft::{DraftEntries, Name};
use crate::problem::{Placed, Problems};

pub(super) fn read(name: Name, section: &Section<'_>, problems: &mut Problems<'_>) -> DraftEntries {
    DraftEntries {
        name,
        of: section.text("of", problems),
        table: section.text("table", problems),
        key: section.text_map("key", problems),
        member: part(section, "member", problems),
        pair_name: part(section, "name", problems),
        pair_value: part(section, "value", problems),
        project: section.texts("project", problems),
    }
}

/// The entry's name for a part of a member: the name of a string, or one attribute with its type.
fn part(section: &Section<'_>, field: &str, problems: &mut Problems<'_>) -> Option<Placed<Attribute>> {
    let value = section.value(field)?;
    if text(value).is_some() {
        let name = section.text(field, problems)?;
        return Some(Placed::new(
            Attribute::new(name.value, AttributeKind::String),
            name.at,
        ));
    }
    let what = format!("{}: `{field}`", section.what);
    match section.entries(field, problems).as_slice() {
        [(name, declared)] => {
            let attribute = attribute(&what, name, declared, problems)?;
            check_plain(&what, &attribute, value, problems);
            Some(Placed::new(attribute, name.at))
        }
        [] if !value.get_ref().is_table() => None,
        _ => {
            let message = format!("{what} does not name one attribute");
            let help = format!(
                "write a name, such as `{field} = \"tag\"`, or a name with a type: `{{ tag = \"integer\" }}`"
            );
            problems.error(value.span().start, message, help);
            None
        }
    }
}

/// A member without an entry does not occur, and an entry never changes its member.
fn check_plain(what: &str, attribute: &Attribute, value: &Value<'_>, problems: &mut Problems<'_>) {
    let said = [
        (attribute.optional, "optional"),
        (attribute.default.is_some(), "default"),
        (attribute.immutable, "immutable"),
    ];
    for (_, word) in said.into_iter().filter(|(is_said, _)| *is_said) {
        problems.error(
            value.span().start,
            format!("{what} says `{word}`, and every entry has its member"),
            format!("leave out `{word}`"),
        );
    }
}
