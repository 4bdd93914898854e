//! The paths of the programs.

use super::{Found, Target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The paths given by the user; others are searched in `PATH`.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The `trestle` binary.
    pub trestle: PathBuf,
    /// The `trestle` binary of an earlier build.
    pub before: Option<PathBuf>,
    /// The directory with `DynamoDBLocal.jar`.
    pub dynamodb_local: Option<PathBuf>,
    /// The `dynoxide` binary.
    pub dynoxide: Option<PathBuf>,
    /// The `dynalite` command.
    pub dynalite: Option<PathBuf>,
    /// The `moto_server` command.
    pub moto: Option<PathBuf>,
}

impl Places {
    /// The target, or why it cannot be run here.
    pub(crate) fn find(&self, target: Target) -> Result<Found, String> {
        let (program, version) = match target {
            Target::Trestle => (self.trestle.clone(), env!("CARGO_PKG_VERSION").to_owned()),
            Target::Before => before(self.before.as_deref())?,
            Target::DynamodbLocal => dynamodb_local(self.dynamodb_local.as_deref())?,
            Target::Dynoxide => {
                let program = command("dynoxide", self.dynoxide.as_deref())?;
                let version = first_line(Command::new(&program).arg("--version"));
                (program, version.trim_start_matches("dynoxide ").to_owned())
            }
            Target::Dynalite => {
                let program = command("dynalite", self.dynalite.as_deref())?;
                let version = npm_version(&program);
                (program, version)
            }
        };
        Ok(Found {
            target,
            program,
            version,
        })
    }
}

impl Places {
    /// Moto's server, whose queues are compared, or why there is none.
    pub(crate) fn moto(&self) -> Result<PathBuf, String> {
        command("moto_server", self.moto.as_deref())
    }
}

fn before(said: Option<&Path>) -> Result<(PathBuf, String), String> {
    let program = said.ok_or("give the binary of an earlier build with --before")?;
    let version = first_line(Command::new(program).arg("--version"));
    match version.strip_prefix("trestle ") {
        Some(version) => Ok((program.to_owned(), version.to_owned())),
        None => Err(format!(
            "{} is no trestle binary that runs here",
            program.display()
        )),
    }
}

fn dynamodb_local(said: Option<&Path>) -> Result<(PathBuf, String), String> {
    let directory = said.ok_or("give its directory with --dynamodb-local or DYNAMODB_LOCAL_HOME")?;
    let jar = directory.join("DynamoDBLocal.jar");
    if !jar.is_file() {
        return Err(format!("there is no {}", jar.display()));
    }
    in_path("java").ok_or("it needs Java, and there is no java in PATH")?;
    let version = first_line(Command::new("java").arg("-jar").arg(&jar).arg("-version"));
    let version = version.rsplit(' ').next().unwrap_or_default().to_owned();
    Ok((directory.to_owned(), version))
}

fn command(name: &str, said: Option<&Path>) -> Result<PathBuf, String> {
    match said {
        Some(path) if path.is_file() => Ok(path.to_owned()),
        Some(path) => Err(format!("there is no {}", path.display())),
        None => in_path(name).ok_or_else(|| format!("there is no {name} in PATH; say where with --{name}")),
    }
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

/// The version in the `package.json` beside the script that the command is a link to.
fn npm_version(program: &Path) -> String {
    let script = program.canonicalize().unwrap_or_default();
    let manifest = std::fs::read(script.with_file_name("package.json")).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap_or_default();
    manifest["version"].as_str().unwrap_or_default().to_owned()
}

/// The first line of a program's output; empty if there is none.
fn first_line(command: &mut Command) -> String {
    let said = command.output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&said);
    text.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_build_is_a_program_that_says_it_is_trestle() {
        let find = |program: &str| {
            let places = Places {
                before: Some(program.into()),
                ..Places::default()
            };
            places.find(Target::Before).map(|found| found.version)
        };
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("trestle");
        std::fs::write(&script, "#!/bin/sh\necho trestle 0.0.9\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(find(script.to_str().unwrap()), Ok("0.0.9".to_owned()));
        for other in ["/bin/cat", "/nowhere/trestle"] {
            assert!(find(other).unwrap_err().contains(other));
        }
    }

    #[test]
    fn what_is_not_there_is_explained() {
        let places = Places {
            dynalite: Some("/nowhere/dynalite".into()),
            ..Places::default()
        };
        assert!(
            places
                .find(Target::Dynalite)
                .unwrap_err()
                .contains("/nowhere/dynalite")
        );
        let before = places.find(Target::Before).unwrap_err();
        assert!(before.contains("--before"), "{before}");
        assert!(
            places
                .find(Target::DynamodbLocal)
                .unwrap_err()
                .contains("--dynamodb-local")
        );
    }
}
