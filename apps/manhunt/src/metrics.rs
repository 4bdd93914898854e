//! The program's metrics, for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::{SearchAttempt, SettingKey};
use crate::service::LINK_SECRET;
use crate::{Result, STEPS, Service};

/// Notices since the program started, by type of method and result: how many, and the seconds since their
/// attempts, including waits and pauses.
type Counts = BTreeMap<(&'static str, &'static str), (u64, Duration)>;

/// The counters of the running program.
#[derive(Default)]
pub(crate) struct Metrics(Mutex<Counts>);

impl Service {
    /// Whether the database and its queues answer; the number of dead letters.
    pub async fn health(&self) -> Result<usize> {
        self.db.get(SettingKey::new(LINK_SECRET)).await?;
        Ok(self.queues.counts(&format!("{STEPS}-dead")).await?.total())
    }

    /// Counts the outcome of a notice: `sent`, `retried` or `failed`.
    pub(crate) fn count(&self, attempt: &SearchAttempt, result: &'static str) {
        let kind = attempt.r#type.map_or("unknown", |kind| kind.as_str());
        let took = self.now().moment().since(attempt.attempted_at.moment());
        let mut counts = self.metrics.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, seconds) = counts.entry((kind, result)).or_default();
        *count += 1;
        *seconds += took;
    }

    /// All counts, in the text format of Prometheus.
    pub async fn metrics(&self) -> Result<String> {
        let dead = self.health().await?;
        let (steps, lines) = (self.queues.counts(STEPS).await?, self.lines.lengths());
        let longest = lines.iter().max().copied().unwrap_or_default();
        let mut text = "# TYPE manhunt_notice_seconds summary\n".to_owned();
        let counts = self.metrics.0.lock().unwrap_or_else(PoisonError::into_inner);
        for ((kind, result), (count, seconds)) in counts.iter() {
            let labels = format!("{{type=\"{kind}\",result=\"{result}\"}}");
            // A String accepts any text.
            let _ = writeln!(text, "manhunt_notice_seconds_count{labels} {count}");
            let seconds = seconds.as_secs_f64();
            let _ = writeln!(text, "manhunt_notice_seconds_sum{labels} {seconds}");
        }
        for (name, value) in [
            ("steps_due", steps.visible),
            ("steps_at_work", steps.in_flight),
            ("steps_delayed", steps.delayed),
            ("dead_letters", dead),
            ("receivers", lines.len()),
            ("longest_line", longest),
        ] {
            let _ = writeln!(text, "# TYPE manhunt_{name} gauge\nmanhunt_{name} {value}");
        }
        Ok(text)
    }
}
