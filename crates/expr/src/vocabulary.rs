//! The second pass over a tree: whether its functions are known and allowed there, and its names not
//! reserved.
//!
//! Mistakes are reported in the order in which they were written, a function's before those of its arguments.

use crate::grammar::{
    Comparison, RawAction, RawCall, RawCondition, RawName, RawOperand, RawPath, RawSection, RawSetValue,
    RawStep,
};
use crate::reserved_words::is_reserved;
use crate::{ExprError, Kind};

/// The functions of conditions that are true or false.
const PREDICATES: [&str; 5] = [
    "attribute_exists",
    "attribute_not_exists",
    "attribute_type",
    "begins_with",
    "contains",
];
/// The functions of conditions that have a value.
const MEASURES: [&str; 1] = ["size"];
/// The functions of updates.
const UPDATE_FUNCTIONS: [&str; 2] = ["if_not_exists", "list_append"];

/// The highest list index DynamoDB can count to.
const INDEX_MAX: usize = i32::MAX as usize;

/// The position of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallContext {
    /// A whole condition.
    Condition,
    /// A value inside a condition.
    Operand,
    /// The whole right side of a `SET`.
    SetValue,
    /// A value inside the right side of a `SET`.
    SetOperand,
}

/// Checks the words of a condition.
pub(crate) fn check_condition(kind: Kind, condition: &RawCondition<'_>) -> Result<(), ExprError> {
    match condition {
        RawCondition::Or(links) | RawCondition::And(links) => {
            links.iter().try_for_each(|link| check_condition(kind, link))
        }
        RawCondition::Not(negated) => check_condition(kind, negated),
        RawCondition::Call(call) => check_call(kind, CallContext::Condition, call),
        RawCondition::Comparison(comparison) => check_comparison(kind, comparison),
    }
}

fn check_comparison(kind: Kind, comparison: &Comparison<'_>) -> Result<(), ExprError> {
    let check = |operand| check_operand(kind, CallContext::Operand, operand);
    match comparison {
        Comparison::Compare(left, _, right) => [left, right].into_iter().try_for_each(check),
        Comparison::Between(operand, low, high) => [operand, low, high].into_iter().try_for_each(check),
        Comparison::In(operand, list) => std::iter::once(operand).chain(list).try_for_each(check),
    }
}

/// Checks the words of an update. Each section may appear once, which is checked after its actions.
pub(crate) fn check_sections(sections: &[RawSection<'_>]) -> Result<(), ExprError> {
    for (at, section) in sections.iter().enumerate() {
        section.actions.iter().try_for_each(check_action)?;
        if sections
            .iter()
            .take(at)
            .any(|earlier| earlier.keyword == section.keyword)
        {
            return Err(Kind::Update.invalid(format_args!(
                "The \"{}\" section can only be used once in an update expression;",
                section.keyword
            )));
        }
    }
    Ok(())
}

fn check_action(action: &RawAction<'_>) -> Result<(), ExprError> {
    let kind = Kind::Update;
    match action {
        RawAction::Remove(path) | RawAction::Add(path, _) | RawAction::Delete(path, _) => {
            check_path(kind, path)
        }
        RawAction::Set(path, RawSetValue::Operand(value)) => {
            check_path(kind, path)?;
            check_operand(kind, CallContext::SetValue, value)
        }
        RawAction::Set(path, RawSetValue::Sum(left, _, right)) => {
            check_path(kind, path)?;
            check_operand(kind, CallContext::SetOperand, left)?;
            check_operand(kind, CallContext::SetOperand, right)
        }
    }
}

fn check_operand(kind: Kind, context: CallContext, operand: &RawOperand<'_>) -> Result<(), ExprError> {
    match operand {
        RawOperand::Value(_) => Ok(()),
        RawOperand::Path(path) => check_path(kind, path),
        RawOperand::Call(call) => check_call(kind, context, call),
    }
}

fn check_call(kind: Kind, context: CallContext, call: &RawCall<'_>) -> Result<(), ExprError> {
    check_function(kind, context, call.function)?;
    let inside = if kind == Kind::Update {
        CallContext::SetOperand
    } else {
        CallContext::Operand
    };
    call.arguments
        .iter()
        .try_for_each(|argument| check_operand(kind, inside, argument))
}

fn check_function(kind: Kind, context: CallContext, function: &str) -> Result<(), ExprError> {
    let is_predicate = PREDICATES.contains(&function);
    let is_measure = MEASURES.contains(&function);
    let is_for_update = UPDATE_FUNCTIONS.contains(&function);
    if !(is_predicate || is_measure || is_for_update) {
        return Err(kind.invalid(format_args!("Invalid function name; function: {function}")));
    }
    if is_for_update != (kind == Kind::Update) {
        let language = if kind == Kind::Update {
            "an update expression"
        } else {
            "a condition expression"
        };
        return Err(kind.invalid(format_args!(
            "The function is not allowed in {language}; function: {function}"
        )));
    }
    let fits = match context {
        CallContext::Condition => is_predicate,
        CallContext::Operand => is_measure,
        CallContext::SetValue => true,
        CallContext::SetOperand => function == "if_not_exists",
    };
    if fits {
        Ok(())
    } else {
        Err(misused(kind, function))
    }
}

/// The error for a known function in a position where it is not allowed.
pub(crate) fn misused(kind: Kind, function: &str) -> ExprError {
    kind.invalid(format_args!(
        "The function is not allowed to be used this way in an expression; function: {function}"
    ))
}

/// Checks the words of a path.
pub(crate) fn check_path(kind: Kind, path: &RawPath<'_>) -> Result<(), ExprError> {
    check_name(kind, path.attribute)?;
    path.steps.iter().try_for_each(|step| match step {
        RawStep::Name(name) => check_name(kind, *name),
        RawStep::Index(digits) if index(digits).is_none() => Err(kind.invalid(format_args!(
            "List index is not within the allowable range; index: [{digits}]"
        ))),
        RawStep::Index(_) => Ok(()),
    })
}

fn check_name(kind: Kind, name: RawName<'_>) -> Result<(), ExprError> {
    match name {
        RawName::Word(word) if is_reserved(word) => Err(kind.invalid(format_args!(
            "Attribute name is a reserved keyword; reserved keyword: {word}"
        ))),
        _ => Ok(()),
    }
}

/// The number of an index's digits, if lists can be that long.
pub(crate) fn index(digits: &str) -> Option<usize> {
    digits.parse().ok().filter(|index| *index <= INDEX_MAX)
}
