//! Entries: the attribute whose members they are, what each carries, and that the row follows from the key of
//! an entry.

use super::Builder;
use super::entity::identity;
use super::precision::fields;
use crate::attribute::{Attribute, AttributeKind, Precision};
use crate::draft::{DraftEntity, DraftEntries, Name};
use crate::effect::{Entries, Member, MemberPart};
use crate::entity::{Entity, Migrate, Role};
use crate::problem::{Placed, listed};

/// The attribute whose members the entries are.
struct Parts {
    /// The attributes of an entry that hold its member; the first distinguishes the entries of a row.
    member: Vec<Attribute>,
    /// The attributes of the row that an entry carries.
    carried: Vec<Attribute>,
}

impl Builder<'_, '_, '_> {
    /// The effects of the entries that could be built.
    pub(super) fn entries(&self, draft: &DraftEntity, entity: &Entity) -> Vec<Entries> {
        let made = |entries: &DraftEntries| {
            let name = entity_name(entity, entries);
            let made = self.entities.iter().find(|entity| entity.name == name)?;
            let part = |drafted: &Option<Placed<Attribute>>| {
                let attribute = drafted.as_ref()?.value.name.clone();
                let kind = made.attribute(&attribute)?.kind;
                Some(MemberPart { attribute, kind })
            };
            let member = match part(&entries.member) {
                Some(element) => Member::Element(element),
                None => Member::Pair {
                    name: part(&entries.pair_name)?,
                    value: part(&entries.pair_value),
                },
            };
            Some(Entries {
                name: entries.name.value.clone(),
                entity: name,
                of: entries.of.as_ref()?.value.clone(),
                project: projected(entries, made, &member),
                member,
            })
        };
        draft.entries.iter().filter_map(made).collect()
    }

    /// The entity of the entries of an attribute.
    pub(super) fn entries_entity(&mut self, draft: &DraftEntries, entity: &Entity) -> Option<Entity> {
        let what = format!("entity `{}`: entries `{}`", entity.name, draft.name.value);
        let table = match &draft.table {
            Some(name) => self.table_named(name, &what)?,
            None => entity.table,
        };
        let parts = Parts {
            member: self.member(draft, entity, table, &what)?,
            carried: self.carried(draft, entity, table, &what),
        };
        self.check_stays(draft, table, &parts, &what);
        let all: Vec<Attribute> = parts.member.iter().chain(&parts.carried).cloned().collect();
        let keys = self.keys(&what, draft.name.at, table, &draft.key, &all)?;
        let identity = identity(&keys.table);
        self.check_told(draft, entity, &parts, &identity, &what)?;
        Some(Entity {
            name: entity_name(entity, draft),
            about: None,
            role: Role::Entry {
                of: entity.name.clone(),
            },
            position: 0,
            table,
            tag: format!("{}.entries.{}", entity.tag, draft.name.value),
            table_key: keys.table,
            index_keys: keys.index,
            attributes: attributes(parts, &identity),
            identity,
            // Its times are those of its row.
            created: None,
            updated: None,
            reindex_version: None,
            closed: false,
            effects: Vec::new(),
            kept: Vec::new(),
            migrate: Migrate::default(),
        })
    }

    /// The attributes of an entry that hold its member.
    fn member(
        &mut self,
        draft: &DraftEntries,
        entity: &Entity,
        table: usize,
        what: &str,
    ) -> Option<Vec<Attribute>> {
        let of = draft.of.as_ref()?;
        let kind = self.attribute_of(entity, of, what)?.kind;
        let is_map = kind == AttributeKind::Map;
        let has_members = [
            AttributeKind::List,
            AttributeKind::Map,
            AttributeKind::StringSet,
            AttributeKind::NumberSet,
        ];
        if !has_members.contains(&kind) {
            let message = format!("{what}: `{}` is of type {}", of.value, kind.name());
            let help = "name a list, a string-set, a number-set or a map";
            self.problems.error(of.at, message, help);
            return None;
        }
        let (first, second) = match is_map {
            true => (&draft.pair_name, draft.pair_value.as_ref()),
            false => (&draft.member, None),
        };
        self.check_fields(draft, is_map, what);
        let parts: Vec<&Placed<Attribute>> = first.iter().chain(second).collect();
        first.as_ref()?;
        let mut sound = true;
        for (at, part) in parts.iter().enumerate() {
            let is_value = !is_map || at == 1;
            sound &= self.check_part(part, is_value.then_some(kind), entity, table, what);
        }
        if let [one, two] = parts.as_slice()
            && one.value.name == two.value.name
        {
            let message = format!(
                "{what} calls the name and the value of a pair `{}`",
                one.value.name
            );
            self.problems.error(two.at, message, "give them different names");
            sound = false;
        }
        let parts = parts.into_iter().map(|part| in_key(part.value.clone()));
        sound.then(|| parts.collect())
    }

    /// A map has pairs with a name and a value; everything else has members.
    fn check_fields(&mut self, draft: &DraftEntries, is_map: bool, what: &str) {
        let of = draft.of.as_ref().map_or("", |of| of.value.as_str());
        let (needed, help, strays) = match is_map {
            true => (
                &draft.pair_name,
                format!(
                    "`{of}` is a map: say what an entry calls the name of a pair, such as `name = \"variable\"`"
                ),
                [("member", &draft.member), ("", &None)],
            ),
            false => (
                &draft.member,
                format!("say what an entry calls a member of `{of}`, such as `member = \"tag\"`"),
                [("name", &draft.pair_name), ("value", &draft.pair_value)],
            ),
        };
        if needed.is_none() {
            let field = if is_map { "name" } else { "member" };
            self.problems
                .error(draft.name.at, format!("{what} has no `{field}`"), help);
        }
        for (field, stray) in strays {
            if let Some(stray) = stray {
                let is = if is_map { "a map" } else { "no map" };
                let message = format!("{what} says `{field}`, and `{of}` is {is}");
                let help = "`member` is for lists and sets, `name` and `value` are for maps";
                self.problems.error(stray.at, message, help);
            }
        }
    }

    /// Whether an attribute can hold a part of a member. `of` is the type of that attribute; none for the
    /// name of a pair.
    fn check_part(
        &mut self,
        part: &Placed<Attribute>,
        of: Option<AttributeKind>,
        entity: &Entity,
        table: usize,
        what: &str,
    ) -> bool {
        let Attribute { name, kind, .. } = &part.value;
        let tag = self
            .tables
            .get(table)
            .and_then(|table| table.entity_attribute.as_ref());
        if entity.attribute(name).is_some() || tag == Some(name) {
            let message = format!(
                "{what} calls a member `{name}`, which `{}` has already",
                entity.name
            );
            self.problems
                .error(part.at, message, "give the member a name of its own");
            return false;
        }
        let fits = match of {
            None | Some(AttributeKind::StringSet) => is_string(*kind),
            Some(AttributeKind::NumberSet) => kind.is_numeric() || *kind == AttributeKind::String,
            _ => kind.has_text(),
        };
        if !fits {
            let holder = of.map_or("the name of a pair".to_owned(), |of| {
                format!("a member of a {}", of.name())
            });
            let message = format!(
                "{what}: `{name}` is of type {}, which {holder} is not",
                kind.name()
            );
            self.problems.error(
                part.at,
                message,
                "make it a string: it holds the text of a string, of a number or of a boolean",
            );
        }
        fits
    }

    /// The attributes of the row that an entry carries: those that identify the row, those in its key, and
    /// projected ones.
    fn carried(&mut self, draft: &DraftEntries, entity: &Entity, table: usize, what: &str) -> Vec<Attribute> {
        for name in &draft.project {
            self.attribute_of(entity, name, what);
        }
        let mut names: Vec<String> = entity.identity.clone();
        names.extend(draft.key.iter().flat_map(|(_, template)| fields(&template.value)));
        names.extend(draft.project.iter().map(|name| name.value.clone()));
        // A key attribute that the row has as an attribute needs no template.
        let keys = self
            .tables
            .get(table)
            .into_iter()
            .flat_map(|table| table.key.attributes());
        let untold = keys.filter(|key| !draft.key.iter().any(|(name, _)| name.value == key.name));
        names.extend(untold.map(|key| key.name.clone()));
        let attributes = entity.attributes.iter();
        let carried = attributes.filter(|attribute| names.contains(&attribute.name));
        // A row that lacks an attribute of the key has no entries, so every entry has it.
        let present = carried.map(|attribute| Attribute {
            optional: false,
            ..attribute.clone()
        });
        present.collect()
    }

    /// An entry is removed with its row, not before.
    fn check_stays(&mut self, draft: &DraftEntries, table: usize, parts: &Parts, what: &str) {
        let ttl = self.tables.get(table).and_then(|table| table.ttl.clone());
        let all = parts.member.iter().chain(&parts.carried);
        let Some(expires) = all
            .map(|attribute| &attribute.name)
            .find(|name| Some(*name) == ttl.as_ref())
        else {
            return;
        };
        let projected = draft.project.iter().find(|name| name.value == *expires);
        self.problems.error(
            projected.map_or(draft.name.at, |name: &Name| name.at),
            format!("{what} carries `{expires}`, the time to live of its table: an entry would expire before its row"),
            format!("leave out `{expires}`; an entry goes with its row"),
        );
    }

    /// The row and the member follow from the key of an entry: no two entries share a key.
    fn check_told(
        &mut self,
        draft: &DraftEntries,
        entity: &Entity,
        parts: &Parts,
        identity: &[String],
        what: &str,
    ) -> Option<()> {
        let member = parts.member.first().map(|member| &member.name);
        let needed = entity.identity.iter().chain(member);
        let untold: Vec<&str> = needed
            .filter(|name| !identity.contains(name))
            .map(String::as_str)
            .collect();
        if untold.is_empty() {
            return Some(());
        }
        let shared = match untold.as_slice() {
            [only] if Some(*only) == member.map(String::as_str) => {
                format!("two members of one row of `{}`", entity.name)
            }
            _ => format!("two rows of `{}` with the same member", entity.name),
        };
        self.problems.error(
            draft.name.at,
            format!(
                "{what} has a key that does not say {}: {shared} would share an entry",
                listed(untold.iter().copied())
            ),
            format!("use {} in its key, too", listed(untold.iter().copied())),
        );
        None
    }
}

