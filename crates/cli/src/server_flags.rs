//! Which running server is asked, and as whom.

use crate::admin_call::Caller;
use crate::exit::Failure;
use clap::Args;
use std::io::Read;

/// Flags that say which server.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerFlags {
    /// The running server
    #[arg(
        long,
        value_name = "URL",
        env = "AWS_ENDPOINT_URL_DYNAMODB",
        default_value = "http://127.0.0.1:8000"
    )]
    pub(crate) endpoint: String,
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

/// An answer of an admin call: its status and its text.
pub(crate) struct Said {
    pub(crate) status: String,
    pub(crate) text: String,
}

impl ServerFlags {
    /// A caller that waits as long as the server needs; building an index takes as long as it takes.
    pub(crate) fn caller(&self, tls_page: &'static str) -> Caller<'_> {
        Caller {
            endpoint: &self.endpoint,
            access_key: self.access_key.as_deref(),
            secret_key: self.secret_key.as_deref(),
            patience: None,
            tls_page,
            without_server: "start one with `trestle serve`, or say where it is with --endpoint",
        }
    }

    /// Makes an admin call and reads its whole answer.
    pub(crate) fn ask(
        &self,
        caller: &Caller<'_>,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<Said, Failure> {
        let mut answered = caller.call(method, path, body.as_bytes())?;
        let mut text = String::new();
        answered.body.read_to_string(&mut text).map_err(|error| {
            Failure::failed(format!("the answer of {} broke off: {error}", self.endpoint))
        })?;
        Ok(Said {
            status: answered.status,
            text,
        })
    }

    /// What the server said, in words: its own errors are JSON.
    pub(crate) fn refusal(&self, caller: &Caller<'_>, said: &Said) -> String {
        let Said { status, text } = said;
        let text = text.trim();
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

/// The way out for a caller without a key whom the server wants to know.
pub(crate) fn signing_hint(caller: &Caller<'_>, message: &str) -> &'static str {
    let is_about_signatures = ["Authentication", "security token", "signature"]
        .iter()
        .any(|word| message.contains(word));
    if caller.access_key.is_none() && is_about_signatures {
        "; the server wants signed requests: give --access-key and --secret-key, or set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY"
    } else {
        ""
    }
}

/// Everything but letters, digits and `-_.~` as `%20`.
pub(crate) fn encoded(name: &str) -> String {
    let byte = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    name.bytes().map(byte).collect()
}
