//! Access patterns: compiled to one Get, one Query, or an explicitly requested Scan.

mod select;
mod strays;

use trestle_expr::KeyAttribute;

use super::Builder;
use crate::access::{AccessPattern, FilterTest, KeyTest, KeyTestOp, Operation, Parameter, estimate};
use crate::attribute::{AttributeKind, semver};
use crate::draft::{DraftAccess, DraftTest, Name, Operand, Test};
use crate::effect::Effect;
use crate::entity::Entity;
use crate::model::{Index, KeySchema, Table};
use crate::problem::{listed, suggestion};
use select::Selection;

/// What an access pattern reads.
pub(super) struct Target {
    pub(super) table: Table,
    pub(super) index: Option<Index>,
    pub(super) entities: Vec<Entity>,
}

impl Target {
    fn key(&self) -> &KeySchema {
        self.index.as_ref().map_or(&self.table.key, |index| &index.key)
    }

    fn shown(&self) -> String {
        match &self.index {
            Some(index) => format!("index `{}` of table `{}`", index.name, self.table.name),
            None => format!("table `{}`", self.table.name),
        }
    }

    fn holds(&self, attribute: &str) -> bool {
        self.index
            .as_ref()
            .is_none_or(|index| crate::access::is_in_index(attribute, &self.table, index))
    }
}

