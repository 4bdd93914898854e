//! The content of the parentheses: one path.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

use crate::Fault;

const USAGE: &str = "expected the path of a model file: model!(\"models/shop.toml\")";

/// A path, and its position.
pub(crate) struct Path {
    pub(crate) text: String,
    pub(crate) span: Span,
}

pub(crate) fn path(input: TokenStream) -> Result<Path, Fault> {
    let mut tokens = input.into_iter();
    let Some(first) = tokens.next() else {
        return Err(Fault::new(Span::call_site(), USAGE));
    };
    if let Some(more) = tokens.next() {
        return Err(Fault::new(more.span(), USAGE));
    }
    match first {
        // Tokens from a `macro_rules!` are in an invisible group.
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => path(group.stream()),
        TokenTree::Literal(literal) => match unquoted(&literal.to_string()) {
            Some(text) => Ok(Path {
                text,
                span: literal.span(),
            }),
            None => Err(Fault::new(literal.span(), USAGE)),
        },
        other => Err(Fault::new(other.span(), USAGE)),
    }
}

/// The text of a string literal. Paths have no escapes but `\\` and `\"`.
fn unquoted(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        let hashes = raw.chars().take_while(|c| *c == '#').count();
        let inner = raw.get(hashes..raw.len().checked_sub(hashes)?)?;
        return inner.strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    }
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    Some(inner.replace("\\\\", "\\").replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_every_kind_are_paths_and_other_literals_are_not() {
        assert_eq!(unquoted(r#""a/b.toml""#).as_deref(), Some("a/b.toml"));
        assert_eq!(unquoted(r##"r#"a"b"#"##).as_deref(), Some("a\"b"));
        assert_eq!(unquoted(r#""a\\b""#).as_deref(), Some("a\\b"));
        assert_eq!(unquoted("12"), None);
        assert_eq!(unquoted("b\"x\""), None);
    }

    #[test]
    fn anything_but_one_string_is_refused() {
        for input in ["", "12", "\"a\", \"b\"", "name"] {
            let fault = path(input.parse().unwrap()).err().unwrap();
            assert_eq!(fault.messages, [USAGE]);
        }
    }
}
