//! Derived keys: computes the changes that make a written item complete. Pure; the commit applies them.

use trestle_hook::Edits;
use trestle_item::{AttributeValue, Item, Number};

use crate::attribute::{Attribute, AttributeKind, shown};
use crate::entity::Entity;
use crate::kept::Holds;
use crate::model::{Model, Table};
use crate::refusal::Refusal;
use crate::template::{KeyTemplate, RenderError};

/// The changes that a write must make to its item.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived<'m> {
    /// The entity of the row.
    pub entity: &'m Entity,
    /// Attributes to set: keys, the tag, defaults, timestamps, and identifying attributes read from the key.
    pub set: Vec<(&'m str, AttributeValue)>,
    /// Index keys to remove, because an attribute they are made of is missing.
    pub remove: Vec<&'m str>,
}

impl Derived<'_> {
    /// Whether the item needs no change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }

    /// Leaves out changes of other attributes.
    pub(crate) fn keep_only(&mut self, keeps: impl Fn(&str) -> bool) {
        self.set.retain(|(name, _)| keeps(name));
        self.remove.retain(|name| keeps(name));
    }

    pub(crate) fn into_edits(self) -> Edits {
        let set = self.set.into_iter();
        Edits {
            set: set.map(|(name, value)| (name.to_owned(), value)).collect(),
            remove: self.remove.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Changes the item.
    pub fn apply(self, item: &mut Item) {
        item.reserve(self.set.len());
        for (name, value) in self.set {
            item.insert(name, value);
        }
        for name in self.remove {
            item.remove(name);
        }
    }
}

impl Model {
    /// The changes that make `new`, the item after a write, a complete row of its entity: see
    /// [`Derived::set`].
    ///
    /// `old` is the item before the write. A derived key that has the same value there does not count as
    /// given by the client, because an update that does not mention it leaves it unchanged. Any other key
    /// must be the one that follows from the attributes. `None` for rows of a table without a model, and for
    /// rows without an entity in a table that allows them.
    pub fn derive(
        &self,
        table_name: &str,
        old: Option<&Item>,
        new: &Item,
        now_ms: u64,
    ) -> Result<Option<Derived<'_>>, Refusal> {
        let Some(table) = self.table(table_name) else {
            return Ok(None);
        };
        match self.recognise_in(table, new)? {
            Some(entity) => self.derive_recognised(table, entity, old, new, now_ms).map(Some),
            None => Ok(None),
        }
    }

    /// The same for an item that was recognised as a row of this entity.
    pub(crate) fn derive_recognised<'m>(
        &self,
        table: &'m Table,
        entity: &'m Entity,
        old: Option<&Item>,
        new: &Item,
        now_ms: u64,
    ) -> Result<Derived<'m>, Refusal> {
        if let Some(old) = old
            && !Self::are_alike(table, old, new)
        {
            self.check_replacement(table, old, entity)?;
        }
        self.derive_as(table, entity, old, new, IndexKeys::Given, Some(now_ms))
    }

    /// The changes that make `new` a complete row of this entity. Without a time, its times stay unchanged.
    pub(crate) fn derive_as<'m>(
        &self,
        table: &'m Table,
        entity: &'m Entity,
        old: Option<&Item>,
        new: &Item,
        index_keys: IndexKeys,
        now_ms: Option<u64>,
    ) -> Result<Derived<'m>, Refusal> {
        let mut work = Work {
            entity,
            old,
            new,
            index_keys,
            stamps: now_ms.is_some(),
            set: Vec::new(),
            remove: Vec::new(),
        };
        work.tag(table);
        work.identity();
        if let Some(now_ms) = now_ms {
            work.timestamps(now_ms);
        }
        work.reindex_version(self);
        work.attributes()?;
        work.undeclared(table)?;
        work.keys()?;
        Ok(Derived {
            entity,
            set: work.set,
            remove: work.remove,
        })
    }

    /// A row is never replaced by one of another entity.
    fn check_replacement(&self, table: &Table, old: &Item, entity: &Entity) -> Result<(), Refusal> {
        match self.recognise_in(table, old) {
            Ok(Some(stored)) if stored.name != entity.name => Err(Refusal::OtherEntity {
                stored: stored.name.clone(),
                written: entity.name.clone(),
            }),
            // A row that belonged to no entity may become one of the model.
            _ => Ok(()),
        }
    }
}

/// The origin of the index keys of an item that is to be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexKeys {
    /// A client gave them, or left them unchanged: a given key must be the one that follows from the
    /// attributes.
    Given,
    /// They are left from an earlier state of the row: they become what follows from the attributes.
    Left,
}