impl Builder<'_, '_, '_> {
    pub(super) fn access_patterns(&mut self) -> Vec<AccessPattern> {
        let drafts = &self.draft.access;
        drafts
            .iter()
            .filter_map(|draft| self.access_pattern(draft))
            .collect()
    }

    fn access_pattern(&mut self, draft: &DraftAccess) -> Option<AccessPattern> {
        let what = format!("access `{}`", draft.name.value);
        let target = self.target(draft, &what)?;
        if !draft.whole {
            return None;
        }
        let parameters = self.check_tests(draft, &target, &what)?;
        let mut selection = self.selection(draft, &target, &what)?;
        let operation = self.operation(draft, &target, &selection, &what)?;
        if operation == Operation::Scan {
            selection = Selection::default();
        }
        let filter = self.filter(draft, &target, &selection, operation, &what)?;
        let consistent = self.consistency(draft, &target, &what);
        let (strays, tags) = self.strays(draft, &target, &selection.tests, operation, &what);
        let is_one_row = selection.is_one_row(&target);
        let sorted_by = target.key().range.iter().filter(|_| !is_one_row);
        let entities: Vec<&Entity> = target.entities.iter().collect();
        let cost = estimate(
            is_one_row,
            &entities,
            &target.table,
            target.index.as_ref(),
            draft.limit,
            consistent,
        );
        Some(AccessPattern {
            name: draft.name.value.clone(),
            about: draft.about.clone(),
            operation,
            table_name: target.table.table_name.clone(),
            index: target.index.as_ref().map(|index| index.name.clone()),
            sorted_by: sorted_by.map(|key| key.name.clone()).collect(),
            key: selection.tests,
            filter,
            tags,
            returns: target.entities.iter().map(|entity| entity.name.clone()).collect(),
            parameters,
            descending: draft.descending,
            limit: draft.limit,
            consistent,
            strays,
            late: target.entities.iter().flat_map(late).collect(),
            cost,
        })
    }

    fn target(&mut self, draft: &DraftAccess, what: &str) -> Option<Target> {
        match (&draft.get, &draft.query) {
            (Some(entity), None) => self.get_target(draft, entity, what),
            (None, Some(place)) => self.query_target(draft, place, what),
            _ => {
                self.problems.error(
                    draft.name.at,
                    format!("{what} does not say what it reads"),
                    "add either `get = \"entity\"` or `query = \"table or index\"`",
                );
                None
            }
        }
    }

    fn get_target(&mut self, draft: &DraftAccess, name: &Name, what: &str) -> Option<Target> {
        let entity = self.entity_named(name, what)?;
        let entity = self.entities.get(entity)?.clone();
        if let Some(other) = draft.returns.iter().find(|other| other.value != name.value) {
            self.problems.error(
                other.at,
                format!("{what} gets `{}` and returns `{}`", name.value, other.value),
                "leave out `returns`",
            );
        }
        Some(Target {
            table: self.tables.get(entity.table)?.clone(),
            index: None,
            entities: vec![entity],
        })
    }

    fn query_target(&mut self, draft: &DraftAccess, place: &Name, what: &str) -> Option<Target> {
        let (table, index) = self.place_named(place, what)?;
        if draft.returns.is_empty() {
            let of_table: Vec<&str> = table
                .entities
                .iter()
                .filter_map(|at| self.entities.get(*at))
                .map(Entity::name)
                .collect();
            self.problems.error(
                draft.name.at,
                format!("{what} does not say what it returns"),
                format!("add `returns = \"…\"`, or several: {}", listed(of_table)),
            );
            return None;
        }
        let mut entities = Vec::new();
        for name in &draft.returns {
            let at = self.entity_named(name, what)?;
            let entity = self.entities.get(at)?.clone();
            if !table.entities.contains(&at) {
                self.problems.error(
                    name.at,
                    format!(
                        "{what} returns `{}`, which is not in table `{}`",
                        name.value, table.name
                    ),
                    "query the table or index it is in",
                );
                return None;
            }
            entities.push(entity);
        }
        Some(Target {
            table,
            index,
            entities,
        })
    }

    /// A table, an index, or `table.index`.
    fn place_named(&mut self, place: &Name, what: &str) -> Option<(Table, Option<Index>)> {
        let mut found: Vec<(Table, Option<Index>)> = Vec::new();
        for table in &self.tables {
            if table.name == place.value {
                found.push((table.clone(), None));
            }
            for index in &table.indexes {
                let full = format!("{}.{}", table.name, index.name);
                if index.name == place.value || full == place.value {
                    found.push((table.clone(), Some(index.clone())));
                }
            }
        }
        if found.len() == 1 {
            return found.pop();
        }
        let names: Vec<String> = self
            .tables
            .iter()
            .flat_map(|table| {
                std::iter::once(table.name.clone())
                    .chain(table.indexes.iter().map(|index| index.name.clone()))
            })
            .collect();
        if found.is_empty() {
            let help = suggestion(&place.value, names.iter().map(String::as_str));
            self.problems.error(
                place.at,
                format!("{what} queries `{}`, which is no table and no index", place.value),
                help,
            );
        } else {
            self.problems.error(
                place.at,
                format!(
                    "{what} queries `{}`, of which there are {}",
                    place.value,
                    found.len()
                ),
                "write `table.index`",
            );
        }
        None
    }

    /// Checks that tested attributes exist in every entity, that values have their type, and that each
    /// parameter has one type.
    fn check_tests(&mut self, draft: &DraftAccess, target: &Target, what: &str) -> Option<Vec<Parameter>> {
        let mut parameters: Vec<Parameter> = Vec::new();
        let mut sound = true;
        for test in &draft.tests {
            for entity in &target.entities {
                sound &= self.check_test(test, entity, what);
            }
            let kind = target
                .entities
                .first()
                .and_then(|entity| entity.attribute(&test.attribute.value))
                .map(|attribute| attribute.kind);
            let whole = !matches!(test.test, Test::BeginsWith(_));
            for name in test.test.operands().filter_map(Operand::parameter) {
                let Some(kind) = kind else { continue };
                match parameters.iter().find(|known| known.name == name) {
                    None => parameters.push(Parameter {
                        name: name.to_owned(),
                        kind,
                        attribute: whole.then(|| test.attribute.value.clone()),
                    }),
                    Some(known) if known.kind == kind => {}
                    Some(known) => {
                        let message = format!(
                            "{what} uses the parameter `{name}` as {} and as {}",
                            known.kind.name(),
                            kind.name()
                        );
                        self.problems
                            .error(test.attribute.at, message, "use two parameters");
                        sound = false;
                    }
                }
            }
        }
        sound.then_some(parameters)
    }

    fn check_test(&mut self, test: &DraftTest, entity: &Entity, what: &str) -> bool {
        let name = &test.attribute;
        let Some(attribute) = entity.attribute(&name.value) else {
            if self.draft.unread.contains(&name.value) {
                return false;
            }
            let (message, help) = match entity.key_template(&name.value) {
                Some(template) => (
                    format!(
                        "{what} tests `{}`, which is derived from {:?}",
                        name.value, template.source
                    ),
                    format!("test the attributes it is made of: {}", listed(template.fields())),
                ),
                None => (
                    format!(
                        "{what} tests `{}`, which is no attribute of `{}`",
                        name.value, entity.name
                    ),
                    suggestion(
                        &name.value,
                        entity.attributes.iter().map(|attribute| attribute.name.as_str()),
                    ),
                ),
            };
            self.problems.error(name.at, message, help);
            return false;
        };
        let mut sound = true;
        if matches!(test.test, Test::BeginsWith(_))
            && !matches!(
                attribute.kind,
                AttributeKind::String | AttributeKind::Timestamp | AttributeKind::Semver
            )
        {
            self.problems.error(
                name.at,
                format!(
                    "{what}: `begins_with` on `{}`, which is of type {}",
                    name.value,
                    attribute.kind.name()
                ),
                "only a string begins with something",
            );
            sound = false;
        }
        if test.test.needs_order() && !attribute.kind.is_ordered() {
            self.problems.error(
                name.at,
                format!(
                    "{what} compares `{}`, and type {} has no order",
                    name.value,
                    attribute.kind.name()
                ),
                "test it for equality",
            );
            sound = false;
        }
        let partial = matches!(test.test, Test::BeginsWith(_));
        for value in test.test.operands().filter_map(Operand::value) {
            let checked = match (partial, attribute.kind, value.as_s()) {
                (true, AttributeKind::Semver, Some(text)) => semver::key_beginning(text).map(drop),
                (true, ..) => Ok(()),
                (false, ..) => attribute.check(value),
            };
            if let Err(reason) = checked {
                self.problems.error(
                    name.at,
                    format!("{what}: `{}` {reason}", name.value),
                    format!("compare it with a value of type {}", attribute.kind.name()),
                );
                sound = false;
            }
        }
        sound
    }

    fn operation(
        &mut self,
        draft: &DraftAccess,
        target: &Target,
        selection: &Selection,
        what: &str,
    ) -> Option<Operation> {
        let complete = selection.missing.is_empty();
        if draft.get.is_some() {
            return self.get_operation(draft, target, selection, what);
        }
        if complete {
            if draft.scan {
                self.problems.warning(
                    draft.name.at,
                    format!("{what} may scan, but need not: it is one Query"),
                    "remove `scan = true`",
                );
            }
            return Some(Operation::Query);
        }
        let missing = listed(selection.missing.iter().map(String::as_str));
        if draft.scan {
            self.problems.warning(
                draft.name.at,
                format!(
                    "{what} scans {}: it does not say what {missing} is",
                    target.shown()
                ),
                "it costs more with every row; give it an index if it is used often",
            );
            return Some(Operation::Scan);
        }
        let mut help = format!("say what {missing} is under `where`");
        if let Some(better) = self.served_by(draft, target) {
            help.push_str(&format!(", or write `query = \"{better}\"`"));
        }
        help.push_str(", or allow it with `scan = true`");
        self.problems.error(
            draft.name.at,
            format!(
                "{what} would scan {}: it does not say what {missing} is",
                target.shown()
            ),
            help,
        );
        None
    }

    fn get_operation(
        &mut self,
        draft: &DraftAccess,
        target: &Target,
        selection: &Selection,
        what: &str,
    ) -> Option<Operation> {
        if selection.is_one_row(target) {
            return Some(Operation::GetItem);
        }
        let entity = target.entities.first()?;
        let untested: Vec<&str> = entity
            .identity
            .iter()
            .map(String::as_str)
            .filter(|name| {
                !draft
                    .tests
                    .iter()
                    .any(|test| test.attribute.value == *name && matches!(test.test, Test::Eq(_)))
            })
            .collect();
        self.problems.error(
            draft.name.at,
            format!(
                "{what} gets one `{}`, but does not say what {} is",
                entity.name,
                listed(untested.iter().copied())
            ),
            format!(
                "a Get needs {}; for several rows write `query = \"{}\"`",
                listed(entity.identity.iter().map(String::as_str)),
                target.table.name
            ),
        );
        None
    }

    /// Another table or index that could answer.
    fn served_by(&self, draft: &DraftAccess, target: &Target) -> Option<String> {
        let schemas = std::iter::once((&target.table.name, &target.table.key))
            .chain(target.table.indexes.iter().map(|index| (&index.name, &index.key)));
        let mut serving = schemas.filter(|(_, key)| {
            target
                .entities
                .iter()
                .all(|entity| select::can_serve(entity, key, &draft.tests))
        });
        serving.next().map(|(name, _)| name.clone())
    }

    /// The tests that the key does not cover.
    fn filter(
        &mut self,
        draft: &DraftAccess,
        target: &Target,
        selection: &Selection,
        operation: Operation,
        what: &str,
    ) -> Option<Vec<FilterTest>> {
        let mut filter = Vec::new();
        for test in &draft.tests {
            let name = &test.attribute.value;
            if selection.used.contains(name) {
                continue;
            }
            let attribute = target.entities.first()?.attribute(name)?.clone();
            let is_version = attribute.kind == AttributeKind::Semver;
            let is_bound = || selection.tests.iter().any(|known| select::compares(known, name));
            let remaining = match is_version {
                true => remaining_of_version(&test.test, is_bound()),
                false => Some(test.test.clone()),
            };
            let fault = if operation == Operation::GetItem {
                Some((
                    "a Get has no filter".to_owned(),
                    "leave it out, or write a `query`".to_owned(),
                ))
            } else if operation == Operation::Query && target.key().has(name) {
                Some((
                    format!(
                        "`{name}` is a key of {}, and the condition on it cannot be part of one Query",
                        target.shown()
                    ),
                    "compare a sort key with one bound or `between`, and key attributes from the first on"
                        .to_owned(),
                ))
            } else if !target.holds(name) {
                Some((
                    format!("{} does not project `{name}`", target.shown()),
                    format!("add `{name}` to its `project`"),
                ))
            } else if remaining.is_none() {
                Some((
                    "versions sort only in a sort key, behind what is known of it".to_owned(),
                    format!("put `{{{name}}}` into the sort key of the table or of an index, and query that"),
                ))
            } else {
                None
            };
            if let Some((reason, help)) = fault {
                self.problems.error(
                    test.attribute.at,
                    format!("{what} tests `{name}`, but {reason}"),
                    help,
                );
                return None;
            }
            filter.extend(remaining.map(|test| FilterTest { attribute, test }));
        }
        Some(filter)
    }

    fn consistency(&mut self, draft: &DraftAccess, target: &Target, what: &str) -> bool {
        let Some(consistent) = draft.consistent.as_ref().filter(|flag| flag.value) else {
            return false;
        };
        if target.index.as_ref().is_some_and(|index| !index.local) {
            self.problems.error(
                consistent.at,
                format!(
                    "{what} reads {} consistently, which a global index cannot",
                    target.shown()
                ),
                "remove `consistent`, or query the table or a local index",
            );
        }
        true
    }
}

