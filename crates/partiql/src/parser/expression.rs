//! Expressions: precedence climbing over terms, with steps after a term.

use super::{DEPTH_MAX, Parser, too_deep};
use crate::error::{Result, StatementError};
use crate::keyword;
use crate::span::Span;
use crate::syntax::{Expr, ExprKind, Infix, Step};
use crate::token::{Kind, Sign, Token};

/// How strongly operators bind; a larger number binds tighter.
const SET_OPERATION: u8 = 1;
const OR: u8 = 2;
const AND: u8 = 3;
const NOT: u8 = 4;
const COMPARISON: u8 = 5;
const CONCAT: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;

/// An operator that follows a complete operand.
#[derive(Clone, Copy)]
enum Following {
    Or,
    And,
    Is,
    In { negated: bool },
    Between { negated: bool },
    Like { negated: bool },
    Infix(Infix),
}

impl Following {
    fn binding(self) -> u8 {
        match self {
            Self::Or => OR,
            Self::And => AND,
            Self::Is | Self::In { .. } | Self::Between { .. } | Self::Like { .. } => COMPARISON,
            Self::Infix(infix) => match infix {
                Infix::Union | Infix::Except | Infix::Intersect => SET_OPERATION,
                Infix::Concat => CONCAT,
                Infix::Plus | Infix::Minus => SUM,
                Infix::Times | Infix::Divide | Infix::Modulo => PRODUCT,
                _ => COMPARISON,
            },
        }
    }
}

