//! Credentials as JSON: the answers of programs, containers and instances.

use crate::credentials::Credentials;
use crate::expiry;
use serde::Deserialize;
use trestle_sigv4::AccessKey;

/// Credentials in the JSON of a source.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Issued {
    /// The version of the format; only programs give it.
    pub(crate) version: Option<u64>,
    pub(crate) access_key_id: Option<String>,
    pub(crate) secret_access_key: Option<String>,
    /// The name used by programs; containers and instances call it `Token`.
    #[serde(alias = "Token")]
    pub(crate) session_token: Option<String>,
    pub(crate) expiration: Option<String>,
    /// The code of an answer without credentials.
    #[serde(alias = "code")]
    code: Option<String>,
    #[serde(alias = "message")]
    message: Option<String>,
}

impl Issued {
    /// Parses JSON. The error never contains the text, which may be a secret.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| {
            format!(
                "gave no JSON with credentials (line {}, column {})",
                error.line(),
                error.column()
            )
        })
    }

    /// Why there are no credentials, if the answer says it.
    pub(crate) fn refusal(&self) -> Option<String> {
        let said = [self.code.as_deref(), self.message.as_deref()];
        let said: Vec<&str> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join(": "))
    }

    pub(crate) fn credentials(self) -> Result<Credentials, String> {
        let refusal = self.refusal();
        let needed = |value: Option<String>, name: &str| {
            let value = value.filter(|value| !value.is_empty());
            value.ok_or_else(|| match &refusal {
                Some(said) => format!("gave no {name}: {said}"),
                None => format!("gave no {name}"),
            })
        };
        let key = AccessKey {
            id: needed(self.access_key_id, "AccessKeyId")?,
            secret: needed(self.secret_access_key, "SecretAccessKey")?,
        };
        let expires = match self.expiration.as_deref() {
            None | Some("") => None,
            Some(text) => Some(
                expiry::parse(text)
                    .ok_or_else(|| format!("gave an Expiration that is no time of ISO 8601: {text}"))?,
            ),
        };
        Ok(Credentials {
            key,
            session_token: self.session_token.filter(|token| !token.is_empty()),
            expires,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Credentials, String> {
        Issued::parse(text.as_bytes())?.credentials()
    }

    #[test]
    fn both_names_of_the_token_are_known() {
        for name in ["SessionToken", "Token"] {
            let text = format!(
                r#"{{"AccessKeyId":"id","SecretAccessKey":"secret","{name}":"t","Expiration":"1970-01-01T00:00:07Z"}}"#
            );
            let read = read(&text).unwrap();
            assert_eq!(read.key.id, "id");
            assert_eq!(read.session_token.as_deref(), Some("t"));
            assert_eq!(read.expires.map(|at| at.as_secs()), Some(7));
        }
    }

    #[test]
    fn what_is_missing_is_named_and_no_secret_is_shown() {
        assert_eq!(
            read(r#"{"AccessKeyId":"id"}"#).unwrap_err(),
            "gave no SecretAccessKey"
        );
        assert_eq!(
            read(r#"{"Code":"AssumeRoleUnauthorizedAccess","Message":"not you"}"#).unwrap_err(),
            "gave no AccessKeyId: AssumeRoleUnauthorizedAccess: not you"
        );
        let broken = read(r#"{"SecretAccessKey":"hush","#).unwrap_err();
        assert!(!broken.contains("hush"), "{broken}");
        let timeless = r#"{"AccessKeyId":"id","SecretAccessKey":"s","Expiration":"soon"}"#;
        assert!(read(timeless).unwrap_err().contains("soon"));
    }
}
