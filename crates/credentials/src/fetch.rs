//! Calls to the services that issue credentials.

use bytes::Bytes;
use std::time::Duration;
use trestle_env::Timestamp;
use trestle_http_client::{Client, Endpoint, HttpResponse, Limits, Outgoing, Proxy, Repeat, Roots, request};
use trestle_sigv4::Signer;

/// The maximum number of attempts for a call that fails on the way or in the service.
const TRIES_MAX: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// Larger than any of these answers.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A call, and its settings.
pub(crate) struct Fetch<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Bytes,
    pub(crate) signer: Option<&'a Signer>,
    pub(crate) now: Timestamp,
    /// For a single attempt.
    pub(crate) timeout: Duration,
    pub(crate) ca_file: Option<&'a str>,
    pub(crate) proxy: Option<&'a Proxy>,
}

impl<'a> Fetch<'a> {
    /// A call to a service of this machine: unsigned and without a proxy.
    pub(crate) fn local(
        method: &'a str,
        url: &'a str,
        headers: &'a [(&'a str, &'a str)],
        now: Timestamp,
    ) -> Self {
        Fetch {
            method,
            url,
            headers,
            body: Bytes::new(),
            signer: None,
            now,
            timeout: Duration::from_secs(2),
            ca_file: None,
            proxy: None,
        }
    }

    /// Makes the call, and repeats it if the service failed or the response was lost. All of these calls may
    /// be repeated.
    pub(crate) async fn send(self) -> Result<HttpResponse, String> {
        let unusable = |why: &dyn std::fmt::Display| format!("cannot use {}: {why}", self.url);
        let endpoint = Endpoint::parse(self.url).map_err(|why| unusable(&format_args!("it {why}")))?;
        let limits = Limits {
            time: Some(self.timeout),
            answer_bytes: ANSWER_BYTES_MAX,
        };
        let roots = self.ca_file.map_or(Roots::System, Roots::File);
        let client = Client::new(endpoint, roots, limits).map_err(|why| unusable(&why))?;
        let client = client.through(self.proxy).map_err(|why| unusable(&why))?;
        let mut tries = 1;
        loop {
            let outgoing = Outgoing {
                method: self.method,
                path: &client.endpoint().path,
                headers: self.headers,
                body: &self.body,
            };
            let prepared =
                request(client.endpoint(), outgoing, self.signer, self.now).map_err(|why| unusable(&why))?;
            let answer = client.call(prepared, Repeat::Allowed).await;
            let may_pass = match &answer {
                Ok(answer) => answer.status.is_server_error() || answer.status.as_u16() == 429,
                // If no server answers the first attempt, the others are useless.
                Err(failure) => failure.kind.is_passing() && failure.kind.may_have_arrived(),
            };
            if !may_pass || tries == TRIES_MAX {
                return answer.map_err(|failure| failure.to_string());
            }
            tokio::time::sleep(PAUSE * tries).await;
            tries += 1;
        }
    }
}
