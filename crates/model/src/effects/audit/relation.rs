//! Facts with two sides: rows that want something, and rows that have it.

use trestle_item::{AttributeValue, Item, codec, key};

use super::Looked;
use super::sums::Fact;
use crate::effect::{Once, Pair};
use crate::effects::inverse::{Form, identities};
use crate::effects::{counter, entries, head, inverse, unique};
use crate::entity::Entity;
use crate::model::Model;

/// One effect of one entity.
#[derive(Debug)]
pub(super) struct Relation<'m> {
    /// The declaring entity: its rows want something.
    pub(super) of: &'m Entity,
    /// The entity whose rows have it.
    pub(super) other: &'m Entity,
    pub(super) step: Step<'m>,
    /// Position of the step among those of its kind.
    pub(super) at: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'m> {
    Head(&'m head::Step),
    Unique(&'m unique::Step),
    Entries(&'m entries::Step),
    Inverse(&'m inverse::Step),
    Counter(&'m counter::Step),
}

/// The relations of a model, and those of each entity by its position.
#[derive(Debug)]
pub(super) struct Relations<'m> {
    pub(super) all: Vec<Relation<'m>>,
    wanting: Vec<Vec<usize>>,
    having: Vec<Vec<usize>>,
    /// For each relation, the first one that counts in the same attribute: they share one sum.
    first: Vec<usize>,
    /// Whether entries are looked up one by one. Where most of them are missing, sums would not help.
    looks_up_entries: bool,
}

impl<'m> Relations<'m> {
    pub(super) fn of(model: &'m Model, looks_up_entries: bool) -> Self {
        let none = || vec![Vec::new(); model.entities.len()];
        let mut relations = Relations {
            all: Vec::new(),
            wanting: none(),
            having: none(),
            first: Vec::new(),
            looks_up_entries,
        };
        for of in &model.entities {
            for (at, position, step) in steps(model, of) {
                if let Some(other) = model.entities.get(position) {
                    relations.add(Relation { of, other, step, at });
                }
            }
        }
        relations
    }

    fn add(&mut self, relation: Relation<'m>) {
        if self.all.iter().any(|known| known.is_back_of(&relation)) {
            return;
        }
        let at = self.all.len();
        let first = self.all.iter().position(|known| known.counts_with(&relation));
        self.first.push(first.unwrap_or(at));
        for (sides, entity) in [
            (&mut self.wanting, relation.of),
            (&mut self.having, relation.other),
        ] {
            if let Some(side) = sides.get_mut(entity.position) {
                side.push(at);
            }
        }
        self.all.push(relation);
    }

    /// The relations in which rows of an entity want something.
    pub(super) fn wanting(&self, entity: &Entity) -> impl Iterator<Item = (usize, &Relation<'m>)> {
        self.named(self.wanting.get(entity.position))
    }

    /// The relations in which rows of an entity have something.
    pub(super) fn having(&self, entity: &Entity) -> impl Iterator<Item = (usize, &Relation<'m>)> {
        self.named(self.having.get(entity.position))
    }

    fn named<'r>(&'r self, side: Option<&'r Vec<usize>>) -> impl Iterator<Item = (usize, &'r Relation<'m>)> {
        let side = side.into_iter().flatten();
        side.filter_map(|at| Some((*at, self.all.get(*at)?)))
    }

    /// The relation that counts in an attribute of an entity, by their names.
    pub(super) fn counting(&self, entity: &str, attribute: &str) -> Option<(usize, &Relation<'m>)> {
        let mut all = self.all.iter().enumerate();
        all.find(|(_, relation)| match relation.step {
            Step::Counter(step) => {
                step.counter.once == Once::Row
                    && relation.other.name == entity
                    && step.counter.attribute == attribute
            }
            _ => false,
        })
    }

    /// Whether the facts of a relation are summed.
    fn is_summed(&self, relation: &Relation<'_>) -> bool {
        !(self.looks_up_entries && matches!(relation.step, Step::Entries(_)))
    }

    /// Passes on what a row wants and has. What it wants of heads does not follow from the row alone.
    pub(super) fn facts(
        &self,
        looked: &Looked<'_>,
        bytes: &mut Vec<u8>,
        take: &mut dyn FnMut(&mut Fact<'_>),
    ) {
        let wanting = self.wanting(looked.entity);
        for (at, relation) in wanting.filter(|(_, relation)| self.is_summed(relation)) {
            let first = self.first.get(at).copied().unwrap_or(at);
            relation.wanted(first, looked, bytes, take);
        }
        let having = self.having(looked.entity);
        for (at, relation) in having.filter(|(_, relation)| self.is_summed(relation)) {
            // A count that several relations share exists once.
            if self.first.get(at) == Some(&at) {
                relation.had(at, looked, bytes, take);
            }
        }
    }
}

/// The steps of an entity: position among those of its kind, position of the other entity.
fn steps<'m>(model: &'m Model, of: &Entity) -> Vec<(usize, usize, Step<'m>)> {
    let Some(plan) = model.plan_of(of) else {
        return Vec::new();
    };
    let heads = plan.head.iter().map(|step| (0, step.entity, Step::Head(step)));
    let uniques = plan.uniques.iter().enumerate();
    let uniques = uniques.map(|(at, step)| (at, step.entity, Step::Unique(step)));
    let entries = plan.entries.iter().enumerate();
    let entries = entries.map(|(at, step)| (at, step.entity, Step::Entries(step)));
    let inverses = plan.inverses.iter().enumerate().filter(|(_, step)| step.declared);
    let inverses = inverses.map(|(at, step)| (at, step.entity, Step::Inverse(step)));
    let counters = plan.counters.iter().enumerate();
    let counters = counters.map(|(at, step)| (at, step.entity, Step::Counter(step)));
    let of_rows = heads.chain(uniques).chain(entries);
    of_rows.chain(inverses).chain(counters).collect()
}

impl Relation<'_> {
    /// Its name in messages.
    pub(super) fn effect(&self) -> String {
        let (kind, name) = match &self.step {
            Step::Head(_) => ("head", ""),
            Step::Unique(step) => ("unique ", step.unique.name.as_str()),
            Step::Entries(step) => ("entries ", step.entries.name.as_str()),
            Step::Inverse(step) => ("inverse ", step.name.as_str()),
            Step::Counter(step) => ("counter ", step.counter.name.as_str()),
        };
        format!("{kind}{name} of {}", self.of.name)
    }

    /// Whether both count rows in the same attribute.
    fn counts_with(&self, other: &Relation<'_>) -> bool {
        let (Step::Counter(one), Step::Counter(two)) = (&self.step, &other.step) else {
            return false;
        };
        self.other.position == other.other.position
            && one.counter.attribute == two.counter.attribute
            && one.counter.once == Once::Row
            && two.counter.once == Once::Row
    }

    /// Whether it is the same relation, declared on the other side.
    fn is_back_of(&self, declared: &Relation<'_>) -> bool {
        let (Step::Inverse(known), Step::Inverse(step)) = (&self.step, &declared.step) else {
            return false;
        };
        let same = match (&known.form, &step.form) {
            (
                Form::Identities { of, theirs, .. },
                Form::Identities {
                    of: their_of,
                    theirs: their_set,
                    ..
                },
            ) => of == their_set && theirs == their_of,
            (Form::Rows { .. }, Form::Rows { .. }) => true,
            _ => false,
        };
        same && self.of.position == declared.other.position && self.other.position == declared.of.position
    }

    fn wanted(
        &self,
        at: usize,
        looked: &Looked<'_>,
        bytes: &mut Vec<u8>,
        take: &mut dyn FnMut(&mut Fact<'_>),
    ) {
        let row = &*looked.row;
        bytes.clear();
        match &self.step {
            Step::Head(_) => {}
            Step::Unique(step) => {
                let has_value = step.unique.attributes.iter().all(|name| row.contains_key(name));
                if has_value && rendered(self.other, |name| row.get(name), bytes) {
                    kept(self.other, row, Fact::new(at, true, bytes), take);
                }
            }
            Step::Entries(step) => {
                // A row whose members cannot be entries does not fit, and has no entries.
                for (key, entry) in step.rows(self.of, self.other, row).into_iter().flatten() {
                    bytes.clear();
                    bytes.extend_from_slice(&key);
                    let fact = Fact {
                        target: Some(&entry.key),
                        ..Fact::new(at, true, bytes)
                    };
                    kept(self.other, &entry.content, fact, take);
                }
            }
            Step::Counter(step) => {
                if step.counter.once == Once::Row
                    && step.applies_to(row)
                    && rendered(self.other, |name| paired(&step.counter.with, row, name), bytes)
                {
                    let amount = Some(step.amount(row));
                    take(&mut Fact {
                        amount,
                        ..Fact::new(at, true, bytes)
                    });
                }
            }
            Step::Inverse(step) => match &step.form {
                Form::Identities { of, own, .. } => {
                    if let Some(own) = row.get(own).and_then(AttributeValue::as_s) {
                        for theirs in identities(Some(row), of) {
                            pair((own, theirs), at, true, bytes, take);
                        }
                    }
                }
                Form::Rows { with, .. } => {
                    if rendered(self.other, |name| paired(with, row, name), bytes) {
                        mirrored(with, |pair| row.get(&pair.ours), Fact::new(at, true, bytes), take);
                    }
                }
            },
        }
    }

    fn had(&self, at: usize, looked: &Looked<'_>, bytes: &mut Vec<u8>, take: &mut dyn FnMut(&mut Fact<'_>)) {
        let row = &*looked.row;
        bytes.clear();
        match &self.step {
            Step::Head(_) => {
                if rendered(self.of, |name| row.get(name), bytes) {
                    take(&mut Fact::new(at, false, bytes));
                }
            }
            Step::Unique(_) | Step::Entries(_) => {
                looked.key_bytes(bytes);
                kept(self.other, row, Fact::new(at, false, bytes), take);
            }
            Step::Counter(step) => {
                if step.counter.once == Once::Row
                    && let Some(amount) = self.counted(step, row)
                {
                    looked.key_bytes(bytes);
                    take(&mut Fact {
                        amount: Some(amount),
                        ..Fact::new(at, false, bytes)
                    });
                }
            }
            Step::Inverse(step) => match &step.form {
                Form::Identities { theirs, .. } => {
                    let own = self.other.identity.first().and_then(|name| row.get(name)?.as_s());
                    if let Some(own) = own {
                        for member in identities(Some(row), theirs) {
                            pair((member, own), at, false, bytes, take);
                        }
                    }
                }
                Form::Rows { with, back } => {
                    if rendered(self.of, |name| paired(back, row, name), bytes) {
                        bytes.clear();
                        looked.key_bytes(bytes);
                        mirrored(
                            with,
                            |pair| row.get(&pair.theirs),
                            Fact::new(at, false, bytes),
                            take,
                        );
                    }
                }
            },
        }
    }

    /// The key of the row that must exist because of a row.
    pub(super) fn target(&self, row: &Item) -> Option<Item> {
        match &self.step {
            Step::Unique(_) => self.other.key_from(row).ok(),
            Step::Inverse(step) => match &step.form {
                Form::Rows { with, .. } => self.other.key_where(|name| paired(with, row, name)).ok(),
                Form::Identities { .. } => None,
            },
            Step::Head(_) | Step::Counter(_) | Step::Entries(_) => None,
        }
    }

    /// The count in a counting row; `None` if it is not a number.
    pub(super) fn counted(&self, step: &counter::Step, row: &Item) -> Option<trestle_item::Number> {
        let base = step.base(self.other);
        match row.get(&step.counter.attribute) {
            None => Some(trestle_item::Number::ZERO),
            Some(AttributeValue::N(number)) => number.checked_sub(&base).ok(),
            Some(_) => None,
        }
    }
}

impl<'b> Fact<'b> {
    /// A fact whose bytes so far identify the group.
    pub(super) fn new(relation: usize, wanted: bool, bytes: &'b mut Vec<u8>) -> Self {
        Fact {
            relation,
            wanted,
            group: bytes.len(),
            bytes,
            amount: None,
            pair: None,
            target: None,
        }
    }
}

/// This row's attribute that corresponds to one of the other entity.
pub(super) fn paired<'i>(with: &[Pair], row: &'i Item, name: &str) -> Option<&'i AttributeValue> {
    let pair = with.iter().find(|pair| pair.theirs == name)?;
    row.get(&pair.ours)
}

