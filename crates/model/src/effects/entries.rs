//! `entries`: a row for each member of a list, set or map, so that rows are found by their members.

mod member;

use std::collections::{BTreeMap, BTreeSet};

use trestle_item::key::{self, HASH_BYTES_MAX, RANGE_BYTES_MAX};
use trestle_item::size::{self, ITEM_BYTES_MAX};
use trestle_item::{AttributeValue, Item};

use self::member::{Held, RawMember, shown};
use super::Stopped;
use super::ledger::{At, Ledger, SETTLED_MAX};
use super::plan::Parts;
use super::settle::{Row, identified};
use crate::effect::Entries;
use crate::entity::Entity;
use crate::model::Model;
use crate::refusal::Refusal;
use crate::template::RenderError;

/// The most entries of one row under one name. Even if all of them are replaced in one write, this is far
/// below the number of rows that may follow from a request.
pub(crate) const ENTRIES_MAX: usize = 1_000;
/// The most entries of one row under all names. They are removed in one write, with everything else that
/// follows from it.
const ROW_ENTRIES_MAX: usize = 9_000;
/// The most bytes of those entries together: the limit of a DynamoDB transaction.
const ENTRIES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What is known about entries before anything is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(super) entries: Entries,
    /// Position of the entity of the entries.
    pub(super) entity: usize,
    /// Attributes of the row that an entry has.
    carried: Vec<String>,
    /// The bytes of an entry's tag, with its name.
    tag_bytes: usize,
}

/// An entry as it must be.
pub(super) struct Entry {
    pub(super) key: Item,
    /// Without its key and its tag.
    pub(super) content: Item,
}

/// The entries of a row by the bytes of their keys.
pub(super) type EntryRows = BTreeMap<Vec<u8>, Entry>;

impl Step {
    pub(super) fn of(parts: &Parts<'_>, entries: &Entries) -> Option<Self> {
        let entity = parts.position(&entries.entity)?;
        let entry = parts.entities.get(entity)?;
        let tag = parts.tables.get(entry.table)?.entity_attribute.as_ref();
        let attributes = entry.attributes.iter();
        let is_member = |name: &str| entries.member.parts().any(|part| part.attribute == name);
        let carried = attributes.filter(|attribute| !is_member(&attribute.name));
        Some(Step {
            entity,
            tag_bytes: tag.map_or(0, |tag| tag.len() + entry.tag.len()),
            carried: carried.map(|attribute| attribute.name.clone()).collect(),
            entries: entries.clone(),
        })
    }

    /// Whether two states of a row certainly have the same entries.
    fn is_unchanged(&self, old: &Item, new: &Item) -> bool {
        let mut names = std::iter::once(&self.entries.of).chain(&self.carried);
        names.all(|name| old.get(name) == new.get(name))
    }

    /// The entries of a row. A row that lacks an attribute of their key has no entries.
    pub(super) fn rows(&self, of: &Entity, entry: &Entity, row: &Item) -> Result<EntryRows, Refusal> {
        let members = self.members(of, entry, row)?;
        let mut rows = EntryRows::new();
        let needed = entry.identity.iter().filter(|name| self.carried.contains(name));
        if !needed.into_iter().all(|name| row.contains_key(name)) {
            return Ok(rows);
        }
        let mut total = 0;
        for member in members.into_values() {
            let made = self.entry(entry, row, &member);
            let made = made.map_err(|error| self.refused(of, &member, error))?;
            total += size::of_item(&made.content);
            if total > ENTRIES_BYTES_MAX {
                return Err(self.too_large(of));
            }
            rows.insert(bytes(entry, &made.key)?, made);
        }
        Ok(rows)
    }

    /// How many entries are removed when a row changes.
    fn going(&self, model: &Model, of: &Entity, old: &Item, new: Option<&Item>) -> Option<usize> {
        let entry = model.known_entity(self.entity).ok()?;
        let before = self.rows(of, entry, old).ok()?;
        let after = new
            .and_then(|new| self.rows(of, entry, new).ok())
            .unwrap_or_default();
        Some(before.keys().filter(|bytes| !after.contains_key(*bytes)).count())
    }

