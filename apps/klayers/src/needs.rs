//! The requirements of a package on the Python of its layer. pip evaluates conditions such as `python_version
//! < "3.11"` for the Python that runs pip, so its result can be too small or too large.

use std::collections::BTreeSet;

use pep508_rs::{MarkerEnvironment, MarkerTree, PackageName, Requirement, VersionOrUrl, pep440_rs::Version};
use serde::Deserialize;

use crate::index::{Release, frozen};

/// A package that pip has found.
#[derive(Deserialize)]
pub(crate) struct Package {
    name: String,
    version: String,
    #[serde(default)]
    requires_dist: Vec<Requirement>,
}

impl Package {
    fn meets(&self, wanted: &Requirement) -> bool {
        let is_named = self.name.parse::<PackageName>().as_ref() == Ok(&wanted.name);
        let Some(VersionOrUrl::VersionSpecifier(versions)) = &wanted.version_or_url else {
            return is_named;
        };
        let version = self.version.parse::<Version>();
        is_named && version.is_ok_and(|version| versions.contains(&version))
    }
}

/// A package with its requirements on this Python, recursively; the error is a requirement that pip has not
/// found, without conditions.
pub(crate) fn release(
    found: &[Package],
    wanted: &Requirement,
    python: &MarkerEnvironment,
) -> Result<Release, Vec<String>> {
    let (mut packages, mut missing) = (Vec::new(), Vec::new());
    let (mut open, mut seen) = (vec![wanted.clone()], BTreeSet::new());
    while let Some(mut wanted) = open.pop() {
        let Some(package) = found.iter().find(|package| package.meets(&wanted)) else {
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
    let pinned = |package: &&Package| format!("{}=={}", package.name, package.version);
    match packages.first() {
        Some(own) if missing.is_empty() => Ok(Release {
            version: own.version.clone(),
            requirements: frozen(packages.iter().map(pinned)),
            ..Release::default()
        }),
        _ => Err(missing),
    }
}
