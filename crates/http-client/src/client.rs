//! Requests and answers.

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

/// More calls than this are rarely on their way to one endpoint at once.
const IDLE_MAX: usize = 16;

/// Servers close connections on which nothing happens. One that was idle for long is not worth the risk.
const IDLE_TIME_MAX: Duration = Duration::from_secs(20);

/// A server accepts a connection in this time, however long the answer may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// How much a call may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the call to the end of the answer; without it, as long as the server likes once it is connected.
    pub time: Option<Duration>,
    /// Bytes of an answer.
    pub answer_bytes: usize,
}

/// Whether a request may be sent a second time if it is not known what became of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It changes nothing, or changes it to the same, or is recognised when it comes again.
    Allowed,
    /// Twice is not the same as once.
    Never,
}

/// Sends requests to one endpoint.
pub struct Client {
    endpoint: Endpoint,
    tls: Option<TlsConnector>,
    limits: Limits,
    reach: Reach,
    tunnel: Option<Tunnel>,
    /// Those that were used last are at the back, and used first.
    idle: Mutex<VecDeque<Kept>>,
}

/// A connection that waits for its next request.
struct Kept {
    connection: Connection,
    since: Instant,
    /// Where its task runs. In another runtime it might not run at all while a caller waits.
    runtime: Id,
}

impl Kept {
    fn is_usable(&self, now: Instant) -> bool {
        !self.connection.is_closed() && now.duration_since(self.since) < IDLE_TIME_MAX
    }
}

/// What came back.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// All of the body.
    pub body: Bytes,
}

/// What came of using a connection that was kept.
enum Again {
    Answered(HttpResponse),
    /// Nothing was sent on it, or it may be sent again; or there was no such connection.
    New(Prepared),
}

impl Client {
    /// A client for an endpoint; an error says why its certificate could not be checked.
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

    /// The same client, for some addresses only.
    #[must_use]
    pub fn reaching(self, reach: Reach) -> Self {
        Client { reach, ..self }
    }

    /// The same client, through a proxy if that is the way to its endpoint; an error says why that cannot be.
    pub fn through(self, proxy: Option<&Proxy>) -> Result<Self, String> {
        let tunnel = proxy.map(|proxy| proxy.tunnel_to(&self.endpoint)).transpose()?;
        Ok(Client {
            tunnel: tunnel.flatten(),
            ..self
        })
    }

    /// Where requests go.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request and waits for the whole answer.
    pub async fn call(&self, request: Prepared, repeat: Repeat) -> Result<HttpResponse, Failure> {
        // The time is real time: the server at the other end does not follow our clock.
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

    /// Uses connections that were kept. A server may close one at any time, even while it is being used again.
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
                    // It never left.
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

    /// Sends a request on a connection of its own; its answer, of any length, is read piece by piece. The limit of
    /// time is that of each piece.
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
        // The oldest are in front.
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
