//! A key that signs, and how long it does.

use std::fmt;
use trestle_env::Timestamp;
use trestle_sigv4::AccessKey;

/// An access key, with what belongs to one that lives for a while only.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The key.
    pub key: AccessKey,
    /// Sent with each request that the key signs, if there is one.
    pub session_token: Option<String>,
    /// When the key ends; `None` if it does not, or if that is not known.
    pub expires: Option<Timestamp>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Settings end up in logs; secrets must not.
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
