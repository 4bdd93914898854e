//! Combines expressions into the parameters of a request, where several share their names and values.

use std::collections::BTreeMap;

use trestle_item::Map;

use crate::Printed;

/// The printed expressions of one request: names and values of all of them.
#[derive(Debug, Default)]
pub struct RequestExpressions {
    names: BTreeMap<String, String>,
    values: Map,
}

impl RequestExpressions {
    /// Adds an expression. Its placeholders get the letter, so that they differ from those of other
    /// expressions.
    pub fn take(&mut self, printed: Printed, letter: char) -> String {
        // A printed expression has no literals, so that every `#n` and `:v` is a placeholder.
        let renamed = |text: &str| {
            text.replace("#n", &format!("#{letter}"))
                .replace(":v", &format!(":{letter}"))
        };
        for (placeholder, name) in &printed.names {
            self.names.insert(renamed(placeholder), name.clone());
        }
        for (placeholder, value) in &printed.values {
            self.values.insert(renamed(placeholder), value.clone());
        }
        renamed(&printed.text)
    }

    /// `ExpressionAttributeNames` and `ExpressionAttributeValues`; empty ones must not be sent.
    #[must_use]
    pub fn split(self) -> (Option<BTreeMap<String, String>>, Option<Map>) {
        let names = Some(self.names).filter(|names| !names.is_empty());
        let values = Some(self.values).filter(|values| !values.is_empty());
        (names, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Comparator, Condition, Operand, Path};

    #[test]
    fn two_expressions_of_a_request_keep_their_own_names_and_values() {
        let equal = |name: &str, value: i64| Condition::Compare {
            left: Operand::Path(Path::top(name)),
            comparator: Comparator::Equal,
            right: Operand::Value(value.into()),
        };
        let mut expressions = RequestExpressions::default();
        let one = expressions.take(equal("a", 1).print(), 'k');
        let two = expressions.take(equal("b", 2).print(), 'f');
        assert_eq!((one.as_str(), two.as_str()), ("#k0 = :k0", "#f0 = :f0"));
        let (names, values) = expressions.split();
        assert_eq!(names.unwrap().len(), 2);
        assert_eq!(values.unwrap().len(), 2);
    }
}
