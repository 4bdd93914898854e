//! Where models are: with a running server, or in a directory that no server has open.

use super::keeper::Keeper;
use super::progress::Progress;
use super::waiting;
use crate::admin_call::{Caller, USE_DATA};
use crate::database::Database;
use crate::exit::Failure;
use crate::open;
use crate::server_flags::{ServerFlags, encoded};
use clap::Args;
use std::path::{Path, PathBuf};
use trestle_server::{ModelAnswer, ModelCall};

const PATH: &str = "/_trestle/models";

/// Flags that say where.
#[derive(Debug, Args)]
pub(crate) struct PlaceFlags {
    #[command(flatten)]
    pub(crate) server: ServerFlags,
    /// A data directory that no server has open; then no server is asked
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

impl PlaceFlags {
    /// Asks there.
    pub(super) fn ask(&self, call: ModelCall) -> Result<ModelAnswer, Failure> {
        match &self.data {
            Some(directory) => self.ask_directory(directory, call),
            None => self.ask_server(&call),
        }
    }

    /// The database there, for reading.
    pub(super) fn database(&self) -> Result<Database, Failure> {
        match &self.data {
            Some(directory) => Database::in_directory(directory),
            None => Database::of_server(&self.server, USE_DATA),
        }
    }

    fn ask_directory(&self, directory: &Path, call: ModelCall) -> Result<ModelAnswer, Failure> {
        let keeper = Keeper(open::for_models(directory)?);
        let mut progress = Progress::new();
        let answered = keeper.answer_watched(call, &mut progress);
        progress.clear();
        Ok(answered)
    }

    fn ask_server(&self, call: &ModelCall) -> Result<ModelAnswer, Failure> {
        let server = &self.server;
        let caller = Caller::new(server, USE_DATA)?;
        let (method, query, body) = as_request(call);
        let path = format!("{PATH}{query}");
        let said = waiting::shown(&server.endpoint, || caller.ask(method, &path, body))?;
        let is_text = matches!(call, ModelCall::Text { .. });
        Ok(match said.status {
            200 if is_text => ModelAnswer::Text(said.text),
            200 => ModelAnswer::Done(said.text),
            409 => ModelAnswer::Refused(said.text),
            404 => ModelAnswer::Unknown(said.text.trim().to_owned()),
            _ => ModelAnswer::Failed(caller.refusal(&said)),
        })
    }
}

/// Method, query and body of the admin call.
fn as_request(call: &ModelCall) -> (&'static str, String, &str) {
    match call {
        ModelCall::List => ("GET", String::new(), ""),
        ModelCall::Text { name } => ("GET", format!("?name={}", encoded(name)), ""),
        ModelCall::Remove { name } => ("DELETE", format!("?name={}", encoded(name)), ""),
        ModelCall::Repair { name, dry_run } => {
            let name = name.as_ref().map(|name| format!("&name={}", encoded(name)));
            (
                "POST",
                format!("?repair&dry-run={dry_run}{}", name.unwrap_or_default()),
                "",
            )
        }
        ModelCall::Apply {
            text,
            dry_run,
            fill,
            delete_indexes,
        } => {
            let query = format!("?delete-indexes={delete_indexes}&dry-run={dry_run}&fill={fill}");
            ("POST", query, text)
        }
    }
}
