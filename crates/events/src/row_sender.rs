//! Sends rows to the target of a route without the stream, independently of the order of changes.

use std::sync::Arc;

use trestle_api::{Database, DatabaseExt, TransactWriteItems};
use trestle_env::Timestamp;
use trestle_item::Item;
use trestle_pattern::Template;

use crate::attempt::attempt;
use crate::matcher::{Matcher, Typed};
use crate::record::{BackfilledRow, row_change};
use crate::target::Enlistment;
use crate::{Batch, Delivery, Door, Doors, Outcome, Route, Typer};

/// The maximum number of rows delivered in one transaction: each may need several writes, and a transaction
/// takes a hundred.
const ENLISTED_MAX: usize = 10;

/// The result of sending a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentRow {
    /// The target took it.
    Taken,
    /// The route takes no such rows.
    NotWanted,
    /// The target refused it, and takes others.
    Refused(String),
    /// The target cannot be reached or is overloaded. The row is not at fault.
    Later(String),
}

/// Sends rows as changes with the event `backfill` to the target of a route: the rows that the route takes,
/// in its form and in batches of its size. The id of each depends only on the sending and the item, so that a
/// target can recognise repetitions.
pub struct RowSender {
    name: Arc<str>,
    table: Arc<str>,
    batch_size: usize,
    matcher: Matcher,
    template: Option<Arc<Template>>,
    door: Door,
    typer: Arc<dyn Typer>,
    /// The database of a target that takes batches in a transaction.
    own: Arc<dyn Database>,
}

impl RowSender {
    /// Opens the target of a route, or returns why rows cannot be sent there.
    pub fn open(
        route: &Route,
        doors: &dyn Doors,
        typer: Arc<dyn Typer>,
        own: Arc<dyn Database>,
    ) -> Result<Self, String> {
        let template = route.input.as_deref().map(Template::parse).transpose();
        let template = template.map_err(|error| format!("the input cannot be used: {error}"))?;
        let matcher = Matcher::new(route)?;
        if !matcher.takes_rows() {
            return Err(crate::route::TAKES_NO_ROWS.to_owned());
        }
        let door = doors.open(route)?;
        let batch_max = match &door {
            Door::Target(_) => usize::MAX,
            Door::Enlist(_) => ENLISTED_MAX,
        };
        Ok(Self {
            name: route.name.as_str().into(),
            table: route.table.as_str().into(),
            batch_size: route.batch_size.clamp(1, batch_max),
            matcher,
            template: template.map(Arc::new),
            door,
            typer,
            own,
        })
    }

    /// The table whose rows the route takes.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Why rows cannot be delivered, as far as this is known without sending one: a queue of this database
    /// may not exist.
    pub async fn unheard(&self) -> Option<String> {
        let Door::Enlist(door) = &self.door else {
            return None;
        };
        match door.enlist(&self.batch(&[])).await {
            Err(Outcome::Unavailable(reason) | Outcome::Refused(reason)) => Some(reason),
            // The enlisted writes are dropped.
            _ => None,
        }
    }

    /// Sends rows once; returns the result of each, in order. `id` names the sending, and `key` the table's
    /// key attributes.
    pub async fn send(&self, id: &str, key: &[String], rows: Vec<Item>, at: Timestamp) -> Vec<SentRow> {
        let mut sent = vec![SentRow::NotWanted; rows.len()];
        let typed = rows.into_iter().enumerate().filter_map(|(number, row)| {
            let row = BackfilledRow {
                id,
                number: number as u64 + 1,
                at,
                key,
                row,
            };
            let change = row_change(row, &self.table, &*self.typer);
            let typed = Typed::new(Arc::new(change));
            let is_wanted = self.matcher.takes(&typed);
            is_wanted.then(|| (number, Arc::new(typed)))
        });
        let typed: Vec<(usize, Arc<Typed>)> = typed.collect();
        for some in typed.chunks(self.batch_size) {
            let changes: Vec<&Arc<Typed>> = some.iter().map(|(_, typed)| typed).collect();
            let outcomes = self.deliver(&changes).await;
            for ((number, _), outcome) in some.iter().zip(outcomes) {
                sent[*number] = outcome;
            }
        }
        sent
    }

