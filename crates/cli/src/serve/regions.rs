//! Separate regions: each has its own database, opened on first use. Those of other regions than the server's
//! own are in folders of the data directory.

use super::settings::Storage;
use crate::exit::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use trestle_api::Error;
use trestle_embedded::{Embedded, EngineOptions, MemoryStore, OpenError, Options};
use trestle_env::Clock;
use trestle_server::{Region, Regions};

/// The folder of a data directory that holds the other regions.
const FOLDER: &str = "regions";
/// About as many as AWS has. Each has threads and a cache, and any client can open one.
const REGIONS_MAX: usize = 40;
const NAME_LEN_MAX: usize = 32;

pub(super) struct ServerRegions {
    storage: Storage,
    clock: Arc<dyn Clock>,
    engine: EngineOptions,
    open: Mutex<BTreeMap<String, Embedded>>,
}

impl ServerRegions {
    /// Opens the existing regions, so that their rows expire, and adds the server's own.
    pub(super) fn open(
        own: &Embedded,
        storage: &Storage,
        clock: &Arc<dyn Clock>,
        engine: EngineOptions,
    ) -> Result<Self, Failure> {
        let regions = Self {
            storage: storage.clone(),
            clock: Arc::clone(clock),
            open: Mutex::new([(engine.region.clone(), own.clone())].into()),
            engine,
        };
        for name in names_in(storage)? {
            regions
                .region(&name)
                .map_err(|error| Failure::failed(format!("region {name}: {}", error.message())))?;
        }
        Ok(regions)
    }

    /// Ends requests that wait for messages.
    pub(super) fn close_queues(&self) {
        for region in self.open.lock().unwrap_or_else(PoisonError::into_inner).values() {
            region.queues().close();
        }
    }

    /// Closes all regions except the server's own.
    pub(super) async fn close(&self) -> Result<(), Failure> {
        let mut open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        open.remove(&self.engine.region);
        for region in open.into_values() {
            region.close().await.map_err(Failure::failed)?;
        }
        Ok(())
    }

    fn open_one(&self, name: &str) -> Result<Embedded, OpenError> {
        let options = Options {
            engine: EngineOptions {
                region: name.to_owned(),
                ..self.engine.clone()
            },
            ..Options::default()
        };
        match &self.storage {
            Storage::Memory => Embedded::on(Arc::new(MemoryStore::new()), Arc::clone(&self.clock), options),
            Storage::Directory { path, settings } => {
                let options = Options {
                    store: settings.clone(),
                    ..options
                };
                let path = path.join(FOLDER).join(name);
                Embedded::open_with_clock(path, Arc::clone(&self.clock), options)
            }
        }
    }
}

impl Regions for ServerRegions {
    fn region(&self, name: &str) -> Result<Region, Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match open.get(name) {
            Some(database) => database.clone(),
            None => {
                check(name, open.len())?;
                let database = self.open_one(name).map_err(|error| {
                    tracing::error!(region = name, %error, "cannot open the region's database");
                    Error::internal(format!(
                        "the database of region {name} cannot be opened; the log has details"
                    ))
                })?;
                tracing::info!(region = name, "opened the region's database");
                open.insert(name.to_owned(), database.clone());
                database
            }
        };
        Ok(Region {
            queues: Some(database.queues().clone()),
            database: Arc::new(database),
        })
    }
}

/// Refuses invalid names, and more regions than allowed.
fn check(name: &str, open: usize) -> Result<(), Error> {
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > NAME_LEN_MAX || !name.bytes().all(is_name) {
        return Err(Error::validation(
            "The region of the credential can only have lower-case letters, digits and hyphens, 32 at most",
        ));
    }
    if open >= REGIONS_MAX {
        return Err(Error::validation(format!(
            "This server has {REGIONS_MAX} regions already; it takes no more"
        )));
    }
    Ok(())
}

/// The other regions in a data directory.
fn names_in(storage: &Storage) -> Result<Vec<String>, Failure> {
    let Storage::Directory { path, .. } = storage else {
        return Ok(Vec::new());
    };
    let folder = path.join(FOLDER);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    listed(&folder).map_err(|error| Failure::failed(format!("cannot list {}: {error}", folder.display())))
}

fn listed(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}