    /// Whether a row has the entry with this key. Only that entry is computed.
    pub(super) fn has(&self, entry: &Entity, row: &Item, key: &Item) -> bool {
        let said = entry.identify(key).unwrap_or_default();
        let held = said.get(&self.entries.member.identifying().attribute);
        let member = held.and_then(|held| RawMember::held_as(row.get(&self.entries.of), held));
        let member = member.and_then(|member| member.hold(&self.entries.member, entry).ok());
        let made = member.and_then(|(_, member)| self.entry(entry, row, &member).ok());
        made.is_some_and(|made| made.key == *key)
    }

    /// The members of a row by their texts: a member that occurs twice is one entry.
    fn members(&self, of: &Entity, entry: &Entity, row: &Item) -> Result<BTreeMap<String, Held>, Refusal> {
        let mut members = BTreeMap::new();
        for raw in RawMember::all(row.get(&self.entries.of)) {
            let held = raw.hold(&self.entries.member, entry);
            let (text, held) = held.map_err(|reason| self.unfit(of, &raw.shown(), &reason))?;
            members.insert(text, held);
        }
        if members.len() > ENTRIES_MAX {
            return Err(Refusal::Unfit {
                entity: of.name.clone(),
                attribute: self.entries.of.clone(),
                reason: format!(
                    "has {} members, and entries {} makes at most {ENTRIES_MAX} rows of one; keep fewer members in one row",
                    members.len(),
                    self.entries.name
                ),
            });
        }
        Ok(members)
    }

    fn entry(&self, entry: &Entity, row: &Item, member: &Held) -> Result<Entry, RenderError> {
        #[cfg(test)]
        tests::MADE.set(tests::MADE.get() + 1);
        let carried = self.carried.iter();
        let carried = carried.filter_map(|name| Some((name.clone(), row.get(name)?.clone())));
        let content: Item = carried.chain(member.iter().cloned()).collect();
        let mut key = Item::with_capacity(entry.table_key.len());
        for (at, template) in entry.table_key.iter().enumerate() {
            let value = template.render(&content)?;
            self.check_length(at, &value)?;
            key.insert(template.attribute.clone(), value);
        }
        let index_keys = self.index_keys(entry, &content)?;
        self.check_size(&content, key.iter().chain(&index_keys))?;
        Ok(Entry { key, content })
    }

    /// The index keys that are derived for an entry. They are written with it, so a value that they cannot
    /// hold is refused with the entry.
    fn index_keys(&self, entry: &Entity, content: &Item) -> Result<Item, RenderError> {
        let mut keys = Item::new();
        for template in entry.index_keys.iter().filter(|template| !template.is_identity()) {
            match template.render(content) {
                Ok(value) => {
                    keys.insert(template.attribute.clone(), value);
                }
                Err(RenderError::Missing { .. }) => {}
                Err(unfit) => return Err(unfit),
            }
        }
        Ok(keys)
    }

