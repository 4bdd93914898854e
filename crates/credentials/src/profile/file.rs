//! The two files, and the sections in them.

use crate::variables::Variables;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// The settings of a profile by name.
#[derive(Debug, Default)]
pub(super) struct Section(BTreeMap<String, String>);

/// All profiles of both files.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    sections: BTreeMap<String, Section>,
    places: Vec<String>,
}

/// Which of the two files, which name their sections differently.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Config,
    Credentials,
}

impl Section {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }
}

impl Profiles {
    /// Reads both files again, because keys in them are exchanged. A missing file counts as empty.
    pub(super) fn read(variables: &Variables) -> Result<Self, String> {
        let mut profiles = Profiles::default();
        // Settings in the second file override those in the first.
        for (name, in_home, kind) in [
            ("AWS_CONFIG_FILE", "config", Kind::Config),
            ("AWS_SHARED_CREDENTIALS_FILE", "credentials", Kind::Credentials),
        ] {
            let Some(path) = variables.file(name, in_home) else {
                continue;
            };
            profiles.places.push(path.display().to_string());
            profiles.add(&text_of(&path)?, kind);
        }
        Ok(profiles)
    }

    /// The profiles of two texts.
    #[cfg(test)]
    pub(super) fn of(config: &str, credentials: &str) -> Self {
        let mut profiles = Profiles::default();
        profiles.add(config, Kind::Config);
        profiles.add(credentials, Kind::Credentials);
        profiles
    }

    pub(super) fn get(&self, name: &str) -> Option<&Section> {
        self.sections.get(name)
    }

    /// The paths that were searched for profiles.
    pub(super) fn places(&self) -> String {
        match self.places.is_empty() {
            true => "a directory of the user, because HOME is not set".to_owned(),
            false => self.places.join(" nor in "),
        }
    }

    fn add(&mut self, text: &str, kind: Kind) {
        let mut current: Option<String> = None;
        // Whether the last setting has nested settings, such as `s3`: those are indented below it.
        let mut is_parent = false;
        for line in text.lines() {
            let is_indented = line.starts_with([' ', '\t']);
            let line = without_comment(line).trim();
            if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                current = section_name(header.trim(), kind);
                is_parent = false;
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            if is_indented && is_parent {
                continue;
            }
            let value = value.trim();
            is_parent = value.is_empty();
            if let Some(section) = &current {
                let section = self.sections.entry(section.clone()).or_default();
                section
                    .0
                    .insert(name.trim().to_ascii_lowercase(), value.to_owned());
            }
        }
    }
}

fn text_of(path: &Path) -> Result<String, String> {
    match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| format!("{} is no text", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

/// The line without a comment after `#` or `;`, which must be preceded by a space or nothing.
fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        if matches!(letter, '#' | ';') && before.is_whitespace() {
            return line.get(..at).unwrap_or(line);
        }
        before = letter;
    }
    line
}

/// The profile of a section: `[name]` in the file of credentials, `[profile name]` or `[default]` in the
/// other.
fn section_name(header: &str, kind: Kind) -> Option<String> {
    let name = match (kind, header) {
        (Kind::Credentials, name) | (Kind::Config, name @ "default") => name,
        (Kind::Config, header) => {
            let name = header.strip_prefix("profile")?;
            name.starts_with([' ', '\t']).then(|| name.trim())?
        }
    };
    let quotes: &[char] = &['"', '\''];
    Some(name.trim_matches(quotes).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_named_in_two_ways_and_credentials_win() {
        let profiles = Profiles::of(
            "[default]\nregion = eu-west-1 # near\n[profile \"my work\"]\nregion=us-east-1\naws_access_key_id = old\n\
             [other]\nregion = x\n[sso-session s]\nregion = y\n",
            "; keys\n[my work]\nAWS_ACCESS_KEY_ID = new#1\naws_secret_access_key = a=b;c\n",
        );
        let get = |profile: &str, name: &str| profiles.get(profile).and_then(|section| section.get(name));
        assert_eq!(get("default", "region"), Some("eu-west-1"));
        assert_eq!(get("my work", "region"), Some("us-east-1"));
        assert_eq!(get("my work", "aws_access_key_id"), Some("new#1"));
        assert_eq!(get("my work", "aws_secret_access_key"), Some("a=b;c"));
        assert!(profiles.get("other").is_none() && profiles.get("s").is_none());
    }

    #[test]
    fn settings_within_a_setting_are_not_those_of_the_profile() {
        let profiles = Profiles::of(
            "[default]\ns3 =\n  region = no\n  x = y\nregion = yes\nempty =\n",
            "",
        );
        let section = profiles.get("default").unwrap();
        assert_eq!(section.get("region"), Some("yes"));
        assert_eq!(section.get("empty"), None);
    }

    #[test]
    fn what_is_no_profile_is_passed_over() {
        let profiles = Profiles::of(
            "region = a\n[\n]\n[]\n[profile]\nx\n[profile p]\n=\nkey = v",
            "[[p]]\n= =",
        );
        assert_eq!(
            profiles.get("p").and_then(|section| section.get("key")),
            Some("v")
        );
    }
}
