//! The rows of a group, where one partition of a table or index holds them all.

use std::sync::Arc;

use trestle_expr::{KeyCondition, KeyOp, KeyTerm};
use trestle_hook::RowQuery;
use trestle_item::{Item, ScalarType};

use crate::effects::Stopped;
use crate::effects::ledger::{At, Ledger};
use crate::entity::Entity;
use crate::model::{KeySchema, Table};
use crate::template::{Given, KeyTemplate, Part};

/// A row of a group.
pub(in crate::effects) type Member = (At, Arc<Item>);

/// The partition that holds a group.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::effects) struct Group {
    table_name: String,
    index: Option<String>,
    hash: Vec<KeyTemplate>,
    /// A key attribute, and its common beginning in every row of the group.
    beginning: Option<(String, Vec<Part>)>,
    /// The attributes that the rows of a group have in common.
    common: Vec<String>,
    /// Whether its rows change only together with the row that queries them.
    is_guarded: bool,
}

impl Group {
    /// The table itself if possible, otherwise an index.
    pub(in crate::effects) fn of(table: &Table, entity: &Entity, common: &[String]) -> Option<Self> {
        let indexes = table.indexes.iter().map(|index| (Some(&index.name), &index.key));
        let mut places = std::iter::once((None, &table.key)).chain(indexes);
        places.find_map(|(index, key)| Self::in_place(table, index, key, entity, common))
    }

    /// The table and index that hold the group, if it is an index.
    pub(in crate::effects) fn through_index(&self) -> Option<(&str, &str)> {
        Some((&self.table_name, self.index.as_deref()?))
    }

    fn in_place(
        table: &Table,
        index: Option<&String>,
        key: &KeySchema,
        entity: &Entity,
        common: &[String],
    ) -> Option<Self> {
        let template = |name: &str| entity.key_template(name);
        // An index that may lack rows of the group cannot be used.
        let always = |template: &KeyTemplate| {
            let mut fields = template.slots();
            fields.all(|slot| !slot.attribute.optional)
        };
        if !key
            .attributes()
            .all(|key| template(&key.name).is_some_and(always))
        {
            return None;
        }
        let hash: Option<Vec<KeyTemplate>> =
            key.hash.iter().map(|key| template(&key.name).cloned()).collect();
        let hash = hash?;
        let mut fields = hash.iter().flat_map(KeyTemplate::fields);
        if !fields.all(|name| common.iter().any(|known| known == name)) {
            return None;
        }
        let range = key.range.first().and_then(|key| template(&key.name));
        let beginning = range
            .filter(|range| range.kind == ScalarType::S)
            .map(|range| (range.attribute.clone(), known_beginning(range, common)))
            .filter(|(_, parts)| !parts.is_empty());
        Some(Group {
            table_name: table.table_name.clone(),
            index: index.cloned(),
            hash,
            beginning,
            common: common.to_vec(),
            is_guarded: false,
        })
    }

    /// The same group, whose rows change only together with the row that queries them.
    pub(in crate::effects) fn guarded(self) -> Self {
        Group {
            is_guarded: true,
            ..self
        }
    }

    /// All rows of a head's group, in the order of their keys: of rows with equal ranks the first one is taken, and that must
    /// not depend on the order of a request.
    pub(in crate::effects) fn rows(
        &self,
        ledger: &mut Ledger<'_, '_>,
        entity: &Entity,
        head: &Item,
    ) -> Result<Vec<Member>, Stopped> {
        let Ok(query) = self.query(head) else {
            return Ok(Vec::new());
        };
        let mut found = ledger.query(entity.table, &query)?;
        found.sort_by_cached_key(|at| ledger.place(*at));
        let rows = found.into_iter().filter_map(|at| Some((at, ledger.row(at)?)));
        let rows = rows.filter(|(_, item)| self.has(ledger, entity, head, item));
        Ok(rows.collect())
    }

    fn query(&self, head: &Item) -> Result<RowQuery, crate::template::RenderError> {
        let mut terms = Vec::new();
        for template in &self.hash {
            terms.push(KeyTerm {
                attribute: template.attribute.clone(),
                op: KeyOp::Eq(template.render(head)?),
            });
        }
        if let Some((attribute, parts)) = &self.beginning {
            let mut text = String::new();
            for part in parts {
                text.push_str(&part.render_given(|slot| head.get(&slot.attribute.name).map(Given::Value))?);
            }
            terms.push(KeyTerm {
                attribute: attribute.clone(),
                op: KeyOp::BeginsWith(text.into()),
            });
        }
        Ok(RowQuery {
            table: self.table_name.clone(),
            index: self.index.clone(),
            key_condition: KeyCondition { terms },
            filter: None,
            limit: None,
            is_guarded: self.is_guarded,
        })
    }

    /// Rows of other entities and of other groups may be in the same partition.
    fn has(&self, ledger: &Ledger<'_, '_>, entity: &Entity, head: &Item, item: &Item) -> bool {
        let recognised = ledger.entity_of(entity.table, item);
        recognised.is_some_and(|found| found.name == entity.name)
            && self.common.iter().all(|name| item.get(name) == head.get(name))
    }
}

/// The first parts of a key that all rows of a group share.
fn known_beginning(range: &KeyTemplate, common: &[String]) -> Vec<Part> {
    let is_known = |part: &&Part| match part {
        Part::Literal(_) => true,
        Part::Slot(slot) => common.contains(&slot.attribute.name),
    };
    range.parts.iter().take_while(is_known).cloned().collect()
}
