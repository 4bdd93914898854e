//! Templates with their attributes: each is proved injective here, or refused with two values that would
//! collide.

use trestle_expr::KeyAttribute;
use trestle_item::ScalarType;

use super::Builder;
use crate::attribute::{Attribute, AttributeKind, semver};
use crate::draft::Name;
use crate::language::Piece;
use crate::problem::suggestion;
use crate::template::{Field, KeyTemplate, Part, RawPart, Slot, parse};

/// The purpose of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It identifies a row.
    TableKey,
    /// It is only used to find rows.
    IndexKey,
    /// It identifies a value; the value may be folded.
    Unique,
}

/// The context for messages.
struct Subject<'s> {
    what: &'s str,
    source: &'s Name,
    key: &'s KeyAttribute,
    purpose: Purpose,
    /// Whether rows are sorted by it.
    sorts: bool,
}

impl Subject<'_> {
    fn says(&self, rest: &str) -> String {
        format!(
            "{}: key `{}` = {:?} {rest}",
            self.what, self.key.name, self.source.value
        )
    }
}

impl Builder<'_, '_, '_> {
    pub(super) fn template(
        &mut self,
        what: &str,
        key: &KeyAttribute,
        source: &Name,
        attributes: &[Attribute],
        purpose: Purpose,
        sorts: bool,
    ) -> Option<KeyTemplate> {
        let subject = Subject {
            what,
            source,
            key,
            purpose,
            sorts,
        };
        let raw = match parse(&source.value) {
            Ok(raw) => raw,
            Err(reason) => {
                self.problems.error(
                    source.at,
                    subject.says(&reason),
                    "see the reference of key templates in docs/reference/model-file.md",
                );
                return None;
            }
        };
        let mut parts = self.parts(&subject, &raw, attributes)?;
        let sound = self.separate(&subject, &mut parts);
        let template = KeyTemplate {
            attribute: key.name.clone(),
            kind: key.kind,
            source: source.value.clone(),
            parts,
        };
        let sound = self.check_kind(&subject, &template) && sound;
        if sorts && key.kind == ScalarType::S {
            self.warn_of_unpadded(&subject, &template);
        }
        sound.then_some(template)
    }

    fn parts(
        &mut self,
        subject: &Subject<'_>,
        raw: &[RawPart],
        attributes: &[Attribute],
    ) -> Option<Vec<Part>> {
        let composite = raw.len() > 1;
        let mut parts = Vec::with_capacity(raw.len());
        let mut sound = true;
        for part in raw {
            match part {
                RawPart::Literal(text) => parts.push(Part::Literal(text.clone())),
                RawPart::Field(field) => match self.slot(subject, field, attributes, composite) {
                    Some(slot) => parts.push(Part::Slot(slot)),
                    None => sound = false,
                },
            }
        }
        sound.then_some(parts)
    }

    fn slot(
        &mut self,
        subject: &Subject<'_>,
        field: &Field,
        attributes: &[Attribute],
        composite: bool,
    ) -> Option<Slot> {
        let at = subject.source.at;
        let name = &field.attribute;
        let Some(attribute) = attributes.iter().find(|attribute| attribute.name == *name) else {
            if self.draft.unread.contains(name) {
                return None;
            }
            let help = format!(
                "declare it under `attributes`; {}",
                suggestion(name, attributes.iter().map(|attribute| attribute.name.as_str()))
            );
            self.problems.error(
                at,
                subject.says(&format!("names the attribute `{name}`, which is not declared")),
                help,
            );
            return None;
        };
        if let Err((reason, help)) = allowed(subject, field, attribute, composite) {
            self.problems.error(at, subject.says(&reason), help);
            return None;
        }
        Some(Slot {
            attribute: attribute.clone(),
            width: field.width,
            escape: field.escape,
            lower: field.lower,
            ends_before: None,
            composite,
        })
    }

    /// Gives each field the separator after it, or reports why its end cannot be found.
    fn separate(&mut self, subject: &Subject<'_>, parts: &mut [Part]) -> bool {
        let mut sound = true;
        for at in 0..parts.len() {
            let next = parts.get(at + 1).cloned();
            let Some(Part::Slot(slot)) = parts.get_mut(at) else {
                continue;
            };
            if slot.fixed_length().is_some() {
                continue;
            }
            let fault = match next {
                None => None,
                Some(Part::Slot(next)) => Some(adjacent(slot, &next)),
                Some(Part::Literal(literal)) => {
                    slot.ends_before = literal.chars().next();
                    swallowed(slot).or_else(|| unsorted(slot).filter(|_| subject.sorts))
                }
            };
            let (slot, ends_before) = (slot.clone(), slot.ends_before);
            if let Some((reason, help)) = fault {
                self.problems
                    .error(subject.source.at, subject.says(&reason), help);
                sound = false;
            } else if let Some(separator) = ends_before {
                self.warn_of_refusals(subject, &slot, separator);
            }
        }
        sound
    }

    /// A set of characters that contains the separator allows values that no key can hold.
    fn warn_of_refusals(&mut self, subject: &Subject<'_>, slot: &Slot, separator: char) {
        let declared = slot
            .attribute
            .set
            .as_ref()
            .is_some_and(|set| set.contains(separator));
        if declared && !slot.escape {
            let name = &slot.attribute.name;
            let reason = format!(
                "ends `{{{name}}}` at {separator:?}, which `chars` allows in it; such values will be refused"
            );
            self.problems.warning(
                subject.source.at,
                subject.says(&reason),
                format!("take {separator:?} out of `chars`, or write `{{{name}|escape}}`"),
            );
        }
    }

    fn check_kind(&mut self, subject: &Subject<'_>, template: &KeyTemplate) -> bool {
        let own = template
            .whole()
            .filter(|slot| slot.attribute.name == template.attribute);
        if let Some(slot) = own
            && slot.attribute.kind.scalar_type() != Some(template.kind)
        {
            let reason = format!(
                "is the attribute itself, which is of type {}, but the key attribute is not",
                slot.attribute.kind.name()
            );
            self.problems.error(
                subject.source.at,
                subject.says(&reason),
                "give both the same type, or use another name for the key",
            );
            return false;
        }
        if let Some(slot) = own.filter(|slot| slot.attribute.kind == AttributeKind::Semver) {
            let name = &slot.attribute.name;
            self.problems.error(
                subject.source.at,
                subject.says("is the attribute itself, which is of type semver and does not sort as it is written"),
                format!("give the key another name and write `key.sk = \"{{{name}}}\"`: in a template, versions sort"),
            );
            return false;
        }
        if template.kind == ScalarType::S {
            return true;
        }
        let fits = template
            .whole()
            .is_some_and(|slot| slot.attribute.kind.scalar_type() == Some(template.kind));
        if !fits {
            let kind = if template.kind == ScalarType::N {
                "number"
            } else {
                "binary"
            };
            self.problems.error(subject.source.at, subject.says(&format!("is text, but the key attribute is of type {kind}")), format!("make it one field of that type, such as `{{n}}`, or declare the key attribute without `type = \"{kind}\"`"));
        }
        fits
    }

    fn warn_of_unpadded(&mut self, subject: &Subject<'_>, template: &KeyTemplate) {
        for slot in template.slots() {
            if slot.attribute.kind.is_numeric() && slot.width.is_none() && slot.attribute.one_of.is_empty() {
                let name = &slot.attribute.name;
                self.problems.warning(
                    subject.source.at,
                    subject.says(&format!("sorts the number `{name}` as text: 10 comes before 9")),
                    format!("write `{{{name}:08}}` if the order matters"),
                );
            }
        }
    }
}

