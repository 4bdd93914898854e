//! Building: a tarball becomes files with URLs, and then a row.
//!
//! The row is written when every file can be fetched. A crash before that leaves files without a row, which the next try
//! stores again under the same names.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};
use trestle::typed::Held as _;

use crate::assets::url_of;
use crate::bundler::files_below;
use crate::model::{Build, BuildFile, NewBuild, NewBuildFile, StatusEventEventType, StatusPromote};
use crate::publication::hex;
use crate::publish::manifest;
use crate::{Error, Output, Publication, Result, Service, Source, Spec};

/// The most that a tarball may unpack to.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;
/// Files of a build that are stored and verified at once.
const FILES_AT_ONCE: usize = 8;

/// Why there is no build.
enum Fault {
    /// The package cannot be built, or its files cannot be fetched: trying again does not help.
    Package(String),
    /// Something else failed, and may succeed later.
    Server(Error),
}

type Made<T> = std::result::Result<T, Fault>;

impl<E: Into<Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Fault::Server(error.into())
    }
}

/// A file as it is stored: plain, or compressed.
struct Asset {
    fingerprint: String,
    path: String,
    name: String,
    content: Vec<u8>,
}

impl Service {
    /// Builds a version in a locale, unless it is there, or older than what is in use and not asked for. In every case the
    /// locale is done afterwards, or has failed with a reason.
    pub(crate) async fn build(&self, spec: &Spec, locale: &str) -> Result<()> {
        let status = self.db.status(spec.status()).gather().await?.status;
        let status = status.ok_or_else(|| Error::not_found(format!("status of {spec}")))?;
        let release = self.db.get(spec.env.release(&spec.name)).consistent().await?;
        let is_older = release.is_some_and(|release| spec.version < release.version);
        if self.db.build(spec.build(locale)).consistent().await?.is_some() {
            self.skip(spec, locale, "built already").await?;
        } else if is_older && status.promote != StatusPromote::Asked {
            self.skip(spec, locale, "skipped: a newer version is in use")
                .await?;
        } else {
            let built = async {
                self.add_build(spec, locale, self.bundle(spec, locale).await?)
                    .await
            };
            match built.await {
                Err(Fault::Package(why)) => return self.fail(spec, locale, &why).await,
                Err(Fault::Server(error)) => {
                    self.fail(spec, locale, &format!("{error}; it is tried again"))
                        .await?;
                    return Err(error);
                }
                Ok(_) => {}
            }
        }
        self.finish(spec).await
    }

    /// Adds a build that was made elsewhere: a tarball with a folder `dist`, or single files. A locale that is there is a
    /// conflict.
    pub async fn add_built(&self, spec: &Spec, locale: &str, publication: &Publication) -> Result<()> {
        let there = || {
            Error::Conflict(format!(
                "{spec} is built in {locale} already; publish another version"
            ))
        };
        if self.db.build(spec.build(locale)).consistent().await?.is_some() {
            return Err(there());
        }
        let outputs = match publication.files.as_slice() {
            [(name, tarball)] if name.ends_with(".tgz") => built_files(tarball).map_err(Error::Invalid)?,
            files => files
                .iter()
                .map(|(name, content)| output(name, content))
                .collect(),
        };
        self.record_version(publication).await?;
        match self.add_build(spec, locale, outputs).await {
            Err(Fault::Package(why)) => return Err(Error::Invalid(why)),
            Err(Fault::Server(error)) => return Err(error),
            Ok(is_new) => is_new.then_some(()).ok_or_else(there)?,
        }
        // The first version is used at once. A later one waits for a promotion, when all its locales are there.
        let first = self.point(self.db.transaction(), spec, None);
        first.commit().await.held()?;
        Ok(())
    }

    async fn bundle(&self, spec: &Spec, locale: &str) -> Made<Vec<Output>> {
        let published = self
            .db
            .version(&spec.name, spec.version.clone())
            .consistent()
            .await?;
        let published = published.ok_or_else(|| Error::not_found(spec))?;
        let tarball = self.tarball_of(&published).await?;
        let tarball = tarball.ok_or_else(|| Fault::Package(format!("{spec} has no tarball")))?;
        let folder = tempfile::tempdir()?;
        unpack(&tarball, folder.path()).map_err(Fault::Package)?;
        let source = Source {
            folder: folder.path(),
            manifest: &manifest(&published)?,
            env: spec.env,
            locale,
        };
        self.setup.bundler.bundle(source).await.map_err(Fault::Package)
    }

