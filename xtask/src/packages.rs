//! The packages that a crate depends on, as Cargo resolves them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use crate::repository::Repository;

/// A package that is compiled into a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: String,
}

/// The packages that `cargo tree` lists for these arguments, the crates of this repository included.
pub(crate) fn tree(arguments: &[&str]) -> Result<BTreeSet<Package>, String> {
    let form = [
        "tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}|{l}",
    ];
    let listed = cargo(&[&form, arguments].concat())?;
    Ok(listed.lines().filter_map(package).collect())
}

/// A line such as `fjall v3.1.13|MIT OR Apache-2.0`; a path or a word in parentheses may follow the version.
fn package(line: &str) -> Option<Package> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split_whitespace();
    Some(Package {
        name: words.next()?.to_owned(),
        version: words.next()?.trim_start_matches('v').to_owned(),
        // Cargo marks packages that it has listed before.
        licence: licence.trim_end_matches(" (*)").to_owned(),
    })
}

/// Where the sources of a package are.
pub(crate) struct Folders(serde_json::Value);

impl Folders {
    pub(crate) fn of_all_packages() -> Result<Self, String> {
        let metadata = cargo(&["metadata", "--locked", "--format-version", "1"])?;
        let read = serde_json::from_str(&metadata);
        read.map(Folders)
            .map_err(|error| format!("cargo metadata: {error}"))
    }

    pub(crate) fn of(&self, package: &Package) -> Option<PathBuf> {
        let mut packages = self.0["packages"].as_array()?.iter();
        let found =
            packages.find(|each| each["name"] == *package.name && each["version"] == *package.version)?;
        let manifest = PathBuf::from(found["manifest_path"].as_str()?);
        manifest.parent().map(PathBuf::from)
    }
}

fn cargo(arguments: &[&str]) -> Result<String, String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(program)
        .args(arguments)
        .current_dir(Repository::own_root())
        .output();
    let ran = ran.map_err(|error| format!("cargo: {error}"))?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&ran.stderr).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the packages that the crate `trestle` depends on with these features.
    fn behind(features: &str) -> BTreeSet<String> {
        let arguments = [
            "--package",
            "trestle",
            "--no-default-features",
            "--features",
            features,
        ];
        let packages = tree(&arguments).unwrap();
        packages.into_iter().map(|package| package.name).collect()
    }

    #[test]
    fn a_remote_client_compiles_no_storage_engine() {
        for features in ["remote", "remote,events"] {
            let names = behind(features);
            assert!(names.contains("trestle-remote"), "{names:?}");
            assert!(
                !names.contains("fjall") && !names.contains("trestle-embedded"),
                "{names:?}"
            );
        }
        assert!(behind("embedded").contains("fjall"));
    }

    #[test]
    fn a_client_without_remote_compiles_no_http_client() {
        assert!(!behind("embedded").contains("hyper"));
        assert!(behind("remote").contains("hyper"));
    }
}