type Fault = (String, String);

/// Whether an attribute may be used in a key like this.
fn allowed(
    subject: &Subject<'_>,
    field: &Field,
    attribute: &Attribute,
    composite: bool,
) -> Result<(), Fault> {
    let name = &attribute.name;
    let kind = attribute.kind;
    let textual = matches!(
        kind,
        AttributeKind::String | AttributeKind::Timestamp | AttributeKind::Semver | AttributeKind::Boolean
    ) || kind.is_numeric();
    let whole_binary = kind == AttributeKind::Binary && !composite && subject.key.kind == ScalarType::B;
    if !textual && !whole_binary {
        return Err((
            format!("uses `{name}`, which is of type {}", kind.name()),
            "a key is made of strings, numbers, booleans, timestamps and versions; binary only as a whole key of type binary".to_owned(),
        ));
    }
    if field.width.is_some() && !matches!(kind, AttributeKind::Integer | AttributeKind::EpochSeconds) {
        return Err((
            format!("pads `{name}`, which is of type {}", kind.name()),
            "only integers and epoch-seconds can be padded".to_owned(),
        ));
    }
    if (field.escape || field.lower) && kind != AttributeKind::String {
        return Err((
            format!("escapes or folds `{name}`, which is of type {}", kind.name()),
            "`|escape` and `|lower` are for strings".to_owned(),
        ));
    }
    if field.lower && subject.purpose == Purpose::TableKey {
        return Err((
            format!("folds `{name}`: \"A\" and \"a\" would be two identities with one key"),
            "fold only in index keys and `unique` keys".to_owned(),
        ));
    }
    if attribute.optional && subject.purpose == Purpose::TableKey {
        return Err((
            format!("uses `{name}`, which is optional, and a row cannot be without its key"),
            format!("remove `optional` from `{name}`"),
        ));
    }
    Ok(())
}

