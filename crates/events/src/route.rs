//! A route: which changes are delivered where, and how often delivery is tried. Plain data, named as in
//! Lambda's event source mapping.

use std::time::Duration;

use serde_json::{Map, Value};
use trestle_env::Timestamp;
use trestle_pattern::Template;

use crate::lanes::Destinations;
use crate::matcher::Matcher;
use crate::{ChangeEvent, Maintenance, parse_duration};

/// The maximum time that a batch may wait.
const BATCHING_WINDOW_MAX: Duration = Duration::from_secs(300);
/// The maximum number of deliveries of a route under way.
const CONCURRENCY_MAX: usize = 1_000;

/// Why a route cannot begin with all rows.
pub(crate) const TAKES_NO_ROWS: &str =
    "it takes no rows: its `event` has none of `insert`, `modify` and `backfill`";

/// Which changes are delivered where, and how often delivery is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its name, which also identifies its checkpoints and dead letters.
    pub name: String,
    /// The table whose changes it takes.
    pub table: String,
    /// The entities it takes; empty means all, and items without an entity.
    pub entities: Vec<String>,
    /// The events it takes; empty means all.
    pub events: Vec<ChangeEvent>,
    /// Takes only changes of one of these attributes; empty means any change.
    pub changed: Vec<String>,
    /// Takes only changes whose JSON matches this EventBridge pattern.
    pub pattern: Option<Value>,
    /// The destination.
    pub target: Destination,
    /// What the target gets instead of the change as JSON: a JSON text in which `<path>` is replaced by a
    /// value of the change.
    pub input: Option<String>,
    /// The most changes in a batch, 1 to 10,000.
    pub batch_size: usize,
    /// How long a batch may wait to become full.
    pub maximum_batching_window: Duration,
    /// How many batches may be under way at once, 1 to 10. Changes of one item are always in order.
    pub parallelization_factor: usize,
    /// Distinguishes destinations, each of which has a lane of its own; without it,
    /// [`Route::parallelization_factor`] lanes share the items.
    pub concurrency: Option<Concurrency>,
    /// How often delivery is repeated after the first attempt.
    pub maximum_retry_attempts: u32,
    /// A change that is older becomes a dead letter; `None` for no limit.
    pub maximum_record_age: Option<Duration>,
    /// Whether a batch that was not taken is split into halves until the refused change is alone. If not, the
    /// batch is tried and given up as a whole.
    pub bisect_batch_on_error: bool,
    /// How long to wait between attempts, and between the probes of a target that does not answer.
    pub backoff: Backoff,
    /// Where a new route begins to read.
    pub starting_position: StartingPosition,
    /// Whether it delivers. A disabled route keeps its checkpoints; records that the stream trims meanwhile
    /// are lost for it.
    pub enabled: bool,
    /// Which changes by maintenance it also takes: rows that a migration moves, rows that a reindex touches.
    pub include_maintenance: Vec<Maintenance>,
    /// Why it cannot deliver now, although it is enabled: its target could not be opened. It keeps its
    /// position, and its undelivered changes are kept for it.
    pub held_back: Option<String>,
}

/// The kinds of destination, as a route file names them.
pub const DESTINATIONS: [&str; 6] = ["webhook", "command", "queue", "sqs", "event_bridge", "handler"];

/// A destination as in a route file: `{ webhook = "http://…", … }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Destination(pub Map<String, Value>);

impl Destination {
    /// A destination of a kind, without further settings.
    #[must_use]
    pub fn new(kind: &str, value: impl Into<Value>) -> Self {
        Self(Map::from_iter([(kind.to_owned(), value.into())]))
    }

    /// Its kind, one of [`DESTINATIONS`], and the value of that member.
    #[must_use]
    pub fn kind(&self) -> Option<(&'static str, &Value)> {
        DESTINATIONS
            .into_iter()
            .find_map(|kind| Some((kind, self.0.get(kind)?)))
    }

    /// The name of the embedded queue, if it is one.
    #[must_use]
    pub fn queue(&self) -> Option<&str> {
        self.0.get("queue")?.as_str()
    }

    /// Sets the time after which an unfinished delivery is given up.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        let text = format!("{}ms", timeout.as_millis());
        self.0.insert("timeout".to_owned(), text.into());
        self
    }

    /// The time after which an unfinished delivery is given up, if it is set and valid.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        parse_duration(self.0.get("timeout")?.as_str()?)
    }

    /// The name of the handler, if it is one.
    #[must_use]
    pub fn handler(&self) -> Option<&str> {
        self.0.get("handler")?.as_str()
    }
}

/// How the destinations of a route are distinguished, and how many deliveries may be under way. A destination
/// that is slow or cannot be reached delays only its own changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// The most deliveries under way at once, 1 to 1,000.
    pub most: usize,
    /// A text in which `<path>` is replaced by a value of the change: changes with the same resulting text
    /// have the same destination. Without it, each item is a destination of its own.
    pub per: Option<String>,
}

/// How long to wait between attempts. The time doubles with each attempt, from the first to the longest, and
/// is shortened by a random part, so that changes that failed together are not tried again together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Before the second attempt.
    pub first: Duration,
    /// The maximum.
    pub longest: Duration,
}

