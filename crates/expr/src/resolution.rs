//! The third pass over a tree: placeholders become names and values, and operands are counted and compared.

use trestle_item::AttributeValue;

use crate::grammar::{RawName, RawPath, RawStep};
use crate::path::{Path, Step};
use crate::{ExprError, Kind, Placeholders, vocabulary};

/// A path may have this many elements, the attribute included.
const PATH_LEN_MAX: usize = 32;
/// An expression may have this many operators and functions.
pub(crate) const OPERATORS_MAX: usize = 300;

/// The state of the third pass.
pub(crate) struct Resolver<'p, 'a> {
    pub(crate) kind: Kind,
    placeholders: &'p mut Placeholders<'a>,
    operators: usize,
}

impl<'p, 'a> Resolver<'p, 'a> {
    pub(crate) fn new(kind: Kind, placeholders: &'p mut Placeholders<'a>) -> Self {
        Self {
            kind,
            placeholders,
            operators: 0,
        }
    }

    pub(crate) fn path(&mut self, raw: &RawPath<'_>) -> Result<Path, ExprError> {
        let len = 1 + raw.steps.len();
        if len > PATH_LEN_MAX {
            return Err(self.kind.invalid(format_args!(
                "The document path has too many nesting levels; nesting levels: {len}"
            )));
        }
        let attribute = self.name(raw.attribute)?;
        let steps = raw
            .steps
            .iter()
            .map(|step| self.step(*step))
            .collect::<Result<_, _>>()?;
        Ok(Path { attribute, steps })
    }

    fn step(&mut self, raw: RawStep<'_>) -> Result<Step, ExprError> {
        Ok(match raw {
            RawStep::Name(name) => Step::Name(self.name(name)?),
            // The vocabulary pass has refused an index that cannot be parsed.
            RawStep::Index(digits) => Step::Index(vocabulary::index(digits).unwrap_or(usize::MAX)),
        })
    }

    fn name(&mut self, raw: RawName<'_>) -> Result<String, ExprError> {
        match raw {
            RawName::Word(word) => Ok(word.to_owned()),
            RawName::Placeholder(placeholder) => {
                self.placeholders.name(self.kind, placeholder).map(str::to_owned)
            }
        }
    }

    pub(crate) fn value(&mut self, placeholder: &str) -> Result<AttributeValue, ExprError> {
        self.placeholders.value(self.kind, placeholder).cloned()
    }

    /// Counts an operator or function whose operands have been resolved.
    pub(crate) fn count_operator(&mut self) -> Result<(), ExprError> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            Err(too_many_operators(self.kind))
        } else {
            Ok(())
        }
    }

    pub(crate) fn wrong_operand_count(&self, function: &str, given: usize) -> ExprError {
        self.kind.invalid(format_args!(
            "Incorrect number of operands for operator or function; \
             operator or function: {function}, number of operands: {given}"
        ))
    }

    /// Refuses a path that is an operand twice: the result would not depend on the item.
    pub(crate) fn check_distinct<'o>(
        &self,
        operator: &str,
        first: Option<&Path>,
        mut others: impl Iterator<Item = Option<&'o Path>>,
    ) -> Result<(), ExprError> {
        match first {
            Some(path) if others.any(|other| other == Some(path)) => Err(self.kind.invalid(format_args!(
                "The first operand must be distinct from the remaining operands for this operator or function; \
                 operator: {operator}, first operand: {path}"
            ))),
            _ => Ok(()),
        }
    }

    pub(crate) fn wrong_type(&self, operator: &str, operand_type: &str) -> ExprError {
        self.kind.invalid(format_args!(
            "Incorrect operand type for operator or function; \
             operator or function: {operator}, operand type: {operand_type}"
        ))
    }

    pub(crate) fn needs_path(&self, function: &str) -> ExprError {
        self.kind.invalid(format_args!(
            "Operator or function requires a document path; operator or function: {function}"
        ))
    }
}

/// DynamoDB stops counting at the first operator too many, so the message always contains the same number.
pub(crate) fn too_many_operators(kind: Kind) -> ExprError {
    kind.invalid(format_args!(
        "The expression contains too many operators; operator count: {}",
        OPERATORS_MAX + 1
    ))
}
