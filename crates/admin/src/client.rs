//! Calls to a running server.

use crate::call::{AdminAnswer, AdminCall};
use crate::error::{AdminError, AdminErrorCode};
use crate::http::{BACKUP, HEADER, PREFIX};
use bytes::Bytes;
use std::sync::Arc;
use trestle_http_client::{Client, Download, Failure, Outgoing, Prepared, Repeat, request};
use trestle_remote::{BadSettings, Identity, NoAnswer, Settings, SignatureRefusal, Signer};

/// A running server, and the credentials for it.
#[derive(Debug)]
pub struct AdminClient {
    settings: Settings,
    identity: Identity,
    client: Client,
}

impl AdminClient {
    /// A client for the server at an endpoint. Where the settings have no timeout, it waits as long as the server needs.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        Ok(AdminClient {
            client: settings.client()?,
            identity: Identity::of(&settings),
            settings,
        })
    }

    /// Makes a call. The outer error is of the way there: whether the call was carried out is not known then.
    pub async fn send(&self, call: &AdminCall) -> Result<Result<AdminAnswer, AdminError>, NoAnswer> {
        let body = match call.to_json() {
            Ok(body) => Bytes::from(body),
            Err(error) => return Ok(Err(AdminError::failed(error))),
        };
        let mut may_repeat = true;
        loop {
            let (request, signer) = match self.request(call.info().name, &body).await {
                Ok(ready) => ready,
                Err(error) => return Ok(Err(error)),
            };
            // Some calls must not be carried out twice.
            let answer = self.client.call(request, Repeat::Never).await;
            let answer = answer.map_err(|failure| self.lost(&failure))?;
            let status = answer.status.as_u16();
            if status == 200 {
                return Ok(self.read(call, &answer.body));
            }
            match self
                .refusal((status, &answer.body), signer.as_deref(), may_repeat)
                .await
            {
                Some(error) => return Ok(Err(error)),
                None => may_repeat = false,
            }
        }
    }

    fn read(&self, call: &AdminCall, body: &[u8]) -> Result<AdminAnswer, AdminError> {
        call.answer_from_json(body).map_err(|error| {
            AdminError::failed(format!(
                "the answer of {} cannot be understood: {error}; it may be another version of Trestle",
                self.settings.endpoint
            ))
        })
    }

    /// Asks for a backup, which may be of any length.
    pub async fn backup(&self) -> Result<Result<Download, AdminError>, NoAnswer> {
        let mut may_repeat = true;
        loop {
            let (request, signer) = match self.request(BACKUP, &Bytes::new()).await {
                Ok(ready) => ready,
                Err(error) => return Ok(Err(error)),
            };
            let download = self.client.download(request).await;
            let mut download = download.map_err(|failure| self.lost(&failure))?;
            let status = download.status.as_u16();
            if status == 200 {
                return Ok(Ok(download));
            }
            let mut said = Vec::new();
            while let Ok(Some(piece)) = download.next().await {
                said.extend_from_slice(&piece);
                if said.len() > REFUSAL_BYTES_MAX {
                    break;
                }
            }
            match self.refusal((status, &said), signer.as_deref(), may_repeat).await {
                Some(error) => return Ok(Err(error)),
                None => may_repeat = false,
            }
        }
    }

    /// A request that is ready to be sent, and what signed it.
    async fn request(&self, name: &str, body: &Bytes) -> Result<(Prepared, Option<Arc<Signer>>), AdminError> {
        let outgoing = Outgoing {
            method: "POST",
            path: &format!("{PREFIX}{name}"),
            headers: &[("content-type", "application/json"), (HEADER, "1")],
            body,
        };
        let now = self.settings.clock.now();
        let signer = self.identity.signer(now).await;
        let signer = signer.map_err(|error| AdminError::failed(error.message()))?;
        let prepared = request(self.client.endpoint(), outgoing, signer.as_deref(), now);
        Ok((prepared.map_err(AdminError::invalid)?, signer))
    }

    fn lost(&self, failure: &Failure) -> NoAnswer {
        NoAnswer::at(&self.settings.endpoint, failure)
    }

    /// An error of ours, of DynamoDB (a signature that does not match), or of a server that is not Trestle. `None`: send the
    /// request once more, with other credentials.
    async fn refusal(
        &self,
        (status, body): (u16, &[u8]),
        signer: Option<&Signer>,
        may_repeat: bool,
    ) -> Option<AdminError> {
        if let Ok(error) = serde_json::from_slice::<AdminError>(body) {
            return Some(error);
        }
        let endpoint = &self.settings.endpoint;
        let said = String::from_utf8_lossy(body);
        let said = said.trim();
        if !said.starts_with('{') {
            let code = AdminErrorCode::Failed;
            return Some(AdminError::new(
                code,
                format!(
                    "{endpoint} answered {status}: {said}; it is not a Trestle server, or has another version"
                ),
            ));
        }
        let error = trestle_wire::decode_error(status, body);
        let now = self.settings.clock.now();
        let error = match self.identity.after(&error, signer, may_repeat, now).await {
            None => error,
            Some(SignatureRefusal::Repeat) => return None,
            Some(SignatureRefusal::Tell(error)) => error,
        };
        let words = format!("{endpoint} answered {status}: {error}");
        Some(AdminError::new(AdminErrorCode::Failed, words))
    }
}

/// More than any refusal.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