impl Backoff {
    /// How long to wait after this many failed attempts: between half of the time and all of it.
    pub(crate) fn after(self, attempts: u32) -> Duration {
        let doublings = attempts.saturating_sub(1).min(31);
        let whole = self.first.saturating_mul(1 << doublings).min(self.longest);
        let half = whole / 2;
        let random = trestle_env::ids::random_u64() % 1_000;
        half + (whole - half).mul_f64(random as f64 / 1_000.0)
    }
}

/// Where a new route begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartingPosition {
    /// With the next change.
    Latest,
    /// With the oldest change that the stream still has.
    TrimHorizon,
    /// With the first change at or after a time.
    At(Timestamp),
    /// With every existing row, then with the next change.
    AllRows,
}

impl Route {
    /// A route for all changes of a table, with the default settings of a route file.
    #[must_use]
    pub fn new(name: impl Into<String>, table: impl Into<String>, target: Destination) -> Self {
        Self {
            name: name.into(),
            table: table.into(),
            entities: Vec::new(),
            events: Vec::new(),
            changed: Vec::new(),
            pattern: None,
            target,
            input: None,
            batch_size: 100,
            maximum_batching_window: Duration::ZERO,
            parallelization_factor: 1,
            concurrency: None,
            maximum_retry_attempts: 10,
            maximum_record_age: None,
            bisect_batch_on_error: true,
            backoff: Backoff {
                first: Duration::from_millis(200),
                longest: Duration::from_secs(60),
            },
            starting_position: StartingPosition::Latest,
            enabled: true,
            include_maintenance: Vec::new(),
            held_back: None,
        }
    }

    /// Whether it is enabled and not held back.
    #[must_use]
    pub fn may_deliver(&self) -> bool {
        self.enabled && self.held_back.is_none()
    }

    /// Whether it delivers touches of rows of this table.
    #[must_use]
    pub fn hears_touches(&self, table: &str) -> bool {
        self.table == table && self.may_deliver() && self.include_maintenance.contains(&Maintenance::Touch)
    }
}

/// Invalid settings of a route, each with its message.
pub(crate) fn faults(route: &Route) -> Vec<(&'static str, String)> {
    let named = |name: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        !name.is_empty() && name.bytes().all(allowed)
    };
    let mut faults = Vec::new();
    if !named(&route.name) {
        faults.push((
            "name",
            "its name may have letters, digits, `_`, `-` and `.`".to_owned(),
        ));
    }
    let attempts = route.maximum_retry_attempts as usize;
    for (name, value, low, high) in [
        ("batch_size", route.batch_size, 1, 10_000),
        ("parallelization_factor", route.parallelization_factor, 1, 10),
        ("maximum_retry_attempts", attempts, 0, 10_000),
    ] {
        if !(low..=high).contains(&value) {
            faults.push((name, format!("`{name}` is {value}, but can be {low} to {high}")));
        }
    }
    faults.extend(concurrency_fault(route).map(|fault| ("concurrency", fault)));
    if route.maximum_batching_window > BATCHING_WINDOW_MAX {
        let name = "maximum_batching_window";
        faults.push((name, format!("`{name}` can be up to 300s")));
    }
    let matcher = Matcher::new(route);
    let takes_rows = matcher.as_ref().is_ok_and(Matcher::takes_rows);
    if route.starting_position == StartingPosition::AllRows && matcher.is_ok() && !takes_rows {
        faults.push(("starting_position", TAKES_NO_ROWS.to_owned()));
    }
    faults.extend(matcher.err().map(|fault| ("pattern", fault)));
    let input = route.input.as_deref().map(Template::parse);
    if let Some(Err(error)) = input {
        faults.push(("input", format!("the input cannot be used: {error}")));
    }
    faults
}

/// What is wrong with the route's settings for concurrency.
fn concurrency_fault(route: &Route) -> Option<String> {
    let concurrency = route.concurrency.as_ref()?;
    if !(1..=CONCURRENCY_MAX).contains(&concurrency.most) {
        let most = concurrency.most;
        return Some(format!(
            "`concurrency` is {most}, but can be 1 to {CONCURRENCY_MAX}"
        ));
    }
    if route.parallelization_factor > 1 {
        return Some("`concurrency` and `parallelization_factor` exclude each other".to_owned());
    }
    if route.target.queue().is_some() {
        return Some(
            "a queue of the same database takes one batch at a time, without `concurrency`".to_owned(),
        );
    }
    Destinations::of(route).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_lose_at_most_half() {
        let backoff = Backoff {
            first: Duration::from_millis(200),
            longest: Duration::from_secs(60),
        };
        for (attempts, whole_ms) in [
            (1, 200),
            (2, 400),
            (5, 3_200),
            (9, 51_200),
            (10, 60_000),
            (10_000, 60_000),
        ] {
            for _ in 0..50 {
                let wait = backoff.after(attempts).as_millis();
                assert!((whole_ms / 2..=whole_ms).contains(&wait), "{attempts}: {wait}");
            }
        }
    }
}
