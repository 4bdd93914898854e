//! The work of applying a model: what prevents it, what has to be done, and what to report.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use trestle_api::Error;
use trestle_binding::clearing::{Clearing, Leftovers};
use trestle_binding::plan::plan;
use trestle_binding::{Misfit, Obstacle, Outcome, Report, Step, TableRows, counted};
use trestle_hook::Host;
use trestle_model::{
    Copy, Effect, EffectName, Entity, Head, LayoutChange, Model, Table, UnnameableIndex, unnameable_indexes,
};

use crate::{ApplyOptions, BindError, Held, describe};

/// A model that is being applied.
pub(super) struct Work {
    pub(super) text: String,
    pub(super) model: Arc<Model>,
    /// Its newest version so far, and the model in it, if it loads.
    pub(super) before: Option<Held>,
    pub(super) others: Vec<Held>,
    pub(super) options: ApplyOptions,
    /// Tables whose rows lack attributes, or derived rows that were never written.
    pub(super) waiting: Vec<String>,
    pub(super) report: Report,
    /// What moves between the previous version and this one, if rows move and can.
    pub(super) layout_change: Option<LayoutChange>,
    /// Rows of effects that this version does not have.
    pub(super) clearing: Option<Clearing>,
    /// How many derived rows are missing.
    pub(super) to_make: u64,
    /// Heads that stay unchanged when rows are filled in.
    pub(super) set_back: HashSet<Vec<u8>>,
}

impl Work {
    /// The model that was applied before stays in effect until its rows have moved.
    pub(super) fn refuse_while_rows_move(&self) -> Result<(), BindError> {
        match &self.before {
            Some(held) if self.is_changed() || self.options.fill => held.refuse_while_rows_move(),
            _ => Ok(()),
        }
    }

    /// An index that no request can name is refused, unless the version in effect has it already.
    pub(super) fn refuse_unnameable_indexes(&self) -> Result<(), BindError> {
        let mut indexes = unnameable_indexes(&self.text);
        indexes.retain(|index| !self.has_before(index));
        if indexes.is_empty() {
            return Ok(());
        }
        Err(BindError::Unsound(
            indexes.into_iter().map(|index| index.problem).collect(),
        ))
    }

    fn has_before(&self, index: &UnnameableIndex) -> bool {
        let before = self.before.as_ref().and_then(|held| held.model.as_ref().ok());
        let table = before.and_then(|model| model.table(&index.table_name));
        table.is_some_and(|table| table.index(&index.index).is_some())
    }

    /// The version in effect, where one is required.
    pub(super) fn in_effect(&self) -> Result<&Held, Error> {
        let held = self.before.as_ref();
        held.ok_or_else(|| {
            Error::defect(format_args!(
                "no version of model {} is in effect",
                self.model.name()
            ))
        })
    }

    /// What moves between the previous version and this one, if rows move and can.
    pub(super) fn moves_from_before(&self) -> Option<LayoutChange> {
        let before = self.before.as_ref().filter(|_| self.is_changed());
        let before = before.and_then(|held| held.model.as_ref().ok())?;
        let layout_change = LayoutChange::between(before, &self.model).ok()?;
        (!layout_change.is_empty()).then_some(layout_change)
    }

    /// Adds the moves. Rows of effects that are neither in this version nor move are left behind.
    pub(super) fn set_layout_change(&mut self, layout_change: Option<LayoutChange>) {
        self.layout_change = layout_change;
        let before = self.before.as_ref();
        self.clearing = before.and_then(|held| {
            let former = held.model.as_ref().ok()?;
            Clearing::between(&held.stored, former, &self.model, self.layout_change.as_ref())
        });
    }

    pub(super) fn is_changed(&self) -> bool {
        self.before
            .as_ref()
            .is_none_or(|held| held.stored.text != self.text)
    }

    fn was_filled_in(&self) -> bool {
        self.before.as_ref().is_some_and(|held| held.stored.filled_in)
    }

    /// Rows written under the same text fit already.
    pub(super) fn needs_inspection(&self) -> bool {
        self.is_changed() || (self.options.fill && !self.was_filled_in())
    }

    /// Compares the existing tables with those of the model; returns the names of existing ones.
    pub(super) fn compare_tables(&mut self, host: &dyn Host) -> Result<Vec<String>, BindError> {
        let there = describe::tables(host, &self.model)?;
        let plan = plan(&self.model, &there, self.options.delete_indexes);
        self.report.steps = plan.steps;
        self.report.obstacles = plan.obstacles;
        self.report.notes = plan.notes;
        self.claims()?;
        Ok(plan.existing)
    }

