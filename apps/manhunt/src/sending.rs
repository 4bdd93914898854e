//! Sends the notice of an attempt, retries it if that may help, and records the outcome.

use std::time::Duration;

use trestle::app::{OrNotFound as _, Turn};
use trestle::{Map, queue};

use crate::channel::{Failure, Notice};
use crate::hunt::seconds;
use crate::methods::{RETRIES, RETRY_SECONDS};
use crate::model::{
    ContactKey, ContactMethodType, NewTextThread, SearchAttempt, SearchAttemptOutcome, SearchKey,
    SearchStatus,
};
use crate::{AttemptId, Error, Result, STEPS, Service, destination, quiet_hours};

/// The longest pause before a retry.
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// The most characters that are stored of a reason, because the size of a row is limited.
const REASON_MAX: usize = 1_000;

const STOPPING: &str = "the program is being stopped; this goes on after the next start";

/// How long a notice is delayed when a line is full.
const FULL_LINE: Duration = Duration::from_secs(5);

/// The outcome of a notice.
type Sent = std::result::Result<(), Failure>;

impl Service {
    /// Sends an attempt that has failed so often, unless that was done, or the search is over.
    pub(crate) async fn send(&self, id: &AttemptId, failures: u32) -> Result<()> {
        let attempt = self.db.get(id.key()).consistent().await?;
        let attempt = attempt.or_not_found("such attempt")?;
        let failed = u32::try_from(attempt.failures.as_ref().map_or(0, Vec::len));
        match attempt.outcome {
            None if failed == Ok(failures) => {}
            // The program may have died before it continued.
            Some(SearchAttemptOutcome::Failed) => return self.go_on_if_all_failed(id).await,
            _ => return Ok(()),
        }
        let turn = match self.lines.turn(Notice::receiver(&attempt)).await {
            Turn::Now(turn) => turn,
            Turn::LineIsFull => return self.leave(id.clone(), Some(failures), FULL_LINE).await,
            Turn::LinesAreClosed => return Err(Error::Busy(STOPPING.to_owned())),
        };
        let sent = self.reach(id, &attempt, failures).await?;
        drop(turn);
        match sent {
            None => Ok(()),
            Some(Ok(())) => self.note_sent(id, &attempt).await,
            Some(Err(failure)) => self.note_failed(id, &attempt, failures, failure).await,
        }
    }

    /// Notifies the contact. `None` if the search has ended by now, or quiet hours have begun.
    async fn reach(&self, id: &AttemptId, attempt: &SearchAttempt, failures: u32) -> Result<Option<Sent>> {
        let search = self.db.get(SearchKey::new(&id.search)).consistent().await?;
        let search = search.or_not_found("such search")?;
        if search.status != SearchStatus::Active {
            return Ok(None);
        }
        let contact = self.db.get(ContactKey::new(&search.contact_id)).await?;
        let contact = contact.or_not_found("such contact")?;
        // They may have begun since the attempt was made: its receiver failed, others were first, or the
        // program was stopped.
        let now = self.now().moment();
        let quiet_until = quiet_hours::end(&search, &contact, now)?;
        if let Some(until) = quiet_until.filter(|_| attempt.r#type.is_some_and(quiet_hours::are_for)) {
            // Until then, only a repeated message finds this: another one waits.
            if attempt.retry_at.as_ref().is_none_or(|at| at.moment() <= now) {
                self.hold(&search, id, Some(failures), until).await?;
            }
            return Ok(None);
        }
        let links = self.links_of(id);
        let Some(notice) = Notice::new(&search, &contact, attempt, links) else {
            return Ok(Some(Err(Failure::lasting("the contact method was removed"))));
        };
        let is_text = notice.kind == Some(ContactMethodType::Text);
        if let Some(number) = destination::number(&notice.destination).filter(|_| is_text) {
            let attempt_id = notice.attempt_id.clone();
            self.db.put(&NewTextThread { number, attempt_id }).await?;
        }
        Ok(Some(self.channel.send(&notice).await))
    }

