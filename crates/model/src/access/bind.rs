//! An access pattern with its parameters: a request that can be sent.

use trestle_expr::{Condition, KeyCondition, KeyOp, KeyTerm};
use trestle_item::{AttributeValue, Item};

use super::{AccessPattern, Expression, KeyTest, KeyTestOp, Operation};
use crate::refusal::Refusal;

/// A request that is ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// One row by its key.
    Get {
        /// The table in the database.
        table_name: String,
        /// The key.
        key: Item,
        /// Whether the read is strongly consistent.
        consistent: bool,
    },
    /// Rows of one partition.
    Query {
        /// The table in the database.
        table_name: String,
        /// The index, if it is not the table itself.
        index: Option<String>,
        /// Which rows are read.
        key_condition: KeyCondition,
        /// The filter on those rows.
        filter: Option<Condition>,
        /// Whether the sort key ascends.
        forward: bool,
        /// The most rows read for a page.
        limit: Option<u32>,
        /// Whether the read is strongly consistent.
        consistent: bool,
    },
    /// Everything.
    Scan {
        /// The table in the database.
        table_name: String,
        /// The index, if it is not the table itself.
        index: Option<String>,
        /// Which rows are returned.
        filter: Option<Condition>,
        /// The most rows read for a page.
        limit: Option<u32>,
        /// Whether the read is strongly consistent.
        consistent: bool,
    },
}

impl AccessPattern {
    /// The request for the given parameters.
    pub fn bind(&self, parameters: &Item) -> Result<Bound, Refusal> {
        self.check_parameters(parameters)?;
        match self.operation {
            Operation::GetItem => self.get(parameters),
            Operation::Query => self.query(parameters),
            Operation::Scan => Ok(Bound::Scan {
                table_name: self.table_name.clone(),
                index: self.index.clone(),
                filter: self.filter_condition(parameters)?,
                limit: self.limit,
                consistent: self.consistent,
            }),
        }
    }

    fn check_parameters(&self, parameters: &Item) -> Result<(), Refusal> {
        for name in parameters.keys() {
            if !self.parameters.iter().any(|parameter| parameter.name == *name) {
                return Err(self.refuses(name, "is not known"));
            }
        }
        for parameter in &self.parameters {
            if !parameters.contains_key(&parameter.name) {
                return Err(self.refuses(&parameter.name, "is missing"));
            }
        }
        Ok(())
    }

    pub(super) fn refuses(&self, parameter: &str, reason: &str) -> Refusal {
        Refusal::Parameter {
            access: self.name.clone(),
            parameter: parameter.to_owned(),
            reason: reason.to_owned(),
        }
    }

    fn get(&self, parameters: &Item) -> Result<Bound, Refusal> {
        let mut key = Item::new();
        for test in &self.key {
            if let KeyTestOp::Eq(expression) = &test.op {
                key.insert(test.attribute.clone(), self.value(test, expression, parameters)?);
            }
        }
        Ok(Bound::Get {
            table_name: self.table_name.clone(),
            key,
            consistent: self.consistent,
        })
    }

    fn query(&self, parameters: &Item) -> Result<Bound, Refusal> {
        let mut terms = Vec::with_capacity(self.key.len());
        for test in &self.key {
            terms.push(KeyTerm {
                attribute: test.attribute.clone(),
                op: self.key_op(test, parameters)?,
            });
        }
        Ok(Bound::Query {
            table_name: self.table_name.clone(),
            index: self.index.clone(),
            key_condition: KeyCondition { terms },
            filter: self.filter_condition(parameters)?,
            forward: !self.descending,
            limit: self.limit,
            consistent: self.consistent,
        })
    }

    fn key_op(&self, test: &KeyTest, parameters: &Item) -> Result<KeyOp, Refusal> {
        let value = |expression: &Expression| self.value(test, expression, parameters);
        Ok(match &test.op {
            KeyTestOp::Eq(one) => KeyOp::Eq(value(one)?),
            KeyTestOp::Lt(one) => KeyOp::Lt(value(one)?),
            KeyTestOp::Le(one) => KeyOp::Le(value(one)?),
            KeyTestOp::Gt(one) => KeyOp::Gt(value(one)?),
            KeyTestOp::Ge(one) => KeyOp::Ge(value(one)?),
            KeyTestOp::Between(low, high) => KeyOp::Between(value(low)?, value(high)?),
            KeyTestOp::BeginsWith(one) => {
                let beginning = one.beginning(parameters);
                KeyOp::BeginsWith(beginning.map_err(|(name, reason)| self.refuses(&name, &reason))?)
            }
        })
    }

    fn value(
        &self,
        test: &KeyTest,
        expression: &Expression,
        parameters: &Item,
    ) -> Result<AttributeValue, Refusal> {
        let value = expression.value(test.kind, parameters);
        value.map_err(|(name, reason)| self.refuses(&name, &reason))
    }
}