    /// Tables that another model has, and tables that the model had.
    fn claims(&mut self) -> Result<(), BindError> {
        for held in &self.others {
            let other = held.model()?;
            for table in other.tables() {
                if self.model.table(table.table_name()).is_some() {
                    self.report.obstacles.push(Obstacle {
                        table: table.table_name().to_owned(),
                        what: "its model".to_owned(),
                        there: format!("model {}", other.name()),
                        wanted: format!("model {}", self.model.name()),
                        way_out: format!(
                            "a table has one model: give one of the two a `table_prefix`, or put the entities into one \
                             model, or remove the other (`trestle model remove {}`)",
                            other.name()
                        ),
                    });
                }
            }
        }
        let before = self.before.as_ref().and_then(|held| held.model.as_ref().ok());
        for table in before.iter().flat_map(|before| before.tables()) {
            if self.model.table(table.table_name()).is_none() {
                self.report.notes.push(format!(
                    "table {} is no longer in the model; it stays as it is, and nothing is enforced there",
                    table.table_name()
                ));
            }
        }
        Ok(())
    }

    /// Recognises rows that this version leaves behind, and those that still exist of an earlier one.
    pub(super) fn leftovers(&self) -> Vec<Leftovers> {
        let clearing = self.clearing.iter();
        let clearing = clearing.map(|clearing| clearing.leftovers.clone());
        clearing.chain(self.earlier_leftovers()).collect()
    }

    /// Recognises rows of an earlier version that are being removed.
    fn earlier_leftovers(&self) -> Vec<Leftovers> {
        let before = self.before.iter();
        before.flat_map(Held::leftovers).collect()
    }

    /// Whether a row was found that does not fit.
    pub(super) fn has_misfits(&self) -> bool {
        self.report.rows.iter().any(|rows| !rows.misfits.is_empty())
    }

    /// Adds rows that do not fit, by table.
    pub(super) fn report_misfits(&mut self, misfits: BTreeMap<String, Vec<Misfit>>) {
        for (table, misfits) in misfits {
            let rows = &mut self.report.rows;
            match rows.iter_mut().find(|rows| rows.table == table) {
                Some(found) => found.misfits = misfits,
                None => rows.push(TableRows {
                    table,
                    misfits,
                    ..TableRows::default()
                }),
            }
        }
    }

    /// Adds the results for a table; `way_out` is the advice for rows that lack something.
    pub(super) fn found(&mut self, rows: TableRows, way_out: &str) {
        if rows.looked_at == 0 {
            return;
        }
        let has_new_effects = self.has_new_effects(&rows.table);
        if rows.to_fill_in > 0 || has_new_effects {
            self.waiting.push(rows.table.clone());
        }
        let there = match (rows.to_fill_in, has_new_effects) {
            _ if self.options.fill => None,
            (0, false) => None,
            (0, true) => Some(format!(
                "{} from which effects of this version have not followed",
                counted(rows.looked_at, "row", "rows")
            )),
            (lacking, _) => Some(lacking_rows(lacking, rows.looked_at)),
        };
        self.report.obstacles.extend(there.map(|there| Obstacle {
            table: rows.table.clone(),
            what: "its rows".to_owned(),
            there,
            wanted: "whole rows, with everything that follows from them".to_owned(),
            way_out: way_out.to_owned(),
        }));
        self.report.rows.push(rows);
    }

