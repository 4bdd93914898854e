//! Batches as messages in an SQS queue, or in any service with SQS's JSON protocol.

use crate::aws::{self, EntryFault, Failure, Protocol, Service, ServiceKind};
use crate::settings::Settings;
use crate::surroundings::Surroundings;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use trestle_events::{Batch, Deliver, Delivery, Target, plain_json};
use trestle_http_client::{Endpoint, Roots};
use trestle_sigv4::sha256;

const TIMEOUT: Duration = Duration::from_secs(20);

const KIND: ServiceKind = ServiceKind {
    target: "AmazonSQS.SendMessageBatch",
    content_type: "application/x-amz-json-1.0",
};

/// A queue that receives batches.
pub(crate) struct Sqs {
    service: Service,
    queue: Queue,
}

/// The route of the messages.
struct Queue {
    url: String,
    is_fifo: bool,
}

pub(crate) fn open(settings: &mut Settings<'_>, surroundings: &Surroundings) -> Option<Sqs> {
    let url = settings.text("sqs");
    let timeout = settings.duration("timeout", TIMEOUT);
    settings.take("region");
    let url = url?;
    let endpoint = match Endpoint::parse(url) {
        Ok(endpoint) => endpoint,
        Err(message) => {
            settings.complain("sqs", message);
            return None;
        }
    };
    if endpoint.path == "/" {
        settings.complain("sqs", "must be the queue's whole URL, with its name at the end");
        return None;
    }
    let signer = aws::identity(settings, surroundings, &endpoint, "sqs");
    let client = surroundings
        .client(endpoint, Roots::System, timeout)
        .map_err(|message| settings.complain("sqs", message))
        .ok()?;
    Some(Sqs {
        service: Service {
            kind: KIND,
            client,
            signer,
            clock: Arc::clone(&surroundings.clock),
        },
        queue: Queue {
            url: url.to_owned(),
            is_fifo: url.ends_with(".fifo"),
        },
    })
}

impl Target for Sqs {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        Box::pin(aws::send(&self.service, &self.queue, batch))
    }
}

impl Protocol for Queue {
    /// The body is the input; the attributes `route` and `id` contain the route and the idempotency key, as
    /// in Trestle's own queues.
    fn entry(&self, route: &str, delivery: &Delivery, place: usize) -> (Value, usize) {
        let body = delivery.input().to_string();
        let bytes = body.len() + "routeStringidString".len() + route.len() + delivery.id.len();
        let mut entry = json!({
            "Id": place.to_string(),
            "MessageBody": body,
            "MessageAttributes": {
                "route": {"DataType": "String", "StringValue": route},
                "id": {"DataType": "String", "StringValue": delivery.id},
            },
        });
        if self.is_fifo {
            // In order per item, and once per change, as long as SQS remembers.
            let item = plain_json(delivery.change.item_key()).to_string();
            entry["MessageGroupId"] = json!(sha256(item.as_bytes()));
            entry["MessageDeduplicationId"] = json!(sha256(delivery.id.as_bytes()));
        }
        (entry, bytes)
    }

    fn body(&self, entries: Vec<Value>) -> Value {
        json!({"QueueUrl": self.url, "Entries": entries})
    }

    fn failures(&self, answer: &Value, count: usize) -> Result<Vec<Failure>, String> {
        let list = |name: &str| {
            answer
                .get(name)
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice)
        };
        let failures: Vec<Failure> = list("Failed").iter().filter_map(failure).collect();
        if list("Successful").len() + failures.len() != count {
            return Err(format!("the answer does not tell of each of {count} messages"));
        }
        Ok(failures)
    }
}

fn failure(failed: &Value) -> Option<Failure> {
    let text = |name: &str| failed.get(name).and_then(Value::as_str);
    Some(Failure {
        place: text("Id")?.parse().ok()?,
        fault: match failed.get("SenderFault") {
            Some(Value::Bool(false)) => EntryFault::of_service(text("Code").unwrap_or_default()),
            _ => EntryFault::Entry,
        },
        reason: format!(
            "{} {}",
            text("Code").unwrap_or_default(),
            text("Message").unwrap_or_default()
        )
        .trim()
        .to_owned(),
    })
}
