//! The policy of a queue as AddPermission and RemovePermission change it: a statement for each label.

use serde_json::{Map, Value, json};

use crate::error::{ErrorCode, QueueError};

/// The most actions of one statement.
const ACTIONS_MAX: usize = 7;
const LABEL_LEN_MAX: usize = 80;

/// The actions that can be permitted to others than the owner.
const ACTIONS: &[&str] = &[
    "*",
    "ChangeMessageVisibility",
    "DeleteMessage",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
];

/// The policy with another statement.
pub(crate) fn add(
    policy: Option<&str>,
    arn: &str,
    label: &str,
    accounts: &[String],
    actions: &[String],
) -> Result<Option<String>, QueueError> {
    check_label(label)?;
    check_accounts(accounts)?;
    check_actions(actions)?;
    let mut policy = match policy {
        Some(text) => read(text)?,
        None => Policy {
            document: Map::from_iter([
                ("Version".to_owned(), json!("2008-10-17")),
                ("Id".to_owned(), json!(format!("{arn}/SQSDefaultPolicy"))),
            ]),
            statements: Vec::new(),
        },
    };
    if policy.statements.iter().any(|statement| is_of(statement, label)) {
        return Err(QueueError::value(label, "Label", "Already exists."));
    }
    let principals = accounts
        .iter()
        .map(|account| format!("arn:aws:iam::{account}:root"));
    let actions = actions.iter().map(|action| format!("SQS:{action}"));
    policy.statements.push(json!({
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": one_or_many(principals.collect())},
        "Action": one_or_many(actions.collect()),
        "Resource": arn,
    }));
    Ok(Some(policy.text()))
}

/// The policy without the statement of that label; none if it was the last.
pub(crate) fn remove(policy: Option<&str>, label: &str) -> Result<Option<String>, QueueError> {
    check_label(label)?;
    let unknown = || QueueError::value(label, "Label", "can't find label.");
    let mut policy = read(policy.ok_or_else(unknown)?)?;
    let before = policy.statements.len();
    policy.statements.retain(|statement| !is_of(statement, label));
    match policy.statements.len() {
        0 => Ok(None),
        left if left == before => Err(unknown()),
        _ => Ok(Some(policy.text())),
    }
}

/// A policy: its statements, and the rest.
struct Policy {
    document: Map<String, Value>,
    statements: Vec<Value>,
}

impl Policy {
    fn text(mut self) -> String {
        self.document
            .insert("Statement".to_owned(), Value::Array(self.statements));
        Value::Object(self.document).to_string()
    }
}

/// Reads a stored policy; it may have one statement or a list of them.
fn read(text: &str) -> Result<Policy, QueueError> {
    let unreadable = || {
        QueueError::new(
            ErrorCode::InvalidAttributeValue,
            "Invalid value for the parameter Policy. Set a JSON document as Policy first, or take it back with an empty text.",
        )
    };
    let mut document: Map<String, Value> = serde_json::from_str(text).map_err(|_| unreadable())?;
    let statements = match document.remove("Statement") {
        None => Vec::new(),
        Some(Value::Array(statements)) => statements,
        Some(statement @ Value::Object(_)) => vec![statement],
        Some(_) => return Err(unreadable()),
    };
    Ok(Policy { document, statements })
}

fn is_of(statement: &Value, label: &str) -> bool {
    statement.get("Sid").and_then(Value::as_str) == Some(label)
}

fn one_or_many(mut texts: Vec<String>) -> Value {
    match (texts.pop(), texts.is_empty()) {
        (Some(only), true) => json!(only),
        (last, _) => {
            texts.extend(last);
            json!(texts)
        }
    }
}

fn check_label(label: &str) -> Result<(), QueueError> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=LABEL_LEN_MAX).contains(&label.len()) && label.bytes().all(is_valid) {
        return Ok(());
    }
    Err(QueueError::value(
        label,
        "Label",
        "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
    ))
}

fn check_accounts(accounts: &[String]) -> Result<(), QueueError> {
    if accounts.is_empty() {
        return Err(QueueError::value("[]", "PrincipalId", "Unable to verify."));
    }
    let is_account = |id: &&String| id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_digit());
    match accounts.iter().find(|id| !is_account(id)) {
        None => Ok(()),
        Some(id) => Err(QueueError::value(
            id,
            "PrincipalId",
            "Unable to verify. An account id has 12 digits.",
        )),
    }
}

fn check_actions(actions: &[String]) -> Result<(), QueueError> {
    if actions.is_empty() {
        return Err(QueueError::missing("Actions"));
    }
    if actions.len() > ACTIONS_MAX {
        return Err(QueueError::new(
            ErrorCode::OverLimit,
            format!(
                "{} Actions were found, maximum allowed is {ACTIONS_MAX}.",
                actions.len()
            ),
        ));
    }
    match actions.iter().find(|action| !ACTIONS.contains(&action.as_str())) {
        None => Ok(()),
        Some(action) => Err(QueueError::value(
            format_args!("SQS:{action}"),
            "ActionName",
            "Only the queue owner is allowed to invoke this action.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:sqs:us-east-1:000000000000:work";

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn added(policy: Option<&str>, label: &str) -> String {
        let one = add(
            policy,
            ARN,
            label,
            &texts(&["111111111111"]),
            &texts(&["ReceiveMessage"]),
        );
        one.unwrap().unwrap()
    }

    #[test]
    fn a_permission_is_a_statement_until_it_is_removed() {
        let two = add(
            None,
            ARN,
            "a",
            &texts(&["111111111111", "222222222222"]),
            &texts(&["ReceiveMessage"]),
        );
        let policy: Value = serde_json::from_str(&two.unwrap().unwrap()).unwrap();
        let expected = json!({
            "Version": "2008-10-17",
            "Id": format!("{ARN}/SQSDefaultPolicy"),
            "Statement": [{
                "Sid": "a",
                "Effect": "Allow",
                "Principal": {"AWS": ["arn:aws:iam::111111111111:root", "arn:aws:iam::222222222222:root"]},
                "Action": "SQS:ReceiveMessage",
                "Resource": ARN,
            }],
        });
        assert_eq!(policy, expected);
        let both = added(Some(&added(None, "a")), "b");
        let twice = add(Some(&both), ARN, "b", &texts(&["111111111111"]), &texts(&["*"])).unwrap_err();
        assert_eq!(
            twice.message(),
            "Value b for parameter Label is invalid. Reason: Already exists."
        );
        let one = remove(Some(&both), "a").unwrap().unwrap();
        assert!(
            remove(Some(&one), "a")
                .unwrap_err()
                .message()
                .ends_with("can't find label.")
        );
        assert_eq!(remove(Some(&one), "b"), Ok(None));
        assert!(remove(None, "b").is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |label: &str, account: &str, action: &str| {
            add(None, ARN, label, &texts(&[account]), &texts(&[action]))
                .unwrap_err()
                .to_string()
        };
        assert!(refused("a b", "111111111111", "*").contains("Label"));
        assert!(refused("a", "1", "*").contains("PrincipalId"));
        assert!(refused("a", "111111111111", "CreateQueue").contains("ActionName"));
        assert!(
            add(
                Some("no JSON"),
                ARN,
                "a",
                &texts(&["111111111111"]),
                &texts(&["*"])
            )
            .is_err()
        );
    }
}
