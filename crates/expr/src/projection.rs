//! Projections: `ProjectionExpression` and `AttributesToGet`, parsed and applied.

use std::collections::BTreeMap;

use trestle_item::{AttributeValue, Map};

use crate::cursor::Cursor;
use crate::path::{Path, Step};
use crate::resolution::Resolver;
use crate::{ExprError, Kind, Placeholders, grammar, overlap, vocabulary};

/// Paths of which none leads into another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    paths: Vec<Path>,
    attributes: BTreeMap<String, Part>,
}

/// The selected part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// All of it.
    Whole,
    /// Some members of a map.
    Members(BTreeMap<String, Part>),
    /// Some elements of a list.
    Elements(BTreeMap<usize, Part>),
}

impl Projection {
    /// Parses a `ProjectionExpression`.
    pub fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Self, ExprError> {
        let kind = Kind::Projection;
        let raw = grammar::projection(&mut Cursor::new(kind, text)?)?;
        raw.iter()
            .try_for_each(|path| vocabulary::check_path(kind, path))?;
        let mut resolver = Resolver::new(kind, placeholders);
        let mut paths: Vec<Path> = Vec::with_capacity(raw.len());
        for path in raw.iter().rev() {
            let path = resolver.path(path)?;
            overlap::check(kind, &path, &paths)?;
            paths.push(path);
        }
        paths.reverse();
        Ok(Self::of(paths))
    }

    /// A projection onto top-level attributes.
    pub fn of_attributes<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::of(names.into_iter().map(Path::top).collect())
    }

    /// A projection onto paths, in the order of [`Projection::paths`]; refuses paths that overlap or conflict.
    pub fn new(paths: Vec<Path>) -> Result<Self, ExprError> {
        for (at, path) in paths.iter().enumerate().rev() {
            overlap::check(Kind::Projection, path, paths.iter().skip(at + 1))?;
        }
        Ok(Self::of(paths))
    }

    /// A projection onto paths of which none leads into another.
    pub(crate) fn of(paths: Vec<Path>) -> Self {
        let mut attributes = BTreeMap::new();
        for path in &paths {
            let part = attributes
                .entry(path.attribute.clone())
                .or_insert_with(|| Part::empty(&path.steps));
            part.extend(&path.steps);
        }
        Self { paths, attributes }
    }

    /// The paths, in the order written.
    #[must_use]
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The top-level attributes, in order of name, each once.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.attributes.keys().map(String::as_str)
    }

    /// The projection of an item. Missing values are left out; list elements move together.
    #[must_use]
    pub fn apply(&self, item: &Map) -> Map {
        project_map(&self.attributes, item)
    }
}

impl Part {
    /// An empty part of a value into which these steps lead.
    fn empty(steps: &[Step]) -> Self {
        match steps.first() {
            None => Self::Whole,
            Some(Step::Name(_)) => Self::Members(BTreeMap::new()),
            Some(Step::Index(_)) => Self::Elements(BTreeMap::new()),
        }
    }

    /// Adds a path. Paths do not overlap or conflict, so each step finds its own kind of part.
    fn extend(&mut self, steps: &[Step]) {
        let Some((step, rest)) = steps.split_first() else {
            return;
        };
        let deeper = match (self, step) {
            (Self::Members(parts), Step::Name(name)) => {
                parts.entry(name.clone()).or_insert_with(|| Self::empty(rest))
            }
            (Self::Elements(parts), Step::Index(index)) => {
                parts.entry(*index).or_insert_with(|| Self::empty(rest))
            }
            _ => return,
        };
        deeper.extend(rest);
    }

    /// The projection of a value; `None` if nothing is selected.
    fn project(&self, value: &AttributeValue) -> Option<AttributeValue> {
        match (self, value) {
            (Self::Whole, value) => Some(value.clone()),
            (Self::Members(parts), AttributeValue::M(map)) => Some(project_map(parts, map))
                .filter(|map| !map.is_empty())
                .map(AttributeValue::M),
            (Self::Elements(parts), AttributeValue::L(list)) => {
                let left = parts
                    .iter()
                    .filter_map(|(index, part)| part.project(list.get(*index)?));
                Some(left.collect::<Vec<_>>())
                    .filter(|list| !list.is_empty())
                    .map(AttributeValue::L)
            }
            _ => None,
        }
    }
}

fn project_map(parts: &BTreeMap<String, Part>, map: &Map) -> Map {
    let mut projected = Map::with_capacity(parts.len());
    for (name, part) in parts {
        if let Some(value) = map.get(name).and_then(|value| part.project(value)) {
            projected.insert(name.as_str(), value);
        }
    }
    projected
}
