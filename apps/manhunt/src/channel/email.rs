//! Mail, handed to an SMTP server nearby.

use std::time::Duration;

use lettre::message::Mailbox;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use super::{Channel, Notice, Sending};

/// How long the server may take. Real time: it is another machine that takes it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends mail by an SMTP server.
pub struct Email {
    from: Mailbox,
    server: AsyncSmtpTransport<Tokio1Executor>,
}

/// Why mail cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum EmailError {
    /// The sender is no mail address.
    #[error("the sender {0:?} is no mail address: {1}")]
    Sender(String, lettre::address::AddressError),
    /// The server's address makes no sense.
    #[error("the mail server {0:?} is no host with a port, such as 127.0.0.1:25")]
    Server(String),
}

impl Email {
    /// Mail from this sender by a server such as `127.0.0.1:25`, without encryption: it is a relay that one trusts.
    pub fn new(server: &str, from: &str) -> Result<Self, EmailError> {
        let parts = server.rsplit_once(':');
        let (host, port) = parts
            .and_then(|(host, port)| Some((host, port.parse().ok()?)))
            .ok_or_else(|| EmailError::Server(server.to_owned()))?;
        let transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host).port(port);
        Ok(Self {
            from: from
                .parse()
                .map_err(|error| EmailError::Sender(from.to_owned(), error))?,
            server: transport.timeout(Some(TIMEOUT)).build(),
        })
    }

    fn message(&self, notice: &Notice) -> Result<Message, String> {
        let to: Mailbox = notice
            .destination
            .parse()
            .map_err(|error| format!("{:?} is no mail address: {error}", notice.destination))?;
        Message::builder()
            // The same for the same attempt, so that mailboxes know a repetition.
            .message_id(Some(format!("<{}@manhunt>", notice.attempt_id)))
            .from(self.from.clone())
            .to(to)
            .subject(&notice.subject)
            .body(notice.text.clone())
            .map_err(|error| error.to_string())
    }
}

impl Channel for Email {
    fn send<'a>(&'a self, notice: &'a Notice) -> Sending<'a> {
        Box::pin(async move {
            let message = self.message(notice)?;
            let sent = self.server.send(message).await;
            sent.map(|_| ()).map_err(|error| error.to_string())
        })
    }
}