/// Appends the key of an entity's row; false if it cannot be made.
pub(super) fn rendered<'v>(
    entity: &Entity,
    attribute: impl Fn(&str) -> Option<&'v AttributeValue>,
    out: &mut Vec<u8>,
) -> bool {
    entity.table_key.iter().all(|template| {
        let value = template.render_from(&attribute);
        value.is_ok_and(|value| key::encode_component(&value, out).is_some())
    })
}

/// A value with what its row says about its owner.
fn kept(keeper: &Entity, row: &Item, mut fact: Fact<'_>, take: &mut dyn FnMut(&mut Fact<'_>)) {
    for attribute in &keeper.attributes {
        append(row.get(&attribute.name), fact.bytes);
    }
    take(&mut fact);
}

/// A row of the other side with the values that it has from its row.
fn mirrored<'v>(
    with: &[Pair],
    value: impl Fn(&Pair) -> Option<&'v AttributeValue>,
    mut fact: Fact<'_>,
    take: &mut dyn FnMut(&mut Fact<'_>),
) {
    for pair in with {
        append(value(pair), fact.bytes);
    }
    take(&mut fact);
}

fn append(value: Option<&AttributeValue>, out: &mut Vec<u8>) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        codec::encode_value(value, out);
    }
}

fn pair(
    (own, theirs): (&str, &str),
    at: usize,
    wanted: bool,
    bytes: &mut Vec<u8>,
    take: &mut dyn FnMut(&mut Fact<'_>),
) {
    bytes.clear();
    bytes.extend_from_slice(&(own.len() as u64).to_be_bytes());
    bytes.extend_from_slice(own.as_bytes());
    bytes.extend_from_slice(theirs.as_bytes());
    take(&mut Fact {
        pair: Some((own, theirs)),
        ..Fact::new(at, wanted, bytes)
    });
}