impl<T> Test<T> {
    pub(super) fn operands(&self) -> impl Iterator<Item = &T> {
        let (several, one, two): (&[T], Option<&T>, Option<&T>) = match self {
            Test::Eq(value)
            | Test::Ne(value)
            | Test::Lt(value)
            | Test::Le(value)
            | Test::Gt(value)
            | Test::Ge(value)
            | Test::BeginsWith(value) => (&[], Some(value), None),
            Test::Between(low, high) => (&[], Some(low), Some(high)),
            Test::OneOf(values) => (values, None, None),
            Test::Exists(_) => (&[], None, None),
        };
        several.iter().chain(one).chain(two)
    }

    fn needs_order(&self) -> bool {
        matches!(
            self,
            Test::Lt(_) | Test::Le(_) | Test::Gt(_) | Test::Ge(_) | Test::Between(..)
        )
    }
}

/// The filter on a version. Its text does not sort by version, so a comparison that the key does not make
/// cannot be filtered.
fn remaining_of_version(test: &Test<Operand>, is_bound: bool) -> Option<Test<Operand>> {
    match test {
        // The key condition includes its bound.
        Test::Lt(operand) | Test::Gt(operand) if is_bound => Some(Test::Ne(operand.clone())),
        Test::BeginsWith(_) => None,
        test if test.needs_order() => None,
        test => Some(test.clone()),
    }
}

impl Operand {
    fn parameter(&self) -> Option<&str> {
        match self {
            Operand::Parameter(name) => Some(name),
            Operand::Value(_) => None,
        }
    }

    fn value(&self) -> Option<&trestle_item::AttributeValue> {
        match self {
            Operand::Value(value) => Some(value),
            Operand::Parameter(_) => None,
        }
    }
}

/// A test of one key attribute.
fn key_test(key: &KeyAttribute, op: KeyTestOp) -> KeyTest {
    KeyTest {
        attribute: key.name.clone(),
        kind: key.kind,
        op,
    }
}

/// The attributes of an entity that follow their originals in the background.
fn late(entity: &Entity) -> Vec<String> {
    let copies = entity.effects.iter().filter_map(|effect| match effect {
        Effect::Copy(copy) if copy.background => Some(copy),
        _ => None,
    });
    let attributes = copies.flat_map(|copy| copy.attributes.iter().map(move |pair| (copy, pair)));
    attributes
        .map(|(copy, pair)| format!("{} of {} follows {}", pair.ours, entity.name, copy.from))
        .collect()
}