impl Parser {
    /// A whole expression.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.binding_at_least(SET_OPERATION)
    }

    /// An expression inside a `SELECT`, which a set operation would end.
    pub(super) fn clause(&mut self) -> Result<Expr> {
        self.binding_at_least(OR)
    }

    fn binding_at_least(&mut self, least: u8) -> Result<Expr> {
        self.deeper(|parser| {
            let mut left = parser.prefixed()?;
            // Each turn wraps `left` once more, so the turns are bounded like the nesting; chains of AND and
            // OR stay flat and are bounded by the operator count instead.
            let mut wraps = 0;
            while let Some(operator) = parser.following().filter(|operator| operator.binding() >= least) {
                if !matches!(operator, Following::And | Following::Or) {
                    wraps += 1;
                }
                if wraps > DEPTH_MAX {
                    return Err(too_deep());
                }
                left = parser.follow(left, operator)?;
            }
            Ok(left)
        })
    }

    fn prefixed(&mut self) -> Result<Expr> {
        let span = self.span();
        if self.take_word("not") {
            let operand = Box::new(self.binding_at_least(NOT)?);
            return Ok(Expr {
                kind: ExprKind::Not(operand),
                span,
            });
        }
        for (sign, negative) in [(Sign::Minus, true), (Sign::Plus, false)] {
            if self.take_sign(sign) {
                let operand = Box::new(self.deeper(Self::prefixed)?);
                return Ok(Expr {
                    kind: ExprKind::Signed { negative, operand },
                    span,
                });
            }
        }
        let term = self.term()?;
        self.steps(term)
    }

    /// The operator at the head, if there is one. Does not pass it.
    fn following(&self) -> Option<Following> {
        let infix = |infix| Some(Following::Infix(infix));
        match &self.head().kind {
            Kind::Sign(sign) => sign_infix(*sign).and_then(infix),
            Kind::Word(word) => match word.to_ascii_lowercase().as_str() {
                "or" => Some(Following::Or),
                "and" => Some(Following::And),
                "is" => Some(Following::Is),
                "in" => Some(Following::In { negated: false }),
                "between" => Some(Following::Between { negated: false }),
                "like" => Some(Following::Like { negated: false }),
                "not" => negated_following(self.second()),
                "union" => infix(Infix::Union),
                "except" => infix(Infix::Except),
                "intersect" => infix(Infix::Intersect),
                _ => None,
            },
            _ => None,
        }
    }

    /// Passes `operator` and reads what comes after it.
    fn follow(&mut self, left: Expr, operator: Following) -> Result<Expr> {
        let span = self.span();
        let negated = matches!(
            operator,
            Following::In { negated: true }
                | Following::Between { negated: true }
                | Following::Like { negated: true }
        );
        if negated {
            self.advance();
        }
        self.advance();
        if self.head().kind == Kind::End {
            return Err(StatementError::not_well_formed(
                "Missing right-hand side expression of infix operator",
            ));
        }
        let kind = match operator {
            Following::Or => join(left, self.binding_at_least(AND)?, Join::Or),
            Following::And => join(left, self.binding_at_least(NOT)?, Join::And),
            Following::Is => return self.type_test(left, span),
            Following::In { .. } => {
                let list = Box::new(self.members()?);
                ExprKind::In {
                    operand: Box::new(left),
                    list,
                }
            }
            Following::Between { .. } => self.between(left)?,
            Following::Like { .. } => {
                self.binding_at_least(CONCAT)?;
                if self.take_word("escape") {
                    self.binding_at_least(CONCAT)?;
                }
                ExprKind::Like
            }
            Following::Infix(infix) => {
                let right = Box::new(self.binding_at_least(operator.binding() + 1)?);
                ExprKind::Infix {
                    operator: infix,
                    left: Box::new(left),
                    right,
                }
            }
        };
        let expr = Expr { kind, span };
        Ok(if negated { negate(expr) } else { expr })
    }

    /// What stands after `IN`. There, parentheses around one member make a list too.
    fn members(&mut self) -> Result<Expr> {
        let span = self.span();
        if self.at_sign(Sign::LeftParen) && !self.second().is_sign(Sign::RightParen) {
            let members = self.enclosed(Sign::RightParen, Self::expression)?;
            return Ok(Expr {
                kind: ExprKind::List(members),
                span,
            });
        }
        self.binding_at_least(CONCAT)
    }

    fn between(&mut self, operand: Expr) -> Result<ExprKind> {
        let low = Box::new(self.binding_at_least(CONCAT)?);
        self.expect_word("and", "Expected AND after BETWEEN")?;
        let high = Box::new(self.binding_at_least(CONCAT)?);
        Ok(ExprKind::Between {
            operand: Box::new(operand),
            low,
            high,
        })
    }

    fn type_test(&mut self, operand: Expr, span: Span) -> Result<Expr> {
        let negated = self.take_word("not");
        let class = self.type_name()?;
        let test = Expr {
            kind: ExprKind::Is {
                operand: Box::new(operand),
                class,
            },
            span,
        };
        Ok(if negated { negate(test) } else { test })
    }

    fn term(&mut self) -> Result<Expr> {
        let span = self.span();
        let literal = |parser: &mut Self, kind| {
            parser.advance();
            Ok(Expr { kind, span })
        };
        match self.head().kind.clone() {
            Kind::Text(text) => literal(self, ExprKind::Text(text)),
            Kind::Number(number) => literal(self, ExprKind::Number(number)),
            Kind::Ion(text) => literal(self, ExprKind::Ion(ion_type(&text))),
            Kind::Parameter => {
                let place = self.parameters;
                self.parameters += 1;
                literal(self, ExprKind::Parameter(place))
            }
            Kind::Quoted(name) => literal(self, ExprKind::Name(name)),
            Kind::Word(word) => self.word_term(&word, span),
            Kind::Sign(sign) => self.sign_term(sign, span),
            Kind::End => Err(StatementError::not_well_formed("Unexpected term")),
        }
    }

    fn word_term(&mut self, word: &str, span: Span) -> Result<Expr> {
        let callable = !keyword::is_reserved(word) || keyword::names_function(word);
        if callable && self.second().is_sign(Sign::LeftParen) {
            return self.call(word, span);
        }
        let lower = word.to_ascii_lowercase();
        let kind = match lower.as_str() {
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "null" => ExprKind::Null,
            "missing" => ExprKind::Missing,
            "select" => {
                let select = self.deeper(Self::select)?;
                return Ok(Expr {
                    kind: ExprKind::Select(Box::new(select)),
                    span,
                });
            }
            "from" => return self.misplaced_update(),
            "and" | "or" | "not" | "is" | "in" | "like" | "between" | "union" | "except" | "intersect" => {
                return Err(StatementError::not_well_formed("Unexpected operator"));
            }
            _ if keyword::is_reserved(word) => {
                return Err(StatementError::not_well_formed("Unexpected keyword"));
            }
            _ => ExprKind::Name(word.to_owned()),
        };
        self.advance();
        Ok(Expr { kind, span })
    }

    /// `FROM` where a term should stand starts the second form of `UPDATE`, which is not an operand.
    fn misplaced_update(&mut self) -> Result<Expr> {
        self.deeper(Self::update_by_from)?;
        Err(StatementError::not_well_formed("Unexpected keyword"))
    }

    fn call(&mut self, word: &str, span: Span) -> Result<Expr> {
        self.advance();
        self.advance();
        let mut operands = Vec::new();
        if self.at_sign(Sign::Star) {
            self.advance();
        } else if !self.at_sign(Sign::RightParen) {
            operands = self.comma_separated(Self::expression)?;
        }
        self.expect_sign(Sign::RightParen)?;
        Ok(Expr {
            kind: ExprKind::Call {
                name: word.to_ascii_lowercase(),
                operands,
            },
            span,
        })
    }

    fn sign_term(&mut self, sign: Sign, span: Span) -> Result<Expr> {
        let kind = match sign {
            Sign::LeftParen => return self.parenthesised(span),
            Sign::LeftBracket => ExprKind::List(self.enclosed(Sign::RightBracket, Self::expression)?),
            Sign::LeftAngles => ExprKind::Bag(self.enclosed(Sign::RightAngles, Self::expression)?),
            Sign::LeftCurly => ExprKind::Struct(self.enclosed(Sign::RightCurly, Self::member)?),
            _ if sign.is_operator() => return Err(StatementError::not_well_formed("Unexpected operator")),
            _ => return Err(StatementError::not_well_formed("Unexpected term")),
        };
        Ok(Expr { kind, span })
    }

    /// `(a)` is `a`; `(a, b)` is a list.
    fn parenthesised(&mut self, span: Span) -> Result<Expr> {
        self.advance();
        let mut inner = self.comma_separated(Self::expression)?;
        self.expect_sign(Sign::RightParen)?;
        match (inner.pop(), inner.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                inner.extend(last);
                Ok(Expr {
                    kind: ExprKind::List(inner),
                    span,
                })
            }
        }
    }

    fn enclosed<T>(&mut self, close: Sign, read: fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.advance();
        if self.take_sign(close) {
            return Ok(Vec::new());
        }
        let inner = self.comma_separated(read)?;
        self.expect_sign(close)?;
        Ok(inner)
    }

    fn member(&mut self) -> Result<(Expr, Expr)> {
        let name = self.expression()?;
        self.expect_sign(Sign::Colon)?;
        Ok((name, self.expression()?))
    }

    /// One or more.
    pub(super) fn comma_separated<T>(&mut self, read: fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut all = vec![read(self)?];
        while self.take_sign(Sign::Comma) {
            all.push(read(self)?);
        }
        Ok(all)
    }

    /// The steps after `root`, if any.
    fn steps(&mut self, root: Expr) -> Result<Expr> {
        let mut steps = Vec::new();
        loop {
            if self.take_sign(Sign::Dot) {
                steps.push(self.dot_step()?);
            } else if self.take_sign(Sign::LeftBracket) {
                let star = self.span();
                steps.push(if self.take_sign(Sign::Star) {
                    Step::Wildcard(star)
                } else {
                    Step::Index(self.expression()?)
                });
                self.expect_sign(Sign::RightBracket)?;
            } else if steps.is_empty() {
                return Ok(root);
            } else {
                let span = root.span;
                return Ok(Expr {
                    kind: ExprKind::Path {
                        root: Box::new(root),
                        steps,
                    },
                    span,
                });
            }
        }
    }

    fn dot_step(&mut self) -> Result<Step> {
        let span = self.span();
        if self.take_sign(Sign::Star) {
            return Ok(Step::Unpivot(span));
        }
        match self.take_name() {
            Some((name, _)) => Ok(Step::Name(name)),
            None => Err(StatementError::not_well_formed("Invalid path dot component")),
        }
    }

    /// The path of a write: a name and its steps, nothing computed.
    pub(super) fn simple_path(&mut self) -> Result<Expr> {
        let Some((name, span)) = self.take_name() else {
            return Err(StatementError::not_well_formed(
                "Expected identifier for simple path",
            ));
        };
        self.steps(Expr {
            kind: ExprKind::Name(name),
            span,
        })
    }
}

