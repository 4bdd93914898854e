//! A row that is written or only checked, as an item of a transaction or as a separate request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trestle_api::{
    ConditionCheck, Delete, DeleteItem, Put, PutItem, Request, ReturnConsumedCapacity, TransactWriteItem,
    Update, UpdateItem,
};
use trestle_expr::{
    Action, Comparator, Condition, Operand, Path, RequestExpressions, SetOperand, SetValue, Update as Changes,
};
use trestle_hook::Edits;
use trestle_item::{AttributeValue, Item, Map};

use crate::table_shape::RowId;

/// With more changed attributes, the whole item is written: an expression has at most 300 operators.
const EDITS_MAX: usize = 100;

/// A row that was read, and its change.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) table: String,
    pub(crate) key: Item,
    /// An attribute that every row of the table has.
    pub(crate) hash: String,
    /// The row as it was read.
    pub(crate) old: Option<Arc<Item>>,
    pub(crate) becomes: Becomes,
    /// The attributes that must be unchanged since the row was read.
    pub(crate) uses: BTreeSet<String>,
    /// The position in the client's request.
    pub(crate) position: Option<usize>,
}

/// The change of a row.
#[derive(Clone, Debug)]
pub(crate) enum Becomes {
    /// The row stays as it is.
    Unchanged,
    /// This item replaces it.
    Replaced(Arc<Item>),
    /// The row becomes this item; attributes that are unknown here stay.
    Changed(Arc<Item>),
    /// It is removed.
    Removed,
}

impl Part {
    /// Whether it writes anything.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self.becomes, Becomes::Unchanged)
    }

    /// Identifies the row.
    pub(crate) fn id(&self) -> RowId {
        RowId::new(&self.table, &self.key)
    }

    /// Whether both concern the same row.
    pub(crate) fn is_of(&self, other: &Part) -> bool {
        self.table == other.table && self.key == other.key
    }

    /// The condition that the relevant attributes are unchanged.
    fn facts(&self) -> Condition {
        let hash = Path::top(self.hash.as_str());
        let Some(old) = &self.old else {
            return Condition::NotExists(hash);
        };
        let used = self.uses.iter().filter(|name| !self.key.contains_key(name));
        let mut facts: Vec<Condition> = used
            .map(|name| match old.get(name) {
                None => Condition::NotExists(Path::top(name.as_str())),
                Some(value) => Condition::Compare {
                    left: Operand::Path(Path::top(name.as_str())),
                    comparator: Comparator::Equal,
                    right: Operand::Value(value.clone()),
                },
            })
            .collect();
        // An update of a removed row would create a new one, and a condition on absent attributes would not
        // prevent that.
        facts.push(Condition::Exists(hash));
        Condition::And(facts)
    }

    /// Whether the relevant attributes of a row are unchanged.
    pub(crate) fn holds(&self, row: Option<&Item>) -> bool {
        match (&self.old, row) {
            (None, row) => row.is_none(),
            (Some(_), None) => false,
            (Some(old), Some(row)) => self.uses.iter().all(|name| old.get(name) == row.get(name)),
        }
    }

    /// Drops the conditions on attributes that are maps or lists.
    pub(crate) fn forget_documents(&mut self) {
        let Some(old) = &self.old else { return };
        let is_document =
            |value: &AttributeValue| matches!(value, AttributeValue::M(_) | AttributeValue::L(_));
        self.uses.retain(|name| !old.get(name).is_some_and(is_document));
    }

    /// The part as a separate request.
    pub(crate) fn into_request(self, capacity: Option<ReturnConsumedCapacity>) -> Request {
        let words = Words::of(&self);
        let (table_name, key) = (self.table, self.key);
        match words.write {
            WordedWrite::Put(item) => Request::PutItem(PutItem {
                table_name,
                item,
                condition_expression: Some(words.condition),
                expression_attribute_names: words.names,
                expression_attribute_values: words.values,
                return_consumed_capacity: capacity,
                ..PutItem::default()
            }),
            WordedWrite::Update(update_expression) => Request::UpdateItem(UpdateItem {
                table_name,
                key,
                update_expression: Some(update_expression),
                condition_expression: Some(words.condition),
                expression_attribute_names: words.names,
                expression_attribute_values: words.values,
                return_consumed_capacity: capacity,
                ..UpdateItem::default()
            }),
            WordedWrite::Delete | WordedWrite::Check => Request::DeleteItem(DeleteItem {
                table_name,
                key,
                condition_expression: Some(words.condition),
                expression_attribute_names: words.names,
                expression_attribute_values: words.values,
                return_consumed_capacity: capacity,
                ..DeleteItem::default()
            }),
        }
    }

    /// The part as an item of a transaction.
    pub(crate) fn into_transact_item(self) -> TransactWriteItem {
        let words = Words::of(&self);
        let (table_name, key) = (self.table, self.key);
        let mut part = TransactWriteItem::default();
        match words.write {
            WordedWrite::Put(item) => {
                part.put = Some(Box::new(Put {
                    table_name,
                    item,
                    condition_expression: Some(words.condition),
                    expression_attribute_names: words.names,
                    expression_attribute_values: words.values,
                    ..Put::default()
                }));
            }
            WordedWrite::Update(update_expression) => {
                part.update = Some(Box::new(Update {
                    table_name,
                    key,
                    update_expression,
                    condition_expression: Some(words.condition),
                    expression_attribute_names: words.names,
                    expression_attribute_values: words.values,
                    ..Update::default()
                }));
            }
            WordedWrite::Delete => {
                part.delete = Some(Box::new(Delete {
                    table_name,
                    key,
                    condition_expression: Some(words.condition),
                    expression_attribute_names: words.names,
                    expression_attribute_values: words.values,
                    ..Delete::default()
                }));
            }
            WordedWrite::Check => {
                part.condition_check = Some(Box::new(ConditionCheck {
                    table_name,
                    key,
                    condition_expression: words.condition,
                    expression_attribute_names: words.names,
                    expression_attribute_values: words.values,
                    ..ConditionCheck::default()
                }));
            }
        }
        part
    }
}

