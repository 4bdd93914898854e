//! One step of a search: try the next method, and leave the step after it in the queue.
//!
//! Messages come late, and come again. An attempt's id follows from its search and number, and it is written in the
//! commit that sends the next step, and only while the search is active: so whatever comes second changes nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use trestle::queue::{self, Enlisted, Job, NewMessage};

use crate::channel::Notice;
use crate::model::{
    Contact, ContactMethod, NewSearchAttempt, Search, SearchAttempt, SearchAttemptOutcome, SearchStatus,
};
use crate::{AttemptId, Error, STEPS, Service};

/// A message: the attempt that is to be made.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Step {
    /// The search.
    pub search: String,
    /// The number of the attempt.
    pub number: u32,
}

impl Service {
    /// Makes an attempt, or finds that there is none to make.
    pub(crate) async fn step(&self, job: Job<Step>) -> Result<(), Error> {
        let id = AttemptId {
            search: job.body.search,
            number: job.body.number,
        };
        let found = self
            .db
            .search_with_attempts(&id.search)
            .consistent()
            .gather()
            .await?;
        let search = found.search.ok_or(Error::NotFound("search"))?;
        if search.status != SearchStatus::Active {
            return Ok(());
        }
        let (contact, methods) = self.contact(&search.domain_id, &search.contact_id).await?;
        let key = id.key();
        if let Some(made) = found.search_attempt.iter().find(|made| made.key() == key) {
            // This very message was here before, and did not get as far as sending.
            let is_unfinished = made.claim.as_ref() == Some(&job.id) && made.outcome.is_none();
            return match is_unfinished {
                true => self.send(&search, &contact, made, &id).await,
                false => Ok(()),
            };
        }
        let was_tried = |method: &ContactMethod| {
            let mut made = found.search_attempt.iter();
            made.any(|attempt| attempt.method_id == method.method_id)
        };
        let mut untried = methods
            .iter()
            .filter(|method| method.enabled && !was_tried(method));
        match untried.next() {
            None => self.exhausted(&id).await,
            Some(method) => match self.claim(&search, method, &id, job.id).await? {
                Some(attempt) => self.send(&search, &contact, &attempt, &id).await,
                None => Ok(()),
            },
        }
    }

    /// Writes the attempt and sends the next step, if the search is still active and nobody else did.
    async fn claim(
        &self,
        search: &Search,
        method: &ContactMethod,
        id: &AttemptId,
        claim: String,
    ) -> Result<Option<SearchAttempt>, Error> {
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
        let writes = self
            .db
            .transaction()
            .check(id.search_key(), Search::STATUS.equals(SearchStatus::Active))
            .with(self.db.put(&attempt).if_not_exists());
        match queue::commit(writes, next).await {
            // With what the database copied from the method.
            Ok(()) => Ok(self.db.get(id.key()).consistent().await?),
            Err(error) if error.is_condition() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reaches out, and notes what became of it. Where nobody can be reached, nobody waits for an answer.
    async fn send(
        &self,
        search: &Search,
        contact: &Contact,
        attempt: &SearchAttempt,
        id: &AttemptId,
    ) -> Result<(), Error> {
        let notice = Notice::new(search, contact, attempt, &self.base_url);
        let update = self.db.update_search_attempt(id.key());
        match self.channels.of(attempt.r#type).send(&notice).await {
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
    async fn next_step(&self, id: &AttemptId, wait: Duration) -> Result<Enlisted, Error> {
        let step = Step {
            search: id.search.clone(),
            number: id.number + 1,
        };
        let message = NewMessage::job(&step)?.after(wait);
        Ok(self.queues.enlist(STEPS, vec![message]).await?)
    }

    async fn exhausted(&self, id: &AttemptId) -> Result<(), Error> {
        match self.end(id.search_key(), SearchStatus::Failed).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_condition() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
