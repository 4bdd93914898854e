//! Flags for the database of an application.

use std::path::{Path, PathBuf};

use clap::Args;
use trestle_embedded::{OpenError, Options};
use trestle_remote::Settings;
use trestle_store::ErrorKind;

use crate::{AnyDatabase, Embedded, EndpointError};

/// Where the database of an application is: in a directory, or at an endpoint that speaks DynamoDB's protocol.
///
/// ```
/// use clap::Parser;
/// use trestle::app::DatabaseFlags;
///
/// #[derive(Parser)]
/// struct Cli {
///     #[command(flatten)]
///     database: DatabaseFlags,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let place = std::env::temp_dir().join(format!("trestle-flags-{}", std::process::id()));
/// # let cli = Cli::parse_from(["shop", "--data", place.to_str().unwrap()]);
/// let (database, files) = cli.database.open_with_files("shop")?;
/// # drop(database);
/// # assert_eq!(files, place);
/// # std::fs::remove_dir_all(place)?;
/// # Ok(())
/// # }
/// ```
#[derive(Args, Clone, Debug, Default)]
pub struct DatabaseFlags {
    /// Where the data is; made if it is missing. With --endpoint, only files are there [default: trestle-data/PROGRAM]
    #[arg(long, value_name = "DIRECTORY")]
    pub data: Option<PathBuf>,
    /// Keep the rows at this endpoint instead: Amazon DynamoDB, DynamoDB Local, or a Trestle server. Credentials are found as AWS tools find them
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// The region of the endpoint [default: what the host name or the environment says]
    #[arg(long, requires = "endpoint")]
    pub region: Option<String>,
    /// The profile whose credentials are used
    #[arg(long, requires = "endpoint")]
    pub profile: Option<String>,
}

/// Why the database of an application could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The directory.
    #[error(transparent)]
    Directory(#[from] OpenError),
    /// The endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

impl DatabaseError {
    /// Whether another process has the directory open.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        let refused = match self {
            DatabaseError::Directory(error) => error.store_error(),
            DatabaseError::Endpoint(_) => None,
        };
        refused.is_some_and(|error| error.kind() == ErrorKind::InUse)
    }
}

impl DatabaseFlags {
    /// The directory for files of the program besides its rows.
    #[must_use]
    pub fn files(&self, program: &str) -> PathBuf {
        let usual = || Path::new("trestle-data").join(program);
        self.data.clone().unwrap_or_else(usual)
    }

    /// Opens the database of these flags, for a program that has files besides its rows: returns the database
    /// and the place of the files. It blocks.
    pub fn open_with_files(&self, program: &str) -> Result<(AnyDatabase, PathBuf), DatabaseError> {
        let files = self.files(program);
        Ok((self.open(program, files.join("table"))?, files))
    }

    /// Opens the database of these flags: the endpoint, or this directory. It blocks.
    pub fn open(&self, program: &str, directory: impl AsRef<Path>) -> Result<AnyDatabase, DatabaseError> {
        let Some(endpoint) = &self.endpoint else {
            return Ok(Embedded::open(directory, Options::default())?.into());
        };
        let mut settings = Settings::from_environment(endpoint);
        settings.region = self.region.clone().or(settings.region);
        if let Some(profile) = &self.profile {
            settings.credentials = settings.credentials.with_profile(profile);
        }
        Ok(AnyDatabase::at_endpoint(program, settings)?)
    }
}
