//! An endpoint that knows models itself: a Trestle server, or a gateway.

use trestle_admin::{AdminAnswer, AdminCall, AdminClient, ApplyModel};
use trestle_binding::Report;
use trestle_remote::{BadSettings, Settings};

use crate::ApplyError;

/// The client of the server that applies models.
pub(super) struct ModelServer {
    admin: AdminClient,
}

impl ModelServer {
    pub(super) fn new(settings: Settings) -> Result<Self, BadSettings> {
        Ok(Self {
            admin: AdminClient::new(settings)?,
        })
    }

    /// Lets the server apply a model. It blocks, on a thread without a runtime.
    pub(super) fn apply(&self, text: &str) -> Result<Report, ApplyError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| ApplyError::Server(format!("the runtime cannot start: {error}")))?;
        runtime.block_on(self.ask_to_apply(text))
    }

    async fn ask_to_apply(&self, text: &str) -> Result<Report, ApplyError> {
        let call = AdminCall::ApplyModel(ApplyModel {
            text: text.to_owned(),
            ..ApplyModel::default()
        });
        let sent = self.admin.send(&call).await;
        let answered = sent.map_err(|error| ApplyError::Server(error.to_string()))?;
        match answered.map_err(|error| ApplyError::Server(error.to_string()))? {
            AdminAnswer::ApplyModel(report) if report.is_refused() => {
                Err(ApplyError::Refused(Box::new(report)))
            }
            AdminAnswer::ApplyModel(report) => Ok(report),
            _ => Err(ApplyError::Server("the answer is of another call".to_owned())),
        }
    }
}
