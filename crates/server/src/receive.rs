//! From the head and the body of an operation to decodable bytes: signed by a known key, admitted, inflated.
//!
//! Every refusal that depends only on the head comes before the body is read.

use crate::admission::{
    ConnectionMemory, Effort, ExecutionTurn, Lease, LeasedBytes, NoTurn, SMALL_BODY_BYTES, is_apart,
    small_request_cost,
};
use crate::auth::Examined;
use crate::compress::{self, Coding, InflateError};
use crate::console;
use crate::http::{Refused, Service};
use crate::role::Caller;
use crate::session;
use crate::settings::ConsoleMode;
use crate::upload::Upload;
use bytes::Bytes;
use hyper::http::request::Parts;
use std::sync::Arc;
use trestle_api::Error;
use trestle_sigv4::sha256;

/// A compressed body larger than this is inflated on a separate thread, because it can become a thousand
/// times as large.
const INFLATED_APART_BYTES: usize = 1024;

/// The body of an operation, its connection, and its sender.
pub(crate) struct ReceivedRequest {
    pub(crate) body: Bytes,
    pub(crate) connection: Arc<ConnectionMemory>,
    pub(crate) caller: Caller,
}

/// The sender of a request, as far as the head shows it.
enum Sender<'a> {
    /// The holder of a key, if the signature is right.
    Signed(Examined<'a>),
    /// An anonymous caller where there are no keys, or the holder of a session.
    Known(Caller),
}

impl Service {
    /// The body of an operation whose sender is known to hold a key.
    pub(crate) async fn receive(&self, head: &Parts, upload: Upload) -> Result<ReceivedRequest, Refused> {
        let sender = self.sender(head)?;
        let coding = Coding::of(&head.headers)?;
        let compressed = coding.map(|coding| (coding, upload.lease()));
        let connection = upload.connection();
        let sent = self.read(upload).await?;
        let caller = match sender {
            Sender::Signed(examined) => {
                Box::pin(self.check_signature(&examined, head, &sent)).await?;
                examined.caller()
            }
            Sender::Known(caller) => caller,
        };
        let body = match compressed {
            // Rare cases are in separate functions here and below, because a request's future is moved
            // several times as a whole.
            Some((coding, lease)) => Box::pin(self.inflated(coding, sent, lease)).await?,
            None => sent,
        };
        Ok(ReceivedRequest {
            body,
            connection,
            caller,
        })
    }

    /// Waits until a request may be executed.
    pub(crate) async fn turn(&self, asked: &ReceivedRequest, effort: Effort) -> Result<ExecutionTurn, Error> {
        let turn = self.admission.turn(&asked.connection, &asked.body, effort);
        turn.await.map_err(|refused| match refused {
            NoTurn::Failed(error) => error,
            NoTurn::Throttled => {
                self.admission.counts.throttle();
                Error::throttled()
            }
        })
    }

    /// Refuses what depends only on the head: a signature that is missing, incomplete, too old, or by an
    /// unknown key.
    fn sender(&self, head: &Parts) -> Result<Sender<'_>, Refused> {
        let Some(verifier) = self.verifier() else {
            return Ok(Sender::Known(Caller::ANYONE));
        };
        match session::token(&head.headers) {
            Some(token) if self.console != ConsoleMode::Off => {
                Ok(Sender::Known(console::caller(self, verifier, head, token)?))
            }
            _ => Ok(Sender::Signed(verifier.examine(head)?)),
        }
    }

    async fn check_signature(
        &self,
        examined: &Examined<'_>,
        head: &Parts,
        sent: &Bytes,
    ) -> Result<(), Error> {
        if !is_apart(sent.len()) {
            return examined.verify(head, &sha256(sent));
        }
        let sent = sent.clone();
        let hash = self.admission.work.apart(move || sha256(&sent)).await?;
        examined.verify(head, &hash)
    }

    /// The decompressed body. Its size is determined first, so that it can be admitted.
    async fn inflated(&self, coding: Coding, sent: Bytes, mut lease: Lease) -> Result<Bytes, Refused> {
        let bytes_max = self.limits.body_bytes_max;
        let size = self
            .inflate(&sent, move |sent| {
                compress::inflated_size(coding, sent, bytes_max)
            })
            .await?;
        if size <= SMALL_BODY_BYTES {
            lease.grow(small_request_cost(size)).await?;
        } else {
            lease.grow_with_body(size).await?;
            lease.arrived();
        }
        let plain = self
            .inflate(&sent, move |sent| compress::inflate(coding, sent, bytes_max))
            .await?;
        Ok(LeasedBytes::wrap(plain, lease))
    }

    async fn inflate<T: Send + 'static>(
        &self,
        sent: &Bytes,
        inflate: impl FnOnce(&[u8]) -> Result<T, InflateError> + Send + 'static,
    ) -> Result<T, Refused> {
        if sent.len() <= INFLATED_APART_BYTES {
            return Ok(inflate(sent)?);
        }
        let sent = sent.clone();
        Ok(self.admission.work.apart(move || inflate(&sent)).await??)
    }
}

impl From<InflateError> for Refused {
    fn from(error: InflateError) -> Self {
        match error {
            InflateError::TooLarge => Refused::TooLarge,
            // DynamoDB reports both as its own fault.
            InflateError::Malformed => Refused::Error(Error::internal(
                "The request's body is not compressed as its Content-Encoding says",
            )),
            InflateError::UnknownCoding => Refused::Error(Error::internal(
                "The request's Content-Encoding is not known; gzip and deflate are",
            )),
        }
    }
}