/// Two fields with nothing between them.
fn adjacent(slot: &Slot, next: &Slot) -> Fault {
    let (one, two) = (&slot.attribute.name, &next.attribute.name);
    let (left, right, rest) = if slot.attribute.kind.is_numeric() || next.attribute.kind.is_numeric() {
        ("1", "2", "3")
    } else {
        ("a", "b", "c")
    };
    (
        format!(
            "does not say where `{one}` ends: {one}={left:?}, {two}={:?} and {one}={:?}, {two}={rest:?} would both give \"{left}{right}{rest}\"",
            format!("{right}{rest}"),
            format!("{left}{right}"),
        ),
        format!(
            "put a separator between them, such as `{{{one}}}#{{{two}}}`, or give `{one}` a fixed `length`"
        ),
    )
}

/// A separator that the field's text may contain, where it can be neither refused nor escaped.
fn swallowed(slot: &Slot) -> Option<Fault> {
    let separator = slot.ends_before?;
    let name = &slot.attribute.name;
    if slot.escape {
        let taken = separator == '%' || separator.is_ascii_hexdigit();
        return taken.then(|| {
            (
                format!("escapes `{name}` before {separator:?}, but escapes are made of `%` and hexadecimal digits"),
                "choose another separator".to_owned(),
            )
        });
    }
    if let Some(value) = slot
        .attribute
        .one_of
        .iter()
        .map(|value| slot.attribute.in_key(value))
        .find(|value| value.contains(separator))
    {
        return Some((
            format!("ends `{name}` at {separator:?}, but it may be {value:?}, which contains that"),
            "choose another separator, or another value".to_owned(),
        ));
    }
    if slot.attribute.kind == AttributeKind::String || !slot.attribute.one_of.is_empty() {
        return None;
    }
    let contained = match slot.attribute.piece() {
        Piece::Repeat { set, .. } => set.contains(separator),
        Piece::OneOf(values) => values.iter().any(|value| value.contains(separator)),
        Piece::Literal(_) => false,
    };
    contained.then(|| {
        (
            format!(
                "ends `{name}` at {separator:?}, which a value of type {} may contain: {}",
                slot.attribute.kind.name(),
                example(slot, separator)
            ),
            if slot.attribute.kind == AttributeKind::Integer {
                "choose another separator, or pad it: `{n:08}`".to_owned()
            } else {
                "choose another separator".to_owned()
            },
        )
    })
}

/// A separator after a version must sort before everything that may continue a longer version.
fn unsorted(slot: &Slot) -> Option<Fault> {
    let separator = slot.ends_before?;
    let name = &slot.attribute.name;
    (slot.attribute.kind == AttributeKind::Semver && separator >= semver::LEAST).then(|| {
        (
            format!("ends the version `{name}` at {separator:?}: versions would not sort, because {separator:?} sorts after \"+\""),
            "put one of ! # $ % & * behind it, or put it at the end of the key".to_owned(),
        )
    })
}

/// Two values that would be confused at a separator.
fn example(slot: &Slot, separator: char) -> String {
    match slot.attribute.kind {
        AttributeKind::Timestamp => "in \"2019-12-30T19:32:14Z\" it would end too early".to_owned(),
        AttributeKind::Boolean => "\"true\" or \"false\"".to_owned(),
        AttributeKind::Semver => "\"1.10.0-rc.1+7\" is written \"1.a10.0-~rc,1+7\" in a key".to_owned(),
        _ if separator.is_ascii_digit() => format!(
            "1 before \"{separator}{separator}\" and 1{separator} before \"{separator}\" would give the same text"
        ),
        _ => format!("a number may be written with {separator:?}"),
    }
}
