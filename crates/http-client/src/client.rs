//! Sends requests and receives responses.

use crate::connection::{self, Connection};
use crate::download::Download;
use crate::endpoint::Endpoint;
use crate::failure::{Failure, FailureKind};
use crate::proxy::{Proxy, Tunnel};
use crate::reach::Reach;
use crate::request::Prepared;
use crate::tls::{self, Roots};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::future::Future;
use std::time::Duration;
use tokio::runtime::{Handle, Id};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

/// More calls than this are rarely under way to one endpoint.
const IDLE_MAX: usize = 16;

/// Servers close idle connections. One that was idle for long is not used again.
const IDLE_TIME_MAX: Duration = Duration::from_secs(20);

/// The time within which a server must accept a connection, however long the response may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// The limits of a call.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time from the call to the end of the response; without it, unlimited once connected.
    pub time: Option<Duration>,
    /// The maximum size of a response.
    pub answer_bytes: usize,
}

/// Whether a request may be sent a second time if the outcome of the first is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The request has no effect, has the same effect when repeated, or is recognised as a repetition.
    Allowed,
    /// Repeating the request would have another effect.
    Never,
}

/// Sends requests to one endpoint.
pub struct Client {
    endpoint: Endpoint,
    tls: Option<TlsConnector>,
    limits: Limits,
    reach: Reach,
    tunnel: Option<Tunnel>,
    /// The most recently used ones are at the back, and used first.
    idle: Mutex<VecDeque<Kept>>,
}

/// A connection that waits for its next request.
struct Kept {
    connection: Connection,
    since: Instant,
    /// The runtime of its task. In another runtime it might not run while a caller waits.
    runtime: Id,
}

impl Kept {
    fn is_usable(&self, now: Instant) -> bool {
        !self.connection.is_closed() && now.duration_since(self.since) < IDLE_TIME_MAX
    }
}

/// A response.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// The result of trying a kept connection.
enum Again {
    Answered(HttpResponse),
    /// Nothing was sent on it, or the request may be repeated; or there was no such connection.
    New(Prepared),
}

impl Client {
    /// A client for an endpoint; an error says why its certificate cannot be checked.
    pub fn new(endpoint: Endpoint, roots: Roots<'_>, limits: Limits) -> Result<Self, String> {
        let tls = endpoint.is_https.then(|| tls::connector(roots)).transpose()?;
        Ok(Client {
            endpoint,
            tls,
            limits,
            reach: Reach::Anywhere,
            tunnel: None,
            idle: Mutex::default(),
        })
    }

    /// The same client, limited to some addresses.
    #[must_use]
    pub fn reaching(self, reach: Reach) -> Self {
        Client { reach, ..self }
    }

