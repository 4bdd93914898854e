//! Which running server is asked, and as whom.

use crate::exit::Failure;
use clap::Args;
use std::path::PathBuf;
use trestle_remote::{AccessKey, Remote, Settings};

/// Flags that say which server.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerFlags {
    /// The running server; http:// or https://
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
    /// The region that requests are signed for [default: as the host says, AWS_REGION, us-east-1]
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// Certificate authorities to believe instead of the system's
    #[arg(long, value_name = "PEM", env = "AWS_CA_BUNDLE")]
    ca_file: Option<PathBuf>,
}

impl ServerFlags {
    /// What the flags say, and the environment where they say nothing.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::from_environment(&self.endpoint);
        let key = self.access_key.clone().zip(self.secret_key.clone());
        let key = key.map(|(id, secret)| AccessKey { id, secret });
        if key != settings.access_key {
            // It belongs to the key of the environment.
            settings.session_token = None;
            settings.access_key = key;
        }
        settings.region = self.region.clone().or(settings.region);
        settings.ca_file = self.ca_file.clone().or(settings.ca_file);
        settings
    }

    /// The server's database, for those who wait for many answers at once.
    pub(crate) fn remote(&self) -> Result<Remote, Failure> {
        Remote::new(self.settings()).map_err(Failure::usage)
    }
}
