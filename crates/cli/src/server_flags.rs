//! Which running server a command calls, with which credentials.

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
    /// Access key [default: as AWS's tools find it: environment, profile, role]
    #[arg(long, value_name = "ID", requires = "secret_key", conflicts_with = "profile")]
    access_key: Option<String>,
    /// The secret of the access key
    #[arg(
        long,
        value_name = "SECRET",
        env = "AWS_SECRET_ACCESS_KEY",
        hide_env_values = true
    )]
    secret_key: Option<String>,
    /// The profile in ~/.aws whose credentials are used, instead of all other sources [default: AWS_PROFILE, default]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The region that requests are signed for [default: as the host says, AWS_REGION, us-east-1]
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// Certificate authorities to trust instead of the system's
    #[arg(long, value_name = "PEM", env = "AWS_CA_BUNDLE")]
    ca_file: Option<PathBuf>,
}

impl ServerFlags {
    /// The settings from flags, or from the environment.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::from_environment(&self.endpoint);
        let key = self.access_key.clone().zip(self.secret_key.clone());
        if let Some((id, secret)) = key {
            settings.credentials = AccessKey { id, secret }.into();
        } else if let Some(profile) = &self.profile {
            settings.credentials = settings.credentials.with_profile(profile);
        }
        settings.region = self.region.clone().or(settings.region);
        settings.ca_file = self.ca_file.clone().or(settings.ca_file);
        settings
    }

    /// The server's database, for concurrent requests.
    pub(crate) fn remote(&self) -> Result<Remote, Failure> {
        Remote::new(self.settings()).map_err(Failure::usage)
    }
}
