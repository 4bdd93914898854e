//! Members of a server's JSON answer. A missing member is never replaced by an empty value: an answer without
//! it comes from another program, or from another version of this one.

use crate::exit::Failure;
use serde_json::Value;

/// A required text.
pub(crate) fn text<'v>(answer: &'v Value, name: &str) -> Result<&'v str, Failure> {
    answer[name].as_str().ok_or_else(|| lacks(name))
}

/// A required number.
pub(crate) fn number(answer: &Value, name: &str) -> Result<u64, Failure> {
    answer[name].as_u64().ok_or_else(|| lacks(name))
}

fn lacks(name: &str) -> Failure {
    Failure::failed(format!(
        "the answer has no `{name}`; the server may be another version of Trestle"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_or_of_another_type_is_a_failure() {
        let answer = json!({"name": "a", "rows": 3});
        assert_eq!(text(&answer, "name").unwrap(), "a");
        assert_eq!(number(&answer, "rows").unwrap(), 3);
        assert!(text(&answer, "rows").is_err());
        assert!(number(&answer, "name").is_err());
        assert!(text(&json!("no object"), "name").is_err());
    }
}
