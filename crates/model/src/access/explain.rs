//! A description of an access pattern: the request, what it reads, its cost.

use std::fmt::Write;

use super::filter::named;
use super::{AccessPattern, Cost, KeyTest, KeyTestOp, Operation, Parameter};

/// An explained access pattern; as text through `Display`, as data through serde.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Explained<'m> {
    name: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'m str>,
    parameters: &'m [Parameter],
    operation: Operation,
    table: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<&'m str>,
    key: Vec<ExplainedKey>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filter: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    consistent: bool,
    returns: &'m [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    strays: &'m [String],
    tagged: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    late: &'m [String],
    cost: &'m Cost,
}

/// The condition on one key attribute.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ExplainedKey {
    /// The attribute.
    pub attribute: String,
    /// `=`, `<`, `<=`, `>`, `>=`, `between` or `begins_with`.
    pub comparison: &'static str,
    /// What it is compared with; two bounds for `between`.
    pub values: Vec<String>,
}

impl AccessPattern {
    /// What this access pattern does.
    #[must_use]
    pub fn explain(&self) -> Explained<'_> {
        let mut filter: Vec<String> = self.filter.iter().map(|test| test.shown()).collect();
        filter.extend(self.tags.as_ref().map(|tags| tags.shown()));
        let direction = if self.descending {
            "descending"
        } else {
            "ascending"
        };
        let ordered = self.operation == Operation::Query && !self.sorted_by.is_empty();
        Explained {
            name: &self.name,
            about: self.about(),
            parameters: &self.parameters,
            operation: self.operation,
            table: &self.table_name,
            index: self.index(),
            key: self.key.iter().map(KeyTest::explained).collect(),
            filter,
            order: ordered.then(|| format!("{direction} by {}", self.sorted_by.join(", "))),
            limit: self.limit,
            consistent: self.consistent,
            returns: &self.returns,
            strays: &self.strays,
            tagged: self.tags.is_some(),
            late: &self.late,
            cost: &self.cost,
        }
    }
}

impl KeyTest {
    fn explained(&self) -> ExplainedKey {
        let (comparison, values) = match &self.op {
            KeyTestOp::Eq(one) => ("=", vec![one]),
            KeyTestOp::Lt(one) => ("<", vec![one]),
            KeyTestOp::Le(one) => ("<=", vec![one]),
            KeyTestOp::Gt(one) => (">", vec![one]),
            KeyTestOp::Ge(one) => (">=", vec![one]),
            KeyTestOp::BeginsWith(one) => ("begins_with", vec![one]),
            KeyTestOp::Between(low, high) => ("between", vec![low, high]),
        };
        ExplainedKey {
            attribute: self.attribute.clone(),
            comparison,
            values: values.into_iter().map(|value| value.shown()).collect(),
        }
    }
}

impl std::fmt::Display for ExplainedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.comparison, self.values.as_slice()) {
            ("begins_with", [value]) => write!(f, "begins_with({}, {value})", self.attribute),
            ("between", [low, high]) => write!(f, "{} between {low} and {high}", self.attribute),
            (sign, values) => write!(f, "{} {sign} {}", self.attribute, values.join(" ")),
        }
    }
}

impl std::fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|parameter| format!("{}: {}", parameter.name, parameter.kind.name()))
            .collect();
        writeln!(f, "{}({})", self.name, parameters.join(", "))?;
        if let Some(about) = self.about {
            writeln!(f, "  {about}")?;
        }
        let operation = match self.operation {
            Operation::GetItem => "GetItem",
            Operation::Query => "Query",
            Operation::Scan => "Scan",
        };
        let mut place = self.table.to_owned();
        if let Some(index) = self.index {
            let _ = write!(place, ", index {index}");
        }
        line(f, operation, &place)?;
        let key: Vec<String> = self.key.iter().map(ToString::to_string).collect();
        line(f, "key", &key.join(" and "))?;
        line(f, "filter", &self.filter.join(" and "))?;
        line(f, "order", self.order.as_deref().unwrap_or_default())?;
        line(f, "returns", &self.returns.join(", "))?;
        if !self.strays.is_empty() {
            let how = if self.tagged {
                "filtered out"
            } else {
                "told apart by their keys"
            };
            line(
                f,
                "nearby",
                &format!("rows of {} may lie there too; they are {how}", named(self.strays)),
            )?;
        }
        for late in self.late {
            line(
                f,
                "copy",
                &format!("{late} in the background: it may be old for a moment"),
            )?;
        }
        line(f, "cost", &self.priced())
    }
}

impl Explained<'_> {
    fn priced(&self) -> String {
        let Cost {
            row_bytes,
            rows_per_page,
            read_units,
        } = self.cost;
        let kind = if self.consistent {
            "consistent"
        } else {
            "eventually consistent"
        };
        match rows_per_page {
            1 => format!("{read_units} RCU, {kind} (a row of about {row_bytes} B)"),
            _ => format!(
                "at most {read_units} RCU for a page of {rows_per_page} rows, {kind} (about {row_bytes} B each)"
            ),
        }
    }
}

fn line(f: &mut std::fmt::Formatter<'_>, name: &str, text: &str) -> std::fmt::Result {
    if text.is_empty() {
        Ok(())
    } else {
        writeln!(f, "  {name:<9}{text}")
    }
}
