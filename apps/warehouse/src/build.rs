//! Building: a tarball becomes files with URLs, and then a row.
//!
//! The row is written when every file can be fetched. A crash before that leaves files without a row, which the next try
//! stores again under the same names.

use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};
use trestle::app::OrNotFound as _;
use trestle::typed::Held as _;

use crate::assets::url_of;
use crate::bundler::files_below;
use crate::model::{
    Build, BuildFile, NewBuild, NewBuildFile, StatusEventEventType as EventType, StatusPromote,
};
use crate::publication::hex;
use crate::publish::manifest;
use crate::{Error, File, Publication, Result, Service, Source, Spec};

/// The most that a tarball may unpack to.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;
/// Files of a build that are stored and verified at once.
const FILES_AT_ONCE: usize = 8;

/// A file as it is stored: plain, or compressed.
struct Asset {
    fingerprint: String,
    path: String,
    name: String,
    content: Vec<u8>,
}

impl Service {
    /// The builds of a version in all locales.
    pub(crate) async fn builds(&self, spec: &Spec) -> Result<Vec<Build>> {
        let builds = self
            .db
            .builds_of_version(&spec.name, spec.env, spec.version.clone());
        Ok(builds.collect().await?)
    }

    /// The build in the first of these locales that has one.
    pub(crate) async fn build_in(&self, spec: &Spec, locales: &[&str]) -> Result<Option<Build>> {
        let builds = self.builds(spec).await?;
        let build = |locale: &&str| builds.iter().find(|build| build.locale == *locale);
        Ok(locales.iter().find_map(build).cloned())
    }

    /// Builds a version in a locale, unless it is there, or older than what is in use and not asked for. In every case the
    /// locale is done afterwards, or has failed with a reason.
    pub(crate) async fn build(&self, spec: &Spec, locale: &str) -> Result<()> {
        let begun = self.begun_of(spec).await?;
        let begun = begun.or_not_found(format_args!("status of {spec}"))?;
        let release = self.db.release(&spec.name, spec.env).await?;
        let is_older = release.is_some_and(|release| spec.version < release.version);
        let is_there = self.build_in(spec, &[locale]).await?.is_some();
        if is_there || is_older && begun.status.promote != StatusPromote::Asked {
            let why = match is_there {
                true => "built already",
                false => "skipped: a newer version is in use",
            };
            if !begun.counted.contains(locale) {
                let event = self.event(spec, Some(locale), EventType::Complete, why);
                self.db.put(&event).await?;
            }
        } else if let Err(error) = self.bundle(spec, locale).await {
            let is_final = matches!(error, Error::Invalid(_));
            let again = if is_final { "" } else { "; it is tried again" };
            self.fail(spec, locale, format!("{error}{again}")).await?;
            return if is_final { Ok(()) } else { Err(error) };
        }
        self.finish(spec).await
    }

    /// Adds a build that was made elsewhere: a tarball with a folder `dist`, or single files. A locale that is there is a
    /// conflict.
    pub async fn add_built(&self, spec: &Spec, locale: &str, publication: &Publication) -> Result<()> {
        let there = format!("{spec} is built in {locale} already; publish another version");
        if self.build_in(spec, &[locale]).await?.is_some() {
            return Err(Error::Conflict(there));
        }
        let files = match publication.files.as_slice() {
            [file] if file.name.ends_with(".tgz") => {
                let folder = unpack(&file.content)?;
                let no_dist = |error| Error::invalid(format!("the tarball has no folder dist: {error}"));
                files_below(&folder.path().join("dist")).map_err(no_dist)?
            }
            files => files.to_vec(),
        };
        self.record_version(publication).await?;
        if !self.add_build(spec, locale, files).await? {
            return Err(Error::Conflict(there));
        }
        // The first version is used at once. A later one waits for a promotion, when all its locales are there.
        let mut first = self.db.transaction();
        self.point(&mut first, spec, None);
        first.commit().await.held()?;
        Ok(())
    }

    /// Makes the files of a version and adds them. What is wrong with the package is [`Error::Invalid`].
    async fn bundle(&self, spec: &Spec, locale: &str) -> Result<()> {
        let published = self.published(&spec.name, &spec.version).await?;
        let tarball = self.tarball_of(&published).await?;
        let missing = || Error::invalid(format!("{spec} has no tarball"));
        let folder = unpack(&tarball.ok_or_else(missing)?)?;
        let source = Source {
            folder: folder.path(),
            manifest: &manifest(&published)?,
            env: spec.env,
            locale,
        };
        let files = self.setup.bundler.bundle(source).await;
        self.add_build(spec, locale, files.map_err(Error::Invalid)?)
            .await?;
        Ok(())
    }