/// The type an Ion literal would have; DynamoDB names it when it refuses the literal.
fn ion_type(text: &str) -> &'static str {
    let text = text.trim();
    let number = text.trim_start_matches('-');
    match number.chars().next() {
        _ if text.starts_with("{{") => "BLOB",
        Some('{') => "STRUCT",
        Some('[') => "LIST",
        Some('(') => "SEXP",
        Some('"') => "STRING",
        Some(digit) if digit.is_ascii_digit() && number.contains(['e', 'E']) => "FLOAT",
        Some(digit) if digit.is_ascii_digit() && number.contains('.') => "DECIMAL",
        Some(digit) if digit.is_ascii_digit() => "INT",
        _ if text == "true" || text == "false" => "BOOL",
        _ if text == "null" => "NULL",
        _ => "SYMBOL",
    }
}

fn sign_infix(sign: Sign) -> Option<Infix> {
    Some(match sign {
        Sign::Equal => Infix::Equal,
        Sign::NotEqual => Infix::NotEqual,
        Sign::Less => Infix::Less,
        Sign::LessOrEqual => Infix::LessOrEqual,
        Sign::Greater => Infix::Greater,
        Sign::GreaterOrEqual => Infix::GreaterOrEqual,
        Sign::Plus => Infix::Plus,
        Sign::Minus => Infix::Minus,
        Sign::Star => Infix::Times,
        Sign::Slash => Infix::Divide,
        Sign::Percent => Infix::Modulo,
        Sign::Bars => Infix::Concat,
        _ => return None,
    })
}

fn negated_following(second: &Token) -> Option<Following> {
    let negated = true;
    if second.is_word("in") {
        Some(Following::In { negated })
    } else if second.is_word("between") {
        Some(Following::Between { negated })
    } else if second.is_word("like") {
        Some(Following::Like { negated })
    } else {
        None
    }
}

fn negate(expr: Expr) -> Expr {
    let span = expr.span;
    Expr {
        kind: ExprKind::Not(Box::new(expr)),
        span,
    }
}

#[derive(PartialEq)]
enum Join {
    And,
    Or,
}

/// Chains stay one flat list, so that a long one nests no deeper than a short one.
fn join(left: Expr, right: Expr, how: Join) -> ExprKind {
    let mut members = match (left, &how) {
        (
            Expr {
                kind: ExprKind::And(members),
                ..
            },
            Join::And,
        ) => members,
        (
            Expr {
                kind: ExprKind::Or(members),
                ..
            },
            Join::Or,
        ) => members,
        (left, _) => vec![left],
    };
    members.push(right);
    if how == Join::And {
        ExprKind::And(members)
    } else {
        ExprKind::Or(members)
    }
}
