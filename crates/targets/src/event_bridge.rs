//! Batches as events on a bus of EventBridge.

use crate::aws::{self, EntryFault, Failure, Protocol, Service, ServiceKind, is_throttling};
use crate::settings::Settings;
use crate::surroundings::Surroundings;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use trestle_events::{Batch, Deliver, Delivery, Target};
use trestle_http_client::{Endpoint, Roots};

const TIMEOUT: Duration = Duration::from_secs(20);

const KIND: ServiceKind = ServiceKind {
    target: "AWSEvents.PutEvents",
    content_type: "application/x-amz-json-1.1",
};

/// Bytes of an entry besides its text, as EventBridge counts them: the time.
const TIME_BYTES: usize = 14;

/// A bus that receives batches.
pub(crate) struct EventBridge {
    service: Service,
    bus: Bus,
}

/// The route of the events.
struct Bus {
    name: String,
    source: String,
    /// Without one, each event is named after its entity and action: `layer expire`.
    detail_type: Option<String>,
}

pub(crate) fn open(settings: &mut Settings<'_>, surroundings: &Surroundings) -> Option<EventBridge> {
    let mut table = settings.table("event_bridge")?;
    let opened = open_table(&mut table, surroundings);
    settings.close(table);
    opened
}

fn open_table(settings: &mut Settings<'_>, surroundings: &Surroundings) -> Option<EventBridge> {
    let url = settings.text("endpoint");
    let source = settings.text("source");
    let bus = settings.optional_text("bus").unwrap_or("default");
    let detail_type = settings.optional_text("detail_type").map(str::to_owned);
    let timeout = settings.duration("timeout", TIMEOUT);
    settings.take("region");
    let endpoint = match Endpoint::parse(url?) {
        Ok(endpoint) => endpoint,
        Err(message) => {
            settings.complain("endpoint", message);
            return None;
        }
    };
    let signer = aws::identity(settings, surroundings, &endpoint, "events");
    let client = surroundings
        .client(endpoint, Roots::System, timeout)
        .map_err(|message| settings.complain("endpoint", message))
        .ok()?;
    Some(EventBridge {
        service: Service {
            kind: KIND,
            client,
            signer,
            clock: Arc::clone(&surroundings.clock),
        },
        bus: Bus {
            name: bus.to_owned(),
            source: source?.to_owned(),
            detail_type,
        },
    })
}

impl Target for EventBridge {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        Box::pin(aws::send(&self.service, &self.bus, batch))
    }
}

impl Protocol for Bus {
    fn entry(&self, _route: &str, delivery: &Delivery, _place: usize) -> (Value, usize) {
        let change = &delivery.change;
        let detail = delivery.input().to_string();
        let detail_type = self.detail_type.clone().unwrap_or_else(|| {
            let about = change.entity.as_ref().unwrap_or(&change.table);
            format!("{about} {}", change.event)
        });
        let bytes = TIME_BYTES + self.source.len() + detail_type.len() + detail.len() + delivery.id.len();
        let entry = json!({
            "EventBusName": self.name,
            "Source": self.source,
            "DetailType": detail_type,
            "Detail": detail,
            "Time": change.at.as_secs(),
            // Where a consumer finds the idempotency key, whatever the template is.
            "Resources": [delivery.id],
        });
        (entry, bytes)
    }

    fn body(&self, entries: Vec<Value>) -> Value {
        json!({"Entries": entries})
    }

    fn failures(&self, answer: &Value, count: usize) -> Result<Vec<Failure>, String> {
        let results = answer.get("Entries").and_then(Value::as_array);
        let results = results
            .filter(|results| results.len() == count)
            .ok_or_else(|| format!("the answer does not tell of each of {count} events"))?;
        let failures = results.iter().enumerate().filter_map(|(place, result)| {
            let text = |name: &str| result.get(name).and_then(Value::as_str);
            let code = text("ErrorCode")?;
            Some(Failure {
                place,
                fault: match code {
                    "InternalFailure" | "InternalException" => EntryFault::Service,
                    code if is_throttling(code) => EntryFault::Throttling,
                    _ => EntryFault::Entry,
                },
                reason: format!("{code} {}", text("ErrorMessage").unwrap_or_default())
                    .trim()
                    .to_owned(),
            })
        });
        Ok(failures.collect())
    }
}
