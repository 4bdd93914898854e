//! From the head and the body of an operation to what can be decoded: signed by a known key, admitted, inflated.
//!
//! Everything the head can be refused for comes before the body is read.

use crate::admission::{Lease, LeasedBytes, SMALL_BODY_BYTES, WorkPermit, is_apart, small_request_cost};
use crate::auth::Examined;
use crate::body;
use crate::compress::{self, InflateError};
use crate::http::{Refused, Service};
use crate::role::Caller;
use crate::upload::Upload;
use bytes::Bytes;
use hyper::http::request::Parts;
use trestle_api::Error;
use trestle_sigv4::sha256;

/// A compressed body of more bytes than this is inflated on a thread of its own: it can become a thousand times as large.
const INFLATED_APART_BYTES: usize = 1024;

/// The body of an operation that may be executed.
pub(crate) struct Received {
    pub(crate) body: Bytes,
    /// Present if the body is large.
    pub(crate) work: Option<WorkPermit>,
    pub(crate) caller: Caller,
}

impl Service {
    /// The body of an operation, once its sender is known to hold a key and there is memory to execute it.
    pub(crate) async fn receive(&self, head: &Parts, upload: Upload) -> Result<Received, Refused> {
        let (examined, upload) = self.examine(head, upload)?;
        // A client that does not read what it asked for before gets no more.
        upload.client_reads().await;
        let lease = compress::is_gzip(&head.headers).then(|| upload.lease());
        let sent = self.read(upload).await?;
        let caller = match &examined {
            Some(examined) => {
                self.check_signature(examined, head, &sent).await?;
                examined.caller()
            }
            None => Caller::ANYONE,
        };
        let body = match lease {
            Some(lease) => self.inflated(sent, lease).await?,
            None => sent,
        };
        let work = self.admission.work.permit(&body).await?;
        Ok(Received { body, work, caller })
    }

    /// Refuses what the head alone tells: a signature that is missing, incomplete, too old, or by an unknown key.
    pub(crate) fn examine(
        &self,
        head: &Parts,
        upload: Upload,
    ) -> Result<(Option<Examined<'_>>, Upload), Refused> {
        match self.verifier().map(|verifier| verifier.examine(head)).transpose() {
            Ok(examined) => Ok((examined, upload)),
            Err(error) => {
                body::discard(upload);
                Err(error.into())
            }
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
        let hash = self.admission.work.apart(move |_| sha256(&sent)).await?;
        examined.verify(head, &hash)
    }

    /// The body as it was before it was compressed. Its size is found out first, so that it can be admitted.
    async fn inflated(&self, sent: Bytes, mut lease: Lease) -> Result<Bytes, Refused> {
        let bytes_max = self.limits.body_bytes_max;
        let size = self
            .inflate(&sent, move |sent| compress::inflated_size(sent, bytes_max))
            .await?;
        if size <= SMALL_BODY_BYTES {
            lease.grow(small_request_cost(size)).await?;
        } else {
            lease.grow_with_body(size).await?;
            lease.arrived();
        }
        let plain = self
            .inflate(&sent, move |sent| compress::inflate(sent, bytes_max))
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
        Ok(self.admission.work.apart(move |_| inflate(&sent)).await??)
    }
}

impl From<InflateError> for Refused {
    fn from(error: InflateError) -> Self {
        match error {
            InflateError::TooLarge => Refused::TooLarge,
            InflateError::Malformed => Refused::Error(Error::serialization(
                "The request's Content-Encoding is gzip, but its body is not.",
            )),
        }
    }
}
