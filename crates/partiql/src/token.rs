//! The words and signs of a statement.

use crate::span::Span;

/// One token and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A word without quotes: a keyword or a name.
    Word(String),
    /// A name in double quotes.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    /// An unsigned number as written.
    Number(String),
    /// An Ion literal between backticks, without them.
    Ion(String),
    /// `?`
    Parameter,
    /// A sign.
    Sign(Sign),
    /// After the last token.
    End,
}

/// Signs of one or two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftCurly,
    RightCurly,
    LeftAngles,
    RightAngles,
    Comma,
    Colon,
    Semicolon,
    Dot,
    Star,
    Plus,
    Minus,
    Slash,
    Percent,
    Bars,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Sign {
    /// Whether the sign is an operator rather than punctuation: the two are refused in different words where
    /// a term should stand.
    pub(crate) fn is_operator(self) -> bool {
        use Sign::{
            Bars, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Minus, NotEqual, Percent, Plus, Slash,
            Star,
        };
        matches!(
            self,
            Star | Plus
                | Minus
                | Slash
                | Percent
                | Bars
                | Equal
                | NotEqual
                | Less
                | LessOrEqual
                | Greater
                | GreaterOrEqual
        )
    }

    /// The sign's name in "Expected …" messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LeftParen => "LEFT_PAREN",
            Self::RightParen => "RIGHT_PAREN",
            Self::LeftBracket => "LEFT_BRACKET",
            Self::RightBracket => "RIGHT_BRACKET",
            Self::LeftCurly => "LEFT_CURLY",
            Self::RightCurly => "RIGHT_CURLY",
            Self::LeftAngles => "LEFT_DOUBLE_ANGLE_BRACKET",
            Self::RightAngles => "RIGHT_DOUBLE_ANGLE_BRACKET",
            Self::Comma => "COMMA",
            Self::Colon => "COLON",
            Self::Semicolon => "SEMICOLON",
            Self::Dot => "DOT",
            _ => "OPERATOR",
        }
    }
}

impl Token {
    /// Whether the token is the keyword `word` (given in lower case), in any case and without quotes.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(text) if text.eq_ignore_ascii_case(word))
    }

    /// Whether the token is `sign`.
    pub(crate) fn is_sign(&self, sign: Sign) -> bool {
        self.kind == Kind::Sign(sign)
    }
}
