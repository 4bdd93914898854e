//! Signing keys and their scopes.

use std::fmt;

/// A key that signs requests.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// The public half, sent with each request.
    pub id: String,
    /// The half that is never sent.
    pub secret: String,
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Settings end up in logs; secrets must not.
        f.debug_struct("AccessKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The scope of a signing key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The day, as `20150830`.
    pub date: String,
    /// The region of the request.
    pub region: String,
    /// The service of the request.
    pub service: String,
    /// Always `aws4_request`, unless a client is wrong.
    pub terminator: String,
}

impl Scope {
    /// The scope in the form of a credential.
    pub fn text(&self) -> String {
        format!(
            "{}/{}/{}/{}",
            self.date, self.region, self.service, self.terminator
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_of_debug_output() {
        let key = AccessKey {
            id: "id".to_owned(),
            secret: "hush".to_owned(),
        };
        assert!(!format!("{key:?}").contains("hush"));
    }
}
