//! `WHERE` to a condition on an item.

use trestle_expr::{AttributeType, Comparator, Condition, Operand};
use trestle_item::AttributeValue;

use crate::check;
use crate::error::{Result, StatementError};
use crate::parameters::Parameters;
use crate::path::{is_path, path};
use crate::syntax::{Expr, ExprKind, Infix, TypeName};
use crate::value::{is_value, value};

/// The condition of a `WHERE` clause.
pub(crate) fn condition(expr: &Expr, parameters: Parameters<'_>) -> Result<Condition> {
    let condition = Lowering { parameters }.boolean(expr, BooleanContext::Where)?;
    check::condition(&condition)?;
    Ok(condition)
}

/// Where a truth value is expected; messages differ.
#[derive(Clone, Copy)]
enum BooleanContext {
    Where,
    And,
    Or,
    Not,
}

impl BooleanContext {
    /// The refusal of a bare attribute or literal.
    fn not_boolean(self) -> StatementError {
        StatementError::new(match self {
            Self::Where => "WHERE clause must contain an expression that resolves to a boolean",
            Self::And | Self::Or => "The arguments to AND/OR must be Expressions",
            Self::Not => "The argument to NOT must be a Type or Expression",
        })
    }

    /// The refusal of a number that was computed.
    fn number(self) -> StatementError {
        let operator = match self {
            Self::Where => return self.not_boolean(),
            Self::And => "AND",
            Self::Or => "OR",
            Self::Not => "NOT",
        };
        check::wrong_type(operator, "N")
    }
}

#[derive(Clone, Copy)]
struct Lowering<'a> {
    parameters: Parameters<'a>,
}

