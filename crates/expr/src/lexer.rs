//! Text to tokens. Never fails: unknown text becomes a [`TokenKind::Unknown`], which no grammar accepts.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A bare attribute or function name.
    Word,
    /// `#name`
    Name,
    /// `:value`
    Value,
    /// A whole number without leading zeros.
    Integer,
    And,
    Or,
    Not,
    Between,
    In,
    Set,
    Remove,
    Add,
    Delete,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Dot,
    Comma,
    Unknown,
    /// Ends every list of tokens. It covers no text.
    End,
}

/// A token and the bytes of the text it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// All tokens of `text`, with an [`TokenKind::End`] at the end.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 4 + 2);
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if matches!(first, ' ' | '\t' | '\r' | '\n') {
            at += 1;
            continue;
        }
        let (kind, len) = token(&text[at..], first);
        tokens.push(Token {
            kind,
            start: at,
            end: at + len,
        });
        at += len;
    }
    tokens.push(Token {
        kind: TokenKind::End,
        start: text.len(),
        end: text.len(),
    });
    tokens
}

/// The token `rest` starts with, and its length in bytes.
fn token(rest: &str, first: char) -> (TokenKind, usize) {
    let bytes = rest.as_bytes();
    match first {
        'a'..='z' | 'A'..='Z' => {
            let len = word_len(bytes);
            (keyword(&rest[..len]).unwrap_or(TokenKind::Word), len)
        }
        '#' | ':' => placeholder(bytes),
        '0' => (TokenKind::Integer, 1),
        '1'..='9' => (
            TokenKind::Integer,
            bytes.iter().take_while(|b| b.is_ascii_digit()).count(),
        ),
        '<' => match bytes.get(1) {
            Some(b'>') => (TokenKind::NotEqual, 2),
            Some(b'=') => (TokenKind::LessOrEqual, 2),
            _ => (TokenKind::Less, 1),
        },
        '>' if bytes.get(1) == Some(&b'=') => (TokenKind::GreaterOrEqual, 2),
        _ => (symbol(first), first.len_utf8()),
    }
}

fn symbol(symbol: char) -> TokenKind {
    match symbol {
        '=' => TokenKind::Equal,
        '>' => TokenKind::Greater,
        '+' => TokenKind::Plus,
        '-' => TokenKind::Minus,
        '(' => TokenKind::Open,
        ')' => TokenKind::Close,
        '[' => TokenKind::OpenBracket,
        ']' => TokenKind::CloseBracket,
        '.' => TokenKind::Dot,
        ',' => TokenKind::Comma,
        _ => TokenKind::Unknown,
    }
}

/// A `#` or `:` must be followed by at least one letter, digit or underscore.
fn placeholder(bytes: &[u8]) -> (TokenKind, usize) {
    let len = 1 + word_len(&bytes[1..]);
    match (len, bytes[0]) {
        (1, _) => (TokenKind::Unknown, 1),
        (_, b'#') => (TokenKind::Name, len),
        _ => (TokenKind::Value, len),
    }
}

fn word_len(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
        .count()
}

/// Keywords are the same in all expressions, in any case: `SET` cannot be an attribute name in a filter
/// either.
fn keyword(word: &str) -> Option<TokenKind> {
    const KEYWORDS: [(&str, TokenKind); 9] = [
        ("AND", TokenKind::And),
        ("OR", TokenKind::Or),
        ("NOT", TokenKind::Not),
        ("BETWEEN", TokenKind::Between),
        ("IN", TokenKind::In),
        ("SET", TokenKind::Set),
        ("REMOVE", TokenKind::Remove),
        ("ADD", TokenKind::Add),
        ("DELETE", TokenKind::Delete),
    ];
    KEYWORDS
        .iter()
        .find(|(keyword, _)| keyword.eq_ignore_ascii_case(word))
        .map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::{TokenKind::*, *};

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).iter().map(|token| token.kind).collect()
    }

    #[test]
    fn keywords_are_known_in_any_case_and_only_as_whole_words() {
        assert_eq!(kinds("and AND AndB not9"), [And, And, Word, Word, End]);
    }

    #[test]
    fn the_longest_comparator_wins() {
        assert_eq!(
            kinds("<><=<>=>="),
            [NotEqual, LessOrEqual, NotEqual, Equal, GreaterOrEqual, End]
        );
    }

    #[test]
    fn a_number_has_no_leading_zero() {
        assert_eq!(kinds("00 10"), [Integer, Integer, Integer, End]);
    }

    #[test]
    fn what_starts_no_token_is_one_unknown_character() {
        assert_eq!(
            kinds("_a é # : 😀"),
            [Unknown, Word, Unknown, Unknown, Unknown, Unknown, End]
        );
    }
}
