//! Waits for a database that is restarting or overloaded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trestle_api::{Error, ErrorKind};

use crate::{CopyError, CopyProgress};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// How long a database may be unavailable.
#[derive(Clone)]
pub(crate) struct Patience {
    pub(crate) time: Duration,
    pub(crate) progress: Arc<CopyProgress>,
}

impl Patience {
    /// Repeats a request until it succeeds, or fails with an error that is not temporary.
    pub(crate) async fn ask<T, F: Future<Output = Result<T, Error>>>(
        &self,
        what: &str,
        mut call: impl FnMut() -> F,
    ) -> Result<T, CopyError> {
        let mut began = None;
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match call().await {
                Ok(answer) => {
                    if began.is_some() {
                        self.progress.goes_on();
                    }
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let began = *began.get_or_insert_with(Instant::now);
            if !may_pass(&error) || began.elapsed() > self.time {
                return Err(CopyError::database(what)(error));
            }
            self.progress.waits(format!("{what}: {error}"));
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// Whether the same call may succeed later.
fn may_pass(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InternalServerError
            | ErrorKind::ProvisionedThroughputExceeded
            | ErrorKind::RequestLimitExceeded
            | ErrorKind::Throttling
            | ErrorKind::LimitExceeded
    )
}