/// Builds the expressions of a part.
struct Words {
    write: WordedWrite,
    condition: String,
    names: Option<BTreeMap<String, String>>,
    values: Option<Map>,
}

enum WordedWrite {
    Put(Item),
    Update(String),
    Delete,
    Check,
}

impl Words {
    fn of(part: &Part) -> Self {
        let mut expressions = RequestExpressions::default();
        let condition = expressions.take(part.facts().print(), 'c');
        let write = match (&part.becomes, &part.old) {
            (Becomes::Unchanged, _) => WordedWrite::Check,
            (Becomes::Removed, _) => WordedWrite::Delete,
            (Becomes::Changed(new), Some(old)) => {
                let edits = Edits::between(old, new);
                match edits.set.len() + edits.remove.len() {
                    0 => WordedWrite::Check,
                    1..=EDITS_MAX => WordedWrite::Update(expressions.take(changes(edits).print(), 'u')),
                    _ => WordedWrite::Put((**new).clone()),
                }
            }
            (Becomes::Changed(new) | Becomes::Replaced(new), _) => WordedWrite::Put((**new).clone()),
        };
        let (names, values) = expressions.split();
        Words {
            write,
            condition,
            names,
            values,
        }
    }
}

/// Changes of single attributes as an update.
fn changes(edits: Edits) -> Changes {
    let set = edits
        .set
        .into_iter()
        .map(|(name, value)| Action::Set(Path::top(name), SetValue::Operand(SetOperand::Value(value))));
    let remove = edits
        .remove
        .into_iter()
        .map(|name| Action::Remove(Path::top(name)));
    Changes::new(set.chain(remove).collect())
}
