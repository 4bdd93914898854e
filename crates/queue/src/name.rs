//! Names of queues, and the ARNs and URLs made of them.

use crate::error::QueueError;

const NAME_LEN_MAX: usize = 80;

/// What every queue's ARN has in common.
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

/// The name in an ARN, whatever its region and account: there is one of each here.
pub(crate) fn of_arn(arn: &str) -> Option<&str> {
    let mut parts = arn.splitn(6, ':');
    let is_sqs = parts.next() == Some("arn") && parts.nth(1) == Some("sqs");
    parts.nth(2).filter(|name| is_sqs && !name.is_empty())
}

/// The name in a queue's URL: what follows the last slash.
pub(crate) fn of_url(url: &str) -> &str {
    url.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Refuses what cannot name a standard queue.
pub(crate) fn check(name: &str) -> Result<(), QueueError> {
    if name.is_empty() {
        return Err(QueueError::invalid("Queue name cannot be empty"));
    }
    if let Some(stem) = name.strip_suffix(".fifo") {
        return Err(QueueError::unsupported(format!(
            "Trestle has no FIFO queues yet. Create the standard queue '{stem}' instead, and order messages by what \
             they say."
        )));
    }
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if name.len() > NAME_LEN_MAX || !name.bytes().all(valid) {
        return Err(QueueError::invalid(
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
        ));
    }
    Ok(())
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
    fn names_are_short_and_plain_and_no_queue_is_fifo() {
        assert_eq!(check("A-1_z"), Ok(()));
        assert_eq!(check(&"n".repeat(80)), Ok(()));
        for name in ["", "a b", "ä", &"n".repeat(81), "a.b"] {
            assert!(check(name).is_err(), "{name}");
        }
        assert!(check("orders.fifo").unwrap_err().message().contains("'orders'"));
    }
}
