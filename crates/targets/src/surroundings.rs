//! What a target takes from the process it runs in.

use std::fmt;
use std::sync::Arc;
use trestle_env::Clock;

type Variable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The clock that dates signatures, and where names of secrets are looked up.
#[derive(Clone)]
pub struct Surroundings {
    pub(crate) clock: Arc<dyn Clock>,
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
            variable: Arc::new(variable),
        }
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
