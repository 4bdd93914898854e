//! Large values that no row refers to: their parts are removed when their time has come. The rows of loose
//! values are the list of work, so that after a crash some work is repeated and none is lost.

use std::sync::Arc;

use trestle_api::{Error, Query};
use trestle_env::Timestamp;
use trestle_hook::{Companion, Rows, amend};
use trestle_item::Item;
use trestle_model::{
    LOOSE_VALUES_TABLE, LooseState, LooseValue, Model, NAMED_VALUES_TABLE, NamedValue, PARTS_ID,
    PARTS_NUMBER, PARTS_TABLE,
};

use crate::call::call;
use crate::sweep::or_gone;
use crate::value_audit::ValueCure;
use crate::{BindError, Models, loaded};

/// Rows of loose values that are read together.
const PAGE: usize = 64;
/// Parts that are removed in one commit.
const PARTS: u32 = 16;

/// The position in the list of loose values. It is not stored.
#[derive(Debug, Default)]
pub(super) struct ValueRound {
    /// No value has to be removed before this time.
    not_before: Timestamp,
    /// When the pass began.
    begun: Option<Timestamp>,
    /// The position after the rows that were read.
    next: Option<Vec<u8>>,
    /// The earliest time at which one of the values read has to be removed.
    earliest: Option<Timestamp>,
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueTurn {
    /// There may be more to do immediately.
    More,
    /// The next pass is at this time; it is needed only if there are loose values.
    Later(Timestamp),
    /// There are none.
    Nothing,
    /// Some values are to be removed, but could not be now.
    Failed,
}

impl Models {
    /// Whether rows of a model in force can refer to large values.
    pub fn have_large_values(&self) -> bool {
        self.are_in_force() && loaded(&self.held.lock()).any(|model| model.has_large_values())
    }

    /// Reads the next loose values, and removes the first whose time has come.
    pub(super) fn value_turn(&self, round: &mut ValueRound) -> ValueTurn {
        if !self.are_in_force() {
            return ValueTurn::Nothing;
        }
        let now = self.clock.now();
        if now < round.not_before {
            return ValueTurn::Later(round.not_before);
        }
        match self.next_values(round, now) {
            Ok(turn) => turn,
            Err(error) => {
                tracing::warn!(%error, "some large values that no row names stay for now");
                *round = ValueRound::default();
                ValueTurn::Failed
            }
        }
    }

    fn next_values(&self, round: &mut ValueRound, now: Timestamp) -> Result<ValueTurn, BindError> {
        let begun = *round.begun.get_or_insert(now);
        let page = or_gone(self.host.lying(LOOSE_VALUES_TABLE, round.next.as_deref(), PAGE))?;
        let mut earliest = round.earliest;
        for row in &page.rows {
            let loose = LooseValue::from_item(row).ok_or_else(|| {
                Error::internal(format!("a row of {LOOSE_VALUES_TABLE} cannot be read: {row:?}"))
            })?;
            if loose.due() <= now {
                self.remove_value(&loose, now)?;
                return Ok(ValueTurn::More);
            }
            earliest = Some(earliest.map_or(loose.due(), |first| first.min(loose.due())));
        }
        (round.earliest, round.next) = (earliest, page.next);
        if round.next.is_some() {
            return Ok(ValueTurn::More);
        }
        // Values added since are not due before the shortest time has passed.
        let next = begun.plus(LooseValue::shortest_time());
        *round = ValueRound {
            not_before: earliest.map_or(next, |first| first.min(next)),
            ..ValueRound::default()
        };
        Ok(match earliest {
            Some(_) => ValueTurn::Later(round.not_before),
            None => ValueTurn::Nothing,
        })
    }

    /// Removes the parts of a value that no row refers to, then its row. From the first commit on, no row can
    /// begin to refer to it.
    fn remove_value(&self, loose: &LooseValue, now: Timestamp) -> Result<(), BindError> {
        if !self.mark_removed(loose, now)? {
            return Ok(());
        }
        while self.remove_parts(&loose.id)? {}
        let gone = vec![absent(LOOSE_VALUES_TABLE, loose.key())];
        Ok(amend(&*self.host, move |_, _| Ok((gone.clone(), ()))).wait()?)
    }

    /// Marks a value whose parts are to be removed, unless a row refers to it by now, or another part was
    /// put.
    fn mark_removed(&self, loose: &LooseValue, now: Timestamp) -> Result<bool, BindError> {
        let key = loose.key();
        let marked = amend(&*self.host, move |rows, _| {
            let stored = rows.get(LOOSE_VALUES_TABLE, &key)?;
            let stored = stored.as_deref().and_then(LooseValue::from_item);
            let Some(mut loose) = stored.filter(|loose| loose.due() <= now) else {
                return Ok((Vec::new(), false));
            };
            loose.state = Some(LooseState::Removing);
            Ok((vec![noted_as(&loose)], true))
        });
        Ok(marked.wait()?)
    }

