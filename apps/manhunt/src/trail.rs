//! What happened in a search, told from its rows and nothing else.

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
    /// When.
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
    let mut told = vec![(start, "the search began".to_owned(), None)];
    let mut due = start;
    for attempt in attempts {
        let at = attempt.attempted_at.moment();
        let latency = at.since(due).as_millis();
        told.push((at, attempted(attempt), u64::try_from(latency).ok()));
        due = next_due(attempt, at);
        if let Some(responded) = &attempt.responded_at {
            let response = attempt.response.as_deref().unwrap_or_default();
            told.push((
                responded.moment(),
                format!("the contact answered: {response}"),
                None,
            ));
        }
    }
    if let Some(ended) = &search.ended_datetime {
        told.push((ended.moment(), ending(search), None));
    }
    told.sort_by_key(|(at, ..)| *at);
    let latency_ms_max = told.iter().filter_map(|(.., latency)| *latency).max();
    let ended = search.ended_datetime.as_ref();
    let took = ended.map(|ended| ended.moment().since(start).as_millis());
    Trail {
        entries: told.into_iter().map(entry).collect(),
        latency_ms_max: latency_ms_max.unwrap_or_default(),
        took_ms: took.and_then(|took| u64::try_from(took).ok()),
    }
}

fn entry((at, what, latency_ms): (Timestamp, String, Option<u64>)) -> Entry {
    Entry {
        at: trestle::typed::Timestamp::from(at).to_string(),
        what,
        latency_ms,
    }
}

fn attempted(attempt: &SearchAttempt) -> String {
    let kind = attempt.r#type.map_or("a method", |kind| kind.as_str());
    let destination = attempt.destination.as_deref().unwrap_or("an unknown destination");
    match &attempt.error {
        Some(error) => format!("{kind} to {destination} failed: {error}"),
        None => format!("{kind} to {destination}"),
    }
}

/// When the attempt after this one should be made.
fn next_due(attempt: &SearchAttempt, at: Timestamp) -> Timestamp {
    let wait = attempt
        .wait_seconds
        .and_then(|seconds| u64::try_from(seconds).ok());
    match attempt.outcome {
        Some(SearchAttemptOutcome::Failed) => at,
        _ => at.plus(std::time::Duration::from_secs(wait.unwrap_or_default())),
    }
}

fn ending(search: &Search) -> String {
    let reason = search
        .cancellation
        .as_ref()
        .and_then(|map| map.get("reason")?.as_s());
    match (search.status, reason) {
        (SearchStatus::Failed, _) => "nothing was left to try: the search failed".to_owned(),
        (status, Some(reason)) if !reason.is_empty() => format!("the search was {status}: {reason}"),
        (status, _) => format!("the search was {status}"),
    }
}
