//! Ways to reach people, behind one trait.

mod email;
mod log;
mod webhook;

use std::time::Duration;

use async_trait::async_trait;
use axum::http::Uri;
use serde::Serialize;

pub use email::Email;
pub use log::Log;
pub use webhook::Webhook;

use crate::model::{Contact, ContactMethodType, Search, SearchAttempt};

/// A way to reach people.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Sends a notice, or fails with a reason for people. After a crash it may be asked to send the same one again;
    /// [`Notice::attempt_id`] tells.
    async fn send(&self, notice: &Notice) -> Result<(), String>;
}

/// What a contact is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The attempt, which an answer has to name.
    pub attempt_id: String,
    /// The kind of method, if the attempt knows it.
    #[serde(skip)]
    pub kind: Option<ContactMethodType>,
    /// The number, address or URL.
    pub destination: String,
    /// What it is about.
    pub subject: String,
    /// The whole text, the link included.
    pub text: String,
    /// Where to answer.
    pub link: String,
}

/// How long a server may take. Real time: it is another machine that takes it.
const TIMEOUT: Duration = Duration::from_secs(10);

const SUBJECT: &str = "{name}, you are needed";
const TEXT: &str = "{name}, please answer: {link}";

impl Notice {
    /// `None` if the method was gone when the attempt was made: there is nowhere to send it.
    pub(crate) fn new(
        search: &Search,
        contact: &Contact,
        attempt: &SearchAttempt,
        base_url: &str,
    ) -> Option<Self> {
        let destination = attempt.destination.clone()?;
        let link = format!(
            "{base_url}/#/{}/{}/{}",
            search.domain_id, search.search_id, attempt.attempt_id
        );
        let told = |what: &str| search.metadata.as_ref().and_then(|map| map.get(what)?.as_s());
        let word = |name: &str| match name {
            "name" => Some(contact.name.as_str()),
            "link" => Some(link.as_str()),
            name => told(name),
        };
        Some(Self {
            attempt_id: attempt.attempt_id.clone(),
            kind: attempt.r#type,
            destination,
            subject: fill(told("subject").unwrap_or(SUBJECT), word),
            text: fill(told("text").unwrap_or(TEXT), word),
            link,
        })
    }
}

impl Notice {
    /// Who answers, or does not: the server of a webhook, and one for each other kind of method.
    pub(crate) fn receiver(&self) -> String {
        let server = |url: &Uri| Some(format!("{}://{}", url.scheme()?, url.authority()?));
        match self.kind {
            Some(ContactMethodType::Webhook) => {
                let url = self.destination.parse::<Uri>();
                url.ok()
                    .as_ref()
                    .and_then(server)
                    .unwrap_or_else(|| self.destination.clone())
            }
            Some(kind) => kind.to_string(),
            None => String::new(),
        }
    }
}

/// A template with its words in braces filled in, once: what stands in for a word is not read again. Words that nobody
/// knows stay.
fn fill<'a>(template: &str, word: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let known = part.split_once('}');
        let known = known.and_then(|(name, rest)| Some([word(name)?, rest]));
        text.extend(known.unwrap_or(["{", part]));
    }
    text
}

/// All channels as one: each notice goes where its kind of method leads.
pub struct Channels {
    email: Option<Email>,
    webhook: Webhook,
}

impl Channels {
    /// Mail goes to the log without a way to send it.
    pub fn new(email: Option<Email>, webhook: Webhook) -> Self {
        Self { email, webhook }
    }
}

#[async_trait]
impl Channel for Channels {
    async fn send(&self, notice: &Notice) -> Result<(), String> {
        match (notice.kind, &self.email) {
            (Some(ContactMethodType::Email), Some(email)) => email.send(notice).await,
            (Some(ContactMethodType::Webhook), _) => self.webhook.send(notice).await,
            _ => Log.send(notice).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NewContact, NewSearch, NewSearchAttempt};
    use trestle::typed::Timestamp;

    #[test]
    fn an_attempt_without_a_destination_has_no_notice() {
        let (contact_id, domain_id, search_id) = ("c".to_owned(), "d".to_owned(), "s".to_owned());
        let contact = Contact::from(NewContact {
            contact_id: contact_id.clone(),
            domain_id: domain_id.clone(),
            name: "N".to_owned(),
        });
        let search = Search::from(NewSearch {
            search_id: search_id.clone(),
            contact_id: contact_id.clone(),
            domain_id: domain_id.clone(),
            started_datetime: Timestamp::from_millis(0),
        });
        let mut attempt = SearchAttempt::from(NewSearchAttempt {
            search_id,
            attempt_id: "s/1".to_owned(),
            contact_id,
            domain_id,
            method_id: "m".to_owned(),
            attempted_at: Timestamp::from_millis(0),
        });
        assert_eq!(Notice::new(&search, &contact, &attempt, "http://here"), None);
        attempt.destination = Some("n@example.org".to_owned());
        let notice = Notice::new(&search, &contact, &attempt, "http://here");
        assert_eq!(notice.unwrap().destination, "n@example.org");
    }
}
