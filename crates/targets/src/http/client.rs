//! Requests and answers.

use super::connection::{self, Connection};
use super::endpoint::Endpoint;
use super::tls::{self, Roots};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use parking_lot::Mutex;
use std::time::Duration;
use tokio_rustls::TlsConnector;

/// Partial results of the largest batch fit in.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// More lanes than this are never on their way to one target at once.
const IDLE_MAX: usize = 16;

/// Sends requests to one endpoint.
pub(crate) struct Client {
    pub(crate) endpoint: Endpoint,
    tls: Option<TlsConnector>,
    timeout: Duration,
    idle: Mutex<Vec<Connection>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Client {
    pub(crate) fn new(endpoint: Endpoint, roots: Roots<'_>, timeout: Duration) -> Result<Self, String> {
        let tls = endpoint.is_https.then(|| tls::connector(roots)).transpose()?;
        Ok(Client {
            endpoint,
            tls,
            timeout,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// Sends a request and waits for the whole answer; an error says why there is none.
    pub(crate) async fn call(&self, request: Request<Full<Bytes>>) -> Result<Answer, String> {
        // The time is real time: the server at the other end does not follow our clock.
        let answer = tokio::time::timeout(self.timeout, self.call_unlimited(request));
        answer.await.unwrap_or_else(|_| {
            let seconds = self.timeout.as_secs_f64();
            Err(format!(
                "no answer from {} within {seconds} s",
                self.endpoint.authority
            ))
        })
    }

    async fn call_unlimited(&self, request: Request<Full<Bytes>>) -> Result<Answer, String> {
        while let Some(mut connection) = self.kept() {
            if connection.ready().await.is_err() {
                continue;
            }
            // A server may close a connection that was idle at any time, even while it is being used again. So what
            // fails on a kept connection is tried once more on a new one.
            match self.exchange(connection, request.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(_) => break,
            }
        }
        let connection = connection::open(&self.endpoint, self.tls.as_ref()).await?;
        self.exchange(connection, request).await
    }

    async fn exchange(
        &self,
        mut connection: Connection,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, String> {
        let failed =
            |error: &dyn std::fmt::Display| format!("no answer from {}: {error}", self.endpoint.authority);
        let response = connection
            .send_request(request)
            .await
            .map_err(|error| failed(&error))?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX)
            .collect()
            .await
            .map_err(|error| failed(&error))?
            .to_bytes();
        self.keep(connection);
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body,
        })
    }

    fn kept(&self) -> Option<Connection> {
        let mut idle = self.idle.lock();
        idle.retain(|connection| !connection.is_closed());
        idle.pop()
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX && !connection.is_closed() {
            idle.push(connection);
        }
    }
}
