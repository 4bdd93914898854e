//! Secrets by name: a route file contains the place of a secret, never its value.

use crate::Surroundings;
use crate::settings::Settings;
use crate::trust::NOT_TRUSTED;
use serde_json::Value;
use std::fmt;

const FORM: &str =
    "must be { env = \"NAME\" } or { file = \"path\" }: a secret does not belong in a route file";

/// Text that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The secret that a setting names, if the setting is given.
pub(crate) fn read(
    settings: &mut Settings<'_>,
    name: &'static str,
    surroundings: &Surroundings,
) -> Option<Secret> {
    let value = settings.take(name)?;
    match look_up(value, surroundings) {
        Ok(secret) => Some(secret),
        Err(message) => {
            settings.complain(name, message);
            None
        }
    }
}

/// Looks up `{ env = "NAME" }` or `{ file = "path" }`.
pub(crate) fn look_up(value: &Value, surroundings: &Surroundings) -> Result<Secret, String> {
    if !surroundings.trust.commands_and_secrets {
        return Err(NOT_TRUSTED.to_owned());
    }
    let place = value.as_object().filter(|place| place.len() == 1);
    let (kind, at) = place
        .and_then(|place| place.iter().next())
        .and_then(|(kind, at)| Some((kind.as_str(), at.as_str()?)))
        .ok_or(FORM)?;
    let secret = match kind {
        "env" => surroundings
            .variable(at)
            .ok_or_else(|| format!("the environment variable {at} is not set"))?,
        "file" => std::fs::read_to_string(at)
            .map_err(|error| format!("the file {at} cannot be read: {error}"))?
            .trim_end()
            .to_owned(),
        _ => return Err(FORM.to_owned()),
    };
    if secret.is_empty() {
        return Err(format!("{at} is empty"));
    }
    Ok(Secret(secret))
}

/// Plain text, or a secret by name.
pub(crate) fn text_or_secret(value: &Value, surroundings: &Surroundings) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Object(_) => Ok(look_up(value, surroundings)?.0),
        _ => Err("must be text, { env = \"NAME\" } or { file = \"path\" }".to_owned()),
    }
}