    /// Stores and verifies files, then writes the rows that name them. Says whether it was this call that wrote them.
    async fn add_build(&self, spec: &Spec, locale: &str, files: Vec<File>) -> Result<bool> {
        if files.is_empty() {
            return Err(Error::invalid(format!("{spec} made no files")));
        }
        let assets = files.iter().map(plain_and_compressed);
        let assets: Vec<_> = assets.collect::<io::Result<_>>()?;
        let assets: Vec<Asset> = assets.into_iter().flatten().collect();
        let store = |asset: &Asset| self.setup.assets.store(asset.path.clone(), asset.content.clone());
        let stored: Vec<_> = assets.iter().map(store).collect();
        let mut stored = stream::iter(stored).buffer_unordered(FILES_AT_ONCE);
        while stored.try_next().await?.is_some() {}
        let rows: Vec<_> = assets
            .iter()
            .map(|asset| self.file(spec, locale, asset))
            .collect();
        self.db.put_many(&rows).await?;
        let plain = || assets.iter().filter(|asset| !asset.fingerprint.ends_with(".gz"));
        let mut head = self.head(&spec.name, spec.env).await?.build_head.into_iter();
        let new = NewBuild {
            name: spec.name.clone(),
            env: spec.env,
            version: spec.version.clone(),
            locale: locale.to_owned(),
            build_id: spec.build_id(locale),
        };
        let build = Build {
            previous_build_id: head.find(|head| head.locale == locale).map(|head| head.build_id),
            cdn_url: Some(self.setup.assets.url().to_owned()),
            fingerprints: plain().map(|asset| asset.fingerprint.clone()).collect(),
            artifacts: plain().map(|asset| asset.path.clone()).collect(),
            ..new.into()
        };
        let event = self.event(spec, Some(locale), EventType::Complete, "built");
        let writes = self.db.transaction().with(self.db.put(&build).if_not_exists());
        let written = writes.with(self.db.put(&event)).commit().await.held()?;
        Ok(written.is_some())
    }

    fn file(&self, spec: &Spec, locale: &str, asset: &Asset) -> BuildFile {
        let extension = Path::new(&asset.name).extension();
        let new = NewBuildFile {
            fingerprint: asset.fingerprint.clone(),
            build_id: spec.build_id(locale),
            url: url_of(self.setup.assets.url(), &asset.path),
            env: spec.env,
            locale: locale.to_owned(),
            name: spec.name.clone(),
            version: spec.version.clone(),
        };
        BuildFile {
            extension: extension.map(|extension| format!(".{}", extension.to_string_lossy())),
            filename: Some(asset.name.clone()),
            ..new.into()
        }
    }
}

/// A file and its compressed twin.
fn plain_and_compressed(file: &File) -> io::Result<[Asset; 2]> {
    let fingerprint = hex(&Sha256::digest(&file.content));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&file.content)?;
    let asset = |suffix: &str, content| Asset {
        fingerprint: format!("{fingerprint}{suffix}"),
        path: format!("{fingerprint}/{}{suffix}", file.name),
        name: format!("{}{suffix}", file.name),
        content,
    };
    Ok([asset("", file.content.clone()), asset(".gz", gzip.finish()?)])
}

/// Unpacks the files of a package, without the folder that they are in. Links and devices are left out, and so is what would
/// lie elsewhere.
fn unpack(tarball: &[u8]) -> Result<tempfile::TempDir> {
    let damaged = |error: io::Error| Error::invalid(format!("the tarball cannot be unpacked: {error}"));
    let to = tempfile::tempdir()?;
    let limited = GzDecoder::new(tarball).take(UNPACKED_BYTES_MAX);
    for entry in Archive::new(limited).entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let path = entry.path().map_err(damaged)?.into_owned();
        let inner: PathBuf = path.components().skip(1).collect();
        let is_inside = inner
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if entry.header().entry_type() != EntryType::Regular || !is_inside {
            continue;
        }
        let target = to.path().join(inner);
        std::fs::create_dir_all(target.parent().unwrap_or(to.path())).map_err(damaged)?;
        io::copy(&mut entry, &mut std::fs::File::create(&target).map_err(damaged)?).map_err(damaged)?;
    }
    Ok(to)
}