    /// Delivers a batch. If it was not taken as a whole, its rows are tried one by one: if none is taken, the
    /// target is at fault.
    async fn deliver(&self, changes: &[&Arc<Typed>]) -> Vec<SentRow> {
        let batch = self.batch(changes);
        let outcome = self.hand_over(&batch).await;
        let is_about_one = changes.len() == 1;
        match outcome {
            Outcome::Refused(_) | Outcome::Failed(_) if !is_about_one => self.one_by_one(changes).await,
            // A single row cannot be distinguished from a target that always fails; its attempts are counted.
            Outcome::Refused(reason) | Outcome::Failed(reason) => vec![SentRow::Refused(reason)],
            outcome => of_each(&batch, &outcome),
        }
    }

    async fn one_by_one(&self, changes: &[&Arc<Typed>]) -> Vec<SentRow> {
        let mut sent = Vec::with_capacity(changes.len());
        let mut has_failed_only = true;
        for change in changes {
            let batch = self.batch(&[change]);
            let outcome = self.hand_over(&batch).await;
            has_failed_only &= matches!(outcome, Outcome::Failed(_) | Outcome::Unavailable(_));
            sent.extend(match outcome {
                Outcome::Refused(reason) | Outcome::Failed(reason) => vec![SentRow::Refused(reason)],
                outcome => of_each(&batch, &outcome),
            });
        }
        if has_failed_only {
            let later = |sent| match sent {
                SentRow::Refused(reason) => SentRow::Later(reason),
                sent => sent,
            };
            return sent.into_iter().map(later).collect();
        }
        sent
    }

    fn batch(&self, changes: &[&Arc<Typed>]) -> Batch {
        let delivery = |typed: &&Arc<Typed>| Delivery::of(&self.name, typed, 1, self.template.as_ref());
        Batch {
            route: Arc::clone(&self.name),
            deliveries: changes.iter().map(delivery).collect(),
        }
    }

    async fn hand_over(&self, batch: &Batch) -> Outcome {
        let (outcome, enlisted) = attempt(&self.door, batch).await;
        match enlisted {
            Some(enlisted) => self.commit(enlisted).await.unwrap_or_else(|error| error),
            None => outcome,
        }
    }

    async fn commit(&self, enlisted: Enlistment) -> Result<Outcome, Outcome> {
        let write = TransactWriteItems {
            transact_items: enlisted.writes,
            ..TransactWriteItems::default()
        };
        let written = self.own.transact_write_items(write).await;
        written.map_err(|error| Outcome::Unavailable(error.to_string()))?;
        (enlisted.committed)();
        Ok(Outcome::Done)
    }
}

/// The result of each delivery of a batch with this outcome.
fn of_each(batch: &Batch, outcome: &Outcome) -> Vec<SentRow> {
    let reason = |reasons: &[(String, String)], id: &str| {
        let found = reasons.iter().find(|(refused, _)| refused == id);
        found.map(|(_, reason)| SentRow::Refused(reason.clone()))
    };
    let one = |delivery: &Delivery| match outcome {
        Outcome::Done => SentRow::Taken,
        Outcome::Partly(reasons) => reason(reasons, &delivery.id).unwrap_or(SentRow::Taken),
        Outcome::Refused(why) | Outcome::Failed(why) => SentRow::Refused(why.clone()),
        Outcome::Unavailable(why) => SentRow::Later(why.clone()),
        Outcome::Interrupted {
            refused,
            later,
            reason: why,
        } => reason(refused, &delivery.id).unwrap_or_else(|| match later.contains(&delivery.id) {
            true => SentRow::Later(why.clone()),
            false => SentRow::Taken,
        }),
    };
    batch.deliveries.iter().map(one).collect()
}
