//! Targets outside the process: webhooks, commands, SQS and EventBridge.
//!
//! [`open`] reads a route's destination, and returns a target that is ready, or all mistakes in the
//! destination:
//!
//! ```toml
//! target = { webhook = "https://example.com/hook", timeout = "10s", secret = { env = "HOOK_SECRET" } }
//! target = { command = ["sh", "-c", "cat >> changes.jsonl"], timeout = "60s", environment = { TOKEN = { env = "TOKEN" } } }
//! target = { sqs = "https://sqs.eu-west-1.amazonaws.com/123456789012/changes" }
//! target = { event_bridge = { endpoint = "https://events.eu-west-1.amazonaws.com", bus = "main", source = "shop" } }
//! ```
//!
//! *Invariant*: a target never reports a change as accepted without knowing it. A change in doubt is
//! delivered again, with the same id. A target that cannot be reached is unavailable and refuses nothing;
//! where an answer shows whose fault it is, the records are refused only if it is theirs. (A webhook's 4xx
//! does not show it, and refuses the records.)
//!
//! ```
//! use std::sync::Arc;
//! use trestle_env::SystemClock;
//! use trestle_events::Destination;
//! use trestle_targets::Surroundings;
//!
//! let surroundings = Surroundings::of_process(Arc::new(SystemClock::new()));
//! let hook = Destination::new("webhook", "https://example.com/hook");
//! assert!(trestle_targets::open(&hook, &surroundings).is_ok());
//! ```

mod answer;
mod aws;
mod batch;
mod command;
mod event_bridge;
mod partial;
mod secret;
mod settings;
mod sqs;
mod surroundings;
mod trust;
mod webhook;

pub use settings::Fault;
pub use surroundings::Surroundings;
pub use trust::Trust;

use settings::Settings;
use std::sync::Arc;
use trestle_events::{Destination, Target};

/// The kinds of destination that [`open`] knows. The others stay inside the process.
pub const KINDS: [&str; 4] = ["webhook", "command", "sqs", "event_bridge"];

/// Opens a destination's target, or returns all mistakes in the destination.
///
/// Nothing is sent yet: the first delivery shows whether the server exists.
pub fn open(destination: &Destination, surroundings: &Surroundings) -> Result<Arc<dyn Target>, Vec<Fault>> {
    let mut settings = Settings::new(&destination.0);
    let kind = KINDS.into_iter().find(|kind| destination.0.contains_key(*kind));
    let target: Option<Arc<dyn Target>> = match kind {
        Some("webhook") => webhook::open(&mut settings, surroundings).map(|target| Arc::new(target) as _),
        Some("command") => command::open(&mut settings, surroundings).map(|target| Arc::new(target) as _),
        Some("sqs") => sqs::open(&mut settings, surroundings).map(|target| Arc::new(target) as _),
        Some("event_bridge") => {
            event_bridge::open(&mut settings, surroundings).map(|target| Arc::new(target) as _)
        }
        _ => {
            settings.complain("target", format!("must be one of {}", KINDS.join(", ")));
            None
        }
    };
    settings.finish(target)
}
