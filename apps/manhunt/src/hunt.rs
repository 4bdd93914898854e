//! One step of a search: try the next method, and leave the step after it in the queue.
//!
//! Messages come late, and come again. An attempt's id follows from its search and number, and it is written in the
//! commit that sends the next step, and only while the search is active: so whatever comes second changes nothing.

use std::sync::Arc;
use std::time::Duration;

use trestle::queue::{self, Enlisted, Job, NewMessage};
use trestle::typed::Held;

use crate::channel::Notice;
use crate::model::{
    ContactMethod, NewSearchAttempt, Search, SearchAttempt, SearchAttemptOutcome, SearchStatus,
};
use crate::{AttemptId, Error, Result, STEPS, Service};

impl Service {
    /// Makes an attempt, or finds that there is none to make.
    pub(crate) async fn step(self: Arc<Self>, job: Job<AttemptId>) -> Result<()> {
        let id = job.body;
        let found = self.db.search_with_attempts(&id.search).consistent();
        let found = found.gather().await?;
        let search = found.search.ok_or_else(|| Error::not_found("such search"))?;
        if search.status != SearchStatus::Active {
            return Ok(());
        }
        let (contact, methods) = self.contact(&search.domain_id, &search.contact_id).await?;
        let notice = |attempt: &SearchAttempt| Notice::new(&search, &contact, attempt, &self.base_url);
        let made = found.search_attempt;
        if let Some(attempt) = made.iter().find(|attempt| attempt.key() == id.key()) {
            // If this very message was here before and did not get as far as sending, it goes on; no other does.
            let is_unfinished = attempt.claim.as_ref() == Some(&job.id) && attempt.outcome.is_none();
            return match is_unfinished {
                true => self.send(&id, notice(attempt)).await,
                false => Ok(()),
            };
        }
        let was_tried = |method: &ContactMethod| made.iter().any(|made| made.method_id == method.method_id);
        let mut methods = methods.iter().filter(|method| method.enabled);
        let Some(method) = methods.find(|method| !was_tried(method)) else {
            self.end(&id.search, SearchStatus::Failed).await.held()?;
            return Ok(());
        };
        match self.claim(&search, method, &id, job.id).await? {
            Some(attempt) => self.send(&id, notice(&attempt)).await,
            None => Ok(()),
        }
    }

    /// Writes the attempt and sends the next step, if the search is still active and nobody else did.
    async fn claim(
        &self,
        search: &Search,
        method: &ContactMethod,
        id: &AttemptId,
        claim: String,
    ) -> Result<Option<SearchAttempt>> {
        let mut attempt = SearchAttempt::from(NewSearchAttempt {
            search_id: search.search_id.clone(),
            attempt_id: id.to_string(),
            contact_id: search.contact_id.clone(),
            domain_id: search.domain_id.clone(),
            method_id: method.method_id.clone(),
            attempted_at: self.now(),
        });
        attempt.claim = Some(claim);
        let wait = Duration::from_secs(u64::try_from(method.wait_seconds).unwrap_or_default());
        let next = self.next_step(id, wait).await?;
        let is_active = Search::STATUS.equals(SearchStatus::Active);
        let writes = self.db.transaction().check(search.key(), is_active);
        let writes = writes.with(self.db.put(&attempt).if_not_exists());
        match queue::commit(writes, next).await.held()? {
            // With what the database copied from the method.
            Some(()) => Ok(self.db.get(id.key()).consistent().await?),
            None => Ok(None),
        }
    }

    /// Reaches out, and notes what became of it. Where nobody can be reached, nobody waits for an answer.
    async fn send(&self, id: &AttemptId, notice: Option<Notice>) -> Result<()> {
        let update = self.db.update_search_attempt(id.key());
        let sent = match &notice {
            Some(notice) => {
                let turn = self.lines.turn(notice.receiver()).await;
                let _turn = turn.ok_or_else(stopping)?;
                self.channel.send(notice).await
            }
            None => Err("the contact method was removed".to_owned()),
        };
        match sent {
            Ok(()) => {
                update.set_outcome(SearchAttemptOutcome::Sent).await?;
            }
            Err(reason) => {
                let next = self.next_step(id, Duration::ZERO).await?;
                let failed = update.set_outcome(SearchAttemptOutcome::Failed).set_error(reason);
                queue::commit(self.db.transaction().with(failed), next).await?;
            }
        }
        Ok(())
    }

    /// The step after this one, to be sent with a commit.
    async fn next_step(&self, id: &AttemptId, wait: Duration) -> Result<Enlisted> {
        let number = id.number + 1;
        let next = AttemptId { number, ..id.clone() };
        let message = NewMessage::job(&next)?.after(wait);
        Ok(self.queues.enlist(STEPS, vec![message]).await?)
    }
}

fn stopping() -> Error {
    Error::Busy("the program is being stopped; this goes on after the next start".to_owned())
}
