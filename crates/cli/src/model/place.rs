//! Where models are: with a running server, or in a directory that no server has open.

use super::database::{Database, signing_hint};
use super::keeper::Keeper;
use super::progress::Progress;
use super::waiting;
use crate::admin_call::Caller;
use crate::exit::Failure;
use crate::verify::cannot_open;
use clap::Args;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trestle_binding::Binding;
use trestle_engine::{Engine, Options};
use trestle_env::SystemClock;
use trestle_server::{ModelAnswer, ModelCall};
use trestle_store::FjallStore;

const PATH: &str = "/_trestle/models";

/// Flags that say where.
#[derive(Debug, Args)]
pub(crate) struct PlaceFlags {
    /// The running server
    #[arg(
        long,
        value_name = "URL",
        env = "AWS_ENDPOINT_URL_DYNAMODB",
        default_value = "http://127.0.0.1:8000"
    )]
    endpoint: String,
    /// A data directory that no server has open; then no server is asked
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Access key, if the server asks for one
    #[arg(long, value_name = "ID", env = "AWS_ACCESS_KEY_ID", requires = "secret_key")]
    access_key: Option<String>,
    /// The secret of the access key
    #[arg(
        long,
        value_name = "SECRET",
        env = "AWS_SECRET_ACCESS_KEY",
        hide_env_values = true
    )]
    secret_key: Option<String>,
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
    pub(super) fn database(&self) -> Result<Database<'_>, Failure> {
        match &self.data {
            Some(directory) => Database::in_directory(directory),
            None => Ok(Database::Server(self.caller("docs/discover.md"))),
        }
    }

    fn caller(&self, tls_page: &'static str) -> Caller<'_> {
        Caller {
            endpoint: &self.endpoint,
            access_key: self.access_key.as_deref(),
            secret_key: self.secret_key.as_deref(),
            // Building an index takes as long as it takes.
            patience: None,
            tls_page,
        }
    }

    fn ask_directory(&self, directory: &Path, call: ModelCall) -> Result<ModelAnswer, Failure> {
        let store = FjallStore::open_existing(directory, trestle_store::Settings::default());
        let store = store.map_err(|error| cannot_open(directory, &error))?;
        let clock = Arc::new(SystemClock::new());
        let engine = Engine::on(Arc::new(store), Arc::clone(&clock) as _, Options::default());
        let engine = engine.map_err(|error| Failure::failed(format!("cannot open the database: {error}")))?;
        let keeper = Keeper(Binding::read(engine, clock).map_err(Failure::failed)?);
        let mut progress = Progress::new();
        let answered = keeper.answer_watched(call, &mut progress);
        progress.clear();
        Ok(answered)
    }

    fn ask_server(&self, call: &ModelCall) -> Result<ModelAnswer, Failure> {
        let caller = self.caller("docs/model.md");
        let (method, query, body) = as_request(call);
        let path = format!("{PATH}{query}");
        let answered = waiting::shown(&self.endpoint, || caller.call(method, &path, body.as_bytes()));
        let mut answered = answered?;
        let mut text = String::new();
        answered.body.read_to_string(&mut text).map_err(|error| {
            Failure::failed(format!("the answer of {} broke off: {error}", self.endpoint))
        })?;
        let is_text = matches!(call, ModelCall::Text { .. });
        Ok(match answered.status.as_str() {
            "200" if is_text => ModelAnswer::Text(text),
            "200" => ModelAnswer::Done(text),
            "409" => ModelAnswer::Refused(text),
            "404" => ModelAnswer::Unknown(text.trim().to_owned()),
            status => ModelAnswer::Failed(self.refusal(&caller, status, text.trim())),
        })
    }

    /// What the server said, in words: its own errors are JSON.
    fn refusal(&self, caller: &Caller<'_>, status: &str, text: &str) -> String {
        let said = if text.starts_with('{') {
            let status = status.parse().unwrap_or_default();
            trestle_wire::decode_error(status, text.as_bytes()).to_string()
        } else {
            text.to_owned()
        };
        let hint = signing_hint(caller, &said);
        format!("{} answered {status}: {said}{hint}", self.endpoint)
    }
}

/// Method, query and body of the admin call.
fn as_request(call: &ModelCall) -> (&'static str, String, &str) {
    match call {
        ModelCall::List => ("GET", String::new(), ""),
        ModelCall::Text { name } => ("GET", format!("?name={}", encoded(name)), ""),
        ModelCall::Remove { name } => ("DELETE", format!("?name={}", encoded(name)), ""),
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

/// Everything but letters, digits and `-_.~` as `%20`.
fn encoded(name: &str) -> String {
    let byte = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    name.bytes().map(byte).collect()
}
