//! The parameters that make up the condition of a write.

use std::collections::BTreeMap;

use trestle_api::{ConditionalOperator, Error, ExpectedAttributeValue, ReturnValuesOnConditionCheckFailure};
use trestle_expr::{Condition, Kind, Parameters, Placeholders, legacy};
use trestle_item::Map;

/// The parameters that make up a write's condition.
#[derive(Clone, Copy, Debug)]
pub struct ConditionParameters<'a> {
    /// `ConditionExpression`
    pub expression: Option<&'a str>,
    /// `Expected`
    pub expected: Option<&'a BTreeMap<String, ExpectedAttributeValue>>,
    /// `ConditionalOperator`
    pub operator: Option<ConditionalOperator>,
    /// `ExpressionAttributeNames`
    pub names: Option<&'a BTreeMap<String, String>>,
    /// `ExpressionAttributeValues`
    pub values: Option<&'a Map>,
}

impl ConditionParameters<'_> {
    /// Refuses legacy parameters together with expressions.
    pub fn check_mixture(&self) -> Result<(), Error> {
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
    pub fn parse(&self) -> Result<Option<Condition>, Error> {
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

/// Whether a failed condition is to show the item.
#[must_use]
pub fn shows(wanted: Option<ReturnValuesOnConditionCheckFailure>) -> bool {
    wanted == Some(ReturnValuesOnConditionCheckFailure::AllOld)
}