    async fn note_sent(&self, id: &AttemptId, attempt: &SearchAttempt) -> Result<()> {
        self.count(attempt, "sent");
        let sent = self.db.update_search_attempt(id.key());
        let sent = sent.set_outcome(SearchAttemptOutcome::Sent);
        let sent = sent.set_finished_at(self.now());
        if attempt.retry_at.is_none() {
            return Ok(sent.await.map(drop)?);
        }
        // The wait begins now: the step that was sent with the attempt would be too early.
        let (next, _) = self.stage_of(id).await?;
        let wait = seconds(attempt.wait_seconds.unwrap_or_default());
        let step = self.message(next, None, wait)?;
        let step = self.queues.enlist(STEPS, vec![step]).await?;
        queue::commit(self.db.transaction().with(sent), step).await?;
        Ok(())
    }

    async fn note_failed(
        &self,
        id: &AttemptId,
        attempt: &SearchAttempt,
        failures: u32,
        Failure { reason, is_lasting }: Failure,
    ) -> Result<()> {
        let now = self.now();
        let reason: String = reason.chars().take(REASON_MAX).collect();
        let mut all = attempt.failures.clone().unwrap_or_default();
        all.push(Map::from([("at", now.as_str()), ("error", &reason)]).into());
        let failed = self.db.update_search_attempt(id.key());
        let failed = failed.set_failures(all).set_error(&reason);
        let attempt_id = &attempt.attempt_id;
        if is_lasting || i64::from(failures) >= attempt.retries.unwrap_or(RETRIES) {
            tracing::warn!(attempt_id, reason, "a notice failed; the next method is tried");
            self.count(attempt, "failed");
            let failed = failed.set_outcome(SearchAttemptOutcome::Failed);
            failed.set_finished_at(now).await?;
            return self.go_on_if_all_failed(id).await;
        }
        let pause = seconds(attempt.retry_seconds.unwrap_or(RETRY_SECONDS));
        let pause = pause.saturating_mul(1 << failures.min(16)).min(PAUSE_MAX);
        tracing::warn!(attempt_id, reason, ?pause, "a notice failed; it is tried again");
        self.count(attempt, "retried");
        let failed = failed.set_retry_at(now.moment().plus(pause).into());
        let again = self.message(id.clone(), Some(failures + 1), pause)?;
        let again = self.queues.enlist(STEPS, vec![again]).await?;
        queue::commit(self.db.transaction().with(failed), again).await?;
        Ok(())
    }

    /// Tries the next methods immediately if no attempt of this stage was delivered: no answer can come.
    async fn go_on_if_all_failed(&self, id: &AttemptId) -> Result<()> {
        let (next, stage) = self.stage_of(id).await?;
        let has_failed = |attempt: &SearchAttempt| attempt.outcome == Some(SearchAttemptOutcome::Failed);
        match stage.iter().all(has_failed) {
            true => self.leave(next, None, Duration::ZERO).await,
            false => Ok(()),
        }
    }

    /// The attempts that were made together with this one, and the id of the first that comes after them.
    async fn stage_of(&self, id: &AttemptId) -> Result<(AttemptId, Vec<SearchAttempt>)> {
        let found = self.db.search_with_attempts(&id.search).consistent();
        let mut stage = found.gather().await?.search_attempt;
        let own = stage.iter().find(|attempt| attempt.key() == id.key());
        let first = own.and_then(|attempt| attempt.stage);
        let first = first.or_not_found("such attempt")?;
        stage.retain(|attempt| attempt.stage == Some(first));
        let number = u32::try_from(first).map_err(Error::failed)?;
        let number = number.saturating_add(u32::try_from(stage.len()).map_err(Error::failed)?);
        let search = id.search.clone();
        Ok((AttemptId { search, number }, stage))
    }
}
