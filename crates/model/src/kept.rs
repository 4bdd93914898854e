//! Attributes that the database keeps in rows that clients write: counts, counted events, the time of the
//! first write.

use trestle_item::{AttributeValue, Item, Number};

use crate::attribute::shown;
use crate::effect::{Effect, Once};
use crate::entity::Entity;
use crate::refusal::{Given, Keeps, Refusal};

/// An attribute of an entity that a counter writes. Clients do not write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAttribute {
    /// Its name.
    pub attribute: String,
    /// The counter.
    pub counter: String,
    /// The entity whose rows are counted, which declares the counter.
    pub counted: String,
    /// Its content.
    pub holds: Holds,
}

/// What a counter keeps in an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The count of existing rows.
    Rows,
    /// The count of events seen.
    Events,
    /// The events themselves.
    Seen,
}

/// The attributes of each entity that counters keep.
pub(crate) fn kept_in(entities: &[Entity], name: &str) -> Vec<KeptAttribute> {
    let effects = entities
        .iter()
        .flat_map(|entity| entity.effects.iter().map(move |effect| (entity, effect)));
    let mut kept = Vec::new();
    for (counted, effect) in effects {
        let Effect::Counter(counter) = effect else {
            continue;
        };
        if counter.entity != name {
            continue;
        }
        let keep = |attribute: &String, holds| KeptAttribute {
            attribute: attribute.clone(),
            counter: counter.name.clone(),
            counted: counted.name.clone(),
            holds,
        };
        match &counter.once {
            Once::Row => kept.push(keep(&counter.attribute, Holds::Rows)),
            Once::Event { seen, .. } => {
                kept.push(keep(&counter.attribute, Holds::Events));
                kept.push(keep(seen, Holds::Seen));
            }
        }
    }
    kept
}

impl Entity {
    /// The attributes that counters keep in its rows.
    #[must_use]
    pub fn kept(&self) -> &[KeptAttribute] {
        &self.kept
    }

    /// The attributes that count rows, each once.
    pub(crate) fn row_counts(&self) -> Vec<&str> {
        let kept = self.kept.iter().filter(|kept| kept.holds == Holds::Rows);
        let mut names: Vec<&str> = kept.map(|kept| kept.attribute.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The value of a counting attribute before anything is counted.
    pub(crate) fn count_base(&self, attribute: &str) -> Number {
        let default = self
            .attribute(attribute)
            .and_then(|attribute| attribute.default.as_ref());
        default
            .and_then(AttributeValue::as_n)
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn keeps(&self, attribute: &str) -> Option<&KeptAttribute> {
        self.kept.iter().find(|kept| kept.attribute == attribute)
    }

    /// A client's item with the attributes that the database keeps, unchanged. A different value is refused.
    pub(crate) fn with_kept(&self, old: Option<&Item>, new: &mut Item) -> Result<(), Refusal> {
        for kept in &self.kept {
            let name = &kept.attribute;
            let stored = old.and_then(|old| old.get(name));
            let is_number = |value: &&AttributeValue| value.as_n().is_some();
            let stored = match kept.holds {
                Holds::Seen => stored.cloned(),
                // A value that is not a number was never a count.
                Holds::Rows | Holds::Events => stored.filter(is_number).cloned(),
            };
            match (new.get(name), stored) {
                (Some(given), Some(stored)) if *given == stored => {}
                (Some(given), None) if self.is_base(kept, given) => {}
                (Some(given), stored) => return Err(self.not_yours(kept, given, stored.as_ref())),
                (None, Some(stored)) => {
                    new.insert(name.clone(), stored);
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// The time of a row's first write does not change. A client may give it in the first write, as an import
    /// does.
    pub(crate) fn check_created(&self, old: Option<&Item>, new: &Item) -> Result<(), Refusal> {
        let Some(attribute) = &self.created else {
            return Ok(());
        };
        match (old.and_then(|old| old.get(attribute)), new.get(attribute)) {
            (Some(stored), Some(given)) if stored != given => Err(Refusal::Given(Box::new(Given {
                entity: self.name.clone(),
                attribute: attribute.clone(),
                why: Keeps::Created,
                stored: shown(stored),
                given: shown(given),
            }))),
            _ => Ok(()),
        }
    }

    /// Whether a count has its initial value.
    fn is_base(&self, kept: &KeptAttribute, given: &AttributeValue) -> bool {
        kept.holds != Holds::Seen && given.as_n() == Some(&self.count_base(&kept.attribute))
    }

    /// The client gave a count that differs from the stored one.
    pub(crate) fn other_count(&self, attribute: &str, given: Number, count: Number) -> Refusal {
        match self.keeps(attribute) {
            Some(kept) => self.not_yours(kept, &given.into(), Some(&count.into())),
            None => Refusal::defect("a count is kept by no counter"),
        }
    }

    fn not_yours(
        &self,
        kept: &KeptAttribute,
        given: &AttributeValue,
        stored: Option<&AttributeValue>,
    ) -> Refusal {
        let base = AttributeValue::N(self.count_base(&kept.attribute));
        Refusal::Given(Box::new(Given {
            entity: self.name.clone(),
            attribute: kept.attribute.clone(),
            why: Keeps::Count {
                counter: kept.counter.clone(),
                of: kept.counted.clone(),
            },
            stored: match stored {
                Some(stored) => shown(stored),
                None if kept.holds == Holds::Seen => "empty".to_owned(),
                None => shown(&base),
            },
            given: shown(given),
        }))
    }
}
