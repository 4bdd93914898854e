//! Building: from a tarball to files with URLs, and then a row.
//!
//! The row is written when every file can be fetched. A crash before that leaves files without a row, which
//! the next attempt stores again under the same names.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tar::{Archive, EntryType};
use tempfile::TempDir;
use trestle::app::{OrNotFound as _, fingerprint, url_below};
use trestle::typed::Held as _;

use crate::bundler::files_below;
use crate::model::{
    Build, BuildFile, NewBuild, NewBuildFile, StatusEventEventType as EventType, StatusPromote,
};
use crate::publish::manifest;
use crate::{Error, File, Publication, Result, Service, Source, Spec};

/// The maximum size of an unpacked tarball.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;
/// Files of a build that are stored and verified at once.
const FILES_AT_ONCE: usize = 8;

impl Service {
    /// The builds of a version in all locales.
    pub(crate) async fn builds(&self, spec: &Spec) -> Result<Vec<Build>> {
        let Spec { name, env, version } = spec.clone();
        let builds = self.db.builds_of_version(&name, env, version);
        Ok(builds.collect().await?)
    }

    /// The build in the first of these locales that has one.
    pub(crate) async fn build_in(&self, spec: &Spec, locales: &[&str]) -> Result<Option<Build>> {
        let builds = self.builds(spec).await?;
        let build = |locale: &&str| builds.iter().find(|build| build.locale == *locale);
        Ok(locales.iter().find_map(build).cloned())
    }

    /// Builds a version in a locale, unless the build exists, or is older than the one in use and was not
    /// requested. Afterwards the locale is done, or has failed with a reason.
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
            if !begun.status.counted.contains(locale) {
                let event = self.event(spec, Some(locale), EventType::Complete, why);
                self.db.put(&event).await?;
            }
        } else if let Err(error) = self.bundle(spec, locale).await {
            let is_final = matches!(error, Error::Invalid(_) | Error::NotFound(_));
            let again = if is_final { "" } else { "; it is tried again" };
            self.fail(spec, locale, format!("{error}{again}")).await?;
            return if is_final { Ok(()) } else { Err(error) };
        }
        while !self.finish(spec).await? {}
        Ok(())
    }

    /// Adds a build that was made elsewhere: a tarball with a folder `dist`, or single files. An existing
    /// locale is a conflict.
    pub async fn add_built(&self, spec: &Spec, locale: &str, publication: &Publication) -> Result<()> {
        let there = format!("{spec} is built in {locale} already; publish another version");
        if self.build_in(spec, &[locale]).await?.is_some() {
            return Err(Error::Conflict(there));
        }
        let files = match publication.files.as_slice() {
            [file] if file.name.ends_with(".tgz") => {
                let (_temporary, folder) = unpack(&file.content).map_err(damaged)?;
                let no_dist = |error| Error::invalid(format!("the tarball has no folder dist: {error}"));
                files_below(&folder.join("dist")).map_err(no_dist)?
            }
            files => files.to_vec(),
        };
        self.store(publication, &publication.row(), false).await?;
        if !self.add_build(spec, locale, files, None).await? {
            return Err(Error::Conflict(there));
        }
        // The first version is used immediately. A later one waits for a promotion, when all its locales are
        // built.
        let mut first = self.db.transaction();
        self.point(&mut first, spec, None);
        first.commit().await.held()?;
        Ok(())
    }

    /// Creates the files of a version and adds them. A fault of the package is [`Error::Invalid`].
    async fn bundle(&self, spec: &Spec, locale: &str) -> Result<()> {
        let published = self.published(&spec.name, &spec.version).await?;
        let tarball = self.tarball_of(&published).await?;
        let (_temporary, folder) = unpack(&tarball).map_err(damaged)?;
        let source = Source {
            folder: &folder,
            manifest: &manifest(&published)?,
            env: spec.env,
            locale,
        };
        let bundler = &self.setup.bundler;
        let files = bundler.bundle(source).await.map_err(Error::Invalid)?;
        let built = self.add_build(spec, locale, files, Some(bundler.name()));
        built.await.map(drop)
    }

    /// Stores and verifies files and their compressed twins, then writes the rows that name them. Returns
    /// whether this call wrote them. Without a bundler, they were created elsewhere.
    async fn add_build(&self, spec: &Spec, locale: &str, files: Vec<File>, by: Option<&str>) -> Result<bool> {
        let Spec { name, env, version } = spec;
        if files.is_empty() {
            return Err(Error::invalid(format!("{spec} made no files")));
        }
        let mut build = Build::from(NewBuild {
            name: name.clone(),
            env: *env,
            version: version.clone(),
            locale: locale.to_owned(),
            build_id: spec.build_id(locale),
        });
        let (assets, mut stores, mut rows) = (&self.setup.assets, Vec::new(), Vec::new());
        for file in files {
            let fingerprint = fingerprint(&file.content);
            let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
            gzip.write_all(&file.content)?;
            for (suffix, content) in [("", file.content), (".gz", gzip.finish()?)] {
                let filename = format!("{}{suffix}", file.name);
                let path = format!("{fingerprint}/{filename}");
                let extension = Path::new(&filename).extension();
                let extension = extension.map(|extension| format!(".{}", extension.to_string_lossy()));
                let new = NewBuildFile {
                    fingerprint: format!("{fingerprint}{suffix}"),
                    build_id: build.build_id.clone(),
                    url: url_below(&assets.url, &path),
                    env: *env,
                    locale: locale.to_owned(),
                    name: name.clone(),
                    version: version.clone(),
                };
                rows.push(BuildFile {
                    extension,
                    filename: Some(filename),
                    ..new.into()
                });
                stores.push(assets.store(path, content));
            }
            build.artifacts.insert(format!("{fingerprint}/{}", file.name));
            build.fingerprints.insert(fingerprint);
        }
        let mut stored = stream::iter(stores).buffer_unordered(FILES_AT_ONCE);
        while stored.try_next().await?.is_some() {}
        self.db.put_many(&rows).await?;
        let mut heads = self.head(name, *env).await?.build_head.into_iter();
        let previous = heads.find(|head| head.locale == locale);
        build.previous_build_id = previous.map(|head| head.build_id);
        build.cdn_url = Some(assets.url.clone());
        build.bundler = by.map(str::to_owned);
        let made = format!("built by {}", by.unwrap_or("another program"));
        let event = self.event(spec, Some(locale), EventType::Complete, &made);
        let writes = self.db.transaction().with(self.db.put(&build).if_not_exists());
        let written = writes.with(self.db.put(&event)).commit().await.held()?;
        Ok(written.is_some())
    }
}

/// Unpacks the files of a package. Links, devices, and files outside of the folder are left out. Returns
/// their folder, whatever its name is, within a temporary one.
fn unpack(tarball: &[u8]) -> io::Result<(TempDir, PathBuf)> {
    let to = tempfile::tempdir()?;
    let limited = GzDecoder::new(tarball).take(UNPACKED_BYTES_MAX);
    for entry in Archive::new(limited).entries()? {
        let mut entry = entry?;
        if entry.header().entry_type() == EntryType::Regular {
            entry.unpack_in(to.path())?;
        }
    }
    let folder = std::fs::read_dir(to.path())?.next().transpose()?;
    let folder = folder.map_or(to.path().to_owned(), |folder| folder.path());
    Ok((to, folder))
}

fn damaged(error: io::Error) -> Error {
    Error::invalid(format!("the tarball cannot be unpacked: {error}"))
}
