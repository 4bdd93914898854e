//! Why rows cannot move between two versions of a model.

use std::fmt;

use super::pair::Pair;
use super::plan::Both;
use crate::attribute::AttributeKind;
use crate::entity::{Entity, Role};
use crate::problem::listed;
use crate::template::{KeyTemplate, Slot};

/// Why rows of an entity cannot move, as far as the two versions show it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Hindrance {
    /// The entity.
    pub entity: String,
    /// What prevents the move, with the templates.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  help: {}", self.message, self.help)
    }
}

impl std::error::Error for Hindrance {}

impl Hindrance {
    pub(super) fn new(entity: &Entity, message: impl fmt::Display, help: impl Into<String>) -> Self {
        Hindrance {
            entity: entity.name.clone(),
            message: format!("entity `{}` {message}", entity.name),
            help: help.into(),
        }
    }
}

/// What prevents the move apart from keys: rows stay in their table, and keep their tag.
pub(super) fn of_tables(both: Both<'_>) -> Vec<Hindrance> {
    let (before, now) = (both.former_table, both.table);
    if before.table_name != now.table_name {
        let message = format!(
            "was in table `{}` and is in table `{}`",
            before.table_name, now.table_name
        );
        let help = "leave it in its table; rows move within one";
        return vec![Hindrance::new(both.own, message, help)];
    }
    if before.key != now.key {
        let message = format!("is in table `{}`, whose key is another one", now.table_name);
        let help = "give the table the key that it has; a table's key never changes";
        return vec![Hindrance::new(both.own, message, help)];
    }
    let renamed = both.former.name != both.own.name;
    let tagged = before.entity_attribute.is_some() && before.entity_attribute == now.entity_attribute;
    if tagged && both.former.tag != both.own.tag && (renamed || both.is_changed()) {
        let message = format!(
            "has the tag {:?}, and its rows have the tag {:?}",
            both.own.tag, both.former.tag
        );
        let help = format!("say `tag = {:?}`; rows keep their tag", both.former.tag);
        return vec![Hindrance::new(both.own, message, help)];
    }
    Vec::new()
}

/// What prevents a change of an entity's keys: the former place must follow from the present key.
pub(super) fn of_keys(both: Both<'_>, pair: &Pair) -> Vec<Hindrance> {
    let mut hindrances = Vec::new();
    let lost = lost(both, pair);
    if !lost.is_empty() {
        let message = format!(
            "had the key {} and has the key {}, which does not say {}: the old key of a row could not be computed",
            shown_templates(both.former),
            shown_templates(both.own),
            listed(lost.iter().copied())
        );
        hindrances.push(Hindrance::new(both.own, message, way_out(both.own, &lost)));
    }
    for (name, before, now) in retyped(both) {
        let message = format!(
            "has `{name}` in its key, which was of type {} and is of type {}",
            before.name(),
            now.name()
        );
        let help = "give it the type that it had; or use another attribute";
        hindrances.push(Hindrance::new(both.own, message, help));
    }
    for template in &both.own.table_key {
        let was_derived = both.former.key_template(&template.attribute);
        if template.is_identity() && was_derived.is_some_and(|before| !before.is_identity()) {
            let message = format!(
                "has the attribute `{}` as its key, which was derived before",
                template.attribute
            );
            let help = "make the key of another attribute; what was derived is taken out of rows that move";
            hindrances.push(Hindrance::new(both.own, message, help));
        }
    }
    hindrances
}

/// Attributes that a row gets when it moves and that its entries would not get otherwise.
pub(super) fn of_entries(both: Both<'_>, pair: &Pair, all: &[Both<'_>]) -> Vec<Hindrance> {
    let is_of_row = |other: &&Both<'_>| matches!(&other.own.role, Role::Entry { of } if *of == both.own.name);
    let mut hindrances = Vec::new();
    for entries in all.iter().filter(is_of_row) {
        let carried = entries
            .own
            .attributes
            .iter()
            .map(|attribute| attribute.name.as_str());
        for name in carried.filter(|name| is_given(both, pair, name)) {
            let why = if !entries.is_changed() {
                "and its own key stays as it is: entries would lack it"
            } else if entries.former.identity.iter().any(|field| field == name) {
                "and of which its key was made before: rows that lacked it have no entries"
            } else {
                continue;
            };
            let message = format!(
                "carries `{name}`, which rows of `{}` get when they move, {why}",
                both.own.name
            );
            let help = format!(
                "fill in `{name}` before rows move: `trestle model apply FILE --fill` of a version that has all that is new \
                 but the keys of the version in effect"
            );
            hindrances.push(Hindrance::new(entries.own, message, help));
        }
    }
    hindrances
}

/// Whether a row that moves may get an attribute that it lacked.
fn is_given(both: Both<'_>, pair: &Pair, name: &str) -> bool {
    let has_default = |entity: &Entity| {
        let attribute = entity.attribute(name);
        attribute.is_some_and(|attribute| attribute.default.is_some())
    };
    pair.given.contains_key(name) || (has_default(both.own) && !has_default(both.former))
}

/// How rows could move although their present key does not contain everything that the former one does.
fn way_out(own: &Entity, lost: &[&str]) -> String {
    let names = listed(lost.iter().copied());
    if let Role::Entry { .. } = own.role {
        return format!(
            "use {names} in the present key, too; or give the entries another name, so that they are created again, in \
             a separate version before this one: `trestle model apply FILE --fill`"
        );
    }
    format!(
        "use {names} in the present key, too; or `[entity.{}.migrate] set = {{ {} = … }}` in the newer version, if all \
         rows have the same there",
        declared_name(own),
        lost.first().copied().unwrap_or_default()
    )
}

/// Fields of the former key that the present key does not contain.
fn lost<'m>(both: Both<'m>, pair: &Pair) -> Vec<&'m str> {
    let mut lost: Vec<&str> = Vec::new();
    for slot in both.former.table_key.iter().flat_map(KeyTemplate::slots) {
        let name = slot.attribute.name.as_str();
        let tells = |own: &Slot| own.attribute.name == name && (!own.lower || slot.lower);
        let told = both.own.table_key.iter().flat_map(KeyTemplate::slots).any(tells);
        if !told && !pair.fixed.contains_key(name) && !lost.contains(&name) {
            lost.push(name);
        }
    }
    lost
}

/// Fields of both keys whose values are not of one type.
fn retyped<'m>(both: Both<'m>) -> Vec<(&'m str, AttributeKind, AttributeKind)> {
    let mut retyped: Vec<(&str, AttributeKind, AttributeKind)> = Vec::new();
    for slot in both.former.table_key.iter().flat_map(KeyTemplate::slots) {
        let (name, before) = (slot.attribute.name.as_str(), slot.attribute.kind);
        let now = both.own.attribute(name).map(|attribute| attribute.kind);
        if let Some(now) = now.filter(|now| now.scalar_type() != before.scalar_type())
            && !retyped.iter().any(|(known, ..)| *known == name)
        {
            retyped.push((name, before, now));
        }
    }
    retyped
}

/// The templates of an entity's table key.
pub(super) fn shown_templates(entity: &Entity) -> String {
    let templates = entity.table_key.iter();
    let templates: Vec<String> = templates
        .map(|template| format!("{} = {:?}", template.attribute, template.source))
        .collect();
    format!("({})", templates.join(", "))
}

/// The section of the file that an entity comes from.
fn declared_name(entity: &Entity) -> &str {
    entity.name.split('.').next().unwrap_or(&entity.name)
}
