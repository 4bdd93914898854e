//! Expression parameters that several reads share.

use trestle_api::Error;
use trestle_expr::{Placeholders, Projection, legacy};

/// The attributes that a read asks for, by expression or by list.
pub(crate) fn projection(
    expression: Option<&str>,
    attributes: Option<&Vec<String>>,
    placeholders: &mut Placeholders<'_>,
) -> Result<Option<Projection>, Error> {
    Ok(match (expression, attributes) {
        (Some(text), _) => Some(Projection::parse(text, placeholders)?),
        (None, Some(names)) => Some(legacy::attributes_to_get(names)?),
        (None, None) => None,
    })
}
