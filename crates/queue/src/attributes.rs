//! A queue's attributes: the texts that were set, and their values.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{ErrorCode, QueueError};
use crate::message::{LONG_DELAY, LONG_DELAY_S_MAX};
use crate::redrive_policy::{self, RedriveAllowPolicy, RedrivePolicy};

/// Attributes of a queue by name, as SQS writes them.
pub type QueueAttributes = BTreeMap<String, String>;

/// The largest message, and the largest batch.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1024 * 1024;

/// A number that can be set: its name, bounds and default.
pub(crate) struct Quantity {
    pub(crate) name: &'static str,
    min: u64,
    max: u64,
    default: u64,
}

const fn quantity(name: &'static str, min: u64, max: u64, default: u64) -> Quantity {
    Quantity {
        name,
        min,
        max,
        default,
    }
}

const VISIBILITY: Quantity = quantity("VisibilityTimeout", 0, 43_200, 30);
const DELAY: Quantity = quantity("DelaySeconds", 0, 900, 0);
const LONG: Quantity = quantity(LONG_DELAY, 0, LONG_DELAY_S_MAX, 0);
const WAIT: Quantity = quantity("ReceiveMessageWaitTimeSeconds", 0, 20, 0);
pub(crate) const RETENTION: Quantity = quantity("MessageRetentionPeriod", 60, 1_209_600, 345_600);
const SIZE: Quantity = quantity(
    "MaximumMessageSize",
    1024,
    MESSAGE_BYTES_MAX as u64,
    MESSAGE_BYTES_MAX as u64,
);
const KEY_REUSE: Quantity = quantity("KmsDataKeyReusePeriodSeconds", 60, 86_400, 300);

/// Stored and returned, without an effect.
const KEPT: &[&str] = &[POLICY, KMS_KEY, SQS_SSE];

/// `true` or `false`.
const TRUTHS: &[&str] = &[SQS_SSE, FIFO_QUEUE, CONTENT_BASED];

/// Attributes that a queue may lack.
const OPTIONAL: &[&str] = &[POLICY, KMS_KEY, REDRIVE, REDRIVE_ALLOW];

/// Attributes that only FIFO queues have.
const FIFO: &[&str] = &[FIFO_QUEUE, CONTENT_BASED, SCOPE, THROUGHPUT];

pub(crate) const FIFO_QUEUE: &str = "FifoQueue";
const CONTENT_BASED: &str = "ContentBasedDeduplication";
const SCOPE: &str = "DeduplicationScope";
const THROUGHPUT: &str = "FifoThroughputLimit";

pub(crate) const POLICY: &str = "Policy";
const KMS_KEY: &str = "KmsMasterKeyId";
const SQS_SSE: &str = "SqsManagedSseEnabled";
const REDRIVE: &str = "RedrivePolicy";
const REDRIVE_ALLOW: &str = "RedriveAllowPolicy";

/// Attributes that are computed when they are requested.
pub(crate) const COMPUTED: &[&str] = &[
    "QueueArn",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
];

/// The values of a queue's attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) visibility: Duration,
    pub(crate) delay: Duration,
    pub(crate) wait: Duration,
    pub(crate) retention: Duration,
    pub(crate) message_bytes_max: usize,
    pub(crate) redrive: Option<RedrivePolicy>,
    pub(crate) redrive_allow: RedriveAllowPolicy,
    /// The values that only a FIFO queue has.
    pub(crate) fifo: Option<Fifo>,
}

/// How a FIFO queue finds duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fifo {
    /// Whether messages with the same body are duplicates, unless an id is given.
    pub(crate) by_content: bool,
    /// Whether messages of different groups may have the same id.
    pub(crate) per_group: bool,
}

impl Fifo {
    fn of(attributes: &QueueAttributes) -> Result<Option<Self>, QueueError> {
        if truth(attributes, FIFO_QUEUE)? != Some(true) {
            return match FIFO.iter().find(|name| attributes.contains_key(**name)) {
                None => Ok(None),
                Some(name) => Err(needs_fifo(name)),
            };
        }
        let one_of = |name: &str, values: [&str; 2]| match attributes.get(name).map(String::as_str) {
            None => Ok(false),
            Some(value) if value == values[0] => Ok(false),
            Some(value) if value == values[1] => Ok(true),
            Some(_) => Err(invalid_value(name)),
        };
        let per_group = one_of(SCOPE, ["queue", "messageGroup"])?;
        if one_of(THROUGHPUT, ["perQueue", "perMessageGroupId"])? && !per_group {
            return Err(QueueError::new(
                ErrorCode::InvalidAttributeValue,
                "The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup.",
            ));
        }
        Ok(Some(Self {
            by_content: truth(attributes, CONTENT_BASED)?.unwrap_or_default(),
            per_group,
        }))
    }
}

fn needs_fifo(name: &str) -> QueueError {
    match name {
        SCOPE | THROUGHPUT => QueueError::new(
            ErrorCode::InvalidAttributeName,
            format!("You can specify the {name} only when FifoQueue is set to true."),
        ),
        _ => unknown(name),
    }
}