impl Lowering<'_> {
    fn boolean(self, expr: &Expr, context: BooleanContext) -> Result<Condition> {
        match &expr.kind {
            ExprKind::And(members) => self.all(members, BooleanContext::And).map(Condition::And),
            ExprKind::Or(members) => self.all(members, BooleanContext::Or).map(Condition::Or),
            ExprKind::Not(negated) => {
                let negated = self.boolean(negated, BooleanContext::Not)?;
                Ok(Condition::Not(Box::new(negated)))
            }
            ExprKind::Infix {
                operator,
                left,
                right,
            } => self.infix(*operator, left, right),
            ExprKind::Between { operand, low, high } => Ok(Condition::Between {
                operand: self.operand(operand)?,
                low: self.operand(low)?,
                high: self.operand(high)?,
            }),
            ExprKind::In { operand, list } => self.one_of(operand, list),
            ExprKind::Is { operand, class } => self.type_test(operand, *class),
            ExprKind::Call { name, operands } => self.call(expr, name, operands, context),
            ExprKind::Name(_) | ExprKind::Path { .. } => Err(context.not_boolean()),
            _ if is_value(expr) => Err(context.not_boolean()),
            _ => Err(refused(expr)),
        }
    }

    fn all(self, members: &[Expr], context: BooleanContext) -> Result<Vec<Condition>> {
        members
            .iter()
            .map(|member| self.boolean(member, context))
            .collect()
    }

    fn infix(self, operator: Infix, left: &Expr, right: &Expr) -> Result<Condition> {
        let Some(comparator) = comparator(operator) else {
            return Err(unsupported(operator.sign()));
        };
        match (is_boolean(left), is_boolean(right)) {
            (false, false) => Ok(Condition::Compare {
                left: self.operand(left)?,
                comparator,
                right: self.operand(right)?,
            }),
            (true, false) => self.against_truth(left, comparator, right),
            (false, true) => self.against_truth(right, comparator, left),
            (true, true) => Err(unsupported(operator.sign())),
        }
    }

    /// `condition = true` and its like.
    fn against_truth(self, tested: &Expr, comparator: Comparator, truth: &Expr) -> Result<Condition> {
        let unsupported = || unsupported(comparator.symbol());
        let truth = if is_value(truth) {
            value(truth, self.parameters)?
        } else {
            return Err(unsupported());
        };
        let wanted = match (truth, comparator) {
            (AttributeValue::Bool(truth), Comparator::Equal) => truth,
            (AttributeValue::Bool(truth), Comparator::NotEqual) => !truth,
            _ => return Err(unsupported()),
        };
        let tested = self.boolean(tested, BooleanContext::Where)?;
        Ok(if wanted {
            tested
        } else {
            Condition::Not(Box::new(tested))
        })
    }

    fn one_of(self, operand: &Expr, list: &Expr) -> Result<Condition> {
        let members: &[Expr] = match &list.kind {
            ExprKind::List(members) | ExprKind::Bag(members) => members,
            _ => &[],
        };
        let fits = is_path(operand) || is_value(operand) || is_size(operand);
        let subquery = matches!(
            members,
            [Expr {
                kind: ExprKind::Select(_),
                ..
            }]
        );
        if members.is_empty() || subquery || !fits {
            return Err(StatementError::new(
                "IN operator must have a left hand argument of type Variable Reference \
                 and right hand argument of type Seq with at least one member",
            ));
        }
        let list = members
            .iter()
            .map(|member| self.operand(member))
            .collect::<Result<Vec<_>>>()?;
        Ok(Condition::In {
            operand: self.operand(operand)?,
            list,
        })
    }

    fn type_test(self, operand: &Expr, class: TypeName) -> Result<Condition> {
        if !is_path(operand) && !is_value(operand) && !matches!(operand.kind, ExprKind::Missing) {
            return Err(StatementError::new(
                "The left hand side argument to IS must be a Variable Reference, Literal, or Path",
            ));
        }
        let type_name = match class {
            TypeName::Missing if is_path(operand) => return path(operand).map(Condition::NotExists),
            TypeName::Missing => return Ok(constant(matches!(operand.kind, ExprKind::Missing))),
            TypeName::Attribute(name) => name,
            TypeName::Foreign(name) => {
                return Err(StatementError::at(
                    format_args!(
                        "Unsupported data type for IS operator: {name}. Supported data types are \
                         [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"
                    ),
                    operand.span,
                ));
            }
        };
        if matches!(operand.kind, ExprKind::Missing) {
            return Ok(constant(false));
        }
        let attribute_type = AttributeType::from_name(type_name).ok_or_else(|| unsupported("is"))?;
        Ok(Condition::HasType {
            operand: self.operand(operand)?,
            attribute_type,
        })
    }

    fn call(self, expr: &Expr, name: &str, operands: &[Expr], context: BooleanContext) -> Result<Condition> {
        match name {
            "attribute_exists" => self.path_operand(name, operands).map(Condition::Exists),
            "attribute_not_exists" => self.path_operand(name, operands).map(Condition::NotExists),
            "attribute_type" => {
                let [operand, class] = self.operands(name, operands)?;
                check::distinct(name, &operand, [&class])?;
                Ok(Condition::HasType {
                    operand,
                    attribute_type: check::type_operand(name, &class)?,
                })
            }
            "begins_with" => {
                let [operand, prefix] = self.operands(name, operands)?;
                Ok(Condition::BeginsWith { operand, prefix })
            }
            "contains" => {
                let [operand, element] = self.operands(name, operands)?;
                Ok(Condition::Contains { operand, element })
            }
            "size" => Err(context.number()),
            _ => Err(refused(expr)),
        }
    }

    fn path_operand(self, name: &str, operands: &[Expr]) -> Result<trestle_expr::Path> {
        let [operand] = check::operand_count(name, operands)?;
        if !is_path(operand) {
            return Err(StatementError::new(format!(
                "Operator or function requires a document path; operator or function: {name}"
            )));
        }
        path(operand)
    }

    fn operands<const N: usize>(self, name: &str, operands: &[Expr]) -> Result<[Operand; N]> {
        let exprs: &[Expr; N] = check::operand_count(name, operands)?;
        let mut lowered = Vec::with_capacity(N);
        for expr in exprs {
            lowered.push(self.operand(expr)?);
        }
        lowered
            .try_into()
            .map_err(|_| check::wrong_operand_count(name, operands.len()))
    }

    fn operand(self, expr: &Expr) -> Result<Operand> {
        match &expr.kind {
            ExprKind::Call { name, operands } if name == "size" => {
                let [measured] = self.operands(name, operands)?;
                Ok(Operand::Size(Box::new(measured)))
            }
            _ if is_path(expr) => path(expr).map(Operand::Path),
            _ if is_value(expr) => value(expr, self.parameters).map(Operand::Value),
            _ => Err(refused(expr)),
        }
    }
}

