//! The measured speed of a sweep, and its remaining time.

use std::time::Duration;

use trestle_env::Timestamp;

use super::{Document, TableProgress};

/// The state of a pass when measuring began.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    since: Timestamp,
    looked_at: u64,
    walked: f64,
}

/// The result of measuring.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// Rows checked per second.
    pub rows_per_second: Option<f64>,
    /// The remaining time of this pass.
    pub left: Option<Duration>,
}

impl Meter {
    /// Starts measuring.
    pub fn start(document: &Document, now: Timestamp) -> Self {
        Meter {
            since: now,
            looked_at: looked_at(document),
            walked: walked(document),
        }
    }

    /// The speed so far.
    pub fn speed(&self, document: &Document, now: Timestamp) -> Speed {
        let elapsed = now.since(self.since).as_secs_f64();
        let (rows, part) = (
            looked_at(document).saturating_sub(self.looked_at),
            walked(document) - self.walked,
        );
        if elapsed <= 0.0 || rows == 0 {
            return Speed::default();
        }
        let left = (part > 0.0).then(|| elapsed * (1.0 - walked(document)) / part);
        Speed {
            rows_per_second: Some(rows as f64 / elapsed),
            left: left.and_then(|left| Duration::try_from_secs_f64(left).ok()),
        }
    }
}

fn looked_at(document: &Document) -> u64 {
    document.tables.iter().map(|table| table.looked_at).sum()
}

/// The finished fraction of all tables in this pass, from 0 to 1, weighted by their rows.
pub(super) fn walked(document: &Document) -> f64 {
    let weight = |table: &TableProgress| table.rows.max(1) as f64;
    let all: f64 = document.tables.iter().map(weight).sum();
    if all == 0.0 {
        return 0.0;
    }
    let walked = document.tables.iter().map(|table| weight(table) * table.walked());
    walked.sum::<f64>() / all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pass_in_ten_seconds_leaves_ten_seconds() {
        let now = Timestamp::from_secs(100);
        let mut document = Document::planned("m", (1, 2), "", now);
        document.tables = vec![
            TableProgress::new("large", 300, 300),
            TableProgress::new("small", 100, 100),
        ];
        let meter = Meter::start(&document, now);
        assert_eq!(meter.speed(&document, now), Speed::default());
        document.tables[0].page(200, 200, Some((vec![0xaa], 2.0 / 3.0)));
        assert!((walked(&document) - 0.5).abs() < 1e-6);
        let speed = meter.speed(&document, Timestamp::from_secs(110));
        assert_eq!(speed.rows_per_second, Some(20.0));
        assert_eq!(speed.left.map(|left| left.as_secs_f64().round()), Some(10.0));
    }
}
