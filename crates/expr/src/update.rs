//! Updates: `UpdateExpression` and `AttributeUpdates`, parsed and applied.

mod apply;
mod parse;
mod sets;

use trestle_item::{AttributeValue, Map};

use crate::cursor::Cursor;
use crate::path::Path;
use crate::projection::Projection;
use crate::{ExprError, Kind, Placeholders, grammar, vocabulary};

/// Changes to an item that do not overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    actions: Vec<Action>,
    dialect: Dialect,
}

/// The origin of an update: the two forms differ in a few rules and texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Expression,
    Legacy,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Puts a value at a path; past the end of a list it is appended.
    Set(Path, SetValue),
    /// Removes the value at a path. Later elements of lists move up.
    Remove(Path),
    /// Adds to a number, or adds elements to a set; a missing value counts as zero or empty.
    Add(Path, AttributeValue),
    /// Removes elements from a set; an empty set disappears.
    Delete(Path, AttributeValue),
}

/// The value of a `SET`. All operands are read from the item as it was before the update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// A value as it is.
    Operand(SetOperand),
    /// The sum of two numbers.
    Plus(SetOperand, SetOperand),
    /// The difference of two numbers.
    Minus(SetOperand, SetOperand),
    /// `list_append`: two lists, one after the other.
    ListAppend(SetOperand, SetOperand),
}

/// A value in a `SET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetOperand {
    /// The item's value at a path.
    Path(Path),
    /// A constant.
    Value(AttributeValue),
    /// `if_not_exists`: the value at the path, or else the other operand.
    IfNotExists(Path, Box<SetOperand>),
}

impl Update {
    /// Parses an `UpdateExpression`.
    pub fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Self, ExprError> {
        let sections = grammar::update(&mut Cursor::new(Kind::Update, text)?)?;
        vocabulary::check_sections(&sections)?;
        let raw: Vec<_> = sections.iter().flat_map(|section| &section.actions).collect();
        Ok(Self {
            actions: parse::actions(placeholders, &raw)?,
            dialect: Dialect::Expression,
        })
    }

    /// An update from actions that were parsed elsewhere. They must not overlap; the caller checks this.
    #[must_use]
    pub fn from_actions(actions: Vec<Action>) -> Self {
        Self::of(actions, Dialect::Expression)
    }

    /// An update with these actions. Their paths must not overlap or conflict: `parse` and the legacy
    /// parameters ensure this.
    #[must_use]
    pub fn new(actions: Vec<Action>) -> Self {
        Self::of(actions, Dialect::Expression)
    }

    pub(crate) fn of(actions: Vec<Action>, dialect: Dialect) -> Self {
        Self { actions, dialect }
    }

    /// The changes, in the order written.
    #[must_use]
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Whether nothing would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Whether there are actions and all of them remove something: such an update does not create an item.
    #[must_use]
    pub fn only_removes(&self) -> bool {
        let removes = |action| matches!(action, &Action::Remove(_) | &Action::Delete(..));
        !self.actions.is_empty() && self.actions.iter().all(removes)
    }

    /// The paths that are changed, in the order written.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.actions.iter().map(Action::path)
    }

    /// The top-level attributes that are changed, in the order written, with repetitions.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.paths().map(|path| path.attribute.as_str())
    }

    /// The paths that are read from the item to compute what is set.
    #[must_use]
    pub fn operand_paths(&self) -> Vec<&Path> {
        let mut paths = Vec::new();
        for action in &self.actions {
            if let Action::Set(_, value) = action {
                value.collect_paths(&mut paths);
            }
        }
        paths
    }

    /// Changes `item`. If this fails, the item is unchanged.
    pub fn apply(&self, item: &mut Map) -> Result<(), ExprError> {
        apply::apply(&self.actions, self.dialect, item)
    }

    /// The values of an image of the item, before or after, at the changed paths: `UPDATED_OLD` and
    /// `UPDATED_NEW`.
    ///
    /// As in DynamoDB, this uses paths rather than changes: an element appended at `l[100]` is not found
    /// there, and an element that moved up to a removed `l[0]` is.
    #[must_use]
    pub fn updated(&self, image: &Map) -> Map {
        Projection::of(self.paths().cloned().collect()).apply(image)
    }
}

impl Action {
    /// The path that the action changes.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Set(path, _) | Self::Remove(path) | Self::Add(path, _) | Self::Delete(path, _) => path,
        }
    }
}

impl SetValue {
    fn collect_paths<'u>(&'u self, paths: &mut Vec<&'u Path>) {
        match self {
            Self::Operand(operand) => operand.collect_paths(paths),
            Self::Plus(left, right) | Self::Minus(left, right) | Self::ListAppend(left, right) => {
                left.collect_paths(paths);
                right.collect_paths(paths);
            }
        }
    }
}

impl SetOperand {
    fn collect_paths<'u>(&'u self, paths: &mut Vec<&'u Path>) {
        match self {
            Self::Path(path) => paths.push(path),
            Self::Value(_) => {}
            Self::IfNotExists(path, otherwise) => {
                paths.push(path);
                otherwise.collect_paths(paths);
            }
        }
    }
}
