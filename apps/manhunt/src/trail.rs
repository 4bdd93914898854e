//! The history of a search, from its rows alone.

use serde::Serialize;
use trestle::{Map, Timestamp, typed};

use crate::model::{Search, SearchAttempt, SearchAttemptOutcome, SearchStatus};

/// The history of a search.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Trail {
    /// What happened, in order.
    pub entries: Vec<Entry>,
    /// The longest delay of an attempt.
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
    /// For attempts: the delay, as far as their rows show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
}

/// The history of a search whose attempts are in order.
pub fn trail(search: &Search, attempts: &[SearchAttempt]) -> Trail {
    let start = search.started_datetime.moment();
    let mut entries = vec![entry(start, "the search began", None)];
    for (from, until) in search.held.iter().flat_map(Map::iter) {
        let until = until.as_s().unwrap_or_default();
        let what = format!("quiet hours hold the search back until {until}");
        entries.extend(moment(from).map(|from| entry(from, what, None)));
    }
    for attempt in attempts {
        tell(attempt, &mut entries);
    }
    let ended = search.ended_datetime.as_ref().map(typed::Timestamp::moment);
    entries.extend(ended.map(|at| entry(at, ending(search), None)));
    entries.sort_by(|a, b| a.at.cmp(&b.at));
    let latencies = entries.iter().filter_map(|entry| entry.latency_ms);
    Trail {
        latency_ms_max: latencies.max().unwrap_or_default(),
        took_ms: ended.map(|at| at.as_millis().saturating_sub(start.as_millis())),
        entries,
    }
}

/// The events of an attempt: made, failed, finally sent, answered.
fn tell(attempt: &SearchAttempt, entries: &mut Vec<Entry>) {
    let kind = attempt.r#type.map_or("a method", |kind| kind.as_str());
    let destination = attempt.destination.as_deref().unwrap_or("an unknown destination");
    let what = format!("{kind} to {destination}");
    let made = attempt.attempted_at.moment();
    let due = attempt.due_at.as_ref();
    let late = due.map(|due| made.since(due.moment()).as_millis());
    let latency_ms = late.and_then(|late| u64::try_from(late).ok());
    entries.push(entry(made, &what, latency_ms));
    let failures = failures(attempt);
    for (number, (at, error)) in failures.iter().enumerate() {
        let is_last = number + 1 == failures.len();
        let again = match is_last && attempt.outcome == Some(SearchAttemptOutcome::Failed) {
            true => "",
            false => "; it is tried again",
        };
        entries.push(entry(*at, format!("{what} failed: {error}{again}"), None));
    }
    let is_sent_later = attempt.outcome == Some(SearchAttemptOutcome::Sent) && !failures.is_empty();
    if let Some(at) = attempt.finished_at.as_ref().filter(|_| is_sent_later) {
        let what = format!("{what} was sent at try {}", failures.len() + 1);
        entries.push(entry(at.moment(), what, None));
    }
    if let Some(at) = &attempt.responded_at {
        let response = attempt.response.as_deref().unwrap_or_default();
        let what = format!("the contact answered: {response}");
        entries.push(entry(at.moment(), what, None));
    }
}

/// When sending failed, and why.
fn failures(attempt: &SearchAttempt) -> Vec<(Timestamp, String)> {
    let failure = |map: &Map| {
        let at = moment(map.get("at")?.as_s()?)?;
        Some((at, map.get("error")?.as_s()?.to_owned()))
    };
    match (&attempt.failures, &attempt.error) {
        (Some(failures), _) => failures.iter().filter_map(|one| failure(one.as_m()?)).collect(),
        // A row that is older than the separate storing of failures.
        (None, Some(error)) => vec![(attempt.attempted_at.moment(), error.clone())],
        (None, None) => Vec::new(),
    }
}

fn entry(at: Timestamp, what: impl Into<String>, latency_ms: Option<u64>) -> Entry {
    let (at, what) = (typed::Timestamp::from(at).to_string(), what.into());
    Entry { at, what, latency_ms }
}

fn moment(text: &str) -> Option<Timestamp> {
    Some(typed::Timestamp::parse(text).ok()?.moment())
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