    /// Removes some parts of a value; returns whether there may be more.
    fn remove_parts(&self, id: &str) -> Result<bool, BindError> {
        let query = Query {
            table_name: PARTS_TABLE.to_owned(),
            key_condition_expression: Some(format!("{PARTS_ID} = :id")),
            expression_attribute_values: Some(Item::from([(":id", id)])),
            projection_expression: Some(format!("{PARTS_ID}, {PARTS_NUMBER}")),
            limit: Some(PARTS),
            ..Query::default()
        };
        let found = or_gone(call(&*self.host, query))?;
        let keys: Vec<Item> = found.items.into_iter().flatten().collect();
        if keys.is_empty() {
            return Ok(false);
        }
        let gone: Vec<Companion> = keys.into_iter().map(|key| absent(PARTS_TABLE, key)).collect();
        amend(&*self.host, move |_, _| Ok((gone.clone(), ()))).wait()?;
        Ok(true)
    }

    /// The rows of a table were deleted: releases their large values.
    pub(super) fn release_values(&self, model: &Model, table: &str) -> Result<(), Error> {
        if !model.has_large_values() {
            return Ok(());
        }
        let mut from = None;
        loop {
            let page = self.host.lying(NAMED_VALUES_TABLE, from.as_deref(), PAGE)?;
            let named = page.rows.iter().filter(|row| model.keeps_about(table, row));
            let named: Vec<NamedValue> = named.filter_map(NamedValue::from_item).collect();
            if !named.is_empty() {
                let released = amend(&*self.host, move |_, now| {
                    let released = named.iter().flat_map(|named| released(named, now));
                    Ok((released.collect(), ()))
                });
                released.wait()?;
            }
            from = page.next;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    /// Repairs a finding about large values. The rows are checked again in the commit.
    pub(super) fn mend_value(&self, cure: ValueCure, table: String) -> Result<bool, Error> {
        let mended = amend(&*self.host, move |rows, now| {
            let companions = companions(&cure, &table, rows, now)?;
            let is_mended = !companions.is_empty();
            Ok((companions, is_mended))
        });
        mended.wait()
    }
}

/// The rows that a repair writes; none where the rows agree by now. `table` is that of the row that refers to
/// the value.
fn companions(
    cure: &ValueCure,
    table: &str,
    rows: &dyn Rows,
    now: Timestamp,
) -> Result<Vec<Companion>, Error> {
    let is_named = |id: &str| -> Result<bool, Error> {
        Ok(rows.get(NAMED_VALUES_TABLE, &NamedValue::key_of(id))?.is_some())
    };
    Ok(match cure {
        ValueCure::Name { named, key } => {
            let row = rows.get(table, key)?;
            let names = row.as_ref().and_then(|row| row.get(&named.attribute));
            match names == Some(&named.reference.to_value()) {
                true => vec![
                    Companion {
                        table: NAMED_VALUES_TABLE.to_owned(),
                        key: named.key(),
                        item: Some(Arc::new(named.to_item())),
                    },
                    absent(LOOSE_VALUES_TABLE, LooseValue::key_of(&named.reference.id)),
                ],
                false => Vec::new(),
            }
        }
        // While it is a named value, no other row can begin to refer to it.
        ValueCure::Release(named) if is_named(&named.reference.id)? => released(named, now).to_vec(),
        ValueCure::Remove { id } if !is_named(id)? => {
            let is_loose = rows.get(LOOSE_VALUES_TABLE, &LooseValue::key_of(id))?.is_some();
            let loose = (!is_loose).then(|| LooseValue::abandoned(id, now));
            loose.iter().map(noted_as).collect()
        }
        ValueCure::Keep { id } if is_named(id)? => vec![absent(LOOSE_VALUES_TABLE, LooseValue::key_of(id))],
        ValueCure::None | ValueCure::Release(_) | ValueCure::Remove { .. } | ValueCure::Keep { .. } => {
            Vec::new()
        }
    })
}

/// A value that a row referred to becomes loose.
fn released(named: &NamedValue, now: Timestamp) -> [Companion; 2] {
    [
        absent(NAMED_VALUES_TABLE, named.key()),
        noted_as(&LooseValue::released(&named.reference, now)),
    ]
}

fn noted_as(loose: &LooseValue) -> Companion {
    Companion {
        table: LOOSE_VALUES_TABLE.to_owned(),
        key: loose.key(),
        item: loose.to_item().map(Arc::new),
    }
}

fn absent(table: &str, key: Item) -> Companion {
    Companion {
        table: table.to_owned(),
        key,
        item: None,
    }
}
