//! Names of queues, and their ARNs and URLs.

use crate::error::QueueError;

const NAME_LEN_MAX: usize = 80;

/// The common prefix of queues' ARNs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The region in ARNs.
    pub region: String,
    /// The account in ARNs and URLs.
    pub account: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            region: "us-east-1".to_owned(),
            account: "000000000000".to_owned(),
        }
    }
}

impl Settings {
    /// The ARN of a queue.
    #[must_use]
    pub fn arn(&self, name: &str) -> String {
        format!("arn:aws:sqs:{}:{}:{name}", self.region, self.account)
    }
}

/// The name in an ARN, with any region and account: a name is unique here.
pub(crate) fn of_arn(arn: &str) -> Option<&str> {
    let mut parts = arn.splitn(6, ':');
    let is_sqs = parts.next() == Some("arn") && parts.nth(1) == Some("sqs");
    parts.nth(2).filter(|name| is_sqs && !name.is_empty())
}

/// The name in a queue's URL: what follows the last slash.
pub(crate) fn of_url(url: &str) -> &str {
    url.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

const FIFO_SUFFIX: &str = ".fifo";

/// Whether a queue of that name is a FIFO queue.
pub(crate) fn is_fifo(name: &str) -> bool {
    name.ends_with(FIFO_SUFFIX)
}

/// The name of the dead-letter queue that is created for a queue.
pub(crate) fn dead_letters(name: &str) -> String {
    match name.strip_suffix(FIFO_SUFFIX) {
        Some(stem) => format!("{stem}-dead{FIFO_SUFFIX}"),
        None => format!("{name}-dead"),
    }
}

/// Refuses invalid names of queues.
pub(crate) fn check(name: &str) -> Result<(), QueueError> {
    if name.is_empty() {
        return Err(QueueError::invalid("Queue name cannot be empty"));
    }
    let stem = name.strip_suffix(FIFO_SUFFIX).unwrap_or(name);
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if stem.is_empty() || name.len() > NAME_LEN_MAX || !stem.bytes().all(valid) {
        return Err(bad_name());
    }
    Ok(())
}

/// The names of FIFO queues, and only these, end in `.fifo`.
pub(crate) fn check_kind(name: &str, wants_fifo: bool) -> Result<(), QueueError> {
    match (is_fifo(name), wants_fifo) {
        (true, false) => Err(bad_name()),
        (false, true) => Err(QueueError::invalid(
            "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with \
             .fifo suffix and be 1 to 80 in length.",
        )),
        _ => Ok(()),
    }
}

fn bad_name() -> QueueError {
    QueueError::invalid(
        "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_arns_and_urls() {
        assert_eq!(of_arn("arn:aws:sqs:eu-west-1:123456789012:work"), Some("work"));
        assert_eq!(of_arn("arn:aws:sns:eu-west-1:123456789012:work"), None);
        assert_eq!(of_arn("arn:aws:sqs:eu-west-1:123456789012:"), None);
        assert_eq!(of_arn("work"), None);
        assert_eq!(of_url("http://127.0.0.1:8000/000000000000/work"), "work");
        assert_eq!(of_url("work"), "work");
    }

    #[test]
    fn names_are_short_and_plain_and_tell_the_kind_of_a_queue() {
        assert_eq!(check("A-1_z"), Ok(()));
        assert_eq!(check(&"n".repeat(80)), Ok(()));
        for name in ["", "a b", "ä", &"n".repeat(81), "a.b"] {
            assert!(check(name).is_err(), "{name}");
        }
        assert!(check("orders.fifo").is_ok() && check(".fifo").is_err() && check("a.fifo.fifo").is_err());
        assert_eq!(dead_letters("orders.fifo"), "orders-dead.fifo");
    }
}
