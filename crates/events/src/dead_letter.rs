//! Dead letters: changes that were given up, stored completely and with their history. Listing, replaying,
//! moving, dropping.

use std::sync::Arc;

use serde_json::{Value, json};
use trestle_api::Error;
use trestle_env::{Timestamp, iso_8601_millis};

use crate::attempt::attempt;
use crate::live::Live;
use crate::matcher::Typed;
use crate::rows::{Kept, KeptId, RouterTable};
use crate::{Change, Outcome};

/// Dead letters read per page.
const PAGE: u32 = 25;

/// A change that was given up.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadLetter {
    /// Its id: the route, the stream and the sequence number.
    pub id: String,
    /// The route that gave it up.
    pub route: String,
    /// The change.
    pub change: Arc<Change>,
    /// The error of the last attempt.
    pub error: String,
    /// How often it was tried.
    pub attempts: u32,
    /// The first failed attempt.
    pub first: Timestamp,
    /// The last failed attempt.
    pub last: Timestamp,
}

impl DeadLetter {
    fn new(route: String, kept: Kept) -> Self {
        Self {
            id: format!("{route}#{}", kept.id.0),
            route,
            change: kept.change,
            error: kept.error,
            attempts: kept.attempts,
            first: kept.first,
            last: kept.last,
        }
    }

    /// The dead letter in plain JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let time = |at| format!("{}Z", iso_8601_millis(at));
        json!({
            "id": self.id, "route": self.route, "error": self.error, "attempts": self.attempts,
            "first": time(self.first), "last": time(self.last), "change": self.change.to_json(),
        })
    }
}

/// A page of dead letters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeadLetters {
    /// The letters, by route and in the order of their changes.
    pub letters: Vec<DeadLetter>,
    /// The id after which the next page begins, if there are more.
    pub next: Option<String>,
}

/// A selection of dead letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    All,
    /// Those of a route.
    Route(String),
    /// The one with this id.
    One(String),
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Replayed {
    /// Delivered, and removed.
    pub delivered: u64,
    /// Refused again; they stay.
    pub failed: u64,
    /// Neither taken nor refused, because the target could not be reached, failed or did not answer in time;
    /// they stay.
    #[serde(default)]
    pub unanswered: u64,
    /// Not tried, because their route was removed or is off, or its target does not answer; they stay.
    #[serde(default)]
    pub left: u64,
}

impl Replayed {
    /// The number of dead letters that were considered.
    pub(crate) fn found(&self) -> u64 {
        self.delivered + self.failed + self.unanswered + self.left
    }
}

pub(crate) async fn page(
    rows: &RouterTable,
    route: Option<&str>,
    after: Option<&str>,
    limit: u32,
) -> Result<DeadLetters, Error> {
    let (letters, next) = rows.dead_page(route, after, limit).await?;
    let letters = letters
        .into_iter()
        .map(|(route, kept)| DeadLetter::new(route, kept));
    Ok(DeadLetters {
        letters: letters.collect(),
        next,
    })
}

pub(crate) async fn one(rows: &RouterTable, id: &str) -> Result<Option<DeadLetter>, Error> {
    let Some((route, kept_id)) = split(id) else {
        return Ok(None);
    };
    let kept = rows.dead(route, &kept_id).await?;
    Ok(kept.map(|kept| DeadLetter::new(route.to_owned(), kept)))
}

fn split(id: &str) -> Option<(&str, KeptId)> {
    let (route, rest) = id.split_once('#')?;
    Some((route, KeptId(rest.to_owned())))
}

/// Reads the selected dead letters, a page at a time, oldest first.
pub(crate) struct DeadLetterPages<'r> {
    rows: &'r RouterTable,
    selection: Selection,
    after: Option<String>,
    is_over: bool,
}

impl<'r> DeadLetterPages<'r> {
    pub(crate) fn new(rows: &'r RouterTable, selection: Selection) -> Self {
        Self {
            rows,
            selection,
            after: None,
            is_over: false,
        }
    }

    /// The next page; empty at the end.
    pub(crate) async fn next(&mut self) -> Result<Vec<(String, Kept)>, Error> {
        if self.is_over {
            return Ok(Vec::new());
        }
        if let Selection::One(id) = &self.selection {
            self.is_over = true;
            let missing = || {
                Error::validation(format!(
                    "There is no dead letter `{id}`; list them to see which are"
                ))
            };
            let (route, kept_id) = split(id).ok_or_else(missing)?;
            let kept = self.rows.dead(route, &kept_id).await?.ok_or_else(missing)?;
            return Ok(vec![(route.to_owned(), kept)]);
        }
        let route = match &self.selection {
            Selection::Route(route) => Some(&**route),
            _ => None,
        };
        let (letters, next) = self.rows.dead_page(route, self.after.as_deref(), PAGE).await?;
        self.is_over = next.is_none();
        self.after = next;
        Ok(letters)
    }
}

/// The result of one more attempt to deliver a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retried {
    Taken,
    Refused,
    /// The target failed with it, or did not answer in time.
    Failed,
    /// The target cannot be reached, or asked for a later attempt; no attempt is counted.
    Away,
}

/// Tries to deliver a dead letter once more.
pub(crate) async fn replay(live: &Live, mut kept: Kept) -> Result<Retried, Error> {
    let typed = Arc::new(Typed::new(Arc::clone(&kept.change)));
    let batch = live.batch(std::iter::once((&typed, kept.attempts + 1)));
    let (outcome, enlisted) = attempt(&live.door, &batch).await;
    let without = match &outcome {
        Outcome::Unavailable(_) => Retried::Away,
        Outcome::Interrupted { later, .. } if !later.is_empty() => Retried::Away,
        Outcome::Failed(_) => Retried::Failed,
        _ => Retried::Refused,
    };
    if let Some(error) = outcome.error_of_one() {
        kept.attempts += u32::from(without != Retried::Away);
        kept.error = error;
        kept.last = live.clock.now();
        live.rows.write(&[kept.bury(&live.name).row]).await?;
        return Ok(without);
    }
    let unbury = Kept::unbury(&live.name, &kept.id);
    match enlisted {
        None => live.rows.write(&[unbury]).await?,
        Some(enlisted) => {
            let mut writes = enlisted.writes;
            writes.push(unbury.in_transaction_if_there());
            live.rows.transact(writes).await?;
            (enlisted.committed)();
        }
    }
    live.rows.drop_parts(&live.name, &kept).await?;
    Ok(Retried::Taken)
}

/// Moves a dead letter to another route; returns whether that had no dead letter of the same change.
pub(crate) async fn give(rows: &RouterTable, from: &str, kept: &Kept, to: &str) -> Result<bool, Error> {
    let is_new = rows.dead(to, &kept.id).await?.is_none();
    let given = kept.bury(to);
    rows.write(&given.parts).await?;
    let unbury = Kept::unbury(from, &kept.id).in_transaction_if_there();
    rows.transact(vec![given.row.in_transaction(), unbury]).await?;
    rows.drop_parts(from, kept).await?;
    Ok(is_new)
}

/// Removes a dead letter permanently.
pub(crate) async fn remove(rows: &RouterTable, route: &str, kept: &Kept) -> Result<(), Error> {
    rows.write(&[Kept::unbury(route, &kept.id)]).await?;
    rows.drop_parts(route, kept).await
}
