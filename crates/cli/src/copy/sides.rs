//! The two databases, as given on the command line.

use crate::administration::{DirectoryAdministration, RunningServer};
use crate::exit::Failure;
use crate::open;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use trestle_admin::{AdminErrorCode, Administration, AdministrationExt, ListModels, ReadGateway};
use trestle_api::{DatabaseExt, Error, ErrorKind, ListTables};
use trestle_copy::{CopySide, SideKind};
use trestle_embedded::Embedded;
use trestle_remote::{AccessKey, Remote, Settings};

/// The time-out of a call to the administration.
const PATIENCE: Duration = Duration::from_secs(600);

/// The time between two attempts to reach a restarting server.
const GLANCE: Duration = Duration::from_millis(200);

/// Credentials and regions for the two endpoints, in place of those in the environment.
#[derive(Debug, Args)]
pub(super) struct SideFlags {
    /// Access key for FROM
    #[arg(
        long,
        value_name = "ID",
        requires = "from_secret_key",
        conflicts_with = "from_profile"
    )]
    from_access_key: Option<String>,
    /// The secret of the access key for FROM
    #[arg(
        long,
        value_name = "SECRET",
        env = "TRESTLE_COPY_FROM_SECRET_KEY",
        hide_env_values = true
    )]
    from_secret_key: Option<String>,
    /// The profile in ~/.aws for FROM
    #[arg(long, value_name = "NAME")]
    from_profile: Option<String>,
    /// The region that requests to FROM are signed for
    #[arg(long, value_name = "NAME")]
    from_region: Option<String>,
    /// Certificate authorities to trust for FROM
    #[arg(long, value_name = "PEM")]
    from_ca_file: Option<PathBuf>,
    /// Access key for TO
    #[arg(
        long,
        value_name = "ID",
        requires = "to_secret_key",
        conflicts_with = "to_profile"
    )]
    to_access_key: Option<String>,
    /// The secret of the access key for TO
    #[arg(
        long,
        value_name = "SECRET",
        env = "TRESTLE_COPY_TO_SECRET_KEY",
        hide_env_values = true
    )]
    to_secret_key: Option<String>,
    /// The profile in ~/.aws for TO
    #[arg(long, value_name = "NAME")]
    to_profile: Option<String>,
    /// The region that requests to TO are signed for
    #[arg(long, value_name = "NAME")]
    to_region: Option<String>,
    /// Certificate authorities to trust for TO
    #[arg(long, value_name = "PEM")]
    to_ca_file: Option<PathBuf>,
}

/// What is said about one of the two endpoints.
struct AsWhom<'f> {
    key: Option<(&'f String, &'f String)>,
    profile: Option<&'f String>,
    region: Option<&'f String>,
    ca_file: Option<&'f PathBuf>,
}

impl SideFlags {
    /// Where rows come from.
    pub(super) fn from(&self, typed: &str, runtime: &Runtime, wait: Duration) -> Result<CopySide, Failure> {
        let whom = AsWhom {
            key: self.from_access_key.as_ref().zip(self.from_secret_key.as_ref()),
            profile: self.from_profile.as_ref(),
            region: self.from_region.as_ref(),
            ca_file: self.from_ca_file.as_ref(),
        };
        side(typed, &whom, (runtime, wait), |directory| {
            open::to_read(directory).map_err(|failure| Failure {
                message: format!(
                    "{}; name the URL of the server that has it open instead",
                    failure.message
                ),
                ..failure
            })
        })
    }

    /// Where they go.
    pub(super) fn to(&self, typed: &str, runtime: &Runtime, wait: Duration) -> Result<CopySide, Failure> {
        let whom = AsWhom {
            key: self.to_access_key.as_ref().zip(self.to_secret_key.as_ref()),
            profile: self.to_profile.as_ref(),
            region: self.to_region.as_ref(),
            ca_file: self.to_ca_file.as_ref(),
        };
        side(typed, &whom, (runtime, wait), open::for_first_model)
    }
}

