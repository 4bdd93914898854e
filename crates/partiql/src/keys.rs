//! The key attributes with which a statement's conditions are compared.

use trestle_expr::{Comparator, Condition, KeyAttribute, Operand, Path};
use trestle_item::{AttributeValue, Item};

use crate::error::{Result, StatementError};

/// The key of a table or index, as far as PartiQL knows keys: one attribute to find the partition, and perhaps
/// one to sort by.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    pub(crate) hash: &'a KeyAttribute,
    pub(crate) range: Option<&'a KeyAttribute>,
}

impl<'a> Keys<'a> {
    /// The keys of a table or index. Keys of several attributes are refused, as DynamoDB refuses them here.
    pub fn new(hash: &'a [KeyAttribute], range: &'a [KeyAttribute]) -> Result<Self> {
        match (hash, range) {
            ([hash], []) => Ok(Self { hash, range: None }),
            ([hash], [range]) => Ok(Self {
                hash,
                range: Some(range),
            }),
            _ => Err(StatementError::new(
                "PartiQL statements cannot be executed on tables with multi-attribute HASH keys \
                 or multi-attribute RANGE keys.",
            )),
        }
    }

    /// The key attributes, that of the partition first.
    pub fn attributes(self) -> impl Iterator<Item = &'a KeyAttribute> {
        std::iter::once(self.hash).chain(self.range)
    }

    /// Key attributes are scalars: a path into one is a mistake.
    pub(crate) fn check_paths<'p>(self, paths: impl IntoIterator<Item = &'p Path>) -> Result<()> {
        let into_key =
            |path: &&Path| path.is_nested() && self.attributes().any(|key| key.name == path.attribute);
        match paths.into_iter().find(into_key) {
            None => Ok(()),
            Some(path) => Err(StatementError::new(format!(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: {}",
                path.attribute
            ))),
        }
    }

    /// The key of one item, if every key attribute is given by an equality; and the other conditions.
    pub(crate) fn single_item<'c>(self, all: &[&'c Condition]) -> Result<(Option<Item>, Vec<&'c Condition>)> {
        let mut key = Item::new();
        let mut rest = Vec::new();
        for condition in all {
            match self.equality(condition) {
                Some((attribute, value)) => {
                    check_type(attribute, value)?;
                    let before = key.insert(attribute.name.clone(), value.clone());
                    if before.is_some_and(|before| before != *value) {
                        return Err(StatementError::new(format!(
                            "Multiple conditions on same key {}. Only single item Update/Insert/Delete are supported",
                            attribute.name
                        )));
                    }
                }
                None => rest.push(*condition),
            }
        }
        let complete = self
            .attributes()
            .all(|attribute| key.contains_key(&attribute.name));
        Ok((complete.then_some(key), rest))
    }

    /// The key attribute and value of an equality.
    pub(crate) fn equality<'c>(
        self,
        condition: &'c Condition,
    ) -> Option<(&'a KeyAttribute, &'c AttributeValue)> {
        let Condition::Compare {
            left,
            comparator: Comparator::Equal,
            right,
        } = condition
        else {
            return None;
        };
        let (path, value) = match (left, right) {
            (Operand::Path(path), Operand::Value(value)) | (Operand::Value(value), Operand::Path(path)) => {
                (path, value)
            }
            _ => return None,
        };
        self.attributes()
            .find(|attribute| is_attribute(path, attribute))
            .map(|attribute| (attribute, value))
    }
}

/// Whether a path is the key attribute itself.
pub(crate) fn is_attribute(path: &Path, attribute: &KeyAttribute) -> bool {
    !path.is_nested() && path.attribute == attribute.name
}

/// Refuses a value that cannot be in the key attribute.
pub(crate) fn check_type(attribute: &KeyAttribute, value: &AttributeValue) -> Result<()> {
    match value.scalar_type() {
        Some(kind) if kind == attribute.kind => Ok(()),
        Some(_) => Err(StatementError::new(format!(
            "Key attribute's data type should match its data type in table's schema: Key {}",
            attribute.name
        ))),
        None => Err(StatementError::new(format!(
            "Key value must be of type S, N, or B. Key name: {}, Key type: {}",
            attribute.name,
            value.type_name()
        ))),
    }
}

/// The conditions that must all hold, without the `AND`s between them.
pub(crate) fn conjuncts(condition: &Condition) -> Vec<&Condition> {
    match condition {
        Condition::And(all) => all.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

/// The conditions joined by `AND` again; `None` if there are none.
pub(crate) fn conjunction(all: &[&Condition]) -> Option<Condition> {
    match all {
        [] => None,
        [only] => Some((*only).clone()),
        several => Some(Condition::And(several.iter().map(|one| (*one).clone()).collect())),
    }
}
