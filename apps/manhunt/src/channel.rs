//! Ways to reach people, behind one trait.

mod email;
mod log;
mod twilio;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{StatusCode, Uri};
use serde::Serialize;

pub use email::Email;
pub use log::Log;
pub use twilio::Twilio;
pub use webhook::Webhook;

use crate::answers::AttemptLinks;
use crate::model::{Contact, ContactMethodType, Search, SearchAttempt};

/// A way to reach people.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Sends a notice. After a crash the same notice may be sent again, with the same [`Notice::attempt_id`].
    async fn send(&self, notice: &Notice) -> Result<(), Failure>;
}

/// Why a notice was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The reason, for people.
    pub reason: String,
    /// Whether the same notice would fail again.
    pub is_lasting: bool,
}

impl Failure {
    /// A later try may succeed.
    pub fn passing(reason: impl Into<String>) -> Self {
        let (reason, is_lasting) = (reason.into(), false);
        Self { reason, is_lasting }
    }

    /// Every further try would fail, too.
    pub fn lasting(reason: impl Into<String>) -> Self {
        let (reason, is_lasting) = (reason.into(), true);
        Self { reason, is_lasting }
    }

    /// A failed HTTP call, or the status of its answer.
    fn of_call(error: reqwest::Error) -> Self {
        let is_lasting = match error.status() {
            Some(status) => is_refusal(status),
            None => error.is_builder() || error.is_redirect(),
        };
        let reason = in_full(&error.without_url());
        Self { reason, is_lasting }
    }
}

/// Whether an answer means that the same request would be refused again.
fn is_refusal(status: StatusCode) -> bool {
    // It took too long, was too early, or there were too many.
    status.is_client_error() && !matches!(status.as_u16(), 408 | 425 | 429)
}

/// The error and its causes; a cause that an error already contains is not repeated.
fn in_full(error: &(dyn std::error::Error + 'static)) -> String {
    let (text, cause) = (error.to_string(), error.source().map(in_full));
    let cause = cause.filter(|cause| !text.contains(cause));
    cause.map_or(text.clone(), |cause| format!("{text}: {cause}"))
}

/// A message for a contact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The attempt, which an answer has to name.
    pub attempt_id: String,
    /// The kind of method, if the attempt has it.
    #[serde(skip)]
    pub kind: Option<ContactMethodType>,
    /// The number, address or URL.
    pub destination: String,
    /// The subject of the search.
    pub subject: String,
    /// The whole text, including the link.
    pub text: String,
    /// The page where a person answers.
    pub link: String,
    /// Where a program posts `{"response": "…"}` to answer.
    pub answer_url: String,
    /// Where the provider of calls posts pressed keys.
    #[serde(skip)]
    pub call_url: String,
}

/// The time limit of a server. Real time, because it is another machine's.
const TIMEOUT: Duration = Duration::from_secs(10);

const SUBJECT: &str = "{name}, you are needed";
const TEXT: &str = "{name}, please answer: {link}";

impl Notice {
    /// `None` if the method no longer existed when the attempt was made: there is no destination.
    pub(crate) fn new(
        search: &Search,
        contact: &Contact,
        attempt: &SearchAttempt,
        links: AttemptLinks,
    ) -> Option<Self> {
        let destination = attempt.destination.clone()?;
        let link = links.page;
        Some(Self {
            attempt_id: attempt.attempt_id.clone(),
            kind: attempt.r#type,
            destination,
            subject: subject(search, contact, &link),
            text: filled("text", TEXT, search, contact, &link),
            link,
            answer_url: links.answer,
            call_url: links.call,
        })
    }

    /// The server for a notice: that of a webhook, and one for each other kind of method.
    pub(crate) fn receiver(attempt: &SearchAttempt) -> String {
        let server = |url: Uri| Some(format!("{}://{}", url.scheme()?, url.authority()?));
        let destination = attempt.destination.clone().unwrap_or_default();
        match attempt.r#type {
            Some(ContactMethodType::Webhook) => {
                let url = destination.parse().ok();
                url.and_then(server).unwrap_or(destination)
            }
            Some(kind) => kind.to_string(),
            None => String::new(),
        }
    }
}

/// The subject of a search, for this contact.
pub(crate) fn subject(search: &Search, contact: &Contact, link: &str) -> String {
    filled("subject", SUBJECT, search, contact, link)
}

/// A template of the search, or the default one, with the words of the search, the name and the link filled
/// in.
fn filled(template: &str, usual: &str, search: &Search, contact: &Contact, link: &str) -> String {
    let told = |what: &str| search.metadata.as_ref().and_then(|map| map.get(what)?.as_s());
    let word = |name: &str| match name {
        "name" => Some(contact.name.as_str()),
        "link" => Some(link),
        name => told(name),
    };
    fill(told(template).unwrap_or(usual), word)
}

/// A template with its words in braces replaced, once: replacements are not expanded again. Unknown words
/// stay.
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

/// All channels as one: each notice is sent by the channel of its kind of method.
pub struct Channels {
    /// Without one, mail is written to the log.
    pub email: Option<Email>,
    /// Without one, calls and texts are written to the log.
    pub telephone: Option<Arc<Twilio>>,
    /// Posts to webhooks.
    pub webhook: Webhook,
}

#[async_trait]
impl Channel for Channels {
    async fn send(&self, notice: &Notice) -> Result<(), Failure> {
        use ContactMethodType::{Call, Email, Text, Webhook};
        match (notice.kind, &self.email, &self.telephone) {
            (Some(Webhook), ..) => self.webhook.send(notice).await,
            (Some(Email), Some(email), _) => email.send(notice).await,
            (Some(Call | Text), _, Some(telephone)) => telephone.send(notice).await,
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
        let links = AttemptLinks {
            page: "http://here/#answer/t".to_owned(),
            answer: "http://here/answers/t".to_owned(),
            call: "http://here/replies/calls/t".to_owned(),
        };
        assert_eq!(Notice::new(&search, &contact, &attempt, links.clone()), None);
        attempt.destination = Some("n@example.org".to_owned());
        let notice = Notice::new(&search, &contact, &attempt, links);
        assert_eq!(notice.unwrap().destination, "n@example.org");
    }
}