    /// Stores and verifies files, then writes the rows that name them. Says whether it was this call that wrote them.
    async fn add_build(&self, spec: &Spec, locale: &str, outputs: Vec<Output>) -> Made<bool> {
        if outputs.is_empty() {
            return Err(Fault::Package(format!("{spec} made no files")));
        }
        let assets = outputs
            .iter()
            .map(plain_and_compressed)
            .collect::<io::Result<Vec<_>>>()?;
        let assets: Vec<Asset> = assets.into_iter().flatten().collect();
        let stored: Vec<_> = assets.iter().map(|asset| self.store(asset)).collect();
        let mut stored = stream::iter(stored).buffer_unordered(FILES_AT_ONCE);
        while stored.try_next().await?.is_some() {}
        let files: Vec<BuildFile> = assets
            .iter()
            .map(|asset| self.file(spec, locale, asset))
            .collect();
        self.db.put_many(&files).await?;
        let plain = || assets.iter().filter(|asset| !asset.fingerprint.ends_with(".gz"));
        let head = self.head(&spec.name, spec.env).await?.build_head;
        let previous = head.into_iter().find(|head| head.locale == locale);
        let build = Build {
            previous_build_id: previous.map(|head| head.build_id),
            cdn_url: Some(self.setup.assets.url().to_owned()),
            fingerprints: plain().map(|asset| asset.fingerprint.clone()).collect(),
            artifacts: plain().map(|asset| asset.path.clone()).collect(),
            recommended: BTreeSet::new(),
            ..NewBuild {
                name: spec.name.clone(),
                env: spec.env.to_string(),
                version: spec.version.clone(),
                locale: locale.to_owned(),
                build_id: spec.build_id(locale),
            }
            .into()
        };
        let event = self.event(spec, Some(locale), StatusEventEventType::Complete, "built");
        let writes = self.db.transaction().with(self.db.put(&build).if_not_exists());
        let written = writes.with(self.db.put(&event)).commit().await.held()?;
        Ok(written.is_some())
    }

    async fn store(&self, asset: &Asset) -> Made<()> {
        let assets = &self.setup.assets;
        assets.put(&asset.path, asset.content.clone()).await?;
        let verified = assets.verify(&asset.path, &asset.content).await;
        verified.map_err(Fault::Package)
    }

    fn file(&self, spec: &Spec, locale: &str, asset: &Asset) -> BuildFile {
        let extension = Path::new(&asset.name).extension();
        BuildFile {
            extension: extension.map(|extension| format!(".{}", extension.to_string_lossy())),
            filename: Some(asset.name.clone()),
            ..NewBuildFile {
                fingerprint: asset.fingerprint.clone(),
                build_id: spec.build_id(locale),
                url: url_of(self.setup.assets.url(), &asset.path),
                env: spec.env.to_string(),
                locale: locale.to_owned(),
                name: spec.name.clone(),
                version: spec.version.clone(),
            }
            .into()
        }
    }
}

/// A file and its compressed twin.
fn plain_and_compressed(output: &Output) -> io::Result<[Asset; 2]> {
    let fingerprint = hex(&Sha256::digest(&output.content));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&output.content)?;
    let asset = |suffix: &str, content| Asset {
        fingerprint: format!("{fingerprint}{suffix}"),
        path: format!("{fingerprint}/{}{suffix}", output.name),
        name: format!("{}{suffix}", output.name),
        content,
    };
    Ok([asset("", output.content.clone()), asset(".gz", gzip.finish()?)])
}

fn output(name: &str, content: &[u8]) -> Output {
    Output {
        name: name.to_owned(),
        content: content.to_vec(),
    }
}

/// The files in `dist` of a package that was built elsewhere.
fn built_files(tarball: &[u8]) -> std::result::Result<Vec<Output>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    unpack(tarball, folder.path())?;
    files_below(&folder.path().join("dist"))
        .map_err(|error| format!("the tarball has no folder dist: {error}"))
}

/// Unpacks the files of a package, without the folder that they are in. Links and devices are left out, and so is what would
/// lie elsewhere.
fn unpack(tarball: &[u8], to: &Path) -> std::result::Result<(), String> {
    let damaged = |error: io::Error| format!("the tarball cannot be unpacked: {error}");
    let limited = GzDecoder::new(tarball).take(UNPACKED_BYTES_MAX);
    for entry in Archive::new(limited).entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let path = entry.path().map_err(damaged)?.into_owned();
        let inner: std::path::PathBuf = path.components().skip(1).collect();
        let is_inside = inner
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        if entry.header().entry_type() != EntryType::Regular || !is_inside {
            continue;
        }
        let target = to.join(inner);
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder).map_err(damaged)?;
        }
        io::copy(&mut entry, &mut std::fs::File::create(&target).map_err(damaged)?).map_err(damaged)?;
    }
    Ok(())
}
