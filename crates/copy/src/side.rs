//! One of the two databases of a copy.

use std::sync::Arc;

use trestle_admin::{AdminError, AdminErrorCode, Administration, AdministrationExt, Call, WriteKeptRows};
use trestle_api::{Database, Error, Request, Response, ResponseFuture};
use trestle_model::is_kept_about_rows;

use crate::CopyError;

/// One of the two databases of a copy.
#[derive(Clone)]
pub struct CopySide {
    /// Its name for users: a path or a URL.
    pub name: String,
    /// Its kind.
    pub kind: SideKind,
    /// Its operations.
    pub database: Arc<dyn Database>,
    /// Its administration, if it is a Trestle server.
    pub administration: Option<Arc<dyn Administration>>,
}

/// The kind of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideKind {
    /// A directory that this process has open: no other process writes it.
    Directory,
    /// A running Trestle server.
    Server,
    /// Any other endpoint.
    Endpoint,
}

impl CopySide {
    /// A running Trestle server. Data of models about rows is written through its administration.
    #[must_use]
    pub fn server(
        name: String,
        database: Arc<dyn Database>,
        administration: Arc<dyn Administration>,
    ) -> Self {
        Self {
            name,
            kind: SideKind::Server,
            database: Arc::new(WithKeptRows {
                database,
                administration: Arc::clone(&administration),
            }),
            administration: Some(administration),
        }
    }

    /// Whether clients may write to it during the copy.
    pub(crate) fn changes(&self) -> bool {
        self.kind != SideKind::Directory
    }

    /// Makes a call to its administration.
    pub(crate) async fn administer<C>(&self, what: &str, call: C) -> Result<C::Answer, CopyError>
    where
        C: Call + Send + 'static,
        C::Answer: Send + 'static,
    {
        let Some(administration) = self.administration.clone() else {
            return Err(CopyError::Defect(format!("{} has no administration", self.name)));
        };
        let asked = tokio::task::spawn_blocking(move || administration.ask(call)).await;
        let answer = asked.map_err(|error| CopyError::Defect(error.to_string()))?;
        answer.map_err(|error| CopyError::Administration {
            what: what.to_owned(),
            error,
        })
    }
}

/// A server's database whose own tables are written through the administration, because clients may not write
/// them.
struct WithKeptRows {
    database: Arc<dyn Database>,
    administration: Arc<dyn Administration>,
}

impl Database for WithKeptRows {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        if !request.own_table_written().is_some_and(is_kept_about_rows) {
            return self.database.execute(request);
        }
        let administration = Arc::clone(&self.administration);
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || write(&*administration, &request)).await;
            written.map_err(|error| Error::internal(error.to_string()))?
        })
    }
}

fn write(administration: &dyn Administration, request: &Request) -> Result<Response, Error> {
    let operation = request.operation();
    let call = WriteKeptRows {
        operation: operation.as_str().to_owned(),
        request: serde_json::to_value(request).map_err(|error| Error::internal(error.to_string()))?,
    };
    let answer = administration.ask(call).map_err(unanswered)?;
    trestle_wire::read_response(operation, answer.to_string().as_bytes())
        .map_err(|error| Error::internal(error.to_string()))
}

/// An error that allows the caller to repeat the request: all of these calls may be repeated.
fn unanswered(error: AdminError) -> Error {
    match error.code {
        AdminErrorCode::Failed | AdminErrorCode::NoAnswer => Error::internal(error.to_string()),
        _ => Error::validation(error.to_string()),
    }
}
