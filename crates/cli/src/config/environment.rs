//! Settings from variables such as `TRESTLE__SERVER__PORT=8001`.

use super::{Config, lay_over};
use crate::exit::Failure;
use std::ffi::OsString;
use toml::{Table, Value};

const PREFIX: &str = "TRESTLE__";

/// The table of all variables that begin with `TRESTLE__`.
pub(super) fn read(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Table, Failure> {
    let mut table = Table::new();
    for (name, value) in variables {
        let Some((name, path)) = name
            .to_str()
            .and_then(|name| Some((name, name.strip_prefix(PREFIX)?)))
        else {
            continue;
        };
        let value = value
            .into_string()
            .map_err(|_| Failure::usage(format!("the variable {name} is not valid UTF-8")))?;
        lay_over(&mut table, setting(name, path, &value)?);
    }
    Ok(table)
}

/// One variable as a table of one section with one key. The text is parsed as a number or truth value if the
/// setting requires one, and is a text otherwise.
fn setting(name: &str, path: &str, text: &str) -> Result<Table, Failure> {
    let path = path.to_ascii_lowercase();
    let Some((section, key)) = path.split_once("__") else {
        return Err(Failure::usage(format!(
            "cannot use the variable {name}: the form is TRESTLE__SECTION__KEY, such as TRESTLE__SERVER__PORT"
        )));
    };
    let as_text = table(section, key, Value::String(text.to_owned()));
    let mut refusal = match Config::try_from_table(&as_text) {
        Ok(()) => return Ok(as_text),
        Err(refusal) => refusal,
    };
    if let Some(value) = number_or_truth(text) {
        let as_value = table(section, key, value);
        match Config::try_from_table(&as_value) {
            Ok(()) => return Ok(as_value),
            Err(why) => refusal = why,
        }
    }
    Err(Failure::usage(format!(
        "cannot use the variable {name}={text}: {refusal}"
    )))
}

fn table(section: &str, key: &str, value: Value) -> Table {
    let inner = Table::from_iter([(key.to_owned(), value)]);
    Table::from_iter([(section.to_owned(), Value::Table(inner))])
}

fn number_or_truth(text: &str) -> Option<Value> {
    let number = text.parse().map(Value::Integer).ok();
    number.or_else(|| text.parse().map(Value::Boolean).ok())
}

impl Config {
    /// Whether the table would be accepted.
    fn try_from_table(table: &Table) -> Result<(), String> {
        let result: Result<Config, toml::de::Error> = table.clone().try_into();
        result.map(drop).map_err(|error| error.message().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> Result<Config, Failure> {
        let variables = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        super::super::combine([read(variables)?])
    }

    #[test]
    fn a_variable_takes_the_type_of_its_setting() {
        let config = config(&[
            ("TRESTLE__SERVER__PORT", "8001"),
            ("TRESTLE__AUTH__ACCESS_KEY", "12345"),
            ("TRESTLE__STORAGE__IN_MEMORY", "true"),
            ("TRESTLE__STORAGE__DURABILITY", "buffered"),
            ("PATH", "/bin"),
        ])
        .unwrap();
        assert_eq!(config.server.port, Some(8001));
        assert_eq!(config.auth.access_key.as_deref(), Some("12345"));
        assert_eq!(config.storage.in_memory, Some(true));
        assert_eq!(config.storage.durability, Some(crate::args::Durability::Buffered));
    }

    #[test]
    fn a_variable_that_means_nothing_is_refused_by_name() {
        for (name, value) in [
            ("TRESTLE__SERVER__PROT", "1"),
            ("TRESTLE__PORT", "1"),
            ("TRESTLE__SERVER__PORT", "http"),
            ("TRESTLE__SERVER__PORT", "70000"),
            ("TRESTLE__NOWHERE__PORT", "1"),
        ] {
            let failure = config(&[(name, value)]).unwrap_err();
            assert!(failure.message.contains(name), "{}", failure.message);
        }
    }
}