    fn entities_of<'m>(&'m self, table: &str) -> impl Iterator<Item = &'m Entity> {
        let table = self.model.table(table);
        table.into_iter().flat_map(|table| self.model.entities_of(table))
    }

    /// Whether rows get derived rows that they did not have before.
    fn has_new_effects(&self, table: &str) -> bool {
        let before = self.before.as_ref().filter(|held| held.stored.filled_in);
        let before = before.and_then(|held| held.model.as_ref().ok());
        let follows = |known: &[Effect], effect: &Effect| {
            known.iter().any(|known| says_the_same(known, effect))
                && !before.is_some_and(|before| self.is_made_anew(before, effect))
        };
        self.entities_of(table).any(|entity| {
            let known = before.and_then(|before| before.entity(entity.name()));
            let known = known.map(Entity::effects).unwrap_or_default();
            let mut effects = entity.effects().iter();
            effects.any(|effect| is_provable(effect) && !follows(known, effect))
        })
    }

    /// Effects of the previous version that this one lacks, by their names.
    pub(super) fn dropped_effects(&self) -> Vec<String> {
        let before = self.before.as_ref().and_then(|held| held.model.as_ref().ok());
        let entities = before.into_iter().flat_map(|before| before.entities());
        let dropped = entities.flat_map(|entity| {
            let present = self.model.entity(entity.name());
            let present = present.map(Entity::effects).unwrap_or_default();
            let effects = entity.effects().iter();
            effects
                .filter(|effect| is_provable(effect))
                .filter(|effect| !present.iter().any(|known| says_the_same(known, effect)))
                .map(|effect| EffectName::of(entity, effect).to_string())
        });
        dropped.collect()
    }

    /// Whether the rows of an effect have another tag than before, or other places and do not move there.
    fn is_made_anew(&self, before: &Model, effect: &Effect) -> bool {
        self.model.retags(before, effect)
            || self.layout_change.is_none() && self.model.displaces(before, effect)
    }

    /// Whether existing rows get heads that they did not have.
    pub(super) fn makes_heads(&self) -> bool {
        let made = self.heads_made();
        let mut entities = self.model.entities().iter();
        let is_new =
            |entity: &Entity| head(entity).is_some() && !made.iter().any(|made| made == entity.name());
        !self.waiting.is_empty() && entities.any(is_new)
    }

    /// The entities whose heads already exist, under an earlier version with the same rules for them.
    pub(super) fn heads_made(&self) -> Vec<String> {
        let Some(held) = &self.before else {
            return Vec::new();
        };
        let Ok(before) = &held.model else {
            return Vec::new();
        };
        let is_made = |entity: &&Entity| {
            held.stored.filled_in || held.stored.heads_made.contains(&entity.name().to_owned())
        };
        let same = |entity: &&Entity| {
            let known = before.entity(entity.name());
            let mut effects = entity.effects().iter();
            head(entity).is_some()
                && known.and_then(head) == head(entity)
                && !effects
                    .any(|effect| matches!(effect, Effect::Head(_)) && self.is_made_anew(before, effect))
        };
        let made = self.model.entities().iter().filter(same).filter(is_made);
        made.map(|entity| entity.name().to_owned()).collect()
    }

    /// Whether a table prevents the change.
    pub(super) fn is_blocked(&self, table: &str) -> bool {
        let mut obstacles = self.report.obstacles.iter();
        obstacles.any(|obstacle| obstacle.table == table)
    }

    /// The remaining steps, and whether they are possible.
    pub(super) fn conclude(&mut self) {
        let before = self.before.as_ref().map(|held| held.stored.version);
        self.report.version = before;
        if self.is_changed() {
            let version = before.unwrap_or(0) + 1;
            self.report.steps.push(Step::StoreModel { version });
        }
        if self.options.fill {
            let tables = self.waiting.iter().cloned();
            self.report
                .steps
                .extend(tables.map(|table| Step::FillIn { table }));
        }
        self.say_what_follows();
        self.report.outcome = if self.has_misfits() || !self.report.obstacles.is_empty() {
            Outcome::Refused
        } else if self.report.steps.is_empty() {
            Outcome::NothingToDo
        } else {
            Outcome::Planned
        };
    }

    fn say_what_follows(&mut self) {
        if !self.is_changed() && !self.was_filled_in() && !self.options.fill {
            self.report.notes.push(
                "existing rows are still to be filled: the database continues when it starts, and --fill does it now"
                    .to_owned(),
            );
        }
        if self.to_make > 0 && (self.options.dry_run || !self.options.fill) {
            self.report.notes.push(format!(
                "{} missing; --fill creates what is missing",
                counted(self.to_make, "derived fact is", "derived facts are")
            ));
        }
        if let Some(clearing) = &self.clearing {
            let when = match self.layout_change {
                Some(_) => "in the background, after the migration",
                None => "in the background",
            };
            self.report.notes.push(format!(
                "effects of version {} are not in this one: their rows are removed {when}",
                clearing.document.version
            ));
        }
    }
}

/// Rows that can be filled in, of all rows read.
fn lacking_rows(lacking: u64, all: u64) -> String {
    let (lack, have) = if lacking == 1 {
        ("lacks", "has")
    } else {
        ("lack", "have")
    };
    format!(
        "{lacking} of {} {lack} an index key or {have} another one, or {lack} the tag, a default or an attribute that only \
         the key has",
        counted(all, "row", "rows")
    )
}

/// Whether the same derived rows follow from the same rows, in the commit or in the background.
fn says_the_same(known: &Effect, effect: &Effect) -> bool {
    match (known, effect) {
        (Effect::Copy(known), Effect::Copy(copy)) => {
            let alike = Copy {
                background: copy.background,
                ..known.clone()
            };
            alike == *copy
        }
        (known, effect) => known == effect,
    }
}

/// A copy that is not in step does not change.
fn is_provable(effect: &Effect) -> bool {
    match effect {
        Effect::Copy(copy) => copy.in_step.is_some(),
        _ => true,
    }
}

fn head(entity: &Entity) -> Option<&Head> {
    entity.effects().iter().find_map(|effect| match effect {
        Effect::Head(head) => Some(head),
        _ => None,
    })
}

/// A table that must exist according to the plan: one of the model's.
pub(super) fn planned_table<'m>(model: &'m Model, name: &str) -> Result<&'m Table, Error> {
    let table = model.table(name);
    table.ok_or_else(|| Error::defect(format_args!("the plan has a table {name} that the model has not")))
}

#[cfg(test)]
mod tests {
    use super::lacking_rows;

    #[test]
    fn one_row_is_singular() {
        assert!(lacking_rows(1, 1).starts_with("1 of 1 row lacks an index key or has another one, or lacks"));
        assert!(lacking_rows(1, 5).starts_with("1 of 5 rows lacks"));
        assert!(lacking_rows(2, 5).starts_with("2 of 5 rows lack an index key or have another one, or lack"));
    }
}
