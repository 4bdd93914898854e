//! Answers of people who have no key: by a link that is signed and expires, by text, and by telephone.

use serde_json::{Value, json};
use trestle::app::OrNotFound as _;

use crate::model::{Contact, ContactKey, Search, SearchAttempt, SearchKey, TextThreadKey};
use crate::{AttemptId, Result, Service, channel, destination};

/// Where an attempt can be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttemptLinks {
    /// The page for people.
    pub(crate) page: String,
    /// Where a program posts `{"response": "…"}`.
    pub(crate) answer: String,
    /// Where the provider of calls posts pressed keys.
    pub(crate) call: String,
}

impl Service {
    pub(crate) fn links_of(&self, attempt: &AttemptId) -> AttemptLinks {
        let end = self.now().moment().plus(self.settings.link_life);
        let token = self.tokens.sign(&attempt.to_string(), end);
        let base = &self.settings.base_url;
        AttemptLinks {
            page: format!("{base}/#answer/{token}"),
            answer: format!("{base}/answers/{token}"),
            call: format!("{base}/replies/calls/{token}"),
        }
    }

    /// What the owner of a link may see: the recipient and the request, without numbers and addresses.
    pub async fn asked(&self, token: &str) -> Result<Value> {
        let (search, contact, attempt) = self.of_attempt(&self.attempt_of(token)?).await?;
        let subject = channel::subject(&search, &contact, "");
        let (status, responded) = (search.status, attempt.responded);
        Ok(json!({ "name": contact.name, "subject": subject, "status": status, "responded": responded }))
    }

    /// Answers by a link.
    pub async fn answer(&self, token: &str, response: &str) -> Result<Value> {
        let attempt = self.attempt_of(token)?;
        let (search, ..) = self.of_attempt(&attempt).await?;
        self.respond(&search.domain_id, &attempt, response).await?;
        self.asked(token).await
    }

    /// Answers the last text that was sent to this number.
    pub async fn answer_text(&self, from: &str, response: &str) -> Result<Search> {
        let number = destination::number(from).or_not_found("such number")?;
        let thread = self.db.get(TextThreadKey::new(number)).consistent().await?;
        let attempt = thread.or_not_found("text to this number")?.attempt_id.parse()?;
        let (search, ..) = self.of_attempt(&attempt).await?;
        self.respond(&search.domain_id, &attempt, response).await
    }

    fn attempt_of(&self, token: &str) -> Result<AttemptId> {
        self.tokens.read(token, self.now().moment())?.parse()
    }

    async fn of_attempt(&self, attempt: &AttemptId) -> Result<(Search, Contact, SearchAttempt)> {
        let own = self.db.get(attempt.key()).consistent().await?;
        let own = own.or_not_found("such attempt any more")?;
        let search = self.db.get(SearchKey::new(&attempt.search)).consistent().await?;
        let contact = self.db.get(ContactKey::new(&own.contact_id)).await?;
        let search = search.or_not_found("such search any more")?;
        Ok((search, contact.or_not_found("such contact any more")?, own))
    }
}
