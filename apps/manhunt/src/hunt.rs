//! One step of a search: makes the next attempts, and leaves in the queue the messages that send them and the
//! next step.
//!
//! Messages can be late or repeated. An attempt's id follows from its search and number. It is written in the
//! commit that sends the next messages, and only while the search is active. So a repeated message changes
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trestle::app::OrNotFound as _;
use trestle::queue::{self, Job, NewMessage};
use trestle::typed::Held;
use trestle::{Timestamp, typed};

use crate::model::{
    ContactMethod, NewSearchAttempt, Search, SearchAttempt, SearchAttemptOutcome, SearchStatus,
};
use crate::{AttemptId, Result, STEPS, Service, quiet_hours};

/// The most methods that are tried at once; further ones with the same order are the next stage.
const STAGE_MAX: usize = 20;

/// How long the next methods wait for a retry that is due, if the method's own wait is shorter.
const REPETITION: Duration = Duration::from_secs(15);

/// A message of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The attempt to make, or to send.
    #[serde(flatten)]
    pub attempt: AttemptId,
    /// How often sending this attempt has failed. Without it, the step makes attempts.
    #[serde(default)]
    pub failures: Option<u32>,
    /// When it is due, in milliseconds since 1970. The first step is due when the search begins.
    #[serde(default)]
    pub due_ms: Option<u64>,
}

impl Service {
    /// A message that, after a wait, sends an attempt that has failed so often, or makes the attempts from
    /// this one on.
    pub(crate) fn message(&self, id: AttemptId, failures: Option<u32>, wait: Duration) -> Result<NewMessage> {
        let step = Step {
            attempt: id,
            failures,
            due_ms: Some(self.now().moment().plus(wait).as_millis()),
        };
        Ok(NewMessage::job(&step)?.after(wait))
    }

    /// Puts such a message into the queue.
    pub(crate) async fn leave(&self, id: AttemptId, failures: Option<u32>, wait: Duration) -> Result<()> {
        let message = self.message(id, failures, wait)?;
        Ok(self.queues.send(STEPS, message).await.map(drop)?)
    }

    /// Handles a message.
    pub(crate) async fn step(self: Arc<Self>, job: Job<Step>) -> Result<()> {
        let step = job.body;
        match step.failures {
            None => self.make_attempts(&step).await,
            Some(failures) => self.send(&step.attempt, failures).await,
        }
    }

