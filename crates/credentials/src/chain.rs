//! The order in which sources are tried.

use crate::credentials::Credentials;
use crate::source::NoCredentials;
use crate::source_error::SourceError;
use crate::sts::Sts;
use crate::variables::Variables;
use crate::{container, environment, instance, profile, web_identity};
use std::ops::ControlFlow;
use trestle_env::Timestamp;
use trestle_http_client::{Endpoint, Proxy};
use trestle_sigv4::{is_aws_host, region_of_host};

/// The region of the Security Token Service, whose answers are the same in every region.
const DEFAULT_REGION: &str = "us-east-1";

/// The sources for requests to one endpoint, in AWS's order.
#[derive(Clone, Debug)]
pub struct SourceChain {
    variables: Variables,
    /// A profile named by the user, which has precedence over all variables.
    profile: Option<String>,
    is_at_aws: bool,
    region: Option<String>,
    proxy: Option<Proxy>,
}

/// The messages of sources without credentials.
#[derive(Default)]
struct Said(Vec<String>);

/// Breaks with the result; with `None`, if a source is set up and failed.
type Search = ControlFlow<Option<Credentials>>;

impl SourceChain {
    /// The sources that environment variables set up for requests to an endpoint.
    #[must_use]
    pub fn new(endpoint: &str, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let host = Endpoint::parse(endpoint).map(|endpoint| endpoint.host).ok();
        SourceChain {
            variables: Variables::of(variable),
            profile: None,
            is_at_aws: host.as_deref().is_some_and(is_aws_host),
            region: host.as_deref().and_then(region_of_host).map(str::to_owned),
            proxy: Proxy::from_variables(variable),
        }
    }

    /// The same with a profile named by the user: no other source is tried.
    #[must_use]
    pub fn with_profile(&self, profile: impl Into<String>) -> Self {
        SourceChain {
            profile: Some(profile.into()),
            ..self.clone()
        }
    }

    /// Whether requests are signed from the first one on. Requests to servers other than AWS's are unsigned
    /// until a server asks for a signature, unless there is a key or the user named a profile: most servers
    /// need none, and a search may run programs and call other services.
    pub(crate) fn is_wanted_at_once(&self) -> bool {
        self.is_at_aws || self.profile.is_some() || self.variables.get("AWS_ACCESS_KEY_ID").is_some()
    }

    /// Tries one source after the other until one has credentials, or is set up and fails.
    pub(crate) async fn look(&self, now: Timestamp) -> Result<Credentials, NoCredentials> {
        let mut said = Said::default();
        let found = match self.search(&mut said, now).await {
            ControlFlow::Break(found) => found,
            ControlFlow::Continue(()) => None,
        };
        let Some(found) = found else {
            return Err(NoCredentials(format!("no credentials: {}", said.0.join("; "))));
        };
        match found.expires {
            Some(expires) if expires <= now => Err(NoCredentials(format!(
                "the credentials with the access key {} are over already; check this machine's clock",
                found.key.id
            ))),
            _ => Ok(found),
        }
    }

    async fn search(&self, said: &mut Said, now: Timestamp) -> Search {
        let variables = &self.variables;
        let (profile, is_named) = profile::name(self.profile.as_deref(), variables);
        let region = self.sts_region(profile);
        let sts = Sts {
            url: variables.get("AWS_ENDPOINT_URL_STS"),
            region: &region,
            ca_file: variables.get("AWS_CA_BUNDLE"),
            proxy: self.proxy.as_ref(),
        };
        if self.profile.is_none() {
            said.by("environment", environment::credentials(variables))?;
        }
        let of_profile = profile::credentials((profile, is_named), variables, sts, now).await;
        said.by(&format!("profile {profile}"), of_profile)?;
        if self.profile.is_some() {
            return ControlFlow::Continue(());
        }
        said.by(
            "web identity",
            web_identity::credentials(variables, sts, now).await,
        )?;
        said.by("container", container::credentials(variables, now).await)?;
        said.by("instance", self.of_instance(now).await)
    }

    /// Only AWS knows the roles of its machines; for other endpoints, their service is not called unless a
    /// variable names it.
    async fn of_instance(&self, now: Timestamp) -> Result<Credentials, SourceError> {
        match self.is_at_aws || instance::told_endpoint(&self.variables).is_some() {
            true => instance::credentials(&self.variables, now).await,
            false => Err(SourceError::not_set_up(
                "not used, because the endpoint does not belong to AWS",
            )),
        }
    }

    /// The nearest region: that of the profile or of the environment, or else that of the endpoint.
    fn sts_region(&self, profile: &str) -> String {
        let told = self.variables.get("AWS_REGION");
        let told = told.or_else(|| self.variables.get("AWS_DEFAULT_REGION"));
        told.map(str::to_owned)
            .or_else(|| profile::region(profile, &self.variables))
            .or_else(|| self.region.clone())
            .unwrap_or_else(|| DEFAULT_REGION.to_owned())
    }
}

impl Said {
    fn by(&mut self, source: &str, found: Result<Credentials, SourceError>) -> Search {
        match found {
            Ok(found) => {
                tracing::debug!(source, access_key = found.key.id, "found credentials");
                ControlFlow::Break(Some(found))
            }
            Err(error) => {
                self.0.push(format!("{source}: {error}"));
                match error {
                    SourceError::NotSetUp(_) => ControlFlow::Continue(()),
                    SourceError::Failed(_) => ControlFlow::Break(None),
                }
            }
        }
    }
}
