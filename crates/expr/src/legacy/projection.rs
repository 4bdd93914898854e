//! `AttributesToGet`.

use std::collections::BTreeSet;

use super::check_names;
use crate::{ExprError, Projection};

/// The projection of `AttributesToGet`. Unlike in an expression, a dot is an ordinary character of a name.
pub fn attributes_to_get(names: &[String]) -> Result<Projection, ExprError> {
    check_names(names.iter())?;
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        None => Ok(Projection::of_attributes(names)),
        Some(name) => Err(ExprError(format!(
            "One or more parameter values were invalid: Duplicate value in attribute name: {name}"
        ))),
    }
}