/// A condition that is true of every item, or of none.
fn constant(truth: bool) -> Condition {
    let null = || Operand::Value(AttributeValue::Null);
    let comparator = if truth {
        Comparator::Equal
    } else {
        Comparator::NotEqual
    };
    Condition::Compare {
        left: null(),
        comparator,
        right: null(),
    }
}

fn is_size(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { name, .. } if name == "size")
}

/// Whether the expression is true or false rather than a value.
fn is_boolean(expr: &Expr) -> bool {
    const PREDICATES: [&str; 5] = [
        "attribute_exists",
        "attribute_not_exists",
        "attribute_type",
        "begins_with",
        "contains",
    ];
    match &expr.kind {
        ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::Between { .. }
        | ExprKind::In { .. }
        | ExprKind::Is { .. } => true,
        ExprKind::Infix { operator, .. } => comparator(*operator).is_some(),
        ExprKind::Call { name, .. } => PREDICATES.contains(&name.as_str()),
        _ => false,
    }
}

fn comparator(operator: Infix) -> Option<Comparator> {
    Some(match operator {
        Infix::Equal => Comparator::Equal,
        Infix::NotEqual => Comparator::NotEqual,
        Infix::Less => Comparator::Less,
        Infix::LessOrEqual => Comparator::LessOrEqual,
        Infix::Greater => Comparator::Greater,
        Infix::GreaterOrEqual => Comparator::GreaterOrEqual,
        _ => return None,
    })
}

fn unsupported(operator: &str) -> StatementError {
    StatementError::new(format!(
        "Unsupported operator in Condition Expression. Operator: {operator}"
    ))
}

/// Why an expression is not allowed in a condition.
fn refused(expr: &Expr) -> StatementError {
    match &expr.kind {
        ExprKind::Missing => StatementError::new("MISSING must be compared using IS operator"),
        ExprKind::Infix { operator, .. } => unsupported(operator.sign()),
        ExprKind::Signed { negative: true, .. } => unsupported("-"),
        ExprKind::Signed { negative: false, .. } => unsupported("+"),
        ExprKind::Like => unsupported("like"),
        ExprKind::Between { .. } => unsupported("between"),
        ExprKind::In { .. } => unsupported("in"),
        ExprKind::Is { .. } => unsupported("is"),
        ExprKind::And(_) => unsupported("and"),
        ExprKind::Or(_) => unsupported("or"),
        ExprKind::Not(_) => unsupported("not"),
        ExprKind::Select(select) => {
            StatementError::at("Unsupported token in expression: SELECT", select.span)
        }
        ExprKind::Call { name, operands } => refused_call(expr, name, operands),
        _ => StatementError::at("Unexpected path component", expr.span),
    }
}

fn refused_call(expr: &Expr, name: &str, operands: &[Expr]) -> StatementError {
    if let Some(Expr {
        kind: ExprKind::Select(select),
        ..
    }) = operands.first()
    {
        return StatementError::at("Unsupported token in expression: SELECT", select.span);
    }
    match name {
        "list_append" | "if_not_exists" => StatementError::new(format!(
            "The function is not allowed in a condition expression; function: {name}"
        )),
        "attribute_exists" | "attribute_not_exists" | "attribute_type" | "begins_with" | "contains" => {
            StatementError::new(format!(
                "The function is not allowed to be used this way in an expression; function: {name}"
            ))
        }
        _ => StatementError::at(format_args!("Unrecognized function: {name}"), expr.span),
    }
}
