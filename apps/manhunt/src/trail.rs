//! What happened in a search, told from its rows and nothing else.

use std::time::Duration;

use serde::Serialize;
use trestle::Timestamp;

use crate::model::{Search, SearchAttempt, SearchAttemptOutcome, SearchStatus};

/// A search as a story.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Trail {
    /// What happened, in order.
    pub entries: Vec<Entry>,
    /// The longest time an attempt was later than it should have been.
    pub latency_ms_max: u64,
    /// How long the search took, if it has ended.
    pub took_ms: Option<u64>,
}

/// One thing that happened.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// When, to the millisecond.
    pub at: String,
    /// What.
    pub what: String,
    /// For attempts: how much later than the method before it allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
}

/// The story of a search whose attempts are in order.
pub fn trail(search: &Search, attempts: &[SearchAttempt]) -> Trail {
    let start = search.started_datetime.moment();
    let mut entries = vec![entry(start, "the search began".to_owned(), None)];
    let (mut due, mut latency_ms_max) = (start, 0);
    for attempt in attempts {
        let at = attempt.attempted_at.moment();
        let latency_ms = at.as_millis().saturating_sub(due.as_millis());
        latency_ms_max = latency_ms_max.max(latency_ms);
        entries.push(entry(at, attempted(attempt), Some(latency_ms)));
        due = next_due(attempt, at);
        if let Some(responded) = &attempt.responded_at {
            let response = attempt.response.as_deref().unwrap_or_default();
            let what = format!("the contact answered: {response}");
            entries.push(entry(responded.moment(), what, None));
        }
    }
    let ended = search.ended_datetime.as_ref().map(|at| at.moment());
    entries.extend(ended.map(|at| entry(at, ending(search), None)));
    entries.sort_by(|a, b| a.at.cmp(&b.at));
    Trail {
        latency_ms_max,
        took_ms: ended.map(|at| at.as_millis().saturating_sub(start.as_millis())),
        entries,
    }
}

fn entry(at: Timestamp, what: String, latency_ms: Option<u64>) -> Entry {
    let at = trestle::typed::Timestamp::from(at).to_string();
    Entry { at, what, latency_ms }
}

fn attempted(attempt: &SearchAttempt) -> String {
    let kind = attempt.r#type.map_or("a method", |kind| kind.as_str());
    let destination = attempt.destination.as_deref().unwrap_or("an unknown destination");
    match &attempt.error {
        Some(error) => format!("{kind} to {destination} failed: {error}"),
        None => format!("{kind} to {destination}"),
    }
}

/// When the attempt after this one should be made. Nobody waits for an answer to what failed.
fn next_due(attempt: &SearchAttempt, at: Timestamp) -> Timestamp {
    let wait = match attempt.outcome {
        Some(SearchAttemptOutcome::Failed) => 0,
        _ => attempt.wait_seconds.unwrap_or_default(),
    };
    at.plus(Duration::from_secs(u64::try_from(wait).unwrap_or_default()))
}

fn ending(search: &Search) -> String {
    let canceled = search.cancellation.as_ref();
    let reason = canceled.and_then(|map| map.get("reason")?.as_s());
    match (search.status, reason) {
        (SearchStatus::Failed, _) => "nothing was left to try: the search failed".to_owned(),
        (status, Some(reason)) if !reason.is_empty() => format!("the search was {status}: {reason}"),
        (status, _) => format!("the search was {status}"),
    }
}
