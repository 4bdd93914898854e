//! Expression parameters that several operations share.

use std::collections::BTreeMap;

use trestle_api::{ConditionalOperator, Error, ExpectedAttributeValue, ReturnValuesOnConditionCheckFailure};
use trestle_expr::{Condition, Kind, Parameters, Placeholders, Projection, legacy};
use trestle_item::Map;

/// The parameters that make up a write's condition.
pub(crate) struct ConditionParameters<'a> {
    pub(crate) expression: Option<&'a str>,
    pub(crate) expected: Option<&'a BTreeMap<String, ExpectedAttributeValue>>,
    pub(crate) operator: Option<ConditionalOperator>,
    pub(crate) names: Option<&'a BTreeMap<String, String>>,
    pub(crate) values: Option<&'a Map>,
}

impl ConditionParameters<'_> {
    /// Refuses old and new parameters side by side.
    pub(crate) fn check_mixture(&self) -> Result<(), Error> {
        Parameters {
            expressions: &[("ConditionExpression", self.expression.is_some())],
            legacy: &[
                ("Expected", self.expected.is_some()),
                ("ConditionalOperator", self.operator.is_some()),
            ],
            names: self.names.is_some(),
            values: self.values.is_some(),
        }
        .check()?;
        Ok(())
    }

    /// The condition, if there is one.
    pub(crate) fn parse(&self) -> Result<Option<Condition>, Error> {
        let mut placeholders = Placeholders::new(self.names, self.values);
        placeholders.check_syntax()?;
        let condition = match self.expression {
            Some(text) => Some(Condition::parse(Kind::Condition, text, &mut placeholders)?),
            None => legacy::expected(self.expected, self.operator)?,
        };
        placeholders.finish()?;
        Ok(condition)
    }
}

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

/// Whether a failed condition is to show the item.
pub(crate) fn shows(wanted: Option<ReturnValuesOnConditionCheckFailure>) -> bool {
    wanted == Some(ReturnValuesOnConditionCheckFailure::AllOld)
}
