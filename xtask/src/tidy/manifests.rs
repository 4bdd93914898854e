//! Crates can be published: each has the required description, and its path dependencies have versions.

use crate::repository::Repository;
use toml::{Table, Value};

const ROOT: &str = "Cargo.toml";
/// The fields that a crate must define.
const OWN: &[&str] = &["description", "documentation"];
/// The fields that it takes from the workspace.
const SHARED: &[&str] = &[
    "version",
    "edition",
    "rust-version",
    "license",
    "readme",
    "keywords",
    "categories",
];

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let manifests = repository
        .files()
        .filter(|(path, _)| *path == ROOT || (path.starts_with("crates/") && path.ends_with("/Cargo.toml")));
    let mut faults = Vec::new();
    for (path, text) in manifests {
        // Cargo itself reports manifests that cannot be read.
        let Ok(manifest) = text.parse::<Table>() else {
            continue;
        };
        match path {
            ROOT => faults.extend(of_workspace(&manifest)),
            _ => faults.extend(of_crate(path, &manifest)),
        }
    }
    faults
}

/// Without a version beside its path, a dependency cannot be published; with another version, it is not the
/// local crate.
fn of_workspace(manifest: &Table) -> Vec<String> {
    let workspace = manifest.get("workspace");
    let version = workspace.and_then(|workspace| workspace.get("package")?.get("version"));
    let dependencies = workspace.and_then(|workspace| workspace.get("dependencies")?.as_table());
    let with_paths = dependencies
        .into_iter()
        .flatten()
        .filter(|(_, dependency)| dependency.get("path").is_some());
    with_paths
        .filter(|(_, dependency)| dependency.get("version") != version)
        .map(|(name, _)| format!("{ROOT}: {name} has not the version of the workspace beside its path."))
        .collect()
}

fn of_crate(path: &str, manifest: &Table) -> Vec<String> {
    let Some(package) = manifest.get("package") else {
        return vec![format!("{path} has no [package].")];
    };
    if package.get("publish") == Some(&Value::Boolean(false)) {
        return Vec::new();
    }
    let own = OWN
        .iter()
        .filter(|key| package.get(**key).and_then(Value::as_str).is_none());
    let shared = SHARED.iter().filter(|key| {
        package
            .get(**key)
            .and_then(|value| value.get("workspace"))
            .is_none()
    });
    let mut faults: Vec<String> = own
        .map(|key| format!("{path} has no {key} of its own."))
        .collect();
    faults.extend(shared.map(|key| format!("{path} does not take {key} from the workspace.")));
    faults.extend(dependencies_with_paths(manifest).map(|name| {
        format!("{path} names {name} by its path; take it from the workspace, which has its version.")
    }));
    faults.extend(tests_with_versions(manifest).map(|name| {
        format!(
            "{path}: tests need {name} by its path alone; with a version it would have to be published before this crate."
        )
    }));
    faults
}

fn dependencies_with_paths(manifest: &Table) -> impl Iterator<Item = &str> {
    let sections = ["dependencies", "build-dependencies"].into_iter();
    sections
        .flat_map(|section| members(manifest, section))
        .filter(|(_, dependency)| dependency.get("path").is_some())
        .map(|(name, _)| name)
}

fn tests_with_versions(manifest: &Table) -> impl Iterator<Item = &str> {
    members(manifest, "dev-dependencies")
        .filter(|(_, dependency)| dependency.get("path").is_none())
        .map(|(name, _)| name)
}

/// The crates of this repository in a section.
fn members<'m>(manifest: &'m Table, section: &str) -> impl Iterator<Item = (&'m str, &'m Value)> {
    let section = manifest.get(section).and_then(Value::as_table);
    section
        .into_iter()
        .flatten()
        .map(|(name, dependency)| (name.as_str(), dependency))
        .filter(|(name, _)| *name == "trestle" || name.starts_with("trestle-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\ndescription = \"d\"\ndocumentation = \"u\"\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\nreadme.workspace = true\nkeywords.workspace = true\n\
        categories.workspace = true\n";
    const WORKSPACE: &str = "[workspace.package]\nversion = \"1.0.0\"\n[workspace.dependencies]\n";

    fn faults_of(workspace: &str, manifest: &str) -> Vec<String> {
        faults(&Repository::of(&[
            (ROOT, &format!("{WORKSPACE}{workspace}")),
            ("crates/item/Cargo.toml", manifest),
        ]))
    }

    #[test]
    fn a_crate_that_can_be_published_passes_as_does_one_that_is_not_to_be() {
        let good = "trestle-item = { path = \"crates/item\", version = \"1.0.0\" }";
        let dependencies = "[dependencies]\ntrestle-env.workspace = true\n[dev-dependencies]\ntrestle = { path = \"../trestle\" }";
        assert_eq!(
            faults_of(good, &format!("{GOOD}{dependencies}")),
            Vec::<String>::new()
        );
        assert_eq!(
            faults_of(good, "[package]\npublish = false"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_a_crate_does_not_say_is_named() {
        let found = faults_of("", &GOOD.replace("description = \"d\"\nd", "d"));
        assert_eq!(found, ["crates/item/Cargo.toml has no description of its own."]);
        let found = faults_of("", &GOOD.replace("license.workspace = true", "license = \"MIT\""));
        assert_eq!(
            found,
            ["crates/item/Cargo.toml does not take license from the workspace."]
        );
    }

    #[test]
    fn a_path_has_the_version_of_the_workspace_beside_it() {
        for dependency in [
            "{ path = \"crates/item\" }",
            "{ path = \"crates/item\", version = \"0.9.0\" }",
        ] {
            let found = faults_of(&format!("trestle-item = {dependency}"), GOOD);
            assert_eq!(found.len(), 1, "{found:?}");
        }
        let found = faults_of(
            "",
            &format!("{GOOD}[dependencies]\ntrestle-env = {{ path = \"../env\" }}"),
        );
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn tests_depend_on_crates_by_their_path_alone() {
        let found = faults_of(
            "",
            &format!("{GOOD}[dev-dependencies]\ntrestle-env.workspace = true"),
        );
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
