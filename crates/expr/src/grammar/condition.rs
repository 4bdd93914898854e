//! Conditions: `OR` has the lowest precedence, then `AND`, then `NOT`.

use super::operand::{RawCall, RawOperand, first_operand, grouped_operand};
use super::separated;
use crate::ExprError;
use crate::condition::Comparator;
use crate::cursor::Cursor;
use crate::lexer::TokenKind;
use crate::resolution::{OPERATORS_MAX, too_many_operators};

/// A condition as written.
#[derive(Debug)]
pub(crate) enum RawCondition<'t> {
    Or(Vec<RawCondition<'t>>),
    And(Vec<RawCondition<'t>>),
    Not(Box<RawCondition<'t>>),
    Comparison(Box<Comparison<'t>>),
    Call(RawCall<'t>),
}

/// An operator with an operand on its left.
#[derive(Debug)]
pub(crate) enum Comparison<'t> {
    Compare(RawOperand<'t>, Comparator, RawOperand<'t>),
    Between(RawOperand<'t>, RawOperand<'t>, RawOperand<'t>),
    In(RawOperand<'t>, Vec<RawOperand<'t>>),
}

/// Parentheses nested deeper than this are refused. Those that are not redundant contain at least one
/// operator each, so no allowed expression nests deeper.
const DEPTH_MAX: usize = OPERATORS_MAX + 1;

/// A condition, whether it has its own parentheses, and the height of its tree of operators.
struct Parsed<'t> {
    condition: RawCondition<'t>,
    in_parentheses: bool,
    height: usize,
}

/// A whole condition.
pub(crate) fn condition<'t>(cursor: &mut Cursor<'t>) -> Result<RawCondition<'t>, ExprError> {
    let parsed = or(cursor, 0)?;
    cursor.finish()?;
    Ok(parsed.condition)
}

/// One function for `OR` and `AND`: parentheses recurse through it, and the stack is limited.
fn or<'t>(cursor: &mut Cursor<'t>, depth: usize) -> Result<Parsed<'t>, ExprError> {
    let mut any = Links::default();
    let mut all = Links::default();
    loop {
        let link = not(cursor, depth)?;
        if cursor.take(TokenKind::And).is_some() {
            all.push(link);
        } else if cursor.take(TokenKind::Or).is_some() {
            any.push(all.join(RawCondition::And, link));
        } else {
            let last = all.join(RawCondition::And, link);
            return any.join(RawCondition::Or, last).check_height(cursor);
        }
    }
}

/// Conditions that are followed by the same connective.
#[derive(Default)]
struct Links<'t> {
    conditions: Vec<RawCondition<'t>>,
    height: usize,
}

impl<'t> Links<'t> {
    fn push(&mut self, link: Parsed<'t>) {
        self.height = self.height.max(link.height);
        self.conditions.push(link.condition);
    }

    /// Joins all links with the last one; a single one is unchanged.
    fn join(&mut self, join: fn(Vec<RawCondition<'t>>) -> RawCondition<'t>, last: Parsed<'t>) -> Parsed<'t> {
        if self.conditions.is_empty() {
            return last;
        }
        self.push(last);
        let Self { conditions, height } = std::mem::take(self);
        Parsed {
            condition: join(conditions),
            in_parentheses: false,
            height: height + 1,
        }
    }
}

impl Parsed<'_> {
    /// All later passes over a tree recurse, so this limit protects the stack.
    fn check_height(self, cursor: &Cursor<'_>) -> Result<Self, ExprError> {
        if self.height > OPERATORS_MAX {
            Err(too_many_operators(cursor.kind()))
        } else {
            Ok(self)
        }
    }
}

fn not<'t>(cursor: &mut Cursor<'t>, depth: usize) -> Result<Parsed<'t>, ExprError> {
    let mut negations = 0;
    while cursor.take(TokenKind::Not).is_some() {
        negations += 1;
    }
    let parsed = grouped(cursor, depth)?;
    if negations == 0 {
        return Ok(parsed);
    }
    let height = parsed.height + negations;
    if height > OPERATORS_MAX {
        return Err(too_many_operators(cursor.kind()));
    }
    let negate = |condition, _| RawCondition::Not(Box::new(condition));
    let condition = (0..negations).fold(parsed.condition, negate);
    Ok(Parsed {
        condition,
        in_parentheses: false,
        height,
    })
}

