//! The query string of an admin call.

use std::collections::BTreeMap;

/// Parameters by their names.
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Reads a query string; `None` for what makes no sense: a misspelt name must not be taken for its absence.
    pub(crate) fn read(query: Option<&str>, known: &[&str]) -> Option<Self> {
        let mut parameters = BTreeMap::new();
        for pair in query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            let is_new =
                known.contains(&name) && parameters.insert(name.to_owned(), decoded(value)?).is_none();
            if !is_new {
                return None;
            }
        }
        Some(Self(parameters))
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether a flag is set; `None` for a value that is neither.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.value(name) {
            Some("true" | "" | "1") => Some(true),
            None | Some("false" | "0") => Some(false),
            Some(_) => None,
        }
    }
}

/// A value of a query string, in which bytes may stand as `%20`.
pub(crate) fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = behind
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = behind.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_what_is_unknown_or_said_twice_is_refused() {
        let read = |query| Parameters::read(Some(query), &["id", "all"]);
        let parameters = read("id=a%23b&all").unwrap();
        assert_eq!(parameters.value("id"), Some("a#b"));
        assert_eq!(parameters.flag("all"), Some(true));
        assert_eq!(read("all=perhaps").unwrap().flag("all"), None);
        for query in ["di=a", "id=a&id=b", "id=%zz"] {
            assert!(read(query).is_none(), "{query}");
        }
        assert_eq!(Parameters::read(None, &[]).unwrap().flag("all"), Some(false));
    }
}
