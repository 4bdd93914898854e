//! Ways to reach people, behind one trait.

mod email;
mod log;
mod webhook;

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

pub use email::Email;
pub use log::Log;
pub use webhook::Webhook;

use crate::model::{Contact, Search, SearchAttempt, SearchAttemptType};

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
    pub kind: Option<SearchAttemptType>,
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
    pub(crate) fn new(search: &Search, contact: &Contact, attempt: &SearchAttempt, base_url: &str) -> Self {
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
        Self {
            attempt_id: attempt.attempt_id.clone(),
            kind: attempt.r#type,
            destination: attempt.destination.clone().unwrap_or_default(),
            subject: fill(told("subject").unwrap_or(SUBJECT), word),
            text: fill(told("text").unwrap_or(TEXT), word),
            link,
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
    /// Mail goes to the log without it.
    pub email: Option<Email>,
    /// Webhooks.
    pub webhook: Webhook,
}

#[async_trait]
impl Channel for Channels {
    async fn send(&self, notice: &Notice) -> Result<(), String> {
        match (notice.kind, &self.email) {
            (Some(SearchAttemptType::Email), Some(email)) => email.send(notice).await,
            (Some(SearchAttemptType::Webhook), _) => self.webhook.send(notice).await,
            _ => Log.send(notice).await,
        }
    }
}