    /// The same client, through a proxy if its endpoint requires one; an error says why that is impossible.
    pub fn through(self, proxy: Option<&Proxy>) -> Result<Self, String> {
        let tunnel = proxy.map(|proxy| proxy.tunnel_to(&self.endpoint)).transpose()?;
        Ok(Client {
            tunnel: tunnel.flatten(),
            ..self
        })
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request and waits for the whole response.
    pub async fn call(&self, request: Prepared, repeat: Repeat) -> Result<HttpResponse, Failure> {
        // Real time: the server does not follow our clock.
        let now = Instant::now();
        let deadline = self.limits.time.map(|time| now + time);
        let here = Handle::current().id();
        let again = self.call_again(request, repeat, (here, now));
        let request = match self.in_time(deadline, again).await? {
            Again::Answered(answer) => return Ok(answer),
            Again::New(request) => request,
        };
        let mut connection = self.connect(deadline).await?;
        self.in_time(deadline, async {
            let response = connection.send_request(request).await;
            let response = response.map_err(|error| Failure::of_exchange(&self.endpoint, &error))?;
            let answer = self.collect(response).await?;
            self.keep(connection, here);
            Ok(answer)
        })
        .await
    }

    /// Tries kept connections. A server may close one at any time, even while it is being used again.
    async fn call_again(
        &self,
        mut request: Prepared,
        repeat: Repeat,
        (here, now): (Id, Instant),
    ) -> Result<Again, Failure> {
        while let Some(mut connection) = self.kept(here, now) {
            if connection.ready().await.is_err() {
                continue;
            }
            let copy = (repeat == Repeat::Allowed).then(|| request.clone());
            let response = match connection.try_send_request(request).await {
                Ok(response) => response,
                Err(mut error) => match (error.take_message(), copy) {
                    // It was not sent.
                    (Some(unsent), _) => {
                        request = unsent;
                        continue;
                    }
                    (None, Some(copy)) => return Ok(Again::New(copy)),
                    (None, None) => {
                        let error = error.into_error();
                        return Err(Failure::of_exchange(&self.endpoint, &error));
                    }
                },
            };
            let answer = self.collect(response).await?;
            self.keep(connection, here);
            return Ok(Again::Answered(answer));
        }
        Ok(Again::New(request))
    }

    /// Sends a request on its own connection; its response, of any length, is read in pieces. The time limit
    /// applies to each piece.
    pub async fn download(&self, request: Prepared) -> Result<Download, Failure> {
        let deadline = self.limits.time.map(|time| Instant::now() + time);
        let mut connection = self.connect(deadline).await?;
        let response = self
            .in_time(deadline, async {
                let response = connection.send_request(request).await;
                response.map_err(|error| Failure::of_exchange(&self.endpoint, &error))
            })
            .await?;
        Ok(Download::new(self.endpoint.clone(), self.limits.time, response))
    }

    async fn connect(&self, deadline: Option<Instant>) -> Result<Connection, Failure> {
        let latest = Instant::now() + CONNECT_TIME_MAX;
        let deadline = deadline.map_or(latest, |deadline| deadline.min(latest));
        let connected = timeout_at(
            deadline,
            connection::open(
                &self.endpoint,
                (self.reach, self.tunnel.as_ref()),
                self.tls.as_ref(),
            ),
        )
        .await;
        connected.unwrap_or_else(|_| Err(Failure::no_connection(&self.endpoint, "no answer in time")))
    }

    async fn in_time<T>(
        &self,
        deadline: Option<Instant>,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let Some(deadline) = deadline else {
            return work.await;
        };
        timeout_at(deadline, work).await.unwrap_or_else(|_| {
            let seconds = self.limits.time.unwrap_or_default().as_secs_f64();
            Err(Failure::lost(
                &self.endpoint,
                format_args!("none within {seconds} s"),
            ))
        })
    }

    async fn collect(&self, response: Response<Incoming>) -> Result<HttpResponse, Failure> {
        let most = self.limits.answer_bytes;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, most).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                Failure::new(
                    FailureKind::TooLarge,
                    &self.endpoint,
                    format_args!("it is longer than {most} bytes"),
                )
            } else {
                Failure::lost(&self.endpoint, error)
            }
        })?;
        Ok(HttpResponse {
            status: head.status,
            headers: head.headers,
            body: body.to_bytes(),
        })
    }

    fn kept(&self, here: Id, now: Instant) -> Option<Connection> {
        let mut idle = self.idle.lock();
        let at = idle
            .iter()
            .rposition(|kept| kept.runtime == here && kept.is_usable(now))?;
        idle.remove(at).map(|kept| kept.connection)
    }

    fn keep(&self, connection: Connection, here: Id) {
        let now = Instant::now();
        let mut idle = self.idle.lock();
        // The oldest are at the front.
        while idle.front().is_some_and(|kept| !kept.is_usable(now)) {
            idle.pop_front();
        }
        if idle.len() < IDLE_MAX && !connection.is_closed() {
            idle.push_back(Kept {
                connection,
                since: now,
                runtime: here,
            });
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
