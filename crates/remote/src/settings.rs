//! The endpoint, and the credentials for it.

use crate::retry::TRIES_MAX;
use crate::streams::streams_host;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use trestle_credentials::{CredentialSource, SourceChain};
use trestle_env::{Clock, SystemClock};
use trestle_http_client::{Client, Endpoint, Limits, Proxy, Roots};
use trestle_sigv4::region_of_host;

/// For endpoints that do not check signatures, such as local ones.
const DEFAULT_REGION: &str = "us-east-1";

/// A large page takes time; after this long, an answer counts as lost.
const TIMEOUT: Duration = Duration::from_secs(10);

/// More than any answer: items are at most 16 MB, and JSON makes them longer.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Settings that cannot work; the text says which ones, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSettings(String);

/// The endpoint, and the credentials for it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `https://dynamodb.eu-west-1.amazonaws.com`, `http://127.0.0.1:8000`.
    pub endpoint: String,
    /// The endpoint of the change streams; by default the same endpoint, or the one beside it at AWS.
    pub streams_endpoint: Option<String>,
    /// By default the region in the host's name, otherwise `us-east-1`.
    pub region: Option<String>,
    /// The identity with which requests are signed.
    pub credentials: CredentialSource,
    /// A PEM file with the trusted certificate authorities, instead of those of the system.
    pub ca_file: Option<PathBuf>,
    /// The proxy for endpoints with https.
    pub proxy: Option<Proxy>,
    /// The time limit of a single attempt.
    pub timeout: Option<Duration>,
    /// How failed requests are retried: `standard`, the default, or `adaptive`.
    pub retry_mode: Option<String>,
    /// The most attempts of one request: 4 by default.
    pub max_attempts: Option<String>,
    /// Dates signatures.
    pub clock: Arc<dyn Clock>,
}

