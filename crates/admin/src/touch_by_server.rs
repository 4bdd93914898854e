//! Touches rows of a server or a gateway by administration calls.

use std::sync::Arc;

use trestle_api::{Error, ErrorKind, Touched};
use trestle_reindex::{Touch, TouchFuture, TouchResult};

use crate::client::AdminClient;
use crate::error::{AdminError, AdminErrorCode};
use crate::touches::{SetReindexVersion, TouchPage};

/// Touches rows whose version attribute clients may not write because a model declares it: the server with the models does it.
#[derive(Clone, Debug)]
pub struct TouchByServer {
    client: Arc<AdminClient>,
}

impl TouchByServer {
    /// Touches rows of the server to which this client sends its requests.
    #[must_use]
    pub fn new(client: Arc<AdminClient>) -> Self {
        Self { client }
    }

    /// Sets the version that inserted rows get from now on: in a whole table, or for one entity.
    pub async fn set_reindex_version(
        &self,
        table: &str,
        entity: Option<&str>,
        version: u64,
    ) -> Result<(), Error> {
        let call = SetReindexVersion {
            table: table.to_owned(),
            entity: entity.map(str::to_owned),
            version,
        };
        self.client.ask(call).await.map(drop).map_err(Error::from)
    }

    async fn touch_all(&self, mut rows: trestle_api::TouchRows) -> Result<TouchResult, Error> {
        let keys = std::mem::take(&mut rows.keys);
        let (mut touched, mut write_units) = (Vec::with_capacity(keys.len()), 0.0);
        for keys in keys.chunks(TouchPage::ROWS_MAX) {
            let call = TouchPage {
                keys: keys.to_vec(),
                ..TouchPage::from(rows.clone())
            };
            let done = self.client.ask(call).await?;
            if done.rows.len() != keys.len() {
                return Err(Error::internal(format!(
                    "the server was asked to touch {} rows and answered for {}",
                    keys.len(),
                    done.rows.len()
                )));
            }
            touched.extend(done.rows.into_iter().map(Touched::from));
            write_units += done.write_units;
        }
        Ok(TouchResult {
            rows: touched,
            write_units,
        })
    }
}

impl Touch for TouchByServer {
    fn touch(&self, rows: trestle_api::TouchRows) -> TouchFuture<'_> {
        Box::pin(self.touch_all(rows))
    }
}

/// The error that an operation on rows would have. A temporary failure becomes an internal error, which is retried.
impl From<AdminError> for Error {
    fn from(error: AdminError) -> Self {
        let kind = match error.code {
            AdminErrorCode::Invalid | AdminErrorCode::Unsound | AdminErrorCode::Refused => {
                ErrorKind::Validation
            }
            AdminErrorCode::NotFound => ErrorKind::ResourceNotFound,
            AdminErrorCode::Forbidden | AdminErrorCode::NoAdministration => ErrorKind::AccessDenied,
            AdminErrorCode::Failed | AdminErrorCode::NoAnswer => ErrorKind::InternalServerError,
        };
        Error::new(kind, error.message)
    }
}
