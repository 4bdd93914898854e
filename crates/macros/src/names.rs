//! Names of the model as names of Rust.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span};

/// Reserved words that can be names only with `r#` before them.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Words that cannot be names at all.
const NEVER: &[&str] = &["self", "Self", "super", "crate", "_", ""];

/// The words of a name: `rgn#PyVrsn` has `rgn`, `Py` and `Vrsn`.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (at, c) in chars.iter().enumerate() {
        if !c.is_ascii_alphanumeric() {
            words.push(std::mem::take(&mut word));
            continue;
        }
        let after_lower = at > 0
            && chars
                .get(at - 1)
                .is_some_and(|before| !before.is_ascii_uppercase());
        let before_lower = chars.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_lower || before_lower) {
            words.push(std::mem::take(&mut word));
        }
        word.push(*c);
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// `startedDatetime` as `started_datetime`.
pub(crate) fn snake(name: &str) -> String {
    let words: Vec<String> = words(name).iter().map(|word| word.to_ascii_lowercase()).collect();
    not_a_number(words.join("_"), "n")
}

/// `startedDatetime` as `STARTED_DATETIME`.
pub(crate) fn screaming(name: &str) -> String {
    snake(name).to_ascii_uppercase()
}

/// `startedDatetime` as `StartedDatetime`, and `layer.head` as `LayerHead`.
pub(crate) fn pascal(name: &str) -> String {
    let capitalised = words(name).into_iter().map(|word| {
        let mut chars = word.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        first
            .into_iter()
            .chain(chars.map(|c| c.to_ascii_lowercase()))
            .collect::<String>()
    });
    not_a_number(capitalised.collect(), "N")
}

fn not_a_number(name: String, letter: &str) -> String {
    match name.chars().next() {
        None => letter.to_owned(),
        Some(first) if first.is_ascii_digit() => format!("{letter}{name}"),
        Some(_) => name,
    }
}

/// An identifier; words of Rust are escaped.
pub(crate) fn ident(name: &str) -> Ident {
    if NEVER.contains(&name) {
        Ident::new(&format!("{name}_"), Span::call_site())
    } else if KEYWORDS.contains(&name) {
        Ident::new_raw(name, Span::call_site())
    } else {
        Ident::new(name, Span::call_site())
    }
}

/// The names that are taken in one scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    names: BTreeSet<String>,
}

impl Taken {
    pub(crate) fn of(names: &[&str]) -> Self {
        Taken {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Takes a name, or the name with the suffix, or that with a number.
    pub(crate) fn take(&mut self, name: &str, suffix: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}{suffix}{number}"));
        let candidates = [name.to_owned(), format!("{name}{suffix}")]
            .into_iter()
            .chain(numbered);
        for candidate in candidates {
            if self.names.insert(candidate.clone()) {
                return candidate;
            }
        }
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_style_become_rust_names() {
        for (name, snaked, pascaled) in [
            ("startedDatetime", "started_datetime", "StartedDatetime"),
            ("rgn#PyVrsn", "rgn_py_vrsn", "RgnPyVrsn"),
            ("WF_RUN", "wf_run", "WfRun"),
            ("layer.head", "layer_head", "LayerHead"),
            ("cdnURLOf", "cdn_url_of", "CdnUrlOf"),
            ("3d", "n3d", "N3d"),
            ("-", "n", "N"),
            ("GSI1PK", "gsi1_pk", "Gsi1Pk"),
        ] {
            assert_eq!(snake(name), snaked, "{name}");
            assert_eq!(pascal(name), pascaled, "{name}");
        }
    }

    #[test]
    fn words_of_rust_are_escaped() {
        assert_eq!(ident("type").to_string(), "r#type");
        assert_eq!(ident("self").to_string(), "self_");
        assert_eq!(ident("order").to_string(), "order");
    }

    #[test]
    fn a_name_is_given_once() {
        let mut taken = Taken::default();
        let given: Vec<String> = (0..3).map(|_| taken.take("Layer", "Row")).collect();
        assert_eq!(given, ["Layer", "LayerRow", "LayerRow2"]);
    }
}
