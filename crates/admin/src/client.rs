//! Calls to a running server.

use crate::call::{AdminAnswer, AdminCall, Call, stray};
use crate::error::{AdminError, AdminErrorCode};
use crate::http::{BACKUP, HEADER, PREFIX};
use bytes::Bytes;
use std::sync::Arc;
use trestle_api::{Error, ErrorKind};
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
    /// A client for the server at an endpoint. Without a timeout in the settings, it waits as long as the
    /// server needs.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        Ok(AdminClient {
            client: settings.client()?,
            identity: Identity::of(&settings),
            settings,
        })
    }

    /// Makes a call. The outer error means that no answer arrived: it is unknown whether the call was
    /// executed.
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
            // Some calls must not be executed twice.
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

    /// Makes a call and gives its answer's type. An error with the code `no-answer` leaves open whether the call was carried out.
    pub async fn ask<C: Call>(&self, call: C) -> Result<C::Answer, AdminError> {
        let sent = self.send(&call.into_call()).await;
        let answered = sent.map_err(|lost| AdminError::new(AdminErrorCode::NoAnswer, lost.to_string()))?;
        C::from_answer(answered?).ok_or_else(stray::<C>)
    }

    fn read(&self, call: &AdminCall, body: &[u8]) -> Result<AdminAnswer, AdminError> {
        let endpoint = &self.settings.endpoint;
        call.answer_from_json(body).map_err(|error| {
            if !is_object(body) {
                return AdminError::no_administration(format!("{endpoint} is not a Trestle server: {error}"));
            }
            AdminError::failed(format!(
                "the answer of {endpoint} cannot be understood: {error}; it may be another version of Trestle"
            ))
        })
    }

    /// Requests a backup, which may be of any length.
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

    /// A request that is ready to be sent, and the credentials that signed it.
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

    /// The error of Trestle, of DynamoDB (a signature that does not match), or of a server that is not
    /// Trestle. `None`: send the request once more, with other credentials.
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
        let error = match error_of_server(endpoint, status, body) {
            Ok(error) => error,
            Err(error) => return Some(error),
        };
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

/// DynamoDB's error, if it is one with which a Trestle server answers calls.
fn error_of_server(endpoint: &str, status: u16, body: &[u8]) -> Result<Error, AdminError> {
    let said = beginning(body);
    // A proxy answers for a server that is down, which may be a Trestle server.
    if matches!(status, 502..=504) && !is_object(body) {
        return Err(AdminError::failed(format!(
            "{endpoint} answered {status}: {said}"
        )));
    }
    let error = trestle_wire::decode_error(status, body);
    if is_of_server(error.kind()) {
        return Ok(error);
    }
    Err(AdminError::no_administration(format!(
        "{endpoint} is not a Trestle server, or has another version: it answered {status}: {said}"
    )))
}

fn is_object(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{")
}

/// Whether a Trestle server answers calls with this error of DynamoDB. Other databases answer that there is
/// no such operation or path, or that they failed: DynamoDB Local answers `InternalFailure`.
fn is_of_server(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::AccessDenied
            | ErrorKind::ExpiredToken
            | ErrorKind::IncompleteSignature
            | ErrorKind::InvalidSignature
            | ErrorKind::MissingAuthenticationToken
            | ErrorKind::RequestEntityTooLarge
            | ErrorKind::Throttling
            | ErrorKind::UnrecognizedClient
    )
}

/// The beginning of an answer, in one line: it may be a web page.
fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(SHOWN_MAX).collect()
}

/// The maximum length shown of an answer that is not understood.
const SHOWN_MAX: usize = 200;

/// Larger than any refusal.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(status: u16, body: &str) -> Option<AdminErrorCode> {
        let found = error_of_server("http://127.0.0.1:1", status, body.as_bytes());
        found.err().map(|error| error.code)
    }

    #[test]
    fn other_databases_have_no_administration() {
        let local = r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalFailure","Message":"The request processing has failed"}"#;
        for (status, body) in [
            (500, local),
            (
                400,
                r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#,
            ),
            (404, "<UnknownOperationException/>\n"),
            (500, "<!doctype html>\n<title>500 Internal Server Error</title>"),
            (404, ""),
        ] {
            let code = code_of(status, body);
            assert_eq!(code, Some(AdminErrorCode::NoAdministration), "{status} {body}");
        }
    }

    #[test]
    fn a_server_that_refuses_or_is_down_may_have_an_administration() {
        for name in [
            "UnrecognizedClientException",
            "AccessDeniedException",
            "ThrottlingException",
        ] {
            let body = format!(r#"{{"__type":"com.amazon.coral.service#{name}","message":"no"}}"#);
            assert_eq!(code_of(400, &body), None, "{name}");
        }
        let down = code_of(502, "<html><h1>502 Bad Gateway</h1></html>");
        assert_eq!(down, Some(AdminErrorCode::Failed));
    }
}
