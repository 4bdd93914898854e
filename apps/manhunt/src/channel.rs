//! Ways to reach people, behind one trait.

mod email;
mod log;
mod webhook;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;

pub use email::{Email, EmailError};
pub use log::Log;
pub use webhook::Webhook;

use crate::model::{Contact, Search, SearchAttempt, SearchAttemptType};

/// A message on its way; fails with a reason for people.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// A way to reach people.
pub trait Channel: Send + Sync {
    /// Sends a notice. After a crash it may be asked to send the same one again; [`Notice::attempt_id`] tells.
    fn send<'a>(&'a self, notice: &'a Notice) -> Sending<'a>;
}

/// What a contact is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The attempt, which an answer has to name.
    pub attempt_id: String,
    /// The number, address or URL.
    pub destination: String,
    /// What it is about.
    pub subject: String,
    /// The whole text, the link included.
    pub text: String,
    /// Where to answer.
    pub link: String,
}

const SUBJECT: &str = "{name}, you are needed";
const TEXT: &str = "{name}, please answer: {link}";

impl Notice {
    pub(crate) fn new(search: &Search, contact: &Contact, attempt: &SearchAttempt, base_url: &str) -> Self {
        let link = format!(
            "{base_url}/#/{}/{}/{}",
            search.domain_id, search.search_id, attempt.attempt_id
        );
        let told = |what: &str| search.metadata.as_ref().and_then(|map| map.get(what)?.as_s());
        let fill = |template: &str| {
            let text = template.replace("{name}", &contact.name).replace("{link}", &link);
            let words = search.metadata.iter().flat_map(|map| map.iter());
            words.fold(text, |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), value.as_s().unwrap_or_default())
            })
        };
        Self {
            attempt_id: attempt.attempt_id.clone(),
            destination: attempt.destination.clone().unwrap_or_default(),
            subject: fill(told("subject").unwrap_or(SUBJECT)),
            text: fill(told("text").unwrap_or(TEXT)),
            link,
        }
    }
}

/// The channel of each kind of method.
#[derive(Clone)]
pub struct Channels {
    /// Automated calls.
    pub call: Arc<dyn Channel>,
    /// Text messages.
    pub text: Arc<dyn Channel>,
    /// Mail.
    pub email: Arc<dyn Channel>,
    /// Webhooks.
    pub webhook: Arc<dyn Channel>,
}

impl Channels {
    /// Calls and texts go to the log, webhooks out; mail goes out if there is a server for it, else to the log.
    #[must_use]
    pub fn new(email: Option<Email>) -> Self {
        let log: Arc<dyn Channel> = Arc::new(Log);
        Self {
            call: Arc::clone(&log),
            text: Arc::clone(&log),
            email: email.map_or(log, |email| Arc::new(email)),
            webhook: Arc::new(Webhook::new()),
        }
    }

    /// One channel for everything.
    #[must_use]
    pub fn all(channel: Arc<dyn Channel>) -> Self {
        Self {
            call: Arc::clone(&channel),
            text: Arc::clone(&channel),
            email: Arc::clone(&channel),
            webhook: channel,
        }
    }

    /// A method whose kind is not known can only be logged as a call.
    pub(crate) fn of(&self, kind: Option<SearchAttemptType>) -> &dyn Channel {
        match kind {
            Some(SearchAttemptType::Text) => &*self.text,
            Some(SearchAttemptType::Email) => &*self.email,
            Some(SearchAttemptType::Webhook) => &*self.webhook,
            Some(SearchAttemptType::Call) | None => &*self.call,
        }
    }
}
