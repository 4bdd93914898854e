//! Settings from a TOML file.

use super::Config;
use crate::exit::Failure;
use std::path::Path;
use toml::Table;

/// Read if it exists and no other file is named.
const DEFAULT_FILE: &str = "trestle.toml";

/// The named file, or the default one if there is one.
pub(super) fn read(named: Option<&Path>) -> Result<Table, Failure> {
    let path = named.unwrap_or(Path::new(DEFAULT_FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, &path.display().to_string()),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(Table::new()),
        Err(error) => Err(Failure::usage(format!(
            "cannot read the settings file {}: {error}",
            path.display()
        ))),
    }
}

/// The file's table. It is also parsed as settings here, where an error can name its line.
pub(super) fn parse(text: &str, name: &str) -> Result<Table, Failure> {
    let failed =
        |error: toml::de::Error| Failure::usage(format!("cannot use the settings file {name}: {error}"));
    toml::from_str::<Config>(text).map_err(failed)?;
    toml::from_str(text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_setting_is_named_with_its_line() {
        let failure = parse("[server]\nprot = 8000", "my.toml").unwrap_err();
        assert!(failure.message.contains("my.toml"), "{}", failure.message);
        assert!(failure.message.contains("line 2"), "{}", failure.message);
        assert!(failure.message.contains("prot"), "{}", failure.message);
    }

    #[test]
    fn several_keys_can_be_given() {
        let table = parse("[[auth.keys]]\naccess_key = 'a'\nsecret_key = 'b'", "").unwrap();
        let config: Config = table.try_into().unwrap();
        assert_eq!(config.auth.keys.len(), 1);
    }
}
