//! Names that are valid in a model file.

use std::collections::BTreeSet;

/// Names in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// A free name: the wanted one, or one with `_` appended.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while !self.0.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        Names(names.into_iter().collect())
    }
}

/// A name with only letters, digits and `_`, made from any quoted name.
pub(super) fn sanitised(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name,
        false => format!("x{name}"),
    }
}

/// A text in TOML.
pub(super) fn toml_text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A key in TOML.
pub(super) fn toml_key(name: &str) -> String {
    let is_bare = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_bare { name.to_owned() } else { toml_text(name) }
}
