//! Mail, handed to an SMTP server nearby.

use async_trait::async_trait;
use axum::http::uri::Authority;
use lettre::message::{Mailbox, SinglePart};
use lettre::transport::smtp::SMTP_PORT;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use tokio::time::timeout;

use super::{Channel, Notice, TIMEOUT};

/// Sends mail by an SMTP server.
pub struct Email {
    from: Mailbox,
    server: AsyncSmtpTransport<Tokio1Executor>,
}

impl Email {
    /// Mail from this sender by a server such as `127.0.0.1:25`, without encryption: it is a relay that one trusts.
    pub fn new(server: &Authority, from: Mailbox) -> Self {
        let transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(server.host())
            .port(server.port_u16().unwrap_or(SMTP_PORT))
            .timeout(Some(TIMEOUT));
        let server = transport.build();
        Self { from, server }
    }

    fn message(&self, notice: &Notice) -> Result<Message, String> {
        let to = notice.destination.parse();
        let to = to.map_err(|error| format!("{:?} is no mail address: {error}", notice.destination))?;
        Message::builder()
            // The same for the same attempt, so that mailboxes know a repetition.
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
    async fn send(&self, notice: &Notice) -> Result<(), String> {
        // The transport's own timeout is for each of its commands.
        let sent = timeout(TIMEOUT, self.server.send(self.message(notice)?)).await;
        let sent = sent.map_err(|_| format!("the mail server did not take it within {TIMEOUT:?}"))?;
        sent.map(|_| ()).map_err(|error| error.to_string())
    }
}
