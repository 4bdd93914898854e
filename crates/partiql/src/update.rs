//! `SET` and `REMOVE` to an update of an item.

use trestle_expr::{Action, Path, SetOperand, SetValue};
use trestle_item::{AttributeValue, Number, NumberError};

use crate::check;
use crate::error::{Result, StatementError};
use crate::parameters::Parameters;
use crate::path::{is_path, path};
use crate::projection::{overlap, overlapping};
use crate::span::Span;
use crate::syntax::{Change, Expr, ExprKind, Infix};
use crate::value::{is_value, value};

/// The actions of the clauses, none of which changes a part of another's target.
pub(crate) fn actions(changes: &[Change], parameters: Parameters<'_>) -> Result<Vec<Action>> {
    let mut actions: Vec<Action> = Vec::with_capacity(changes.len());
    for change in changes {
        let action = match change {
            Change::Remove { target } => Action::Remove(path(target)?),
            Change::Set { target, value } => set(path(target)?, value, parameters)?,
        };
        if let Some(other) = actions.iter().find(|other| overlap(other.path(), action.path())) {
            return Err(overlapping(other.path(), action.path()));
        }
        actions.push(action);
    }
    Ok(actions)
}

fn set(target: Path, expr: &Expr, parameters: Parameters<'_>) -> Result<Action> {
    match &expr.kind {
        ExprKind::Call { name, operands } if name == "set_add" => {
            let members = set_members("SET_ADD", &target, operands, expr.span, parameters)?;
            Ok(Action::Add(target, members))
        }
        ExprKind::Call { name, operands } if name == "set_delete" => {
            let members = set_members("SET_DELETE", &target, operands, expr.span, parameters)?;
            Ok(Action::Delete(target, members))
        }
        _ => Ok(Action::Set(target, Lowering { parameters }.set_value(expr)?)),
    }
}

/// `a = set_add(a, <<…>>)`: the first operand repeats the target, the second is a set.
fn set_members(
    function: &str,
    target: &Path,
    operands: &[Expr],
    span: Span,
    parameters: Parameters<'_>,
) -> Result<AttributeValue> {
    let [first, second] = operands else {
        return Err(StatementError::at(
            format_args!("{function} must have exactly two arguments"),
            span,
        ));
    };
    if !is_path(first) || path(first)? != *target {
        return Err(StatementError::at(
            format_args!("The first argument to {function} must equal the assignment value"),
            span,
        ));
    }
    let members = if is_value(second) {
        Some(value(second, parameters)?)
    } else {
        None
    };
    match members {
        Some(set @ (AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_))) => Ok(set),
        _ => Err(StatementError::at(
            format_args!("The second argument to {function} must be a value with type SET"),
            first.span,
        )),
    }
}

#[derive(Clone, Copy)]
struct Lowering<'a> {
    parameters: Parameters<'a>,
}

impl Lowering<'_> {
    fn set_value(self, expr: &Expr) -> Result<SetValue> {
        match &expr.kind {
            ExprKind::Infix {
                operator: operator @ (Infix::Plus | Infix::Minus),
                left,
                right,
            } => sum(*operator, self.set_value(left)?, self.set_value(right)?),
            ExprKind::Call { name, operands } if name == "list_append" => {
                let [first, second] = check::operand_count(name, operands)?;
                let (first, second) = (self.operand(first)?, self.operand(second)?);
                typed(name, &first, |value| matches!(value, AttributeValue::L(_)))?;
                typed(name, &second, |value| matches!(value, AttributeValue::L(_)))?;
                Ok(SetValue::ListAppend(first, second))
            }
            _ => self.operand(expr).map(SetValue::Operand),
        }
    }

    fn operand(self, expr: &Expr) -> Result<SetOperand> {
        match &expr.kind {
            ExprKind::Call { name, operands } if name == "if_not_exists" => {
                let [tested, otherwise] = check::operand_count(name, operands)?;
                if !is_path(tested) {
                    return Err(StatementError::new(format!(
                        "Operator or function requires a document path; operator or function: {name}"
                    )));
                }
                Ok(SetOperand::IfNotExists(
                    path(tested)?,
                    Box::new(self.operand(otherwise)?),
                ))
            }
            _ if is_path(expr) => path(expr).map(SetOperand::Path),
            _ if is_value(expr) => value(expr, self.parameters).map(SetOperand::Value),
            _ => Err(refused(expr)),
        }
    }
}

