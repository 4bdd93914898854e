//! What a package needs on the Python of its layer. pip judges conditions such as `python_version < "3.11"` by the Python that pip
//! itself runs in, so what it finds can be too little or too much.

use std::collections::BTreeSet;

use pep508_rs::pep440_rs::Version;
use pep508_rs::{MarkerEnvironment, MarkerTree, PackageName, Requirement, VersionOrUrl};
use serde::Deserialize;

use crate::Release;
use crate::index::frozen;

/// What pip would install.
#[derive(Deserialize)]
pub(crate) struct Report {
    install: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    metadata: Package,
}

/// A package that pip has found.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    #[serde(default)]
    requires_dist: Vec<Requirement>,
}

impl Package {
    /// As `pip freeze` writes it.
    fn pinned(&self) -> String {
        format!("{}=={}", self.name, self.version)
    }

    fn meets(&self, wanted: &Requirement) -> bool {
        let is_named = self.name.parse::<PackageName>().as_ref() == Ok(&wanted.name);
        is_named
            && match &wanted.version_or_url {
                Some(VersionOrUrl::VersionSpecifier(versions)) => self
                    .version
                    .parse::<Version>()
                    .is_ok_and(|version| versions.contains(&version)),
                _ => true,
            }
    }
}

impl Report {
    /// A package with what it needs on this Python, and what that needs in turn; or what pip has not found of it, without conditions.
    pub(crate) fn release(
        &self,
        wanted: &Requirement,
        python: &MarkerEnvironment,
    ) -> Result<Release, Vec<String>> {
        let (mut packages, mut missing) = (Vec::new(), Vec::new());
        let (mut open, mut seen) = (vec![wanted.clone()], BTreeSet::new());
        while let Some(mut wanted) = open.pop() {
            let mut found = self.install.iter().map(|found| &found.metadata);
            let Some(package) = found.find(|package| package.meets(&wanted)) else {
                wanted.marker = MarkerTree::TRUE;
                missing.push(wanted.to_string());
                continue;
            };
            packages.push(package);
            if seen.insert((wanted.name, wanted.extras.clone())) {
                let needed = package.requires_dist.iter();
                let needed = needed.filter(|one| one.evaluate_markers(python, &wanted.extras));
                open.extend(needed.cloned());
            }
        }
        match packages.first() {
            Some(own) if missing.is_empty() => Ok(Release {
                version: own.version.clone(),
                requirements: frozen(packages.iter().map(|package| package.pinned())),
                ..Release::default()
            }),
            _ => Err(missing),
        }
    }
}