/// Refuses to turn a standard queue into a FIFO queue, or the reverse.
pub(crate) fn check_kind_stays(given: &QueueAttributes, is_fifo: bool) -> Result<(), QueueError> {
    match truth(given, FIFO_QUEUE)? {
        Some(_) if !is_fifo => Err(unknown(FIFO_QUEUE)),
        Some(false) => Err(QueueError::new(
            ErrorCode::InvalidAttributeValue,
            "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
        )),
        _ => Ok(()),
    }
}

/// The attribute of a FIFO queue; none for a standard queue.
pub(crate) fn of_kind(is_fifo: bool) -> QueueAttributes {
    let fifo = is_fifo.then(|| (FIFO_QUEUE.to_owned(), "true".to_owned()));
    fifo.into_iter().collect()
}

impl Meaning {
    /// Reads attributes; refuses unknown names and impossible values with SQS's messages.
    pub(crate) fn of(attributes: &QueueAttributes) -> Result<Self, QueueError> {
        for name in attributes.keys() {
            check_name(name)?;
        }
        truth(attributes, SQS_SSE)?;
        read(attributes, &KEY_REUSE)?;
        let seconds = |quantity| read(attributes, quantity).map(Duration::from_secs);
        let delay = match attributes.contains_key(LONG_DELAY) {
            true => seconds(&LONG)?,
            false => seconds(&DELAY)?,
        };
        let size = read(attributes, &SIZE)?;
        let given = |name| attributes.get(name).filter(|text| !text.is_empty());
        Ok(Self {
            visibility: seconds(&VISIBILITY)?,
            delay,
            wait: seconds(&WAIT)?,
            retention: seconds(&RETENTION)?,
            message_bytes_max: usize::try_from(size).unwrap_or(MESSAGE_BYTES_MAX),
            redrive: given(REDRIVE)
                .map(|text| RedrivePolicy::parse(text))
                .transpose()?,
            redrive_allow: match given(REDRIVE_ALLOW) {
                Some(text) => RedriveAllowPolicy::parse(text)?,
                None => RedriveAllowPolicy::AllowAll,
            },
            fifo: Fifo::of(attributes)?,
        })
    }
}

/// The effective attributes: those that were set, and the defaults of the others.
pub(crate) fn effective(set: &QueueAttributes) -> QueueAttributes {
    let mut all = set.clone();
    for quantity in [&VISIBILITY, &DELAY, &WAIT, &RETENTION, &SIZE] {
        all.entry(quantity.name.to_owned())
            .or_insert_with(|| quantity.default.to_string());
    }
    if all.contains_key(FIFO_QUEUE) {
        for (name, default) in [
            (CONTENT_BASED, "false"),
            (SCOPE, "queue"),
            (THROUGHPUT, "perQueue"),
        ] {
            all.entry(name.to_owned()).or_insert_with(|| default.to_owned());
        }
    }
    // A queue is encrypted with either kind of key, not with both.
    if all.contains_key(KMS_KEY) {
        all.entry(KEY_REUSE.name.to_owned())
            .or_insert_with(|| KEY_REUSE.default.to_string());
    } else {
        all.remove(KEY_REUSE.name);
        all.entry(SQS_SSE.to_owned()).or_insert_with(|| "true".to_owned());
    }
    all
}

/// Sets attributes; an empty text removes a policy or key.
pub(crate) fn set(attributes: &mut QueueAttributes, given: &QueueAttributes) -> Result<(), QueueError> {
    let kms = given.get(KMS_KEY).is_some_and(|key| !key.is_empty());
    let sqs = truth(given, SQS_SSE)?;
    if kms && sqs == Some(true) {
        return Err(QueueError::new(
            ErrorCode::InvalidAttributeName,
            "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.",
        ));
    }
    if kms {
        attributes.insert(SQS_SSE.to_owned(), "false".to_owned());
    } else if sqs == Some(true) {
        attributes.remove(KMS_KEY);
        attributes.remove(KEY_REUSE.name);
    }
    for (name, value) in given {
        if value.is_empty() && OPTIONAL.contains(&name.as_str()) {
            attributes.remove(name);
        } else {
            attributes.insert(name.clone(), plain(name, value));
        }
    }
    Ok(())
}

/// The stored form of a value: `true` and `false` are accepted in any case and stored in lower case; a number
/// in a dead-letter policy is also accepted as text.
pub(crate) fn plain(name: &str, value: &str) -> String {
    match name {
        REDRIVE => redrive_policy::plain(value),
        _ if TRUTHS.contains(&name) => value.to_ascii_lowercase(),
        _ => value.to_owned(),
    }
}

/// An attribute that is `true` or `false`, in any case.
fn truth(attributes: &QueueAttributes, name: &str) -> Result<Option<bool>, QueueError> {
    match attributes
        .get(name)
        .map(|value| value.to_ascii_lowercase())
        .as_deref()
    {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(invalid_value(name)),
    }
}

/// The attributes with which messages are kept as long as possible.
pub(crate) fn longest_retention() -> QueueAttributes {
    QueueAttributes::from([(RETENTION.name.to_owned(), RETENTION.max.to_string())])
}

