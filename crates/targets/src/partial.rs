//! Partial results in the form of Lambda's `ReportBatchItemFailures`: `{"batchItemFailures":
//! [{"itemIdentifier": id}]}`.

use serde_json::Value;
use std::collections::HashSet;
use trestle_events::{Batch, Outcome};

/// The partial result of a batch that was otherwise accepted.
pub(crate) fn outcome(batch: &Batch, answer: &[u8]) -> Outcome {
    let Ok(Value::Object(answer)) = serde_json::from_slice(answer) else {
        return Outcome::Done;
    };
    let failures = match answer.get("batchItemFailures") {
        None | Some(Value::Null) => return Outcome::Done,
        Some(Value::Array(failures)) => failures,
        Some(_) => return refused("is no list"),
    };
    let ids: HashSet<&str> = batch
        .deliveries
        .iter()
        .map(|delivery| delivery.id.as_str())
        .collect();
    let mut failed: Vec<(String, String)> = Vec::with_capacity(failures.len());
    let mut seen = HashSet::new();
    for failure in failures {
        // As with Lambda, an answer that cannot be parsed accepts nothing.
        let Some(id) = failure.get("itemIdentifier").and_then(Value::as_str) else {
            return refused("has a member without itemIdentifier");
        };
        if !ids.contains(id) {
            return refused(&format!("names {id:?}, which is not in the batch"));
        }
        let reason = failure.get("reason").and_then(Value::as_str);
        if seen.insert(id) {
            let reason = reason.unwrap_or("reported as failed").to_owned();
            failed.push((id.to_owned(), reason));
        }
    }
    if failed.is_empty() {
        Outcome::Done
    } else {
        Outcome::Partly(failed)
    }
}

fn refused(what: &str) -> Outcome {
    Outcome::Refused(format!("the answer's batchItemFailures {what}"))
}
