//! Calls to a running server.

use crate::call::{AdminAnswer, AdminCall};
use crate::error::{AdminError, AdminErrorCode};
use crate::http::{BACKUP, HEADER, PREFIX};
use bytes::Bytes;
use trestle_http_client::{Client, Download, Failure, Outgoing, Prepared, Repeat, request};
use trestle_remote::{BadSettings, NoAnswer, Settings};

/// A running server, and as whom it is called.
#[derive(Debug)]
pub struct AdminClient {
    settings: Settings,
    client: Client,
}

impl AdminClient {
    /// A client for the server at an endpoint. Where the settings have no timeout, it waits as long as the server needs.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        Ok(AdminClient {
            client: settings.client()?,
            settings,
        })
    }

    /// Makes a call. The outer error is of the way there: whether the call was carried out is not known then.
    pub async fn send(&self, call: &AdminCall) -> Result<Result<AdminAnswer, AdminError>, NoAnswer> {
        let body = match call.to_json() {
            Ok(body) => Bytes::from(body),
            Err(error) => return Ok(Err(AdminError::failed(error))),
        };
        let request = match self.request(call.info().name, &body) {
            Ok(request) => request,
            Err(why) => return Ok(Err(AdminError::invalid(why))),
        };
        // Some calls must not be carried out twice.
        let answer = self.client.call(request, Repeat::Never).await;
        let answer = answer.map_err(|failure| self.lost(&failure))?;
        let status = answer.status.as_u16();
        if status != 200 {
            return Ok(Err(self.refusal(status, &answer.body)));
        }
        Ok(call.answer_from_json(&answer.body).map_err(|error| {
            AdminError::failed(format!(
                "the answer of {} cannot be understood: {error}; it may be another version of Trestle",
                self.settings.endpoint
            ))
        }))
    }

    /// Asks for a backup, which may be of any length.
    pub async fn backup(&self) -> Result<Result<Download, AdminError>, NoAnswer> {
        let request = match self.request(BACKUP, &Bytes::new()) {
            Ok(request) => request,
            Err(why) => return Ok(Err(AdminError::invalid(why))),
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
        Ok(Err(self.refusal(status, &said)))
    }

    fn request(&self, name: &str, body: &Bytes) -> Result<Prepared, String> {
        let outgoing = Outgoing {
            method: "POST",
            path: &format!("{PREFIX}{name}"),
            headers: &[("content-type", "application/json"), (HEADER, "1")],
            body,
        };
        let signer = self.settings.signer();
        let now = self.settings.clock.now();
        request(self.client.endpoint(), outgoing, signer.as_ref(), now)
    }

    fn lost(&self, failure: &Failure) -> NoAnswer {
        NoAnswer::at(&self.settings.endpoint, failure)
    }

    /// An error of ours, of DynamoDB (a signature that does not match), or of a server that is none of ours.
    fn refusal(&self, status: u16, body: &[u8]) -> AdminError {
        if let Ok(error) = serde_json::from_slice::<AdminError>(body) {
            return error;
        }
        let endpoint = &self.settings.endpoint;
        let said = String::from_utf8_lossy(body);
        let said = said.trim();
        if !said.starts_with('{') {
            let code = AdminErrorCode::Failed;
            return AdminError::new(
                code,
                format!(
                    "{endpoint} answered {status}: {said}; it is no server of Trestle, or another version"
                ),
            );
        }
        let error = trestle_wire::decode_error(status, body);
        let mut words = format!("{endpoint} answered {status}: {error}");
        if let Some(way_out) = self.settings.way_out(&error) {
            words += &format!("; {way_out}");
        }
        AdminError::new(AdminErrorCode::Failed, words)
    }
}

/// More than any refusal.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