/// The attributes of the row that an entry carries besides those of its table key: projected ones, and those
/// in keys of indexes.
fn projected(draft: &DraftEntries, made: &Entity, member: &Member) -> Vec<String> {
    let in_key =
        |name: &String| made.identity.contains(name) || member.parts().any(|part| part.attribute == *name);
    let carried = made.attributes.iter().map(|attribute| &attribute.name);
    let declared = draft.project.iter().map(|name| &name.value);
    let mut all: Vec<String> = carried
        .filter(|name| !in_key(name))
        .chain(declared)
        .cloned()
        .collect();
    all.sort();
    all.dedup();
    all
}

fn entity_name(entity: &Entity, draft: &DraftEntries) -> String {
    format!("{}.entries.{}", entity.name, draft.name.value)
}

fn is_string(kind: AttributeKind) -> bool {
    matches!(
        kind,
        AttributeKind::String | AttributeKind::Timestamp | AttributeKind::Semver
    )
}

/// A timestamp in a key has one precision.
fn in_key(mut attribute: Attribute) -> Attribute {
    if attribute.kind == AttributeKind::Timestamp && attribute.precision.is_none() {
        attribute.precision = Some(Precision::Millis);
    }
    attribute
}

/// The attributes of an entry. Those in its key are always there; those that are only projected may be
/// missing.
fn attributes(parts: Parts, identity: &[String]) -> Vec<Attribute> {
    let carried = parts.carried.into_iter().map(|mut attribute| {
        // An entry follows its row; an attribute that never changes in a row can still change with its
        // entries.
        attribute.immutable = false;
        attribute.optional = !identity.contains(&attribute.name) && attribute.default.is_none();
        attribute
    });
    let mut attributes: Vec<Attribute> = parts.member.into_iter().chain(carried).collect();
    attributes.sort_by(|one, two| one.name.cmp(&two.name));
    attributes
}