/// A sum or difference. An update adds two operands; longer sums are folded as far as constants allow.
fn sum(operator: Infix, left: SetValue, right: SetValue) -> Result<SetValue> {
    use SetOperand::Value;
    use SetValue::{Minus, Operand, Plus};
    for side in [&left, &right] {
        if let Operand(operand) = side {
            typed(operator.sign(), operand, |value| {
                matches!(value, AttributeValue::N(_))
            })?;
        }
    }
    let minus = operator == Infix::Minus;
    let number = |folded: std::result::Result<Number, NumberError>| {
        folded
            .map(AttributeValue::N)
            .map(Value)
            .map_err(|problem| StatementError::new(problem.to_string()))
    };
    match (left, right) {
        (Operand(Value(AttributeValue::N(a))), Operand(Value(AttributeValue::N(b)))) => number(if minus {
            a.checked_sub(&b)
        } else {
            a.checked_add(&b)
        })
        .map(Operand),
        (Operand(a), Operand(b)) => Ok(if minus { Minus(a, b) } else { Plus(a, b) }),
        (Plus(a, Value(AttributeValue::N(b))), Operand(Value(AttributeValue::N(c)))) => Ok(Plus(
            a,
            number(if minus {
                b.checked_sub(&c)
            } else {
                b.checked_add(&c)
            })?,
        )),
        (Minus(a, Value(AttributeValue::N(b))), Operand(Value(AttributeValue::N(c)))) => Ok(Minus(
            a,
            number(if minus {
                b.checked_add(&c)
            } else {
                b.checked_sub(&c)
            })?,
        )),
        _ => Err(unsupported(operator.sign())),
    }
}

fn typed(operator: &str, operand: &SetOperand, fits: fn(&AttributeValue) -> bool) -> Result<()> {
    match operand {
        SetOperand::Value(value) if !fits(value) => Err(check::wrong_type(operator, value.type_name())),
        _ => Ok(()),
    }
}

fn unsupported(operator: &str) -> StatementError {
    StatementError::new(format!(
        "Unsupported operator in Update Expression. Operator: {operator}"
    ))
}

/// Why an expression cannot be assigned.
fn refused(expr: &Expr) -> StatementError {
    match &expr.kind {
        ExprKind::Missing => StatementError::new("MISSING must be compared using IS operator"),
        ExprKind::Is { .. } => StatementError::new("IS operator is not supported in update expressions"),
        ExprKind::Infix { operator, .. } => unsupported(operator.sign()),
        ExprKind::Signed { negative, .. } => check::wrong_operand_count(if *negative { "-" } else { "+" }, 1),
        ExprKind::And(_) => unsupported("and"),
        ExprKind::Or(_) => unsupported("or"),
        ExprKind::Not(_) => unsupported("not"),
        ExprKind::Between { .. } => unsupported("between"),
        ExprKind::In { .. } => unsupported("in"),
        ExprKind::Like => unsupported("like"),
        ExprKind::Select(select) => {
            StatementError::at("Unsupported token in expression: SELECT", select.span)
        }
        ExprKind::Call { name, .. } => refused_call(expr, name),
        _ => StatementError::at("Unexpected path component", expr.span),
    }
}

fn refused_call(expr: &Expr, name: &str) -> StatementError {
    match name {
        "size"
        | "attribute_exists"
        | "attribute_not_exists"
        | "attribute_type"
        | "begins_with"
        | "contains" => StatementError::new(format!(
            "The function is not allowed in an update expression; function: {name}"
        )),
        "list_append" => StatementError::new(format!(
            "The function is not allowed to be used this way in an expression; function: {name}"
        )),
        _ => StatementError::at(format_args!("Unrecognized function: {name}"), expr.span),
    }
}
