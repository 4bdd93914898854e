//! Searches: started, read, called off and answered.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Deserialize;
use trestle::app::{OrNotFound as _, OrNothing as _};
use trestle::typed::{Held, Page, Precision, Timestamp};
use trestle::{Map, ids};

use crate::model::{NewSearch, Search, SearchAttempt, SearchKey, SearchStatus, UpdateSearch};
use crate::{AttemptId, Error, Result, Service};

/// The subject of a search: words for the templates of its messages.
pub type Words = BTreeMap<String, String>;

/// A search to begin.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchDraft {
    /// The contact to find.
    pub contact_id: String,
    /// What it is about.
    #[serde(default)]
    pub metadata: Words,
    /// Whether it ignores quiet hours.
    #[serde(default)]
    pub urgent: bool,
}

/// Which searches of a contact to list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchFilter {
    /// The contact.
    pub contact: String,
    /// Only those with this status.
    pub status: Option<SearchStatus>,
    /// Only those that began at this time or later.
    pub since: Option<String>,
    /// Only those that began before this time.
    pub before: Option<String>,
    /// The newest first, instead of the oldest.
    #[serde(default)]
    pub newest: bool,
    /// The bookmark of the previous page.
    pub after: Option<String>,
    /// How many at most; 100 unless given.
    pub limit: Option<NonZeroU32>,
}

impl Service {
    /// Starts a search for a contact of this domain. Everything else follows from its row.
    pub async fn begin(&self, domain: &str, draft: SearchDraft) -> Result<Search> {
        let contact = &draft.contact_id;
        let mut search = Search::from(NewSearch {
            search_id: ids::uuid(),
            contact_id: contact.clone(),
            domain_id: domain.to_owned(),
            // Searches are sorted by it, and the model has whole seconds there.
            started_datetime: self.now().in_precision(Precision::Seconds),
        });
        search.metadata = Some(draft.metadata.into_iter().collect());
        search.urgent = draft.urgent.then_some(true);
        let put = self.db.put(&search).if_not_exists();
        self.write_for(domain, contact, put).await?;
        Ok(search)
    }

    /// A search and its attempts, in the order in which they were made.
    pub async fn search(&self, domain: &str, id: &str) -> Result<(Search, Vec<SearchAttempt>)> {
        let found = self.db.search_with_attempts(id).consistent().gather();
        let found = found.await.or_nothing()?;
        let own = found.search.filter(|search| search.domain_id == domain);
        let mut attempts = found.search_attempt;
        // They are sorted by id; for equal times, the tenth comes after the ninth.
        attempts.sort_by_key(|attempt| (attempt.attempted_at.moment(), attempt.attempt_id.len()));
        Ok((own.or_not_found("such search")?, attempts))
    }

    /// A page of the searches for a contact of this domain.
    pub async fn searches(&self, domain: &str, filter: SearchFilter) -> Result<Page<Search>> {
        let contact = self.db.contact(&filter.contact).first().await.or_nothing()?;
        let own = contact.filter(|contact| contact.domain_id == domain);
        own.or_not_found("such contact")?;
        let since = second(filter.since, "since")?;
        let before = second(filter.before, "before")?;
        // Both are included, and rows have whole seconds.
        let first = since.unwrap_or_default();
        let last = before.map_or(LAST_SECOND, |before| before.saturating_sub(1));
        if first > last {
            return Ok(Page::default());
        }
        let access = match (filter.status, filter.newest) {
            (None, false) => "searches_of_contact_between",
            (None, true) => "newest_searches_of_contact",
            (Some(_), false) => "searches_by_status_between",
            (Some(_), true) => "newest_searches_by_status",
        };
        let bounds = [first, last].map(|second| Timestamp::from_millis(second.saturating_mul(1000)));
        let bounds = bounds.map(|bound| bound.in_precision(Precision::Seconds).to_string());
        let mut given = vec![filter.contact.as_str()];
        given.extend(filter.status.as_ref().map(|status| status.as_str()));
        given.extend(bounds.iter().map(String::as_str));
        let searches = self.db.rows_of::<Search>(access, &given)?;
        let searches = searches.page_size(filter.limit.map_or(100, NonZeroU32::get));
        Ok(searches.continued(filter.after).page().await?)
    }

    /// Calls a search off. A repetition changes nothing; a search that ended otherwise cannot be called off.
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

    /// Records that the contact answered an attempt, and ends the search: both, or neither. The same answer
    /// again changes nothing.
    pub async fn respond(&self, domain: &str, attempt: &AttemptId, response: &str) -> Result<Search> {
        let id = attempt.to_string();
        let found = self.db.get(attempt.key()).consistent().await.or_nothing()?;
        let own = found.filter(|attempt| attempt.domain_id == domain);
        own.or_not_found("such attempt")?;
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

    /// The end of an active search. Its row moves in the index of statuses, in the same commit.
    pub(crate) fn end(&self, search: &str, status: SearchStatus) -> UpdateSearch<'_> {
        let end = self.db.update_search(SearchKey::new(search));
        let end = end.set_status(status).set_ended_datetime(self.now());
        end.only_if(Search::STATUS.equals(SearchStatus::Active))
    }
}

/// The end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// The first whole second that is not before a time, since 1970.
fn second(given: Option<String>, what: &str) -> Result<Option<u64>> {
    let at = given.map(Timestamp::parse).transpose();
    let at = at.map_err(|error| Error::Invalid(format!("{what}: {error}")))?;
    Ok(at.map(|at| at.moment().as_millis().div_ceil(1000)))
}

fn too_late(search: &Search) -> Error {
    Error::Conflict(format!("the search is {} already", search.status))
}
