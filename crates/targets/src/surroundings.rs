//! What a target uses of its process.

use crate::Trust;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use trestle_env::Clock;
use trestle_http_client::{Client, Endpoint, Limits, Roots};

/// Partial results of the largest batch fit.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

type Variable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The clock for signatures, the environment for names of secrets, and the permissions.
#[derive(Clone)]
pub struct Surroundings {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) trust: Trust,
    variable: Arc<Variable>,
}

impl Surroundings {
    /// With the environment variables of this process.
    pub fn of_process(clock: Arc<dyn Clock>) -> Self {
        Surroundings::with_variables(clock, |name| std::env::var(name).ok())
    }

    /// With environment variables of the caller's choice.
    pub fn with_variables(
        clock: Arc<dyn Clock>,
        variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Surroundings {
            clock,
            trust: Trust::ALL,
            variable: Arc::new(variable),
        }
    }

    /// The same for routes with fewer permissions.
    #[must_use]
    pub fn trusting(&self, trust: Trust) -> Self {
        Surroundings {
            trust,
            ..self.clone()
        }
    }

    /// A client for calls to a target, with this time limit.
    pub(crate) fn client(
        &self,
        endpoint: Endpoint,
        roots: Roots<'_>,
        time: Duration,
    ) -> Result<Client, String> {
        self.trust.check(&endpoint)?;
        let limits = Limits {
            time: Some(time),
            answer_bytes: ANSWER_BYTES_MAX,
        };
        let client = Client::new(endpoint, roots, limits)?;
        Ok(client.reaching(self.trust.reach()))
    }

    /// An environment variable; one that is empty counts as not set.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").finish_non_exhaustive()
    }
}
