//! A model as written: names not yet resolved, templates not yet checked, everything with its place in the
//! file.

use trestle_item::AttributeValue;

use crate::attribute::Attribute;
use crate::model::StreamView;
use crate::problem::Placed;

pub(crate) type Name = Placed<String>;

#[derive(Debug, Default)]
pub(crate) struct DraftModel {
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    pub(crate) prefix: String,
    pub(crate) tables: Vec<DraftTable>,
    pub(crate) entities: Vec<DraftEntity>,
    pub(crate) access: Vec<DraftAccess>,
    /// Attributes that are declared but could not be read.
    pub(crate) unread: Vec<String>,
}

impl DraftModel {
    /// The name of a table in the database.
    pub(crate) fn table_name(&self, table: &DraftTable) -> String {
        let name = table.table_name.as_ref().unwrap_or(&table.name);
        format!("{}{}", self.prefix, name.value)
    }
}

#[derive(Debug)]
pub(crate) struct DraftTable {
    pub(crate) name: Name,
    pub(crate) table_name: Option<Name>,
    pub(crate) key: DraftKey,
    pub(crate) entity_attribute: Option<Name>,
    pub(crate) ttl: Option<Name>,
    pub(crate) stream: Option<StreamView>,
    pub(crate) indexes: Vec<DraftIndex>,
    pub(crate) same_shape: Vec<Vec<Name>>,
    pub(crate) open: bool,
}

#[derive(Debug, Default)]
pub(crate) struct DraftKey {
    pub(crate) hash: Vec<DraftKeyAttribute>,
    pub(crate) range: Vec<DraftKeyAttribute>,
}

#[derive(Debug)]
pub(crate) struct DraftKeyAttribute {
    pub(crate) name: Name,
    pub(crate) kind: Option<trestle_item::ScalarType>,
}

#[derive(Debug)]
pub(crate) struct DraftIndex {
    pub(crate) name: Name,
    pub(crate) key: DraftKey,
    pub(crate) projection: crate::model::Projection,
    pub(crate) local: bool,
}

#[derive(Debug)]
pub(crate) struct DraftEntity {
    pub(crate) name: Name,
    pub(crate) about: Option<String>,
    pub(crate) table: Option<Name>,
    pub(crate) tag: Option<String>,
    /// Key attribute and template.
    pub(crate) key: Vec<(Name, Name)>,
    pub(crate) attributes: Vec<Placed<Attribute>>,
    pub(crate) created: Option<Name>,
    pub(crate) updated: Option<Name>,
    pub(crate) reindex_version: Option<Name>,
    pub(crate) closed: bool,
    pub(crate) head: Option<DraftHead>,
    pub(crate) history: Option<DraftHistory>,
    pub(crate) inverses: Vec<DraftInverse>,
    pub(crate) counters: Vec<DraftCounter>,
    pub(crate) uniques: Vec<DraftUnique>,
    pub(crate) copies: Vec<DraftCopy>,
    pub(crate) entries: Vec<DraftEntries>,
    pub(crate) migrate: DraftMigrate,
}

#[derive(Debug, Default)]
pub(crate) struct DraftMigrate {
    pub(crate) from: Option<Name>,
    pub(crate) set: Vec<(Name, Placed<AttributeValue>)>,
}

#[derive(Debug)]
pub(crate) struct DraftHead {
    pub(crate) at: usize,
    pub(crate) table: Option<Name>,
    pub(crate) key: Vec<(Name, Name)>,
    pub(crate) newest_by: Vec<Name>,
    /// The entity of the pointers that a head follows.
    pub(crate) follows: Option<Name>,
    pub(crate) retired_by: Vec<Name>,
    pub(crate) omit: Vec<Name>,
    /// The head's attribute, and the predecessor's.
    pub(crate) previous: Vec<(Name, Name)>,
    pub(crate) tag: Option<String>,
    pub(crate) promote: DraftChange,
    pub(crate) demote: DraftChange,
}

