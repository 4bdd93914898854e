//! Effects: checks that the names in them exist, and that the rows they write have a key.

use trestle_item::AttributeValue;

use super::Builder;
use crate::access::{AccessPattern, Operation};
use crate::attribute::{Attribute, AttributeKind, Precision};
use crate::draft::{DraftCopy, DraftCounter, DraftEntity, DraftInverse, Name};
use crate::effect::{Amount, Copy, Counter, Effect, Inverse, InverseForm, Once, Pair, Unique};
use crate::entity::Entity;
use crate::kept::kept_in;
use crate::problem::{Placed, listed, suggestion};

impl Builder<'_, '_, '_> {
    pub(super) fn add_effects(&mut self) {
        for draft in &self.draft.entities {
            let Some(at) = self
                .entities
                .iter()
                .position(|entity| entity.name == draft.name.value)
            else {
                continue;
            };
            let Some(entity) = self.entities.get(at).cloned() else {
                continue;
            };
            let effects = self.effects(draft, &entity);
            if let Some(entity) = self.entities.get_mut(at) {
                entity.effects = effects;
            }
        }
        let kept: Vec<_> = self
            .entities
            .iter()
            .map(|entity| kept_in(&self.entities, &entity.name))
            .collect();
        for (entity, kept) in self.entities.iter_mut().zip(kept) {
            entity.kept = kept;
        }
    }

    fn effects(&mut self, draft: &DraftEntity, entity: &Entity) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(head) = &draft.head {
            effects.extend(self.head(head, entity).map(Effect::Head));
        }
        if let Some(history) = &draft.history {
            effects.extend(self.history(history, entity).map(Effect::History));
        }
        for inverse in &draft.inverses {
            effects.extend(self.inverse(inverse, entity).map(Effect::Inverse));
        }
        for counter in &draft.counters {
            effects.extend(self.counter(counter, entity).map(Effect::Counter));
        }
        for unique in &draft.uniques {
            let made = format!("{}.unique.{}", entity.name, unique.name.value);
            let made = self.entities.iter().find(|entity| entity.name == made);
            effects.extend(made.map(|made| {
                Effect::Unique(Unique {
                    name: unique.name.value.clone(),
                    entity: made.name.clone(),
                    attributes: made.identity.clone(),
                })
            }));
        }
        for copy in &draft.copies {
            effects.extend(self.copy(copy, entity).map(Effect::Copy));
        }
        effects.extend(self.entries(draft, entity).into_iter().map(Effect::Entries));
        effects
    }

    /// An attribute that an entity must have.
    pub(super) fn attribute_of<'e>(
        &mut self,
        entity: &'e Entity,
        name: &Name,
        what: &str,
    ) -> Option<&'e Attribute> {
        let found = entity.attribute(&name.value);
        if found.is_none() && !self.draft.unread.contains(&name.value) {
            let help = suggestion(
                &name.value,
                entity.attributes.iter().map(|attribute| attribute.name.as_str()),
            );
            self.problems.error(
                name.at,
                format!(
                    "{what} names `{}`, which is no attribute of `{}`",
                    name.value, entity.name
                ),
                help,
            );
        }
        found
    }

    pub(super) fn is_value_of(
        &mut self,
        entity: &Entity,
        name: &Name,
        value: &Placed<AttributeValue>,
        what: &str,
    ) -> bool {
        let Some(attribute) = self.attribute_of(entity, name, what) else {
            return false;
        };
        match attribute.check(&value.value) {
            Ok(()) => true,
            Err(reason) => {
                self.problems.error(
                    value.at,
                    format!("{what}: `{}` {reason}", name.value),
                    format!("write a value of type {}", attribute.kind.name()),
                );
                false
            }
        }
    }

    /// An entity that an effect writes to: one whose rows no other effect determines.
    fn written_entity(&mut self, name: &Name, what: &str) -> Option<Entity> {
        let at = self.entity_named(name, what)?;
        let other = self.entities.get(at)?.clone();
        if let Some(of) = other.role.follows() {
            self.problems.error(
                name.at,
                format!(
                    "{what} writes to `{}`, whose rows follow those of `{of}`",
                    other.name
                ),
                "name an entity of its own",
            );
            return None;
        }
        Some(other)
    }

    fn inverse(&mut self, draft: &DraftInverse, entity: &Entity) -> Option<Inverse> {
        let what = format!("entity `{}`: inverse `{}`", entity.name, draft.name.value);
        let other = self.written_entity(draft.entity.as_ref()?, &what)?;
        let form = match (&draft.of, &draft.set) {
            (Some(of), Some(set)) => self.set_form(of, set, entity, &other, &what)?,
            (None, None) => InverseForm::Row {
                with: self.row_form(draft, entity, &other, &what)?,
            },
            _ => {
                self.problems.error(
                    draft.name.at,
                    format!("{what} has only one of `of` and `set`"),
                    "give both to keep a set, or neither to keep a row for each row",
                );
                return None;
            }
        };
        Some(Inverse {
            name: draft.name.value.clone(),
            entity: other.name,
            form,
        })
    }

    /// Each row has its own row on the other side.
    fn row_form(
        &mut self,
        draft: &DraftInverse,
        entity: &Entity,
        other: &Entity,
        what: &str,
    ) -> Option<Vec<Pair>> {
        let pairs = self.pairs(&draft.with, entity, other, draft.name.at, what)?;
        let told = |name: &&String| {
            let mut identifying = pairs.iter().filter(|pair| other.identity.contains(&pair.theirs));
            !identifying.any(|pair| pair.ours == **name)
        };
        let untold: Vec<&str> = entity.identity.iter().filter(told).map(String::as_str).collect();
        if untold.is_empty() {
            return Some(pairs);
        }
        self.problems.error(
            draft.name.at,
            format!(
                "{what}: several rows of `{}` would share one row of `{}`, which is not identified by {}",
                entity.name,
                other.name,
                listed(untold)
            ),
            format!(
                "identify `{}` by all that identifies `{}`, or count with a `counter`",
                other.name, entity.name
            ),
        );
        None
    }

    fn set_form(
        &mut self,
        of: &Name,
        set: &Name,
        entity: &Entity,
        other: &Entity,
        what: &str,
    ) -> Option<InverseForm> {
        let of_kind = self.attribute_of(entity, of, what)?.kind;
        let set_kind = self.attribute_of(other, set, what)?.kind;
        if set_kind != AttributeKind::StringSet {
            self.problems.error(
                set.at,
                format!(
                    "{what}: `{}` of `{}` is of type {}",
                    set.value,
                    other.name,
                    set_kind.name()
                ),
                "make it a string-set",
            );
        }
        let many = of_kind == AttributeKind::StringSet;
        if !many && of_kind != AttributeKind::String {
            self.problems.error(
                of.at,
                format!("{what}: `{}` is of type {}", of.value, of_kind.name()),
                "make it a string or a string-set",
            );
        }
        let member = self.single_identity(entity, of.at, what);
        let theirs = self.single_identity(other, set.at, what);
        theirs?;
        Some(InverseForm::Set {
            of: of.value.clone(),
            many,
            member: member?,
            set: set.value.clone(),
        })
    }

    fn single_identity(&mut self, entity: &Entity, at: usize, what: &str) -> Option<String> {
        let single = match entity.identity.as_slice() {
            [name]
                if entity
                    .attribute(name)
                    .is_some_and(|attribute| attribute.kind == AttributeKind::String) =>
            {
                Some(name.clone())
            }
            _ => None,
        };
        if single.is_none() {
            self.problems.error(
                at,
                format!(
                    "{what} keeps sets of identities, but `{}` is not identified by one string",
                    entity.name
                ),
                "use the row form: leave out `of` and `set`",
            );
        }
        single
    }

    /// Finds the other entity's row from a row of this one: each of its identifying attributes is an
    /// attribute of this entity.
    fn pairs(
        &mut self,
        with: &[(Name, Name)],
        entity: &Entity,
        other: &Entity,
        at: usize,
        what: &str,
    ) -> Option<Vec<Pair>> {
        let mut pairs = Vec::new();
        let mut sound = true;
        for (theirs, ours) in with {
            sound &= self.attribute_of(other, theirs, what).is_some();
            sound &= self.attribute_of(entity, ours, what).is_some();
            pairs.push(Pair {
                theirs: theirs.value.clone(),
                ours: ours.value.clone(),
            });
        }
        for name in &other.identity {
            if pairs.iter().any(|pair| pair.theirs == *name) {
                continue;
            }
            if entity.attribute(name).is_none() {
                self.problems.error(
                    at,
                    format!(
                        "{what} cannot find the row of `{}`: `{}` has no attribute `{name}`",
                        other.name, entity.name
                    ),
                    format!(
                        "say which attribute it is: `with = {{ {} = \"…\" }}`",
                        super::entity::toml_key(name)
                    ),
                );
                sound = false;
            }
            pairs.push(Pair {
                theirs: name.clone(),
                ours: name.clone(),
            });
        }
        for pair in &pairs {
            sound &= self.check_same_kind(pair, entity, other, at, what);
        }
        sound.then_some(pairs)
    }

    fn check_same_kind(
        &mut self,
        pair: &Pair,
        entity: &Entity,
        other: &Entity,
        at: usize,
        what: &str,
    ) -> bool {
        let (Some(theirs), Some(ours)) = (other.attribute(&pair.theirs), entity.attribute(&pair.ours)) else {
            return true;
        };
        if theirs.kind == ours.kind {
            return self.check_same_precision(theirs, ours, (other, entity), at, what);
        }
        let message = format!(
            "{what}: `{}` of `{}` is of type {}, but `{}` of `{}` is of type {}",
            theirs.name,
            other.name,
            theirs.kind.name(),
            ours.name,
            entity.name,
            ours.kind.name()
        );
        self.problems.error(at, message, "give both the same type");
        false
    }

    /// One moment has one text on both sides.
    fn check_same_precision(
        &mut self,
        theirs: &Attribute,
        ours: &Attribute,
        of: (&Entity, &Entity),
        at: usize,
        what: &str,
    ) -> bool {
        if theirs.precision == ours.precision {
            return true;
        }
        let said = |attribute: &Attribute| match attribute.precision {
            Some(precision) => format!("has the precision {:?}", precision.name()),
            None => "has no precision".to_owned(),
        };
        let message = format!(
            "{what}: the timestamp `{}` of `{}` {}, but `{}` of `{}` {}",
            theirs.name,
            of.0.name,
            said(theirs),
            ours.name,
            of.1.name,
            said(ours)
        );
        let precision = theirs.precision.or(ours.precision).map_or("ms", Precision::name);
        let help = format!("give both the same: `{{ type = \"timestamp\", precision = {precision:?} }}`");
        self.problems.error(at, message, help);
        false
    }

    fn counter(&mut self, draft: &DraftCounter, entity: &Entity) -> Option<Counter> {
        let what = format!("entity `{}`: counter `{}`", entity.name, draft.name.value);
        let other = self.written_entity(draft.entity.as_ref()?, &what)?;
        let counted = draft.attribute.as_ref()?;
        if other.identity.contains(&counted.value) {
            self.problems.error(
                counted.at,
                format!(
                    "{what} counts in `{}`, which identifies a row of `{}`",
                    counted.value, other.name
                ),
                "count in another attribute",
            );
        }
        let kind = self.attribute_of(&other, counted, &what)?.kind;
        if !kind.is_numeric() {
            self.problems.error(
                counted.at,
                format!(
                    "{what}: `{}` of `{}` is of type {}",
                    counted.value,
                    other.name,
                    kind.name()
                ),
                "make it an integer or a number",
            );
        }
        for (name, value) in &draft.only {
            self.is_value_of(entity, name, value, &what);
        }
        Some(Counter {
            name: draft.name.value.clone(),
            with: self.pairs(&draft.with, entity, &other, draft.name.at, &what)?,
            attribute: counted.value.clone(),
            by: self.amount(draft, entity, &what),
            only: draft
                .only
                .iter()
                .map(|(name, value)| (name.value.clone(), value.value.clone()))
                .collect(),
            once: self.once(draft, entity, &other, &what)?,
            entity: other.name,
        })
    }

    fn amount(&mut self, draft: &DraftCounter, entity: &Entity, what: &str) -> Amount {
        match &draft.by {
            None => Amount::Fixed(1),
            Some(Placed {
                value: Ok(number), ..
            }) => Amount::Fixed(*number),
            Some(Placed { value: Err(name), at }) => {
                let attribute = self.attribute_of(entity, &Placed::new(name.clone(), *at), what);
                if let Some(attribute) = attribute.filter(|attribute| !attribute.kind.is_numeric()) {
                    self.problems.error(
                        *at,
                        format!(
                            "{what}: `by` is `{name}`, which is of type {}",
                            attribute.kind.name()
                        ),
                        "name a numeric attribute",
                    );
                }
                Amount::Attribute(name.clone())
            }
        }
    }

    fn once(&mut self, draft: &DraftCounter, entity: &Entity, other: &Entity, what: &str) -> Option<Once> {
        for name in &draft.once_by {
            let kind = self.attribute_of(entity, name, what)?.kind;
            if !kind.has_text() {
                self.problems.error(
                    name.at,
                    format!(
                        "{what}: `once_by` is `{}`, and type {} cannot name an event",
                        name.value,
                        kind.name()
                    ),
                    "use a string, a number, a boolean or a timestamp",
                );
            }
        }
        match (draft.once_by.as_slice(), &draft.seen) {
            ([], None) => Some(Once::Row),
            ([], Some(seen)) => {
                self.problems.error(
                    seen.at,
                    format!("{what} has `seen`, but no `once_by`"),
                    "name the attributes that identify an event: `once_by = [\"…\"]`",
                );
                None
            }
            (_, None) => {
                self.problems.error(
                    draft.name.at,
                    format!("{what} has `once_by`, but nowhere to remember the events"),
                    format!("add `seen = \"…\"`, a string-set of `{}`", other.name),
                );
                None
            }
            (names, Some(seen)) => {
                let kind = self.attribute_of(other, seen, what)?.kind;
                if kind != AttributeKind::StringSet {
                    self.problems.error(
                        seen.at,
                        format!(
                            "{what}: `{}` of `{}` is of type {}",
                            seen.value,
                            other.name,
                            kind.name()
                        ),
                        "make it a string-set",
                    );
                }
                Some(Once::Event {
                    attributes: names.iter().map(|name| name.value.clone()).collect(),
                    seen: seen.value.clone(),
                })
            }
        }
    }

    fn copy(&mut self, draft: &DraftCopy, entity: &Entity) -> Option<Copy> {
        let what = format!("entity `{}`: copy `{}`", entity.name, draft.name.value);
        let from = self.entity_named(draft.from.as_ref()?, &what)?;
        let from = self.entities.get(from)?.clone();
        let mut attributes = Vec::new();
        for (theirs, ours) in &draft.attributes {
            self.attribute_of(&from, theirs, &what);
            self.attribute_of(entity, ours, &what);
            let pair = Pair {
                theirs: theirs.value.clone(),
                ours: ours.value.clone(),
            };
            self.check_same_kind(&pair, entity, &from, theirs.at, &what);
            attributes.push(pair);
        }
        Some(Copy {
            name: draft.name.value.clone(),
            with: self.pairs(&draft.with, entity, &from, draft.name.at, &what)?,
            attributes,
            in_step: draft.in_step.as_ref().map(|name| name.value.clone()),
            background: draft.background.as_ref().is_some_and(|flag| flag.value),
            from: from.name,
        })
    }

    /// The finder of the copies must find rows of this entity, from attributes of the original.
    pub(super) fn check_copies(&mut self, access: &[AccessPattern]) {
        for draft in &self.draft.entities {
            for copy in &draft.copies {
                let what = format!("entity `{}`: copy `{}`", draft.name.value, copy.name.value);
                let background = copy.background.as_ref().filter(|flag| flag.value);
                let Some(in_step) = &copy.in_step else {
                    if let Some(flag) = background {
                        self.problems.error(
                            flag.at,
                            format!("{what} has `background`, but nothing finds the copies when the original changes"),
                            "name an access pattern with `in_step`, or leave `background` out",
                        );
                    }
                    continue;
                };
                let Some(pattern) = access.iter().find(|pattern| pattern.name == in_step.value) else {
                    if !self
                        .draft
                        .access
                        .iter()
                        .any(|pattern| pattern.name.value == in_step.value)
                    {
                        let help =
                            suggestion(&in_step.value, access.iter().map(|pattern| pattern.name.as_str()));
                        self.problems.error(
                            in_step.at,
                            format!("{what}: there is no access pattern `{}`", in_step.value),
                            help,
                        );
                    }
                    continue;
                };
                self.check_finder(pattern, copy, &draft.name.value, in_step.at, &what);
            }
        }
    }

    fn check_finder(
        &mut self,
        pattern: &AccessPattern,
        copy: &DraftCopy,
        entity: &str,
        at: usize,
        what: &str,
    ) {
        if pattern.operation == Operation::Scan {
            self.problems.error(
                at,
                format!(
                    "{what}: access pattern `{}` reads everything on every change of an original",
                    pattern.name
                ),
                "name one that is a Get or a Query",
            );
        }
        if !pattern.returns.iter().any(|name| name == entity) {
            self.problems.error(
                at,
                format!(
                    "{what}: access pattern `{}` does not return `{entity}`",
                    pattern.name
                ),
                "name one that finds the copies",
            );
        }
        let from = copy
            .from
            .as_ref()
            .and_then(|name| self.entities.iter().find(|other| other.name == name.value));
        let Some(from) = from else { return };
        let lacking: Vec<String> = pattern
            .parameters
            .iter()
            .map(|parameter| parameter.name.clone())
            .filter(|name| from.attribute(name).is_none())
            .collect();
        let changing: Vec<String> = pattern
            .parameters
            .iter()
            .map(|parameter| parameter.name.clone())
            .filter(|name| !from.identity.contains(name) && !lacking.contains(name))
            .filter(|_| copy.background.as_ref().is_some_and(|flag| flag.value))
            .collect();
        for name in lacking {
            self.problems.error(
                at,
                format!(
                    "{what}: access pattern `{}` has the parameter `{name}`, which is no attribute of `{}`",
                    pattern.name, from.name
                ),
                "name the pattern's parameters as the original's attributes",
            );
        }
        // The original may change again before all copies are found.
        for name in changing {
            self.problems.error(
                at,
                format!(
                    "{what} follows in the background, but access pattern `{}` finds the copies by `{name}`, which may \
                     change",
                    pattern.name
                ),
                format!("name one whose parameters are identifying attributes of `{}`", from.name),
            );
        }
    }
}