/// Whether a client can request an attribute with this name.
pub(crate) fn can_be_asked_for(name: &str) -> bool {
    COMPUTED.contains(&name) || check_name(name).is_ok()
}

fn check_name(name: &str) -> Result<(), QueueError> {
    let numbers = [&VISIBILITY, &DELAY, &LONG, &WAIT, &RETENTION, &SIZE, &KEY_REUSE];
    if numbers.iter().any(|quantity| quantity.name == name)
        || KEPT.contains(&name)
        || name == REDRIVE
        || name == REDRIVE_ALLOW
        || FIFO.contains(&name)
    {
        return Ok(());
    }
    Err(unknown(name))
}

/// No such attribute.
pub(crate) fn unknown(name: &str) -> QueueError {
    QueueError::new(
        ErrorCode::InvalidAttributeName,
        format!("Unknown Attribute {name}."),
    )
}

fn invalid_value(name: &str) -> QueueError {
    QueueError::new(
        ErrorCode::InvalidAttributeValue,
        format!("Invalid value for the parameter {name}."),
    )
}

fn read(attributes: &QueueAttributes, quantity: &Quantity) -> Result<u64, QueueError> {
    let Some(text) = attributes.get(quantity.name) else {
        return Ok(quantity.default);
    };
    text.parse()
        .ok()
        .filter(|number| (quantity.min..=quantity.max).contains(number))
        .ok_or_else(|| invalid_value(quantity.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(pairs: &[(&str, &str)]) -> QueueAttributes {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn defaults_are_those_of_sqs() {
        let meaning = Meaning::of(&QueueAttributes::new()).unwrap();
        assert_eq!(meaning.visibility, Duration::from_secs(30));
        assert_eq!(meaning.retention, Duration::from_secs(4 * 24 * 3600));
        assert_eq!((meaning.delay, meaning.wait), (Duration::ZERO, Duration::ZERO));
        assert_eq!(meaning.message_bytes_max, 1_048_576);
        assert_eq!(meaning.redrive, None);
    }

    #[test]
    fn bounds_are_kept_and_names_are_known() {
        for (name, value, code) in [
            ("VisibilityTimeout", "43201", ErrorCode::InvalidAttributeValue),
            ("DelaySeconds", "-1", ErrorCode::InvalidAttributeValue),
            ("MessageRetentionPeriod", "59", ErrorCode::InvalidAttributeValue),
            ("MaximumMessageSize", "1048577", ErrorCode::InvalidAttributeValue),
            ("QueueArn", "x", ErrorCode::InvalidAttributeName),
            ("Colour", "red", ErrorCode::InvalidAttributeName),
            ("FifoQueue", "false", ErrorCode::InvalidAttributeName),
            ("FifoQueue", "yes", ErrorCode::InvalidAttributeValue),
            (
                "ContentBasedDeduplication",
                "true",
                ErrorCode::InvalidAttributeName,
            ),
            ("DeduplicationScope", "queue", ErrorCode::InvalidAttributeName),
        ] {
            let refused = Meaning::of(&attributes(&[(name, value)])).unwrap_err();
            assert_eq!(refused.code(), code, "{name}");
        }
    }

    #[test]
    fn our_delay_may_be_longer_and_wins() {
        let meaning = Meaning::of(&attributes(&[
            ("DelaySeconds", "5"),
            ("TrestleDelaySeconds", "86400"),
        ]));
        assert_eq!(meaning.unwrap().delay, Duration::from_secs(86_400));
    }

    #[test]
    fn a_queue_is_encrypted_with_one_kind_of_key() {
        let mut all = QueueAttributes::new();
        let shown = |all: &QueueAttributes| {
            let effective = effective(all);
            [SQS_SSE, KMS_KEY, KEY_REUSE.name].map(|name| effective.get(name).cloned().unwrap_or_default())
        };
        assert_eq!(shown(&all), ["true", "", ""]);
        set(
            &mut all,
            &attributes(&[(KMS_KEY, "key"), (KEY_REUSE.name, "6000")]),
        )
        .unwrap();
        assert_eq!(shown(&all), ["false", "key", "6000"]);
        let both = set(&mut all, &attributes(&[(KMS_KEY, "key"), (SQS_SSE, "true")])).unwrap_err();
        assert_eq!(both.code(), ErrorCode::InvalidAttributeName);
        set(&mut all, &attributes(&[(KMS_KEY, ""), (KEY_REUSE.name, "300")])).unwrap();
        assert_eq!(shown(&all), ["false", "", ""]);
        set(&mut all, &attributes(&[(KMS_KEY, "key")])).unwrap();
        assert_eq!(shown(&all), ["false", "key", "300"]);
        set(&mut all, &attributes(&[(SQS_SSE, "True")])).unwrap();
        assert_eq!(shown(&all), ["true", "", ""]);
    }

    #[test]
    fn an_empty_text_takes_an_attribute_back() {
        let mut all = attributes(&[("Policy", "{}"), ("DelaySeconds", "5")]);
        set(&mut all, &attributes(&[("Policy", ""), ("DelaySeconds", "6")])).unwrap();
        assert_eq!(all, attributes(&[("DelaySeconds", "6")]));
    }
}