#[derive(Debug)]
pub(crate) struct DraftHistory {
    pub(crate) at: usize,
    pub(crate) of: Vec<Name>,
    pub(crate) key: Vec<(Name, Name)>,
    /// The attribute with the time.
    pub(crate) time: Option<Name>,
    /// The history row's attribute, and the attribute whose former value it holds.
    pub(crate) previous: Vec<(Name, Name)>,
    pub(crate) keep: Option<u32>,
    pub(crate) expire_after_seconds: Option<Placed<u64>>,
}

#[derive(Debug, Default)]
pub(crate) struct DraftChange {
    pub(crate) set: Vec<(Name, Placed<AttributeValue>)>,
    pub(crate) remove: Vec<Name>,
    pub(crate) expire_after_seconds: Option<Placed<u64>>,
}

#[derive(Debug)]
pub(crate) struct DraftInverse {
    pub(crate) name: Name,
    pub(crate) entity: Option<Name>,
    pub(crate) of: Option<Name>,
    pub(crate) set: Option<Name>,
    pub(crate) with: Vec<(Name, Name)>,
}

#[derive(Debug)]
pub(crate) struct DraftCounter {
    pub(crate) name: Name,
    pub(crate) entity: Option<Name>,
    pub(crate) attribute: Option<Name>,
    pub(crate) by: Option<Placed<Result<i64, String>>>,
    pub(crate) only: Vec<(Name, Placed<AttributeValue>)>,
    pub(crate) once_by: Vec<Name>,
    pub(crate) seen: Option<Name>,
    pub(crate) with: Vec<(Name, Name)>,
}

#[derive(Debug)]
pub(crate) struct DraftUnique {
    pub(crate) name: Name,
    pub(crate) table: Option<Name>,
    pub(crate) key: Vec<(Name, Name)>,
}

#[derive(Debug)]
pub(crate) struct DraftCopy {
    pub(crate) name: Name,
    pub(crate) from: Option<Name>,
    /// Their name, this entity's name.
    pub(crate) attributes: Vec<(Name, Name)>,
    pub(crate) with: Vec<(Name, Name)>,
    pub(crate) in_step: Option<Name>,
    pub(crate) background: Option<Placed<bool>>,
}

#[derive(Debug)]
pub(crate) struct DraftEntries {
    pub(crate) name: Name,
    pub(crate) of: Option<Name>,
    pub(crate) table: Option<Name>,
    pub(crate) key: Vec<(Name, Name)>,
    /// What an entry calls the member of a list or set.
    pub(crate) member: Option<Placed<Attribute>>,
    /// What an entry calls the name of a map's pair.
    pub(crate) pair_name: Option<Placed<Attribute>>,
    /// What an entry calls the value of a map's pair.
    pub(crate) pair_value: Option<Placed<Attribute>>,
    pub(crate) project: Vec<Name>,
}

#[derive(Debug)]
pub(crate) struct DraftAccess {
    pub(crate) name: Name,
    pub(crate) about: Option<String>,
    pub(crate) get: Option<Name>,
    pub(crate) query: Option<Name>,
    pub(crate) tests: Vec<DraftTest>,
    /// Whether every test could be read.
    pub(crate) whole: bool,
    pub(crate) returns: Vec<Name>,
    pub(crate) descending: bool,
    pub(crate) limit: Option<u32>,
    pub(crate) consistent: Option<Placed<bool>>,
    pub(crate) scan: bool,
}

#[derive(Debug)]
pub(crate) struct DraftTest {
    pub(crate) attribute: Name,
    pub(crate) test: Test<Operand>,
}

/// What an attribute must be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test<T> {
    Eq(T),
    Ne(T),
    Lt(T),
    Le(T),
    Gt(T),
    Ge(T),
    Between(T, T),
    BeginsWith(T),
    OneOf(Vec<T>),
    Exists(bool),
}

/// A value known now, or when the access pattern is used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Value(AttributeValue),
    Parameter(String),
}
