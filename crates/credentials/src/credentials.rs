//! An access key, and how long it is valid.

use std::fmt;
use trestle_env::Timestamp;
use trestle_sigv4::AccessKey;

/// An access key, with the additional parts of a temporary one.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The key.
    pub key: AccessKey,
    /// Sent with each request signed by the key, if there is one.
    pub session_token: Option<String>,
    /// When the key expires; `None` if it does not, or if that is unknown.
    pub expires: Option<Timestamp>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Settings are logged; secrets must not be.
        f.debug_struct("Credentials")
            .field("key", &self.key)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

impl From<AccessKey> for Credentials {
    fn from(key: AccessKey) -> Self {
        Credentials {
            key,
            session_token: None,
            expires: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_of_debug_output() {
        let credentials = Credentials {
            session_token: Some("whisper".to_owned()),
            ..Credentials::from(AccessKey {
                id: "id".to_owned(),
                secret: "hush".to_owned(),
            })
        };
        let shown = format!("{credentials:?}");
        assert!(
            shown.contains("id") && !shown.contains("hush") && !shown.contains("whisper"),
            "{shown}"
        );
    }
}
