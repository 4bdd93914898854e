//! The filter of an access pattern: conditions that the key cannot express.

use trestle_expr::{Comparator, Condition, Operand as ExprOperand, Path};
use trestle_item::{AttributeValue, Item};

use super::expression::{known, shown_operand};
use super::{AccessPattern, FilterTest, TagFilter};
use crate::draft::{Operand, Test};
use crate::problem::listed;
use crate::refusal::Refusal;

impl AccessPattern {
    pub(super) fn filter_condition(&self, parameters: &Item) -> Result<Option<Condition>, Refusal> {
        let mut conditions = Vec::new();
        for test in &self.filter {
            conditions.push(self.condition(test, parameters)?);
        }
        conditions.extend(self.tags.as_ref().map(TagFilter::condition));
        Ok(match conditions.len() {
            0 | 1 => conditions.pop(),
            _ => Some(Condition::And(conditions)),
        })
    }

    fn condition(&self, test: &FilterTest, parameters: &Item) -> Result<Condition, Refusal> {
        let path = Path::top(test.attribute.name.as_str());
        let attribute = ExprOperand::Path(path.clone());
        let value = |operand: &Operand| self.checked(test, operand, parameters).map(ExprOperand::Value);
        let compare = |comparator, operand: &Operand| {
            Ok(Condition::Compare {
                left: attribute.clone(),
                comparator,
                right: value(operand)?,
            })
        };
        match &test.test {
            Test::Eq(operand) => compare(Comparator::Equal, operand),
            Test::Ne(operand) => compare(Comparator::NotEqual, operand),
            Test::Lt(operand) => compare(Comparator::Less, operand),
            Test::Le(operand) => compare(Comparator::LessOrEqual, operand),
            Test::Gt(operand) => compare(Comparator::Greater, operand),
            Test::Ge(operand) => compare(Comparator::GreaterOrEqual, operand),
            Test::Between(low, high) => Ok(Condition::Between {
                operand: attribute.clone(),
                low: value(low)?,
                high: value(high)?,
            }),
            Test::BeginsWith(operand) => {
                let known =
                    known(operand, parameters).map_err(|(name, reason)| self.refuses(&name, &reason))?;
                Ok(Condition::BeginsWith {
                    operand: attribute.clone(),
                    prefix: ExprOperand::Value(known.clone()),
                })
            }
            Test::OneOf(operands) => Ok(Condition::In {
                operand: attribute.clone(),
                list: operands.iter().map(value).collect::<Result<_, _>>()?,
            }),
            Test::Exists(true) => Ok(Condition::Exists(path)),
            Test::Exists(false) => Ok(Condition::NotExists(path)),
        }
    }

    fn checked(
        &self,
        test: &FilterTest,
        operand: &Operand,
        parameters: &Item,
    ) -> Result<AttributeValue, Refusal> {
        let value = known(operand, parameters).map_err(|(name, reason)| self.refuses(&name, &reason))?;
        let value = test.attribute.compared(value);
        match test.attribute.check(&value) {
            Ok(()) => Ok(value.into_owned()),
            Err(reason) => Err(self.refuses(&test.attribute.name, &reason)),
        }
    }
}

impl TagFilter {
    fn condition(&self) -> Condition {
        let operand = ExprOperand::Path(Path::top(self.attribute.as_str()));
        let mut list: Vec<ExprOperand> = self
            .tags
            .iter()
            .map(|tag| ExprOperand::Value(AttributeValue::S(tag.clone())))
            .collect();
        match (list.len(), list.pop()) {
            (1, Some(right)) => Condition::Compare {
                left: operand,
                comparator: Comparator::Equal,
                right,
            },
            (_, last) => {
                list.extend(last);
                Condition::In { operand, list }
            }
        }
    }

    pub(super) fn shown(&self) -> String {
        match self.tags.as_slice() {
            [tag] => format!("{} = {tag:?}", self.attribute),
            tags => {
                let tags: Vec<String> = tags.iter().map(|tag| format!("{tag:?}")).collect();
                format!("{} in ({})", self.attribute, tags.join(", "))
            }
        }
    }
}

impl FilterTest {
    pub(super) fn shown(&self) -> String {
        let name = &self.attribute.name;
        let compared = |sign: &str, operand: &Operand| format!("{name} {sign} {}", shown_operand(operand));
        match &self.test {
            Test::Eq(operand) => compared("=", operand),
            Test::Ne(operand) => compared("<>", operand),
            Test::Lt(operand) => compared("<", operand),
            Test::Le(operand) => compared("<=", operand),
            Test::Gt(operand) => compared(">", operand),
            Test::Ge(operand) => compared(">=", operand),
            Test::Between(low, high) => format!(
                "{name} between {} and {}",
                shown_operand(low),
                shown_operand(high)
            ),
            Test::BeginsWith(operand) => format!("begins_with({name}, {})", shown_operand(operand)),
            Test::OneOf(operands) => {
                let operands: Vec<String> = operands.iter().map(shown_operand).collect();
                format!("{name} in ({})", operands.join(", "))
            }
            Test::Exists(true) => format!("attribute_exists({name})"),
            Test::Exists(false) => format!("attribute_not_exists({name})"),
        }
    }
}

/// Names of entities for a sentence.
pub(super) fn named(names: &[String]) -> String {
    listed(names.iter().map(String::as_str))
}