impl Settings {
    /// An endpoint without credentials: requests are not signed.
    #[must_use]
    pub fn new(endpoint: impl Into<String>) -> Self {
        Settings {
            endpoint: endpoint.into(),
            streams_endpoint: None,
            region: None,
            credentials: CredentialSource::unsigned(),
            ca_file: None,
            proxy: None,
            timeout: Some(TIMEOUT),
            retry_mode: None,
            max_attempts: None,
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// An endpoint with the settings of AWS's variables in this process: credentials from all the sources of
    /// [`trestle_credentials`], `AWS_REGION` or `AWS_DEFAULT_REGION`, `AWS_CA_BUNDLE`, `HTTPS_PROXY` and
    /// `NO_PROXY`, `AWS_RETRY_MODE` and `AWS_MAX_ATTEMPTS`, and `AWS_ENDPOINT_URL_DYNAMODB_STREAMS`, if the
    /// endpoint is that of `AWS_ENDPOINT_URL_DYNAMODB`.
    #[must_use]
    pub fn from_environment(endpoint: impl Into<String>) -> Self {
        Settings::from_variables(endpoint, |name| std::env::var(name).ok())
    }

    /// The same with variables from the caller; an empty one counts as not set.
    #[must_use]
    pub fn from_variables(endpoint: impl Into<String>, variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let endpoint = endpoint.into();
        let mut settings = Settings {
            credentials: CredentialSource::searched(SourceChain::new(&endpoint, &variable)),
            proxy: Proxy::from_variables(&variable),
            ca_file: variable("AWS_CA_BUNDLE").map(PathBuf::from),
            retry_mode: variable("AWS_RETRY_MODE"),
            max_attempts: variable("AWS_MAX_ATTEMPTS"),
            ..Settings::new(endpoint)
        };
        // Streams of another endpoint would belong to other tables.
        if variable("AWS_ENDPOINT_URL_DYNAMODB").as_ref() == Some(&settings.endpoint) {
            settings.streams_endpoint = variable("AWS_ENDPOINT_URL_DYNAMODB_STREAMS");
        }
        // The region in the host's name is more reliable than variables.
        if settings.region_of_host().is_none() {
            settings.region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        }
        settings
    }

    /// The region that requests are signed for.
    pub(crate) fn signed_region(&self) -> String {
        let region = self.region.clone().or_else(|| self.region_of_host());
        region.unwrap_or_else(|| DEFAULT_REGION.to_owned())
    }

    /// Whether requests are sent more slowly while the endpoint throttles.
    pub(crate) fn is_adaptive(&self) -> Result<bool, BadSettings> {
        match self.retry_mode.as_deref() {
            // The legacy mode of SDKs differs in pauses and in its budget, which nothing depends on.
            None | Some("standard" | "legacy") => Ok(false),
            Some("adaptive") => Ok(true),
            Some(other) => Err(BadSettings(format!(
                "the retry mode (AWS_RETRY_MODE) is {other:?}: it must be standard or adaptive"
            ))),
        }
    }

    /// The most attempts of one request.
    pub(crate) fn tries_max(&self) -> Result<u32, BadSettings> {
        let Some(given) = &self.max_attempts else {
            return Ok(TRIES_MAX);
        };
        match given.parse() {
            Ok(tries) if tries > 0 => Ok(tries),
            _ => Err(BadSettings(format!(
                "the number of attempts (AWS_MAX_ATTEMPTS) is {given:?}: it must be a whole number of at least 1"
            ))),
        }
    }

    /// A client for the endpoint.
    pub fn client(&self) -> Result<Client, BadSettings> {
        self.client_for(&self.endpoint)
    }

    /// A client for the streams, if they have another endpoint.
    pub(crate) fn streams_client(&self) -> Result<Option<Client>, BadSettings> {
        let url = self.streams_endpoint.clone().or_else(|| {
            let endpoint = Endpoint::parse(&self.endpoint).ok()?;
            let host = streams_host(&endpoint.host)?;
            Some(self.endpoint.replacen(&endpoint.host, &host, 1))
        });
        match url {
            Some(url) if url != self.endpoint => self.client_for(&url).map(Some),
            _ => Ok(None),
        }
    }

    fn client_for(&self, url: &str) -> Result<Client, BadSettings> {
        let endpoint = Endpoint::parse(url)
            .map_err(|message| BadSettings(format!("cannot use the endpoint {url}: it {message}")))?;
        let ca_file = self.ca_file.as_ref().map(|path| path.to_string_lossy());
        let limits = Limits {
            time: self.timeout,
            answer_bytes: ANSWER_BYTES_MAX,
        };
        let roots = ca_file.as_deref().map_or(Roots::System, Roots::File);
        let client = Client::new(endpoint, roots, limits);
        client
            .and_then(|client| client.through(self.proxy.as_ref()))
            .map_err(|message| BadSettings(format!("cannot use the endpoint {url}: {message}")))
    }

    fn region_of_host(&self) -> Option<String> {
        let endpoint = Endpoint::parse(&self.endpoint).ok()?;
        region_of_host(&endpoint.host).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(endpoint: &str, variables: &[(&str, &str)]) -> Settings {
        Settings::from_variables(endpoint, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_region_is_told_by_the_host_or_the_environment() {
        let region =
            |endpoint: &str, region: &str| with(endpoint, &[("AWS_DEFAULT_REGION", region)]).signed_region();
        assert_eq!(
            region("https://dynamodb.eu-west-1.amazonaws.com", "us-west-2"),
            "eu-west-1"
        );
        assert_eq!(region("http://localhost:8000", "us-west-2"), "us-west-2");
        assert_eq!(region("http://localhost:8000", ""), "us-east-1");
    }

    #[test]
    fn streams_are_where_they_are_said_to_be_or_beside_aws() {
        let streams = |settings: Settings| {
            let client = settings.streams_client().unwrap();
            client.map(|client| client.endpoint().authority.clone())
        };
        let aws = Settings::new("http://dynamodb.eu-west-1.amazonaws.com");
        assert_eq!(
            streams(aws).as_deref(),
            Some("streams.dynamodb.eu-west-1.amazonaws.com")
        );
        assert_eq!(streams(Settings::new("http://localhost:8000")), None);
        let told = |endpoint: &str, elsewhere: &str| {
            let variables = [
                ("AWS_ENDPOINT_URL_DYNAMODB", "http://localhost:8000"),
                ("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", elsewhere),
            ];
            streams(with(endpoint, &variables))
        };
        let elsewhere = "http://localhost:8001";
        assert_eq!(
            told("http://localhost:8000", elsewhere).as_deref(),
            Some("localhost:8001")
        );
        assert_eq!(told("http://localhost:9000", elsewhere), None);
        assert_eq!(told("http://localhost:8000", "http://localhost:8000"), None);
    }

    #[test]
    fn retries_are_as_the_environment_says_and_what_cannot_be_is_refused() {
        let of = |mode: &str, tries: &str| {
            let settings = with(
                "http://localhost:8000",
                &[("AWS_RETRY_MODE", mode), ("AWS_MAX_ATTEMPTS", tries)],
            );
            Ok::<_, BadSettings>((settings.is_adaptive()?, settings.tries_max()?))
        };
        assert_eq!(of("", ""), Ok((false, TRIES_MAX)));
        assert_eq!(of("standard", "1"), Ok((false, 1)));
        assert_eq!(of("adaptive", "10"), Ok((true, 10)));
        for (mode, tries, named) in [
            ("fast", "", "AWS_RETRY_MODE"),
            ("", "0", "AWS_MAX_ATTEMPTS"),
            ("", "x", "AWS_MAX_ATTEMPTS"),
        ] {
            let error = of(mode, tries).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_called_says_what_it_must_be() {
        let error = Settings::new("localhost:8000").client().unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot use the endpoint localhost:8000: it must be a URL that begins with http:// or https://"
        );
    }
}
