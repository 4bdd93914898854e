//! Names of indexes that no request can contain. A stored model may have such an index, and its database
//! opens; a new model with one is refused.

use crate::build::load;
use crate::draft::{DraftIndex, DraftModel, DraftTable};
use crate::model::Loaded;
use crate::problem::{Problem, Problems};

/// An index that no request can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnameableIndex {
    /// The name of its table in the database.
    pub table_name: String,
    /// Its name.
    pub index: String,
    /// What is wrong, with its place in the file.
    pub problem: Problem,
}

/// The indexes of a model file that no request can name.
#[must_use]
pub fn unnameable_indexes(text: &str) -> Vec<UnnameableIndex> {
    let draft = crate::read::read(text, &mut Problems::of(text));
    let indexes = draft
        .tables
        .iter()
        .flat_map(|table| table.indexes.iter().map(move |index| (table, index)));
    indexes
        .filter(|(_, index)| !is_legal_name(&index.name.value))
        .flat_map(|(table, index)| unnameable(text, &draft, table, index))
        .collect()
}

/// Loads a model file that is not stored yet: like [`load`], but an index that no request can name is an
/// error.
#[must_use]
pub fn load_new(text: &str) -> Loaded {
    let Loaded { model, mut problems } = load(text);
    let unnameable = unnameable_indexes(text);
    let sound = unnameable.is_empty();
    problems.extend(unnameable.into_iter().map(|index| index.problem));
    problems.sort_by_key(|problem| (problem.line, problem.column, problem.severity));
    Loaded {
        model: model.filter(|_| sound),
        problems,
    }
}

/// Whether DynamoDB accepts this as the name of a table or of an index.
pub(crate) fn is_legal_name(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (3..=255).contains(&name.len()) && name.bytes().all(is_legal)
}

fn unnameable(
    text: &str,
    draft: &DraftModel,
    table: &DraftTable,
    index: &DraftIndex,
) -> Option<UnnameableIndex> {
    let (name, table_name) = (&index.name.value, draft.table_name(table));
    let mut problems = Problems::of(text);
    problems.error(
        index.name.at,
        format!(
            "table `{}`: index `{name}` has a name with which no request can query it",
            table.name.value
        ),
        "an index's name has 3 to 255 letters, digits, `_`, `-` and `.`",
    );
    let problem = problems.into_list().pop()?;
    Some(UnnameableIndex {
        table_name,
        index: name.clone(),
        problem,
    })
}
