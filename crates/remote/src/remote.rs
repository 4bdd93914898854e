//! Sends requests and receives answers.

use crate::endpoint_clock::EndpointClock;
use crate::identity::{Identity, SignatureRefusal};
use crate::lost::{NoAnswer, unknown};
use crate::own_thread::OwnThread;
use crate::repeat::{recognisable, repeat};
use crate::retry::{RetryQuota, is_throttled, pause};
use crate::sending_rate::SendingRate;
use crate::settings::{BadSettings, Settings};
use bytes::Bytes;
use std::sync::Arc;
use tokio::runtime::Handle;
use trestle_api::{
    Database, Error, ErrorKind, Family, ForwardFuture, OperationName, Request, Response, note_repeat,
};
use trestle_env::Timestamp;
use trestle_http_client::{Client, Failure, HttpResponse, Outgoing, Repeat, request};
use trestle_sigv4::Signer;

const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// A remote endpoint. Cloning it gives another handle with the same connections.
///
/// In a Tokio runtime, which must have time and network, requests are sent there; elsewhere on a separate
/// thread.
#[derive(Clone, Debug)]
pub struct Remote {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    own_thread: OwnThread,
    settings: Settings,
    client: Client,
    /// The endpoint of the streams, if it is another one.
    streams: Option<Client>,
    identity: Identity,
    retries: RetryQuota,
    tries_max: u32,
    /// In adaptive mode.
    rate: Option<SendingRate>,
    clock: EndpointClock,
}

/// A request that can be sent several times.
struct Call<'a> {
    operation: OperationName,
    client: &'a Client,
    target: String,
    body: Bytes,
    repeat: Repeat,
}

/// The result of one attempt.
enum Tried {
    Answered(Box<Result<Response, Error>>),
    /// The endpoint did not carry it out now, but may later.
    Refused(Error),
    /// The endpoint failed.
    Broken(Error),
    Lost(Failure),
}

impl Remote {
    /// The database of an endpoint. Nothing is sent yet: the first request shows whether the endpoint exists.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        Ok(Remote {
            inner: Arc::new(Inner {
                own_thread: OwnThread::default(),
                client: settings.client()?,
                streams: settings.streams_client()?,
                identity: Identity::of(&settings),
                retries: RetryQuota::default(),
                tries_max: settings.tries_max()?,
                rate: settings.is_adaptive()?.then(SendingRate::default),
                clock: EndpointClock::default(),
                settings,
            }),
        })
    }

    /// The endpoint's URL.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.inner.settings.endpoint
    }

    /// The earliest and the latest time that the endpoint's clock may have shown when that of this process
    /// showed `at`, according to the date of its last answer; `None` before an answer with a date.
    #[must_use]
    pub fn clock_span(&self, at: Timestamp) -> Option<(Timestamp, Timestamp)> {
        self.inner.clock.span(at)
    }

    /// Sends a request: the outer error is one of the connection, the inner one of the database. Each further
    /// attempt is counted in [`count_repeats`](trestle_api::count_repeats). In a Tokio runtime only.
    pub async fn ask(&self, request: Request) -> Result<Result<Response, Error>, NoAnswer> {
        let call = self.inner.prepare(request);
        let mut tries = 1;
        let mut paid = None;
        loop {
            if let Some(rate) = &self.inner.rate {
                rate.acquire().await;
            }
            let tried = self.inner.attempt_as_someone(&call).await;
            if let Some(rate) = &self.inner.rate {
                rate.learn(matches!(tried, Tried::Refused(_)));
            }
            if let Tried::Answered(_) = tried {
                self.inner.retries.give_back(paid);
            }
            let price = call.price_after(&tried);
            let may_repeat =
                price.is_some_and(|price| tries < self.inner.tries_max && self.inner.retries.take(price));
            if !may_repeat {
                return self.inner.result(&call, tried, tries);
            }
            paid = price;
            note_repeat();
            tracing::debug!(operation = call.operation.as_str(), tries, "trying again");
            // The time is real time: the endpoint does not follow this clock.
            tokio::time::sleep(pause(tries)).await;
            tries += 1;
        }
    }
}

impl Database for Remote {
    fn execute(&self, request: Request) -> trestle_api::ResponseFuture<'_> {
        Box::pin(async move {
            let asked = if Handle::try_current().is_ok() {
                self.ask(request).await
            } else {
                let remote = self.clone();
                let asking = async move { remote.ask(request).await };
                self.inner.own_thread.carry_out(asking).await?
            };
            asked.unwrap_or_else(|lost| Err(lost.into()))
        })
    }

    /// One attempt. A failure of any kind is followed by another request, which is then repeated or refused.
    fn forward(&self, operation: OperationName, body: &Bytes) -> Option<ForwardFuture<'_>> {
        trestle_wire::table_of_plain_read(operation, body)?;
        // In adaptive mode every attempt counts.
        if self.inner.rate.is_some() || Handle::try_current().is_err() {
            return None;
        }
        let call = self.inner.call(operation, body.clone(), Repeat::Allowed);
        Some(Box::pin(async move { self.inner.forward(&call).await }))
    }
}

