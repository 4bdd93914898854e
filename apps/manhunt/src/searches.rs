//! Searches: begun, looked at, called off and answered.

use std::collections::BTreeMap;

use serde::Deserialize;
use trestle::typed::{self, Page, Timestamp};
use trestle::{Map, ids};

use crate::model::{
    Contact, ContactKey, NewSearch, Search, SearchAttempt, SearchKey, SearchStatus, UpdateSearch,
};
use crate::{AttemptId, Error, Service};

/// Which searches of a contact to list, oldest first.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SearchFilter {
    /// The contact.
    pub contact: String,
    /// Only those with this status.
    pub status: Option<String>,
    /// Only those that began before this time.
    pub before: Option<String>,
    /// The bookmark of the page before.
    pub after: Option<String>,
    /// How many at most.
    pub limit: Option<u32>,
}

impl Service {
    /// Begins a search for a contact of this domain. The rest follows from its row.
    pub async fn begin(
        &self,
        domain: &str,
        contact: &str,
        metadata: BTreeMap<String, String>,
    ) -> Result<Search, Error> {
        let mut search = Search::from(NewSearch {
            search_id: ids::uuid(),
            contact_id: contact.to_owned(),
            domain_id: domain.to_owned(),
            started_datetime: self.now(),
        });
        search.metadata = Some(metadata.into_iter().collect());
        let begun = self
            .db
            .transaction()
            .check(ContactKey::new(contact), Contact::DOMAIN_ID.equals(domain))
            .with(self.db.put(&search).if_not_exists())
            .commit()
            .await;
        match begun {
            Ok(()) => Ok(search),
            Err(error) if error.is_condition() => Err(Error::NotFound("contact")),
            Err(error) => Err(error.into()),
        }
    }

    /// A search and its attempts, in the order in which they were made.
    pub async fn search(&self, domain: &str, id: &str) -> Result<(Search, Vec<SearchAttempt>), Error> {
        let found = self.db.search_with_attempts(id).consistent().gather().await?;
        let mut attempts = found.search_attempt;
        // Of one moment, the tenth comes after the ninth.
        let order = |attempt: &SearchAttempt| (attempt.attempted_at.moment(), attempt.attempt_id.len());
        attempts.sort_by(|a, b| order(a).cmp(&order(b)).then(a.attempt_id.cmp(&b.attempt_id)));
        match found.search {
            Some(search) if search.domain_id == domain => Ok((search, attempts)),
            _ => Err(Error::NotFound("search")),
        }
    }

    /// Searches for a contact of this domain.
    pub async fn searches(&self, domain: &str, filter: SearchFilter) -> Result<Page<Search>, Error> {
        let contact = self.db.contact(&filter.contact).first().await?;
        contact
            .filter(|contact| contact.domain_id == domain)
            .ok_or(Error::NotFound("contact"))?;
        let invalid = |error: &dyn std::error::Error| Error::Invalid(error.to_string());
        let status = filter.status.as_deref().map(str::parse::<SearchStatus>);
        let status = status.transpose().map_err(|error| invalid(&error))?;
        let before = filter.before.map(Timestamp::parse);
        let before = before.transpose().map_err(|error| invalid(&error))?;
        let (db, id) = (&self.db, filter.contact.as_str());
        let mut searches = match (status, before) {
            (None, None) => db.searches_of_contact(id),
            (None, Some(before)) => db.searches_of_contact_before(id, before),
            (Some(status), None) => db.searches_by_status(id, status),
            (Some(status), Some(before)) => db.searches_by_status_before(id, status, before),
        };
        if let Some(bookmark) = filter.after {
            searches = searches.after(bookmark);
        }
        if let Some(limit) = filter.limit {
            searches = searches.page_size(limit);
        }
        Ok(searches.page().await?)
    }

    /// Calls a search off. Doing so again changes nothing; a search that ended otherwise cannot be called off.
    pub async fn cancel(&self, domain: &str, id: &str, reason: &str) -> Result<Search, Error> {
        let (search, _) = self.search(domain, id).await?;
        let end = self
            .end(SearchKey::new(id), SearchStatus::Canceled)
            .set_cancellation(Map::from([("reason", reason)]));
        match end.await {
            Ok(canceled) => Ok(canceled),
            Err(typed::Error::ConditionFailed(failed)) => match failed.row::<Search>()? {
                Some(there) if there.status == SearchStatus::Canceled => Ok(there),
                there => Err(too_late(&there.unwrap_or(search))),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Notes that the contact answered an attempt, and ends the search: both, or neither. The same answer again changes
    /// nothing.
    pub async fn respond(&self, domain: &str, attempt: &AttemptId, response: &str) -> Result<Search, Error> {
        let found = self.db.get(attempt.key()).consistent().await?;
        found
            .filter(|attempt| attempt.domain_id == domain)
            .ok_or(Error::NotFound("attempt"))?;
        let resolution = Map::from([
            ("attemptId", attempt.to_string().as_str()),
            ("response", response),
        ]);
        let answered = self
            .db
            .transaction()
            .with(
                self.db
                    .update_search_attempt(attempt.key())
                    .set_responded(true)
                    .set_responded_at(self.now())
                    .set_response(response),
            )
            .with(
                self.end(attempt.search_key(), SearchStatus::Successful)
                    .set_resolution(resolution),
            )
            .commit()
            .await;
        let is_late = match answered {
            Ok(()) => false,
            Err(error) if error.is_condition() => true,
            Err(error) => return Err(error.into()),
        };
        let (search, attempts) = self.search(domain, &attempt.search).await?;
        let id = attempt.to_string();
        let is_noted = attempts.iter().any(|one| one.attempt_id == id && one.responded);
        match is_late && !is_noted {
            true => Err(too_late(&search)),
            false => Ok(search),
        }
    }

    /// The end of a search that is still going on. Its row moves in the index of statuses, in the same commit.
    pub(crate) fn end(&self, key: SearchKey, status: SearchStatus) -> UpdateSearch<'_> {
        self.db
            .update_search(key)
            .set_status(status)
            .set_ended_datetime(self.now())
            .only_if(Search::STATUS.equals(SearchStatus::Active))
    }
}

fn too_late(search: &Search) -> Error {
    Error::Conflict(format!("the search is {} already", search.status))
}
