//! The administration of a running server.

use super::{START_ONE, waiting};
use crate::exit::Failure;
use crate::runtime;
use crate::server_flags::ServerFlags;
use std::time::Duration;
use tokio::runtime::Runtime;
use trestle_admin::{AdminAnswer, AdminCall, AdminClient, AdminError, AdminErrorCode, Administration};
use trestle_http_client::Download;
use trestle_remote::{FailureKind, NoAnswer, Settings};

/// A running server, called on this thread.
pub(crate) struct RunningServer {
    client: AdminClient,
    endpoint: String,
    without_server: &'static str,
    runtime: Runtime,
    /// Whether a terminal shows that it is working.
    is_shown: bool,
}

impl RunningServer {
    /// A server without a time-out: building an index may take any time.
    pub(crate) fn new(server: &ServerFlags, without_server: &'static str) -> Result<Self, Failure> {
        Self::with_patience(server, without_server, None)
    }

    /// A server with a time-out.
    pub(crate) fn with_patience(
        server: &ServerFlags,
        without_server: &'static str,
        patience: Option<Duration>,
    ) -> Result<Self, Failure> {
        let settings = Settings {
            timeout: patience,
            ..server.settings()
        };
        Ok(RunningServer {
            without_server,
            is_shown: true,
            ..Self::at(settings)?
        })
    }

    /// A server with any settings, for commands that show their own progress.
    pub(crate) fn at(settings: Settings) -> Result<Self, Failure> {
        Ok(RunningServer {
            endpoint: settings.endpoint.clone(),
            client: AdminClient::new(settings).map_err(Failure::usage)?,
            without_server: START_ONE,
            runtime: runtime::on_this_thread()?,
            is_shown: false,
        })
    }

    /// Requests a backup; returns it with the runtime on which it arrives.
    pub(crate) fn backup(self) -> Result<(Download, Runtime), Failure> {
        let asked = self.runtime.block_on(self.client.backup());
        let answered = asked.map_err(|lost| Failure::failed(no_answer(&lost, self.without_server)))?;
        Ok((answered?, self.runtime))
    }
}

impl Administration for RunningServer {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let ask = || self.runtime.block_on(self.client.send(&call));
        let asked = match self.is_shown {
            true => waiting::shown(&self.endpoint, ask),
            false => ask(),
        };
        asked.map_err(|lost| {
            AdminError::new(AdminErrorCode::NoAnswer, no_answer(&lost, self.without_server))
        })?
    }
}

/// The message that there is no response, and what to do without a server.
pub(crate) fn no_answer(lost: &NoAnswer, without_server: &str) -> String {
    match lost.kind {
        FailureKind::NoConnection => format!("{lost}; {without_server}"),
        _ => lost.to_string(),
    }
}