/// One derivation.
struct Work<'m, 'i> {
    entity: &'m Entity,
    old: Option<&'i Item>,
    new: &'i Item,
    index_keys: IndexKeys,
    /// Whether it sets the row's times.
    stamps: bool,
    set: Vec<(&'m str, AttributeValue)>,
    remove: Vec<&'m str>,
}

impl<'m> Work<'m, '_> {
    /// The value that an attribute will have.
    fn value(&self, name: &str) -> Option<&AttributeValue> {
        let set = self.set.iter().find(|(known, _)| *known == name);
        set.map(|(_, value)| value).or_else(|| self.new.get(name))
    }

    fn tag(&mut self, table: &'m Table) {
        if let Some(attribute) = &table.entity_attribute
            && !self.new.contains_key(attribute)
        {
            self.set
                .push((attribute, AttributeValue::S(self.entity.tag.clone())));
        }
    }

    /// Identifying attributes that the client gave only in the key.
    fn identity(&mut self) {
        let lacking: Vec<&'m String> = self
            .entity
            .identity
            .iter()
            .filter(|name| !self.new.contains_key(name))
            .collect();
        if lacking.is_empty() {
            return;
        }
        let Some(read) = self.entity.identify(self.new) else {
            return;
        };
        for name in lacking {
            if let Some(value) = read.get(name) {
                self.set.push((name, value.clone()));
            }
        }
    }

    fn timestamps(&mut self, now_ms: u64) {
        if let Some(created) = &self.entity.created {
            let stored = self.old.and_then(|old| old.get(created));
            match stored {
                Some(stored) if self.new.get(created) != Some(stored) => {
                    self.set.push((created, stored.clone()))
                }
                None if !self.new.contains_key(created) => {
                    self.set.push((created, self.time(created, now_ms)))
                }
                _ => {}
            }
        }
        if let Some(updated) = &self.entity.updated {
            let value = self.time(updated, now_ms);
            if self.new.get(updated) != Some(&value) {
                self.set.push((updated, value));
            }
        }
    }

    /// A row keeps its version if the client leaves it out; a new row gets the version in force.
    fn reindex_version(&mut self, model: &Model) {
        let given = model.version_to_give(self.entity, self.old, self.new, self.stamps);
        if let (Some(attribute), Some(version)) = (&self.entity.reindex_version, given) {
            self.set.push((attribute, version));
        }
    }

    fn time(&self, name: &str, now_ms: u64) -> AttributeValue {
        match self.entity.attribute(name) {
            Some(attribute) => attribute.time(now_ms),
            None => Attribute::new(name, AttributeKind::Timestamp).time(now_ms),
        }
    }

    /// Defaults, types, and attributes that must not change.
    fn attributes(&mut self) -> Result<(), Refusal> {
        let entity = self.entity;
        for attribute in &entity.attributes {
            let Some(value) = self.value(&attribute.name) else {
                match &attribute.default {
                    Some(default) => self.set.push((&attribute.name, default.clone())),
                    None if attribute.optional => {}
                    None if let Some(kept) = entity.keeps(&attribute.name) => {
                        if kept.holds != Holds::Seen {
                            self.set.push((&attribute.name, Number::default().into()));
                        }
                    }
                    None if !self.stamps && is_time(entity, &attribute.name) => {}
                    None => return Err(self.missing(&attribute.name)),
                }
                continue;
            };
            attribute.check(value).map_err(|reason| Refusal::Unfit {
                entity: entity.name.clone(),
                attribute: attribute.name.clone(),
                reason,
            })?;
        }
        let Some(old) = self.old else { return Ok(()) };
        let mut immutable = entity.attributes.iter().filter(|attribute| attribute.immutable);
        let changed = immutable.find_map(|attribute| {
            let stored = old.get(&attribute.name)?;
            (self.value(&attribute.name) != Some(stored)).then_some((attribute, stored))
        });
        match changed {
            Some((attribute, stored)) => Err(Refusal::Immutable {
                entity: entity.name.clone(),
                attribute: attribute.name.clone(),
                stored: shown(stored),
                given: self.value(&attribute.name).map(shown),
            }),
            None => Ok(()),
        }
    }

    fn missing(&self, attribute: &str) -> Refusal {
        let mut keys = self.entity.table_key.iter();
        let key = keys.find(|template| template.fields().contains(&attribute));
        Refusal::Missing {
            entity: self.entity.name.clone(),
            attribute: attribute.to_owned(),
            key: key.map(|template| template.attribute.clone()),
        }
    }

    fn undeclared(&self, table: &Table) -> Result<(), Refusal> {
        if !self.entity.closed {
            return Ok(());
        }
        match self.new.keys().find(|name| !declares(table, self.entity, name)) {
            Some(name) => Err(Refusal::Undeclared {
                entity: self.entity.name.clone(),
                attribute: name.clone(),
            }),
            None => Ok(()),
        }
    }

