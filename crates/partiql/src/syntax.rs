//! A statement as it was written: names, literals and operators, not checked yet.

use crate::span::Span;

/// An expression and its token in messages: an operator's sign, a call's name, otherwise the first token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExprKind {
    /// An attribute or table name without steps.
    Name(String),
    /// A name or another expression followed by steps.
    Path {
        root: Box<Expr>,
        steps: Vec<Step>,
    },
    Text(String),
    Number(String),
    Bool(bool),
    Null,
    Missing,
    /// An Ion literal, by the name of its type.
    Ion(&'static str),
    /// The `?` at this place, counted from zero.
    Parameter(usize),
    /// `[a, b]` or `(a, b)`.
    List(Vec<Expr>),
    /// `<<a, b>>`
    Bag(Vec<Expr>),
    /// `{'a': b}`
    Struct(Vec<(Expr, Expr)>),
    /// A call; the name is in lower case.
    Call {
        name: String,
        operands: Vec<Expr>,
    },
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// Unary plus or minus.
    Signed {
        negative: bool,
        operand: Box<Expr>,
    },
    Infix {
        operator: Infix,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
    },
    In {
        operand: Box<Expr>,
        list: Box<Expr>,
    },
    Like,
    Is {
        operand: Box<Expr>,
        class: TypeName,
    },
    Select(Box<Select>),
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// `.name`
    Name(String),
    /// `[expression]`
    Index(Expr),
    /// `.*`
    Unpivot(Span),
    /// `[*]`
    Wildcard(Span),
}

/// Operators between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Infix {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
    Concat,
    Union,
    Except,
    Intersect,
}

impl Infix {
    /// The operator as DynamoDB's messages write it.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Concat => "||",
            Self::Union => "union",
            Self::Except => "except",
            Self::Intersect => "intersect",
        }
    }

    /// The operator's name among PartiQL's node kinds.
    fn node(self) -> &'static str {
        match self {
            Self::Equal => "Eq",
            Self::NotEqual => "Ne",
            Self::Less => "Lt",
            Self::LessOrEqual => "Lte",
            Self::Greater => "Gt",
            Self::GreaterOrEqual => "Gte",
            Self::Plus => "Plus",
            Self::Minus => "Minus",
            Self::Times => "Times",
            Self::Divide => "Divide",
            Self::Modulo => "Modulo",
            Self::Concat => "Concat",
            Self::Union => "Union",
            Self::Except => "Except",
            Self::Intersect => "Intersect",
        }
    }
}

impl Expr {
    /// The expression's name among PartiQL's node kinds, for "Unsupported operation" and its like.
    pub(crate) fn node(&self) -> &'static str {
        match &self.kind {
            ExprKind::Name(_) => "Id",
            ExprKind::Path { .. } => "Path",
            ExprKind::Text(_)
            | ExprKind::Number(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::Ion(_) => "Lit",
            ExprKind::Missing => "Missing",
            ExprKind::Parameter(_) => "Parameter",
            ExprKind::List(_) => "List",
            ExprKind::Bag(_) => "Bag",
            ExprKind::Struct(_) => "Struct",
            ExprKind::Call { .. } => "Call",
            ExprKind::Not(_) => "Not",
            ExprKind::And(_) => "And",
            ExprKind::Or(_) => "Or",
            ExprKind::Signed { negative: true, .. } => "Neg",
            ExprKind::Signed { negative: false, .. } => "Pos",
            ExprKind::Infix { operator, .. } => operator.node(),
            ExprKind::Between { .. } => "Between",
            ExprKind::In { .. } => "InCollection",
            ExprKind::Like => "Like",
            ExprKind::Is { .. } => "IsType",
            ExprKind::Select(_) => "Select",
        }
    }
}

/// The type after `IS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeName {
    Missing,
    /// A type DynamoDB has, by its wire name.
    Attribute(&'static str),
    /// A type only PartiQL has, by its node kind.
    Foreign(&'static str),
}

/// A whole statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Statement {
    Select(Select),
    Insert {
        target: Expr,
        value: Expr,
    },
    Update {
        target: Expr,
        changes: Vec<Change>,
        condition: Option<Expr>,
        returning: Option<Returning>,
    },
    Delete {
        target: Expr,
        condition: Option<Expr>,
        returning: Option<Returning>,
    },
    Exists(Select),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Select {
    pub(crate) columns: Columns,
    pub(crate) source: Expr,
    pub(crate) condition: Option<Expr>,
    pub(crate) order: Vec<(Expr, Direction)>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Columns {
    All,
    Listed(Vec<Expr>),
}

/// One `SET` assignment or `REMOVE`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Set { target: Expr, value: Expr },
    Remove { target: Expr },
}

/// Ascending or descending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    #[default]
    Ascending,
    /// Largest first.
    Descending,
}

/// Which image of the item a write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returning {
    /// The whole item before the write.
    AllOld,
    /// The whole item after the write.
    AllNew,
    /// The touched paths before the write.
    ModifiedOld,
    /// The touched paths after the write.
    ModifiedNew,
}

impl Returning {
    /// The clause as DynamoDB's messages write it.
    pub(crate) fn clause(self) -> &'static str {
        match self {
            Self::AllOld => "RETURNING ALL OLD *",
            Self::AllNew => "RETURNING ALL NEW *",
            Self::ModifiedOld => "RETURNING MODIFIED OLD *",
            Self::ModifiedNew => "RETURNING MODIFIED NEW *",
        }
    }
}