impl Call<'_> {
    /// The cost of another attempt; `None` if the request must not be sent again.
    fn price_after(&self, tried: &Tried) -> Option<u32> {
        let is_allowed = self.repeat == Repeat::Allowed;
        match tried {
            Tried::Answered(_) => None,
            Tried::Refused(_) => Some(RetryQuota::PRICE),
            Tried::Broken(_) => is_allowed.then_some(RetryQuota::PRICE),
            Tried::Lost(failure) => {
                let is_safe = is_allowed || !failure.kind.may_have_arrived();
                (failure.kind.is_passing() && is_safe).then_some(RetryQuota::PRICE_AFTER_SILENCE)
            }
        }
    }
}

impl Inner {
    fn prepare(&self, request: Request) -> Call<'_> {
        let request = recognisable(request);
        let body = trestle_wire::encode_request(&request).into();
        self.call(request.operation(), body, repeat(&request))
    }

    fn call(&self, operation: OperationName, body: Bytes, repeat: Repeat) -> Call<'_> {
        Call {
            operation,
            client: match (operation.family(), &self.streams) {
                (Family::Streams, Some(streams)) => streams,
                _ => &self.client,
            },
            target: trestle_wire::target_of(operation),
            body,
            repeat,
        }
    }

    /// The body of a successful answer that was received completely.
    async fn forward(&self, call: &Call<'_>) -> Option<Bytes> {
        let signer = self.identity.signer(self.settings.clock.now()).await.ok()?;
        let answer = self.exchange(call, signer.as_deref()).await.ok()?.ok()?;
        if !answer.status.is_success() || !is_whole(&answer) {
            return None;
        }
        self.retries.give_back(None);
        Some(answer.body)
    }

    /// An attempt with the present credentials, and another one with new ones if the endpoint refuses them.
    async fn attempt_as_someone(&self, call: &Call<'_>) -> Tried {
        let mut may_repeat = true;
        loop {
            let now = self.settings.clock.now();
            let signer = match self.identity.signer(now).await {
                Ok(signer) => signer,
                Err(error) => return answered(Err(error)),
            };
            let tried = match self.exchange(call, signer.as_deref()).await {
                Ok(Ok(answer)) => read(call.operation, &answer),
                Ok(Err(failure)) => Tried::Lost(failure),
                Err(error) => answered(Err(error)),
            };
            let error = match &tried {
                Tried::Answered(answer) => answer.as_ref().as_ref().err(),
                _ => None,
            };
            let Some(error) = error else { return tried };
            match self
                .identity
                .after(error, signer.as_deref(), may_repeat, now)
                .await
            {
                None => return tried,
                Some(SignatureRefusal::Repeat) => may_repeat = false,
                Some(SignatureRefusal::Tell(error)) => return answered(Err(error)),
            }
        }
    }

    /// Sends the request once. The outer error says why it cannot be sent.
    async fn exchange(
        &self,
        call: &Call<'_>,
        signer: Option<&Signer>,
    ) -> Result<Result<HttpResponse, Failure>, Error> {
        let endpoint = call.client.endpoint();
        let headers = [
            ("x-amz-target", call.target.as_str()),
            ("content-type", CONTENT_TYPE),
        ];
        let outgoing = Outgoing {
            method: "POST",
            path: &endpoint.path,
            headers: &headers,
            body: &call.body,
        };
        let now = self.settings.clock.now();
        let request = request(endpoint, outgoing, signer, now).map_err(Error::validation)?;
        let answer = call.client.call(request, call.repeat).await;
        if let Ok(answer) = &answer
            && let Some(date) = answer.headers.get("date").and_then(|date| date.to_str().ok())
        {
            self.clock.told(date, now, self.settings.clock.now());
        }
        Ok(answer)
    }

    /// The error for the caller.
    fn result(&self, call: &Call<'_>, tried: Tried, tries: u32) -> Result<Result<Response, Error>, NoAnswer> {
        let url = &self.settings.endpoint;
        Ok(match tried {
            Tried::Answered(answer) => *answer,
            Tried::Refused(error) => Err(Error::new(
                error.kind(),
                format!("{error}; {url} was asked {tries} times and has too much to do: ask more slowly"),
            )),
            Tried::Broken(error) if call.repeat == Repeat::Never => Err(Error::new(
                error.kind(),
                format!("{error}{}", unknown(call.operation)),
            )),
            Tried::Broken(error) => Err(error),
            Tried::Lost(failure) => return Err(NoAnswer::to(call.operation, url, &failure, call.repeat)),
        })
    }
}

fn read(operation: OperationName, answer: &HttpResponse) -> Tried {
    if !is_whole(answer) {
        let why = Error::internal("The answer did not arrive as it was sent: its checksum differs");
        return Tried::Broken(why);
    }
    let status = answer.status;
    if status.is_success() {
        return answered(trestle_wire::decode_response(operation, &answer.body));
    }
    let error = trestle_wire::decode_error(status.as_u16(), &answer.body);
    if is_throttled(&error) {
        Tried::Refused(error)
    } else if status.is_server_error() || error.kind() == ErrorKind::TransactionInProgress {
        // The first request of a transaction may still be carried out: when sent again, it is recognised by
        // its token.
        Tried::Broken(error)
    } else {
        answered(Err(error))
    }
}

fn answered(answer: Result<Response, Error>) -> Tried {
    Tried::Answered(Box::new(answer))
}

/// Whether the body matches its checksum, if there is one.
fn is_whole(answer: &HttpResponse) -> bool {
    let told = answer.headers.get("x-amz-crc32");
    let told = told.and_then(|told| told.to_str().ok()?.parse::<u32>().ok());
    told.is_none_or(|told| told == trestle_wire::crc32(&answer.body))
}