    fn keys(&mut self) -> Result<(), Refusal> {
        let mut set = Vec::new();
        for template in &self.entity.table_key {
            set.extend(self.table_key(template)?);
        }
        let mut remove = Vec::new();
        for template in self
            .entity
            .index_keys
            .iter()
            .filter(|template| !template.is_identity())
        {
            match self.index_key(template)? {
                IndexKey::AsItIs => {}
                IndexKey::Set(value) => set.push((template.attribute.as_str(), value)),
                IndexKey::Remove => remove.push(template.attribute.as_str()),
            }
        }
        self.set.extend(set);
        self.remove = remove;
        Ok(())
    }

    /// A key of the table to fill in. A given key must fit, even if it is an attribute itself.
    fn table_key(&self, template: &'m KeyTemplate) -> Result<Option<(&'m str, AttributeValue)>, Refusal> {
        let derived = template.render_from(|name| self.value(name));
        let derived = derived.map_err(|error| refused(self.entity, template, error))?;
        match self.value(&template.attribute) {
            Some(given) if *given != derived => Err(self
                .changed_identity(template, given)
                .unwrap_or_else(|| mismatch(self.entity, template, given, &derived))),
            Some(_) => Ok(None),
            None => Ok(Some((&template.attribute, derived))),
        }
    }

    /// The row keeps its key, but an attribute in the key was changed.
    fn changed_identity(&self, template: &KeyTemplate, key: &AttributeValue) -> Option<Refusal> {
        let old = self.old.filter(|old| old.get(&template.attribute) == Some(key))?;
        // Rows that are older than the model may have their identity only in their key.
        let read = self.entity.identify(old).unwrap_or_default();
        template.fields().iter().find_map(|name| {
            let stored = old.get(name).or_else(|| read.get(name))?;
            let given = self.value(name).filter(|given| *given != stored)?;
            Some(Refusal::Identifying {
                entity: self.entity.name.clone(),
                attribute: (*name).to_owned(),
                stored: shown(stored),
                given: shown(given),
            })
        })
    }

    fn index_key(&self, template: &KeyTemplate) -> Result<IndexKey, Refusal> {
        let given = self.new.get(&template.attribute);
        // A value that an update left unchanged was not given by the client.
        let kept = self.index_keys == IndexKeys::Left
            || given.is_some() && given == self.old.and_then(|old| old.get(&template.attribute));
        match (template.render_from(|name| self.value(name)), given) {
            (Ok(derived), Some(given)) if *given == derived => Ok(IndexKey::AsItIs),
            (Ok(derived), Some(given)) if !kept => Err(mismatch(self.entity, template, given, &derived)),
            (Ok(derived), _) => Ok(IndexKey::Set(derived)),
            (Err(RenderError::Missing { .. }), None) => Ok(IndexKey::AsItIs),
            (Err(RenderError::Missing { .. }), Some(_)) if kept => Ok(IndexKey::Remove),
            (Err(error), _) => Err(refused(self.entity, template, error)),
        }
    }
}

/// Whether rows of an entity may have an attribute that it does not declare.
pub(crate) fn declares(table: &Table, entity: &Entity, name: &str) -> bool {
    entity.attribute(name).is_some()
        || entity.key_template(name).is_some()
        || table.entity_attribute.as_deref() == Some(name)
        || table.ttl.as_deref() == Some(name)
}

/// Whether an attribute is the time of the first or the last write.
pub(crate) fn is_time(entity: &Entity, name: &str) -> bool {
    [&entity.created, &entity.updated]
        .into_iter()
        .any(|time| time.as_deref() == Some(name))
}

/// What happens to an index key.
enum IndexKey {
    AsItIs,
    Set(AttributeValue),
    Remove,
}

pub(crate) fn refused(entity: &Entity, template: &KeyTemplate, error: RenderError) -> Refusal {
    match error {
        RenderError::Missing { attribute } => Refusal::Missing {
            entity: entity.name.clone(),
            attribute,
            key: Some(template.attribute.clone()),
        },
        RenderError::Unfit { attribute, reason } => Refusal::Unfit {
            entity: entity.name.clone(),
            attribute,
            reason,
        },
    }
}

pub(crate) fn mismatch(
    entity: &Entity,
    template: &KeyTemplate,
    given: &AttributeValue,
    derived: &AttributeValue,
) -> Refusal {
    Refusal::Mismatch {
        entity: entity.name.clone(),
        key: template.attribute.clone(),
        given: shown(given),
        derived: shown(derived),
    }
}
