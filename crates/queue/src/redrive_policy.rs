//! Which queue receives the messages that were received too often, and which queues may use this one for
//! theirs.

use serde::Deserialize;
use serde_json::Value;

use crate::error::QueueError;
use crate::name;

const RECEIVES_MAX: u32 = 1000;
const SOURCES_MAX: usize = 10;

/// The queue for messages that were received too often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedrivePolicy {
    /// The dead-letter queue's name.
    pub(crate) target: String,
    /// The number of receptions before that.
    pub(crate) receives_max: u32,
}

/// A JSON text within a text: SQS accepts the number as a number or a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(i64),
    Text(String),
}

impl RedrivePolicy {
    pub(crate) fn parse(text: &str) -> Result<Self, QueueError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Policy {
            dead_letter_target_arn: Option<String>,
            max_receive_count: Option<NumberOrText>,
        }
        let refused = |reason: &str| QueueError::value(text, "RedrivePolicy", reason);
        let policy: Policy =
            serde_json::from_str(text).map_err(|_| refused("Redrive policy is not a valid JSON map."))?;
        let arn = policy.dead_letter_target_arn.ok_or_else(|| {
            refused("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
        })?;
        let count = match policy.max_receive_count {
            None => {
                return Err(refused(
                    "Redrive policy does not contain mandatory attribute: maxReceiveCount.",
                ));
            }
            Some(NumberOrText::Number(number)) => number.to_string(),
            Some(NumberOrText::Text(text)) => text,
        };
        let receives_max = count.parse().ok().filter(|n| (1..=RECEIVES_MAX).contains(n));
        Ok(Self {
            target: name::of_arn(&arn)
                .ok_or_else(|| refused("Invalid value for deadLetterTargetArn."))?
                .to_owned(),
            receives_max: receives_max.ok_or_else(|| {
                refused(&format!(
                    "Invalid value for maxReceiveCount: {count}, valid values are from 1 to {RECEIVES_MAX} both \
                     inclusive."
                ))
            })?,
        })
    }
}

/// A policy with its number as a number, however it was given. A policy that cannot be parsed is unchanged,
/// to be refused later.
pub(crate) fn plain(text: &str) -> String {
    let Ok(Value::Object(mut policy)) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    let count = policy.get("maxReceiveCount").and_then(Value::as_str);
    match count.and_then(|count| count.parse::<u32>().ok()) {
        None => text.to_owned(),
        Some(count) => {
            policy.insert("maxReceiveCount".to_owned(), count.into());
            Value::Object(policy).to_string()
        }
    }
}

/// Which queues may use this one as their dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RedriveAllowPolicy {
    AllowAll,
    DenyAll,
    /// Only these, by name.
    ByQueue(Vec<String>),
}

impl RedriveAllowPolicy {
    pub(crate) fn parse(text: &str) -> Result<Self, QueueError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Policy {
            redrive_permission: Option<String>,
            source_queue_arns: Option<Vec<String>>,
        }
        let refused = |reason: &str| QueueError::value(text, "RedriveAllowPolicy", reason);
        let policy: Policy =
            serde_json::from_str(text).map_err(|_| refused("Amazon SQS cannot parse the policy."))?;
        match (policy.redrive_permission.as_deref(), policy.source_queue_arns) {
            (Some("allowAll"), None) => Ok(Self::AllowAll),
            (Some("denyAll"), None) => Ok(Self::DenyAll),
            (Some("byQueue"), Some(arns)) if (1..=SOURCES_MAX).contains(&arns.len()) => {
                let names: Option<Vec<String>> = arns
                    .iter()
                    .map(|arn| name::of_arn(arn).map(str::to_owned))
                    .collect();
                Ok(Self::ByQueue(names.ok_or_else(|| {
                    refused("sourceQueueArns must be ARNs of queues.")
                })?))
            }
            (Some("byQueue"), _) => Err(refused(
                "redrivePermission byQueue needs sourceQueueArns, from 1 to 10 of them.",
            )),
            (Some("allowAll" | "denyAll"), Some(_)) => Err(refused(
                "sourceQueueArns can be given with redrivePermission byQueue only.",
            )),
            _ => Err(refused("redrivePermission must be allowAll, denyAll or byQueue.")),
        }
    }

    pub(crate) fn allows(&self, source: &str) -> bool {
        match self {
            Self::AllowAll => true,
            Self::DenyAll => false,
            Self::ByQueue(names) => names.iter().any(|name| name == source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_names_a_queue_and_a_count() {
        for count in ["3", "\"3\""] {
            let text =
                format!(r#"{{"deadLetterTargetArn":"arn:aws:sqs:r:0:dead","maxReceiveCount":{count}}}"#);
            let policy = RedrivePolicy::parse(&text).unwrap();
            assert_eq!((policy.target.as_str(), policy.receives_max), ("dead", 3));
            assert_eq!(
                plain(&text),
                r#"{"deadLetterTargetArn":"arn:aws:sqs:r:0:dead","maxReceiveCount":3}"#
            );
        }
        for (text, words) in [
            ("x", "not a valid JSON map"),
            ("{}", "deadLetterTargetArn"),
            (
                r#"{"deadLetterTargetArn":"arn:aws:sqs:r:0:dead"}"#,
                "maxReceiveCount",
            ),
            (
                r#"{"deadLetterTargetArn":"arn:aws:sqs:r:0:dead","maxReceiveCount":0}"#,
                "from 1 to 1000",
            ),
            (
                r#"{"deadLetterTargetArn":"dead","maxReceiveCount":1}"#,
                "Invalid value",
            ),
        ] {
            let refused = RedrivePolicy::parse(text).unwrap_err();
            assert!(refused.message().contains(words), "{refused}");
        }
    }

    #[test]
    fn a_queue_says_who_may_use_it() {
        let by_queue = r#"{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:r:0:a"]}"#;
        let policy = RedriveAllowPolicy::parse(by_queue).unwrap();
        assert!(policy.allows("a") && !policy.allows("b"));
        let none = RedriveAllowPolicy::parse(r#"{"redrivePermission":"denyAll"}"#).unwrap();
        assert!(!none.allows("a"));
        for text in [
            "{}",
            r#"{"redrivePermission":"byQueue"}"#,
            r#"{"redrivePermission":"denyAll","sourceQueueArns":[]}"#,
        ] {
            assert!(RedriveAllowPolicy::parse(text).is_err(), "{text}");
        }
    }
}
