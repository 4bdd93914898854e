//! Batches as HTTP requests to a URL.
//!
//! The body is `{"route": …, "records": [{"id": …, "attempt": …, "input": …}]}`. A success accepts all of it,
//! except the records that its body reports as failed; see [`partial`].

mod signature;

use crate::answer::{beginning, no_answer};
use crate::batch::{self, Record};
use crate::partial;
use crate::secret::{self, Secret};
use crate::settings::Settings;
use crate::surroundings::Surroundings;
use crate::trust::NOT_TRUSTED;
use http::header::{CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use trestle_env::Clock;
use trestle_events::{Batch, Deliver, Outcome, Target};
use trestle_http_client::{Client, Endpoint, HttpResponse, Prepared, Repeat, Roots};

const TIMEOUT: Duration = Duration::from_secs(10);

/// A URL that receives batches.
pub(crate) struct Webhook {
    client: Client,
    headers: HeaderMap,
    secret: Option<Secret>,
    clock: Arc<dyn Clock>,
}

#[derive(Serialize)]
struct Body<'a> {
    route: &'a str,
    records: Vec<Record<'a>>,
}

pub(crate) fn open(settings: &mut Settings<'_>, surroundings: &Surroundings) -> Option<Webhook> {
    let url = settings.text("webhook");
    let timeout = settings.duration("timeout", TIMEOUT);
    let secret = secret::read(settings, "secret", surroundings);
    let ca_file = settings.optional_text("ca_file");
    if ca_file.is_some() && !surroundings.trust.commands_and_secrets {
        settings.complain("ca_file", NOT_TRUSTED);
    }
    let roots = ca_file.map_or(Roots::System, Roots::File);
    let headers = headers(settings, surroundings);
    let client = Endpoint::parse(url?)
        .map_err(str::to_owned)
        .and_then(|endpoint| surroundings.client(endpoint, roots, timeout));
    match client {
        Ok(client) => Some(Webhook {
            client,
            headers,
            secret,
            clock: Arc::clone(&surroundings.clock),
        }),
        Err(message) => {
            settings.complain("webhook", message);
            None
        }
    }
}

/// Headers of the user's own: text, or a secret by name.
fn headers(settings: &mut Settings<'_>, surroundings: &Surroundings) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(value) = settings.take("headers") else {
        return headers;
    };
    let Value::Object(given) = value else {
        settings.complain("headers", "must be a table of header names and their text");
        return headers;
    };
    for (name, value) in given {
        match header(name, value, surroundings) {
            Ok((name, value)) => {
                headers.insert(name, value);
            }
            Err(message) => settings.complain(&format!("headers.{name}"), message),
        }
    }
    headers
}

fn header(
    name: &str,
    value: &Value,
    surroundings: &Surroundings,
) -> Result<(HeaderName, HeaderValue), String> {
    let name: HeaderName = name.parse().map_err(|_| "is no name of a header")?;
    let text = secret::text_or_secret(value, surroundings)?;
    let mut value: HeaderValue = text.parse().map_err(|_| "holds letters that a header cannot")?;
    value.set_sensitive(true);
    Ok((name, value))
}

impl Target for Webhook {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        Box::pin(async move {
            let request = match self.request(batch) {
                Ok(request) => request,
                Err(error) => return Outcome::Refused(error),
            };
            match self.client.call(request, Repeat::Allowed).await {
                Ok(answer) => outcome(batch, &answer),
                Err(failure) => no_answer(&failure),
            }
        })
    }
}

impl Webhook {
    fn request(&self, batch: &Batch) -> Result<Prepared, String> {
        let body = Body {
            route: &batch.route,
            records: batch.deliveries.iter().map(Record::of).collect(),
        };
        let body = serde_json::to_vec(&body).map_err(|error| error.to_string())?;
        let endpoint = self.client.endpoint();
        let mut request = Request::post(&endpoint.path)
            .header(HOST, &endpoint.authority)
            .header(USER_AGENT, "trestle")
            .header(CONTENT_TYPE, "application/json")
            .header("x-trestle-route", &*batch.route)
            .header("x-trestle-delivery", batch::name(batch));
        if let [only] = batch.deliveries.as_slice() {
            request = request.header("idempotency-key", &only.id);
        }
        if let Some(Secret(secret)) = &self.secret {
            let header = signature::header(secret, self.clock.now(), &body);
            request = request.header("x-trestle-signature", header);
        }
        let mut request = request
            .body(Full::from(body))
            .map_err(|error| error.to_string())?;
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        Ok(request)
    }
}

fn outcome(batch: &Batch, answer: &HttpResponse) -> Outcome {
    match answer.status {
        status if status.is_success() => partial::outcome(batch, &answer.body),
        StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            Outcome::Unavailable(reason(answer))
        }
        status if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => {
            Outcome::Failed(reason(answer))
        }
        status if status.is_redirection() => {
            Outcome::Refused(format!("{}; redirections are not followed", reason(answer)))
        }
        _ => Outcome::Refused(reason(answer)),
    }
}

/// The status, when to try again, and the beginning of the answer's text.
fn reason(answer: &HttpResponse) -> String {
    let mut reason = format!("answered {}", answer.status);
    if let Some(after) = answer
        .headers
        .get(RETRY_AFTER)
        .and_then(|after| after.to_str().ok())
    {
        reason += &format!(", retry after {after}");
    }
    let said = beginning(&answer.body);
    if !said.is_empty() {
        reason += &format!(": {said}");
    }
    reason
}