fn side(
    typed: &str,
    whom: &AsWhom<'_>,
    (runtime, wait): (&Runtime, Duration),
    open: impl FnOnce(&Path) -> Result<Embedded, Failure>,
) -> Result<CopySide, Failure> {
    let Some(url) = url(typed) else {
        let db = open(Path::new(typed))?;
        return Ok(CopySide {
            name: typed.to_owned(),
            kind: SideKind::Directory,
            database: db.for_copy(),
            administration: Some(Arc::new(DirectoryAdministration::new(db))),
        });
    };
    let settings = settings(&url, whom);
    let remote = Remote::new(settings.clone()).map_err(Failure::usage)?;
    answers(&remote, runtime, wait).map_err(|error| Failure::failed(format!("{typed}: {error}")))?;
    let administration = RunningServer::at(Settings {
        // A migration reads every row before it begins.
        timeout: Some(PATIENCE),
        ..settings
    })?;
    match administration.ask(ListModels::default()) {
        Ok(_) => {
            refuse_gateway(typed, &administration)?;
            let administration: Arc<dyn Administration> = Arc::new(administration);
            Ok(CopySide::server(
                typed.to_owned(),
                Arc::new(remote),
                administration,
            ))
        }
        Err(error) if error.code == AdminErrorCode::Forbidden => Err(error.into()),
        // It supports DynamoDB's protocol, but has no administration.
        Err(_) => Ok(CopySide {
            name: typed.to_owned(),
            kind: SideKind::Endpoint,
            database: Arc::new(remote),
            administration: None,
        }),
    }
}

/// Refuses a gateway, which stores no rows and cannot pause writes of other gateways.
fn refuse_gateway(typed: &str, administration: &RunningServer) -> Result<(), Failure> {
    let status = administration.ask(ReadGateway::default()).unwrap_or_default();
    match status.endpoint {
        Some(endpoint) => Err(Failure::usage(format!(
            "{typed} is a gateway in front of {endpoint}: name {endpoint} instead"
        ))),
        None => Ok(()),
    }
}

/// Whether an endpoint answers a simple request.
fn answers(remote: &Remote, runtime: &Runtime, wait: Duration) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        let one = ListTables {
            limit: Some(1),
            ..ListTables::default()
        };
        match runtime.block_on(remote.list_tables(one)) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() != ErrorKind::InternalServerError || began.elapsed() >= wait => {
                return Err(error);
            }
            Err(_) => std::thread::sleep(GLANCE),
        }
    }
}

/// The URL of an endpoint; `None` for a directory.
fn url(typed: &str) -> Option<String> {
    if typed.starts_with("http://") || typed.starts_with("https://") {
        return Some(typed.to_owned());
    }
    let region = typed.strip_prefix("dynamodb:")?;
    Some(format!("https://dynamodb.{region}.amazonaws.com"))
}

fn settings(url: &str, whom: &AsWhom<'_>) -> Settings {
    let mut settings = Settings::from_environment(url);
    if let Some((id, secret)) = whom.key {
        let (id, secret) = (id.clone(), secret.clone());
        settings.credentials = AccessKey { id, secret }.into();
    } else if let Some(profile) = whom.profile {
        settings.credentials = settings.credentials.with_profile(profile);
    }
    settings.region = whom.region.cloned().or(settings.region);
    settings.ca_file = whom.ca_file.cloned().or(settings.ca_file);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_a_region_and_a_directory_are_told_apart() {
        assert_eq!(
            url("http://127.0.0.1:8000").as_deref(),
            Some("http://127.0.0.1:8000")
        );
        assert_eq!(
            url("dynamodb:eu-west-1").as_deref(),
            Some("https://dynamodb.eu-west-1.amazonaws.com")
        );
        assert_eq!(url("./data"), None);
    }
}