    /// An entry carries attributes of its row besides its member and its keys, and may be larger than the row.
    fn check_size<'k>(
        &self,
        content: &Item,
        keys: impl Iterator<Item = (&'k String, &'k AttributeValue)>,
    ) -> Result<(), RenderError> {
        let keys = keys.filter(|(name, _)| !content.contains_key(name));
        let keys: usize = keys.map(|(name, value)| name.len() + size::of_value(value)).sum();
        let size = size::of_item(content) + keys + self.tag_bytes;
        if size <= ITEM_BYTES_MAX {
            return Ok(());
        }
        Err(RenderError::Unfit {
            attribute: self.entries.member.identifying().attribute.clone(),
            reason: format!(
                "gives an entry of {size} bytes, and {ITEM_BYTES_MAX} are the most; project less into entries"
            ),
        })
    }

    /// The member is what makes the key of one entry longer than another's.
    fn check_length(&self, at: usize, value: &AttributeValue) -> Result<(), RenderError> {
        let (what, most) = match at {
            0 => ("partition", HASH_BYTES_MAX),
            _ => ("sort", RANGE_BYTES_MAX),
        };
        match value.as_s() {
            Some(text) if text.len() > most => Err(RenderError::Unfit {
                attribute: self.entries.member.identifying().attribute.clone(),
                reason: format!(
                    "gives its entry a {what} key of {} bytes, and {most} are the most",
                    text.len()
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Why there can be no entry, as a refusal of the written row.
    fn refused(&self, of: &Entity, member: &Held, error: RenderError) -> Refusal {
        match error {
            RenderError::Unfit { attribute, reason } => {
                match member.iter().find(|(name, _)| *name == attribute) {
                    Some((_, value)) => self.unfit(of, &shown(value), &reason),
                    None => Refusal::Unfit {
                        entity: of.name.clone(),
                        attribute,
                        reason,
                    },
                }
            }
            RenderError::Missing { .. } => Refusal::defect("an entry lacks an attribute of its key"),
        }
    }

    fn too_large(&self, of: &Entity) -> Refusal {
        Refusal::Unfit {
            entity: of.name.clone(),
            attribute: self.entries.of.clone(),
            reason: format!(
                "has so many members that the entries {} of the row would have more than {ENTRIES_BYTES_MAX} bytes; project \
                 less into them, or keep fewer members in one row",
                self.entries.name
            ),
        }
    }

    fn unfit(&self, of: &Entity, member: &str, reason: &str) -> Refusal {
        Refusal::Unfit {
            entity: of.name.clone(),
            attribute: self.entries.of.clone(),
            reason: format!(
                "has a member of which no entry {} can be made: {member} {reason}",
                self.entries.name
            ),
        }
    }
}

/// Why a row has too many entries under all names together; `None` if it does not.
pub(super) fn too_many_together(model: &Model, steps: &[Step], of: &Entity, row: &Item) -> Option<Refusal> {
    if steps.len() * ENTRIES_MAX <= ROW_ENTRIES_MAX {
        return None;
    }
    let made = steps.iter().filter_map(|step| {
        let entry = model.known_entity(step.entity).ok()?;
        step.rows(of, entry, row).ok()
    });
    let total: usize = made.map(|rows| rows.len()).sum();
    let first = steps.first().filter(|_| total > ROW_ENTRIES_MAX)?;
    Some(Refusal::Unfit {
        entity: of.name.clone(),
        attribute: first.entries.of.clone(),
        reason: format!(
            "has members of which, with those of other entries of the row, {total} rows would be made, and {ROW_ENTRIES_MAX} are \
             the most: more could not be removed in one write; keep fewer members in one row"
        ),
    })
}

/// Why a change would remove more entries of a row than one write can; `None` if it would not. An earlier
/// model may have created them.
pub(super) fn too_many_go(
    model: &Model,
    steps: &[Step],
    row: &Row<'_>,
    new: Option<&Item>,
) -> Option<Refusal> {
    if steps.len() * ENTRIES_MAX <= SETTLED_MAX {
        return None;
    }
    let old = row.old?;
    let going = steps
        .iter()
        .filter_map(|step| step.going(model, row.entity, old, new));
    let entries: usize = going.sum();
    (entries > SETTLED_MAX).then(|| Refusal::TooManyEntriesGo {
        entity: row.entity.name.clone(),
        attributes: BTreeSet::from_iter(steps.iter().map(|step| step.entries.of.clone())),
        entries,
        most: SETTLED_MAX,
    })
}

/// The bytes of an entry's key, as audits use them.
pub(super) fn bytes(entry: &Entity, key: &Item) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::with_capacity(64);
    for template in &entry.table_key {
        let value = key.get(&template.attribute);
        let encoded = value.and_then(|value| key::encode_component(value, &mut bytes));
        encoded.ok_or_else(|| Refusal::defect("the key of an entry is no key"))?;
    }
    Ok(bytes)
}

pub(super) fn run(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    if row
        .old
        .zip(new)
        .is_some_and(|(old, new)| step.is_unchanged(old, new))
    {
        return Ok(());
    }
    let entry = ledger.model.known_entity(step.entity)?;
    // A row that is older than the model may have members that cannot be entries.
    let before = row.old.and_then(|old| step.rows(row.entity, entry, old).ok());
    let before = before.unwrap_or_default();
    let after = match new {
        Some(new) => step.rows(row.entity, entry, new)?,
        None => EntryRows::new(),
    };
    for (bytes, gone) in &before {
        if !after.contains_key(bytes) {
            let at = ledger.find(entry, gone.key.clone())?;
            ledger.remove(at);
        }
    }
    for (bytes, made) in after {
        if before
            .get(&bytes)
            .is_none_or(|known| known.content != made.content)
        {
            let at = ledger.find(entry, made.key)?;
            ledger.put(entry, at, made.content);
        }
    }
    Ok(())
}

/// The entry that must be at a place; `None` if there must be none.
pub(super) fn wanted(
    ledger: &mut Ledger<'_, '_>,
    entry: &Entity,
    of: &Entity,
    at: At,
) -> Result<Option<Item>, Stopped> {
    let steps = ledger.model.plan_of(of).map_or(&[][..], |plan| &plan.entries);
    let Some(step) = steps.iter().find(|step| step.entity == entry.position) else {
        return Err(Refusal::defect("an entry follows from no effect").into());
    };
    // The key of an entry says which row it is of.
    let key = ledger.key(at).cloned().unwrap_or_default();
    let Some(owner) = entry.identify(&key).and_then(|said| of.key_from(&said).ok()) else {
        return Ok(None);
    };
    let owner = ledger.find(of, owner)?;
    let Some(row) = ledger.row(owner).map(|row| identified(of, row)) else {
        return Ok(None);
    };
    let rows = step.rows(of, entry, &row).ok();
    let made = rows.and_then(|mut rows| rows.remove(&bytes(entry, &key).ok()?));
    Ok(made.map(|made| made.content))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use trestle_api::Error;
    use trestle_env::Timestamp;
    use trestle_hook::{RowQuery, Rows};
    use trestle_item::{AttributeValue, Item, codec};

    use crate::audit::{Audit, AuditOptions};
    use crate::{Model, load};

    thread_local! {
        /// Entries computed on this thread.
        pub(super) static MADE: Cell<usize> = const { Cell::new(0) };
    }

    const MODEL: &str = r#"
model = "runs"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"

[entity.run]
table = "rows"
key = { pk = "run#{id}", sk = "run" }
attributes = { id = "string", state = "string", list = { type = "list" }, set = "string-set", numbers = "number-set", map = { type = "map" } }

[entity.run.entries.by_list]
of = "list"
member = "label"
key = { pk = "list#{label}", sk = "{state}#{id}" }

[entity.run.entries.by_set]
of = "set"
member = "label"
key = { pk = "set#{label}", sk = "{state}#{id}" }

[entity.run.entries.by_number]
of = "numbers"
member.number = "integer"
key = { pk = "number#{number:06}", sk = "{state}#{id}" }

[entity.run.entries.by_pair]
of = "map"
name = "name"
value = "value"
key = { pk = "pair#{name}", sk = "{state}#{value}#{id}" }
"#;

    /// Rows by their stored keys.
    struct Stored(BTreeMap<Vec<u8>, Arc<Item>>);

    impl Rows for Stored {
        fn get(&self, _: &str, key: &Item) -> Result<Option<Arc<Item>>, Error> {
            Ok(self.0.get(&codec::encode(key)).cloned())
        }

        fn query(&self, _: &RowQuery) -> Result<Vec<Item>, Error> {
            Ok(Vec::new())
        }
    }

    impl Stored {
        fn put(&mut self, item: Item) {
            let key = ["pk", "sk"].map(|name| (name.to_owned(), item.get(name).unwrap().clone()));
            self.0
                .insert(codec::encode(&Item::from_iter(key)), Arc::new(item));
        }

        /// The findings of a fill.
        fn found(&self, model: &Model) -> Vec<crate::audit::Finding> {
            let options = AuditOptions {
                fill: true,
                ..AuditOptions::default()
            };
            let audit = Audit::new(model, Timestamp::from_secs(1), options);
            let mut survey = audit.survey();
            for row in self.0.values() {
                survey.look("rows", row, self).unwrap();
            }
            survey.finish().findings.in_order()
        }
    }

    /// A row with so many members of each kind.
    fn run(members: usize) -> Item {
        let text = |number: usize| AttributeValue::S(format!("m{number:04}"));
        let number = |number: usize| number.to_string().parse().unwrap();
        let map = (0..members).map(|at| (format!("m{at:04}"), text(at)));
        // A list may contain a number where a text is expected.
        let list = (0..members).map(|at| match at % 2 {
            0 => AttributeValue::N(number(at)),
            _ => text(at),
        });
        let set = (0..members).map(|at| format!("m{at:04}"));
        Item::from_iter([
            ("pk".to_owned(), AttributeValue::from("run#1")),
            ("sk".to_owned(), AttributeValue::from("run")),
            ("kind".to_owned(), AttributeValue::from("run")),
            ("id".to_owned(), AttributeValue::from("1")),
            ("state".to_owned(), AttributeValue::from("done")),
            ("list".to_owned(), AttributeValue::L(list.collect())),
            ("set".to_owned(), AttributeValue::Ss(set.collect())),
            (
                "numbers".to_owned(),
                AttributeValue::Ns((0..members).map(number).collect()),
            ),
            ("map".to_owned(), AttributeValue::M(map.collect())),
        ])
    }

    /// Creates the entries of a row, and returns how many an audit of the whole computes.
    fn made(model: &Model, members: usize) -> usize {
        let mut stored = Stored(BTreeMap::new());
        stored.put(run(members));
        for finding in stored.found(model) {
            let companions = model.mend(&finding, &stored, Timestamp::from_secs(1)).unwrap();
            for companion in companions {
                stored.put(Arc::unwrap_or_clone(companion.item.unwrap()));
            }
        }
        assert_eq!(stored.0.len(), 1 + 4 * members);
        MADE.set(0);
        assert_eq!(stored.found(model), []);
        MADE.get()
    }

    #[test]
    fn an_audit_of_a_fill_makes_each_entry_a_fixed_number_of_times() {
        let model = load(MODEL).model.unwrap();
        let (few, many) = (made(&model, 10), made(&model, 200));
        assert_eq!((few / 40, few % 40), (2, 0));
        assert_eq!(many, 20 * few);
    }

    #[test]
    fn a_row_has_an_entry_exactly_if_it_is_made_of_the_row() {
        let model = load(MODEL).model.unwrap();
        let of = model.entity("run").unwrap();
        let (row, other) = (run(6), run(8));
        for step in &model.plan_of(of).unwrap().entries {
            let entry = model.known_entity(step.entity).unwrap();
            let (own, more) = (
                step.rows(of, entry, &row).unwrap(),
                step.rows(of, entry, &other).unwrap(),
            );
            assert_eq!((own.len(), more.len()), (6, 8));
            for (bytes, made) in &more {
                assert_eq!(step.has(entry, &row, &made.key), own.contains_key(bytes));
            }
            let mut moved = row.clone();
            moved.insert("state".to_owned(), AttributeValue::from("open"));
            assert!(own.values().all(|made| !step.has(entry, &moved, &made.key)));
        }
    }
}
