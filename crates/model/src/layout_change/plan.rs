//! From two versions to the moves between them.

use super::pair::Pair;
use super::{ChangeDirection, Hindrance, LayoutChange, apart, hindrance};
use crate::entity::Entity;
use crate::model::{Model, Table};

/// A table in which rows move.
#[derive(Clone, Debug)]
pub(super) struct MovedTable {
    /// Its name in the database.
    pub(super) name: String,
    /// Position in the present version's tables.
    pub(super) present: usize,
    pub(super) pairs: Vec<Pair>,
}

/// An entity of both versions, each with its table.
#[derive(Clone, Copy)]
pub(super) struct Both<'m> {
    pub(super) former: &'m Entity,
    pub(super) former_table: &'m Table,
    pub(super) own: &'m Entity,
    pub(super) table: &'m Table,
}

impl Both<'_> {
    /// Whether the table's key is composed differently.
    pub(super) fn is_changed(&self) -> bool {
        let templates = self.former.table_key.iter().zip(&self.own.table_key);
        self.former.table_key.len() != self.own.table_key.len()
            || templates.into_iter().any(|(before, now)| !before.renders_as(now))
    }
}

impl LayoutChange {
    /// What moves between two versions, forwards or back.
    pub(super) fn plan(
        former: &std::sync::Arc<Model>,
        present: &std::sync::Arc<Model>,
        way: ChangeDirection,
    ) -> Result<Self, Vec<Hindrance>> {
        let all = both(former, present, way);
        let mut tables: Vec<MovedTable> = Vec::new();
        let mut hindrances = Vec::new();
        let mut moving = Vec::new();
        for both in &all {
            let found = hindrance::of_tables(*both);
            if !found.is_empty() || !both.is_changed() {
                hindrances.extend(found);
                continue;
            }
            let pair = Pair::new(way, (both.former_table, both.former), (both.table, both.own));
            hindrances.extend(hindrance::of_keys(*both, &pair));
            hindrances.extend(hindrance::of_entries(*both, &pair, &all));
            moving.push(*both);
            add(&mut tables, both.table, both.own.table, pair);
        }
        hindrances.extend(apart::hindrances(former, present, &all, &moving));
        if !hindrances.is_empty() {
            return Err(hindrances);
        }
        Ok(LayoutChange {
            former: former.clone(),
            present: present.clone(),
            way,
            tables,
        })
    }
}

fn add(tables: &mut Vec<MovedTable>, table: &Table, present: usize, pair: Pair) {
    match tables.iter_mut().find(|known| known.name == table.table_name) {
        Some(known) => known.pairs.push(pair),
        None => tables.push(MovedTable {
            name: table.table_name.clone(),
            present,
            pairs: vec![pair],
        }),
    }
}

/// The entities that both versions have.
fn both<'m>(former: &'m Model, present: &'m Model, way: ChangeDirection) -> Vec<Both<'m>> {
    let (older, newer) = match way {
        ChangeDirection::Forward => (former, present),
        ChangeDirection::Back => (present, former),
    };
    let pairs = newer
        .entities
        .iter()
        .filter_map(|entity| Some((counterpart(older, entity)?, entity)));
    let pairs = pairs.map(|(old, new)| match way {
        ChangeDirection::Forward => (old, new),
        ChangeDirection::Back => (new, old),
    });
    pairs
        .filter_map(|(before, own)| {
            Some(Both {
                former_table: former.table_of(before)?,
                former: before,
                table: present.table_of(own)?,
                own,
            })
        })
        .collect()
}

/// The entity of the older version whose rows an entity takes over: the one that it names, or the one with
/// its name.
fn counterpart<'m>(older: &'m Model, entity: &Entity) -> Option<&'m Entity> {
    let named = entity.migrate.from.as_ref();
    named
        .and_then(|name| older.entity(name))
        .or_else(|| older.entity(&entity.name))
}
