//! Searches: begun, looked at, called off and answered.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Deserialize;
use trestle::typed::{Held, Page, Precision, Timestamp};
use trestle::{Map, ids};

use crate::model::{NewSearch, Search, SearchAttempt, SearchKey, SearchStatus, UpdateSearch};
use crate::{AttemptId, Error, Result, Service};

/// What a search is about: words for the templates of its messages.
pub type Words = BTreeMap<String, String>;

/// Which searches of a contact to list, oldest first.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchFilter {
    /// The contact.
    pub contact: String,
    /// Only those with this status.
    pub status: Option<SearchStatus>,
    /// Only those that began before this time.
    pub before: Option<String>,
    /// The bookmark of the page before.
    pub after: Option<String>,
    /// How many at most; 100 unless given.
    pub limit: Option<NonZeroU32>,
}

impl Service {
    /// Begins a search for a contact of this domain. The rest follows from its row.
    pub async fn begin(&self, domain: &str, contact: &str, metadata: Words) -> Result<Search> {
        let mut search = Search::from(NewSearch {
            search_id: ids::uuid(),
            contact_id: contact.to_owned(),
            domain_id: domain.to_owned(),
            // Its searches are sorted by it, and the model has whole seconds there.
            started_datetime: self.now().in_precision(Precision::Seconds),
        });
        search.metadata = Some(metadata.into_iter().collect());
        let put = self.db.put(&search).if_not_exists();
        self.write_for(domain, contact, put).await?;
        Ok(search)
    }

    /// A search and its attempts, in the order in which they were made.
    pub async fn search(&self, domain: &str, id: &str) -> Result<(Search, Vec<SearchAttempt>)> {
        let found = self.db.search_with_attempts(id).consistent().gather().await?;
        let mut attempts = found.search_attempt;
        // They come by id; of one moment, the tenth comes after the ninth.
        attempts.sort_by_key(|attempt| (attempt.attempted_at.moment(), attempt.attempt_id.len()));
        match found.search {
            Some(search) if search.domain_id == domain => Ok((search, attempts)),
            _ => Err(Error::not_found("such search")),
        }
    }

    /// Searches for a contact of this domain.
    pub async fn searches(&self, domain: &str, filter: SearchFilter) -> Result<Page<Search>> {
        let (db, id) = (&self.db, filter.contact.as_str());
        let contact = db.contact(id).first().await?;
        let own = contact.filter(|contact| contact.domain_id == domain);
        own.ok_or_else(|| Error::not_found("such contact"))?;
        let before = filter.before.map(Timestamp::parse).transpose();
        let searches = match (filter.status, before.map_err(Error::invalid)?) {
            (None, None) => db.searches_of_contact(id),
            (None, Some(before)) => db.searches_of_contact_before(id, before),
            (Some(status), None) => db.searches_by_status(id, status),
            (Some(status), Some(before)) => db.searches_by_status_before(id, status, before),
        };
        let searches = searches.page_size(filter.limit.map_or(100, NonZeroU32::get));
        Ok(searches.continued(filter.after).page().await?)
    }

    /// Calls a search off. Doing so again changes nothing; a search that ended otherwise cannot be called off.
    pub async fn cancel(&self, domain: &str, id: &str, reason: &str) -> Result<Search> {
        self.search(domain, id).await?;
        let end = self.end(id, SearchStatus::Canceled);
        let end = end.set_cancellation(Map::from([("reason", reason)]));
        end.await.held()?;
        match self.search(domain, id).await?.0 {
            search if search.status == SearchStatus::Canceled => Ok(search),
            search => Err(too_late(&search)),
        }
    }

    /// Notes that the contact answered an attempt, and ends the search: both, or neither. The same answer again changes
    /// nothing.
    pub async fn respond(&self, domain: &str, attempt: &AttemptId, response: &str) -> Result<Search> {
        let id = attempt.to_string();
        let found = self.db.get(attempt.key()).consistent().await?;
        let own = found.filter(|attempt| attempt.domain_id == domain);
        own.ok_or_else(|| Error::not_found("such attempt"))?;
        let note = self.db.update_search_attempt(attempt.key());
        let note = note.set_responded(true).set_response(response);
        let note = note.set_responded_at(self.now());
        let resolution = Map::from([("attemptId", id.as_str()), ("response", response)]);
        let end = self.end(&attempt.search, SearchStatus::Successful);
        let end = end.set_resolution(resolution);
        let answer = self.db.transaction().with(note).with(end);
        answer.commit().await.held()?;
        let (search, attempts) = self.search(domain, &attempt.search).await?;
        match attempts.iter().any(|one| one.attempt_id == id && one.responded) {
            true => Ok(search),
            false => Err(too_late(&search)),
        }
    }

    /// The end of a search that is still going on. Its row moves in the index of statuses, in the same commit.
    pub(crate) fn end(&self, search: &str, status: SearchStatus) -> UpdateSearch<'_> {
        let end = self.db.update_search(SearchKey::new(search));
        let end = end.set_status(status).set_ended_datetime(self.now());
        end.only_if(Search::STATUS.equals(SearchStatus::Active))
    }
}

fn too_late(search: &Search) -> Error {
    Error::Conflict(format!("the search is {} already", search.status))
}
