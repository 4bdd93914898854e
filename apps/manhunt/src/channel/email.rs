//! Mail, sent by an SMTP server: over TLS, with a password, or unencrypted to a local relay.

use async_trait::async_trait;
use lettre::message::{Mailbox, SinglePart};
use lettre::transport::smtp::Error;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use tokio::time::timeout;

use super::{Channel, Failure, Notice, TIMEOUT, in_full};

/// Sends mail by an SMTP server.
pub struct Email {
    from: Mailbox,
    server: AsyncSmtpTransport<Tokio1Executor>,
}

impl Email {
    /// Mail from this sender by a server, named by a URL:
    ///
    /// - `smtps://user:password@host`: TLS from the beginning, port 465 unless given.
    /// - `smtp://user:password@host?tls=required`: STARTTLS, port 587 unless given; no mail without it.
    /// - `smtp://127.0.0.1:25`, or `127.0.0.1:25`: without encryption, for a relay that you trust.
    ///
    /// The certificate of the server must be one that the system trusts; `SSL_CERT_FILE` in the environment names others.
    pub fn new(server: &str, from: Mailbox) -> Result<Self, Error> {
        // An error means that a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = match server.contains("://") {
            true => server.to_owned(),
            false => format!("smtp://{server}"),
        };
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(&url)?;
        let server = transport.timeout(Some(TIMEOUT)).build();
        Ok(Self { from, server })
    }

    fn message(&self, notice: &Notice) -> Result<Message, String> {
        let to = notice.destination.parse();
        let to = to.map_err(|error| format!("{:?} is no mail address: {error}", notice.destination))?;
        Message::builder()
            // The same for the same attempt, so that mailboxes recognise a repetition.
            .message_id(Some(format!("<{}@manhunt>", notice.attempt_id)))
            .from(self.from.clone())
            .to(to)
            .subject(&notice.subject)
            .singlepart(SinglePart::plain(notice.text.clone()))
            .map_err(|error| error.to_string())
    }
}

#[async_trait]
impl Channel for Email {
    async fn send(&self, notice: &Notice) -> Result<(), Failure> {
        let message = self.message(notice).map_err(Failure::lasting)?;
        // The transport's own timeout is for each of its commands.
        let sent = timeout(TIMEOUT, self.server.send(message)).await;
        let late = |_| Failure::passing(format!("the mail server did not take it within {TIMEOUT:?}"));
        let sent = sent.map_err(late)?;
        sent.map(|_| ()).map_err(|error| Failure {
            reason: in_full(&error),
            is_lasting: error.is_permanent(),
        })
    }
}
