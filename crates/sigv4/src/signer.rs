//! Signing outgoing requests.

use crate::canonical::{CanonicalRequest, squeeze};
use crate::hash::signing_key;
use crate::{ALGORITHM, AccessKey, Moment, Scope, hex, keyed_hash, sha256};
use http::Uri;
use parking_lot::Mutex;
use std::sync::Arc;
use trestle_env::Timestamp;

/// Why a request cannot be signed: its path is not valid in HTTP.
#[derive(Debug, thiserror::Error)]
#[error("the request cannot be signed: {0}")]
pub struct SignError(#[from] http::uri::InvalidUri);

/// Signs requests to one service in one region.
#[derive(Debug)]
pub struct Signer {
    key: AccessKey,
    /// The token that is sent with a temporary key.
    session_token: Option<String>,
    region: String,
    service: String,
    /// The signing key of the last request.
    day: Mutex<Option<Arc<SigningDay>>>,
}

/// The part that is the same in all signatures of a day.
struct SigningDay {
    date: String,
    /// The scope in the form of a credential.
    scope: String,
    key: Vec<u8>,
}

impl std::fmt::Debug for SigningDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key, which is secret.
        f.debug_struct("SigningDay")
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// Signs with a key, and with its token if the key is temporary.
    #[must_use]
    pub fn new(
        key: AccessKey,
        session_token: Option<String>,
        region: impl Into<String>,
        service: impl Into<String>,
    ) -> Self {
        Signer {
            key,
            session_token,
            region: region.into(),
            service: service.into(),
            day: Mutex::default(),
        }
    }

    /// The key.
    pub fn key(&self) -> &AccessKey {
        &self.key
    }

    /// The region of the requests.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The headers that sign a request, to be sent besides those given.
    ///
    /// The request is given by its method, its path with the query, its `Host`, the other headers to be
    /// covered, each once, and its body; all of them must be sent as given here.
    pub fn sign(
        &self,
        (method, path): (&str, &str),
        host: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<(&'static str, String)>, SignError> {
        let uri: Uri = path.parse()?;
        let signed_at = Moment::from_epoch_s(now.as_secs());
        let mut added = vec![("x-amz-date", signed_at.to_string())];
        if let Some(token) = &self.session_token {
            added.push(("x-amz-security-token", token.clone()));
        }
        let mut covered = vec![("host".to_owned(), host)];
        covered.extend(
            headers
                .iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), *value)),
        );
        covered.extend(
            added
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.as_str())),
        );
        covered.sort();
        let (mut header_lines, mut signed_headers) = (String::new(), String::new());
        for (name, value) in &covered {
            let separator = if signed_headers.is_empty() { "" } else { ";" };
            signed_headers.extend([separator, name]);
            header_lines.extend([name, ":", &squeeze(value.as_bytes()), "\n"]);
        }
        let day = self.day(signed_at);
        let request = CanonicalRequest {
            method,
            uri: &uri,
            header_lines: &header_lines,
            signed_headers: &signed_headers,
            payload_hash: &sha256(body),
        };
        let text = request.string_to_sign(signed_at, &day.scope);
        let authorization = format!(
            "{ALGORITHM} Credential={}/{}, SignedHeaders={signed_headers}, Signature={}",
            self.key.id,
            day.scope,
            hex(&keyed_hash(&day.key, text.as_bytes()))
        );
        added.push(("authorization", authorization));
        Ok(added)
    }

    fn day(&self, at: Moment) -> Arc<SigningDay> {
        let date = at.date();
        let mut last = self.day.lock();
        match &*last {
            Some(day) if day.date == date => Arc::clone(day),
            _ => {
                let scope = Scope {
                    date: date.clone(),
                    region: self.region.clone(),
                    service: self.service.clone(),
                    terminator: "aws4_request".to_owned(),
                };
                let day = Arc::new(SigningDay {
                    date,
                    scope: scope.text(),
                    key: signing_key(&self.key.secret, &scope),
                });
                *last = Some(Arc::clone(&day));
                day
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature was made by botocore.
    #[test]
    fn a_signature_is_the_one_that_botocore_makes() {
        let key = AccessKey {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
        };
        let signer = Signer::new(key, None, "eu-west-2", "dynamodb");
        let headers = [
            ("Content-Type", "application/x-amz-json-1.0"),
            ("X-Amz-Target", "DynamoDB_20120810.ListTables"),
        ];
        let now = Timestamp::from_secs(1_794_729_600);
        let signed = signer
            .sign(("POST", "/"), "localhost:8000", &headers, br#"{"Limit":10}"#, now)
            .unwrap();
        let authorization = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261115/eu-west-2/dynamodb/aws4_request, \
            SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
            Signature=0ab9ef31cdfd4c2d20a8988acbad6184b2707afebc5a9d395f38a9057c3ab279";
        assert_eq!(
            signed,
            [
                ("x-amz-date", "20261115T080000Z".to_owned()),
                ("authorization", authorization.to_owned()),
            ]
        );
    }

    #[test]
    fn each_day_has_its_own_key() {
        let key = AccessKey {
            id: "id".to_owned(),
            secret: "secret".to_owned(),
        };
        let signer = Signer::new(key.clone(), None, "r", "s");
        for second in [0, 1, 86_399, 86_400, 86_401, 5] {
            let now = Timestamp::from_secs(second);
            let signed = |signer: &Signer| signer.sign(("GET", "/"), "h", &[], b"", now).unwrap();
            let fresh = Signer::new(key.clone(), None, "r", "s");
            assert_eq!(signed(&signer), signed(&fresh), "{second}");
        }
        let on = |second| {
            signer
                .sign(("GET", "/"), "h", &[], b"", Timestamp::from_secs(second))
                .unwrap()
        };
        assert_ne!(on(5)[1], on(86_405)[1]);
    }

    #[test]
    fn a_session_token_is_sent_and_covered() {
        let key = AccessKey {
            id: "id".to_owned(),
            secret: "secret".to_owned(),
        };
        let signer = Signer::new(key, Some("token".to_owned()), "r", "s");
        let signed = signer
            .sign(("GET", "/a?b"), "h", &[], b"", Timestamp::from_secs(0))
            .unwrap();
        assert!(signed.contains(&("x-amz-security-token", "token".to_owned())));
        assert!(
            signed[2]
                .1
                .contains("SignedHeaders=host;x-amz-date;x-amz-security-token,")
        );
        assert!(
            signer
                .sign(("GET", "no path"), "h", &[], b"", Timestamp::from_secs(0))
                .is_err()
        );
    }
}
