//! A row that an effect of a former version wrote at a key where an effect of this version keeps its rows: it
//! is not removed but becomes the row of this version.

use trestle_item::Item;

use super::finding::{Cure, Finding, FindingKind as Kind, about};
use crate::effects::ledger::key_in;
use crate::effects::plan::Plan;
use crate::entity::{Entity, Role};
use crate::model::{Model, Table};

impl Model {
    /// The change that adapts a row that was [left behind](Model::left_behind) to the effect that keeps rows
    /// at its key: it is rewritten, or removed if this version wants no row there. `None` where no effect
    /// keeps rows at such a key.
    #[must_use]
    pub fn taken_over(&self, table_name: &str, row: &Item) -> Option<Finding> {
        let table = self.table(table_name)?;
        let key = key_in(table, row);
        let kept = self.keeper_of(table, &key)?;
        let of = self.entity(kept.role.follows()?)?;
        let plan = self.plan_of(of)?;
        let (kind, cure) = cure(plan, of.position, kept, &key)?;
        let finding = about(self, kind, kept, key);
        Some(finding.cured_by(cure))
    }

    /// The entity of the rows that the database keeps at such a key. Keys of a table are of one entity.
    fn keeper_of<'m>(&'m self, table: &'m Table, key: &Item) -> Option<&'m Entity> {
        let mut entities = self.entities_of(table);
        entities.find(|entity| entity.is_derived() && entity.identify(key).is_some())
    }
}

fn cure(plan: &Plan, entity: usize, kept: &Entity, key: &Item) -> Option<(Kind, Cure)> {
    let key = key.clone();
    match kept.role {
        Role::Declared | Role::History { .. } => None,
        Role::Head { .. } => Some((
            Kind::WrongHead,
            Cure::Head {
                entity,
                key,
                candidate: None,
                forward: false,
            },
        )),
        Role::Unique { .. } => {
            let mut steps = plan.uniques.iter();
            let step = steps.position(|step| step.entity == kept.position)?;
            let owners = Vec::new();
            Some((
                Kind::WrongUnique,
                Cure::Keeper {
                    entity,
                    step,
                    key,
                    owners,
                },
            ))
        }
        Role::Entry { .. } => {
            let mut steps = plan.entries.iter();
            let step = steps.position(|step| step.entity == kept.position)?;
            Some((Kind::WrongEntry, Cure::Entry { entity, step, key }))
        }
    }
}