/// A condition in parentheses or a simple one.
///
/// An opening parenthesis may belong to a condition or to its first operand, as both do in `((a) = :b)`. This
/// is known only after the operand, so [`operand_parentheses`] looks ahead first.
fn grouped<'t>(cursor: &mut Cursor<'t>, depth: usize) -> Result<Parsed<'t>, ExprError> {
    let opened = (0..)
        .take_while(|ahead| cursor.peek_at(*ahead) == TokenKind::Open)
        .count();
    if operand_parentheses(cursor, opened) == opened {
        let condition = simple(cursor)?;
        return Ok(Parsed {
            condition,
            in_parentheses: false,
            height: 1,
        });
    }
    if depth >= DEPTH_MAX {
        return Err(if opened > 1 {
            cursor.redundant_parentheses()
        } else {
            too_many_operators(cursor.kind())
        });
    }
    cursor.expect(TokenKind::Open)?;
    let inner = or(cursor, depth + 1)?;
    cursor.expect(TokenKind::Close)?;
    if inner.in_parentheses {
        return Err(cursor.redundant_parentheses());
    }
    Ok(Parsed {
        in_parentheses: true,
        ..inner
    })
}

/// How many of the parentheses opened here enclose only an operand.
fn operand_parentheses(cursor: &Cursor<'_>, opened: usize) -> usize {
    let Some(behind) = operand_end(cursor, opened) else {
        return 0;
    };
    let closed = (0..opened)
        .take_while(|ahead| cursor.peek_at(behind + ahead) == TokenKind::Close)
        .count();
    let is_call = cursor.peek_at(opened) == TokenKind::Word && cursor.peek_at(opened + 1) == TokenKind::Open;
    // A call may be a whole condition; a path or value in parentheses can only be an operand.
    if is_call && !starts_comparison(cursor.peek_at(behind + closed)) {
        0
    } else {
        closed
    }
}

/// The end of the operand that starts `ahead`, without checking it; `None` if there is none.
fn operand_end(cursor: &Cursor<'_>, ahead: usize) -> Option<usize> {
    match (cursor.peek_at(ahead), cursor.peek_at(ahead + 1)) {
        (TokenKind::Value, _) => Some(ahead + 1),
        (TokenKind::Word, TokenKind::Open) => {
            let mut depth = 0_usize;
            (ahead + 1..)
                .map(|at| (at, cursor.peek_at(at)))
                .find_map(|(at, token)| {
                    match token {
                        TokenKind::Open => depth += 1,
                        TokenKind::Close => depth -= 1,
                        TokenKind::End => return Some(None),
                        _ => {}
                    }
                    (depth == 0).then_some(Some(at + 1))
                })?
        }
        (TokenKind::Word | TokenKind::Name, _) => (ahead..).find(|at| !continues_path(cursor.peek_at(*at))),
        _ => None,
    }
}

fn continues_path(token: TokenKind) -> bool {
    matches!(
        token,
        TokenKind::Word
            | TokenKind::Name
            | TokenKind::Integer
            | TokenKind::Dot
            | TokenKind::OpenBracket
            | TokenKind::CloseBracket
    )
}

fn starts_comparison(token: TokenKind) -> bool {
    comparator(token).is_some() || matches!(token, TokenKind::Between | TokenKind::In)
}

fn comparator(token: TokenKind) -> Option<Comparator> {
    Some(match token {
        TokenKind::Equal => Comparator::Equal,
        TokenKind::NotEqual => Comparator::NotEqual,
        TokenKind::Less => Comparator::Less,
        TokenKind::LessOrEqual => Comparator::LessOrEqual,
        TokenKind::Greater => Comparator::Greater,
        TokenKind::GreaterOrEqual => Comparator::GreaterOrEqual,
        _ => return None,
    })
}

/// A comparison, or a call that is itself true or false.
fn simple<'t>(cursor: &mut Cursor<'t>) -> Result<RawCondition<'t>, ExprError> {
    let left = first_operand(cursor)?;
    if !starts_comparison(cursor.peek()) {
        let RawOperand::Call(call) = left else {
            return Err(cursor.syntax_error());
        };
        cursor.check_parentheses()?;
        return Ok(RawCondition::Call(call));
    }
    cursor.check_parentheses()?;
    if let Some(comparator) = comparator(cursor.peek()) {
        cursor.next();
        let right = grouped_operand(cursor)?;
        return Ok(compared(Comparison::Compare(left, comparator, right)));
    }
    if cursor.take(TokenKind::Between).is_some() {
        let low = grouped_operand(cursor)?;
        cursor.expect(TokenKind::And)?;
        let high = grouped_operand(cursor)?;
        return Ok(compared(Comparison::Between(left, low, high)));
    }
    cursor.expect(TokenKind::In)?;
    cursor.expect(TokenKind::Open)?;
    let list = separated(cursor, grouped_operand)?;
    cursor.expect(TokenKind::Close)?;
    Ok(compared(Comparison::In(left, list)))
}

fn compared(comparison: Comparison<'_>) -> RawCondition<'_> {
    RawCondition::Comparison(Box::new(comparison))
}
