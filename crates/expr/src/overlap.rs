//! Paths that cannot be used together in one projection or update.

use crate::path::{Path, Step};
use crate::{ExprError, Kind};

/// Refuses paths of which one leads into another, or of which one treats as a map what the other treats as a
/// list.
///
/// DynamoDB checks from the last path to the first, so with several mistakes the last one is reported.
pub(crate) fn check<'p>(
    kind: Kind,
    path: &Path,
    later: impl IntoIterator<Item = &'p Path>,
) -> Result<(), ExprError> {
    for other in later {
        if let Some(relation) = relation(path, other) {
            return Err(kind.invalid(format_args!(
                "Two document paths {relation} with each other; \
                 must remove or rewrite one of these paths; path one: {path}, path two: {other}"
            )));
        }
    }
    Ok(())
}

fn relation(one: &Path, two: &Path) -> Option<&'static str> {
    if one.attribute != two.attribute {
        return None;
    }
    for pair in one.steps.iter().zip(&two.steps) {
        match pair {
            (Step::Name(one), Step::Name(two)) if one == two => {}
            (Step::Index(one), Step::Index(two)) if one == two => {}
            (Step::Name(_), Step::Name(_)) | (Step::Index(_), Step::Index(_)) => return None,
            _ => return Some("conflict"),
        }
    }
    Some("overlap")
}