    /// Makes the attempts of the next stage, or finds that there are none to make.
    async fn make_attempts(&self, step: &Step) -> Result<()> {
        let id = &step.attempt;
        let found = self.db.search_with_attempts(&id.search).consistent();
        let found = found.gather().await?;
        let (search, made) = (found.search, found.search_attempt);
        let search = search.or_not_found("such search")?;
        let is_made = made.iter().any(|attempt| attempt.key() == id.key());
        if search.status != SearchStatus::Active || is_made {
            return Ok(());
        }
        let now = self.now().moment();
        if let Some(due) = due_later(&made, now) {
            return self.leave(id.clone(), None, due.since(now)).await;
        }
        let (contact, methods) = self.contact(&search.domain_id, &search.contact_id).await?;
        let mut stage = next_stage(methods, &made);
        if stage.is_empty() {
            self.end(&id.search, SearchStatus::Failed).await.held()?;
            return Ok(());
        }
        if let Some(until) = quiet_hours::end(&search, &contact, now)? {
            stage.retain(|method| !quiet_hours::are_for(method.r#type));
            if stage.is_empty() {
                return self.hold(&search, id, None, until).await;
            }
        }
        self.claim(&search, &stage, step).await
    }

    /// Writes the attempts and sends the next messages, if the search is still active and no other message
    /// did so.
    async fn claim(&self, search: &Search, stage: &[ContactMethod], step: &Step) -> Result<()> {
        let due = step.due_ms.map(typed::Timestamp::from_millis);
        // The start is known to the second. Its last millisecond counts, so that no attempt appears later
        // than it was.
        let begun = search.started_datetime.moment().plus(Duration::from_millis(999));
        let due = due.unwrap_or_else(|| begun.min(self.now().moment()).into());
        let is_active = Search::STATUS.equals(SearchStatus::Active);
        let mut writes = self.db.transaction().check(search.key(), is_active);
        let mut messages = Vec::with_capacity(stage.len() + 1);
        let mut next = step.attempt.clone();
        for method in stage {
            let mut attempt = SearchAttempt::from(NewSearchAttempt {
                search_id: search.search_id.clone(),
                attempt_id: next.to_string(),
                contact_id: search.contact_id.clone(),
                domain_id: search.domain_id.clone(),
                method_id: method.method_id.clone(),
                attempted_at: self.now(),
            });
            attempt.stage = Some(i64::from(step.attempt.number));
            attempt.due_at = Some(due.clone());
            attempt.retries = method.retries;
            attempt.retry_seconds = method.retry_seconds;
            writes.add(self.db.put(&attempt).if_not_exists());
            messages.push(self.message(next.clone(), Some(0), Duration::ZERO)?);
            next.number += 1;
        }
        let wait = stage.iter().map(|method| method.wait_seconds).max();
        messages.push(self.message(next, None, seconds(wait.unwrap_or_default()))?);
        let messages = self.queues.enlist(STEPS, messages).await?;
        queue::commit(writes, messages).await.held()?;
        Ok(())
    }

    /// Notes that quiet hours delay the search, and repeats the step when they are over: the one that sends
    /// an attempt that has failed so often, or the one that makes attempts.
    pub(crate) async fn hold(
        &self,
        search: &Search,
        id: &AttemptId,
        failures: Option<u32>,
        until: Timestamp,
    ) -> Result<()> {
        let (now, end) = (self.now(), typed::Timestamp::from(until));
        let mut held = search.held.clone().unwrap_or_default();
        held.insert(now.to_string(), end.to_string());
        let update = self.db.update_search(search.key()).set_held(held);
        let mut writes = self.db.transaction();
        writes.add(update.only_if(Search::STATUS.equals(SearchStatus::Active)));
        if failures.is_some() {
            writes.add(self.db.update_search_attempt(id.key()).set_retry_at(end));
        }
        let again = self.message(id.clone(), failures, until.since(now.moment()))?;
        let again = self.queues.enlist(STEPS, vec![again]).await?;
        queue::commit(writes, again).await.held()?;
        Ok(())
    }
}

/// When the next methods are due, if that is later. A failed or delayed notice is sent first, and its wait
/// begins then.
fn due_later(made: &[SearchAttempt], now: Timestamp) -> Option<Timestamp> {
    let last = made.iter().map(|attempt| attempt.stage).max()?;
    let of_last = made.iter().filter(|attempt| attempt.stage == last);
    let due = of_last.filter_map(|attempt| {
        let retry_at = attempt.retry_at.as_ref()?;
        let wait = seconds(attempt.wait_seconds.unwrap_or_default());
        let (from, wait) = match attempt.outcome {
            None => (retry_at, wait.max(REPETITION)),
            Some(SearchAttemptOutcome::Sent) => (attempt.finished_at.as_ref()?, wait),
            Some(SearchAttemptOutcome::Failed) => return None,
        };
        Some(from.moment().plus(wait))
    });
    due.max().filter(|due| *due > now)
}

/// The first methods that this search has not tried: all with the same order.
fn next_stage(methods: Vec<ContactMethod>, made: &[SearchAttempt]) -> Vec<ContactMethod> {
    let was_tried = |method: &ContactMethod| made.iter().any(|made| made.method_id == method.method_id);
    let left = methods.into_iter().filter(|method| method.enabled);
    let mut left = left.filter(|method| !was_tried(method));
    let Some(first) = left.next() else {
        return Vec::new();
    };
    let order = first.order;
    let rest = left.take_while(|method| order.is_some() && method.order == order);
    std::iter::once(first).chain(rest).take(STAGE_MAX).collect()
}

/// Waits and pauses are not negative.
pub(crate) fn seconds(count: i64) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or_default())
}
