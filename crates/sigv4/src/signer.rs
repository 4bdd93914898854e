//! Signing requests of our own.

use crate::{ALGORITHM, AccessKey, Moment, Scope, sha256, signature, string_to_sign};
use http::Request;
use trestle_env::Timestamp;

/// Why a request cannot be signed: its path or one of its headers is no HTTP.
#[derive(Debug, thiserror::Error)]
#[error("the request cannot be signed: {0}")]
pub struct SignError(#[from] http::Error);

/// Signs requests to one service in one region.
#[derive(Clone, Debug)]
pub struct Signer {
    /// The key.
    pub key: AccessKey,
    /// What a key that lives for a while only is sent with.
    pub session_token: Option<String>,
    /// The region that is asked.
    pub region: String,
    /// The service that is asked.
    pub service: String,
}

impl Signer {
    /// The headers that sign a request, to be sent besides those given.
    ///
    /// The request is told by its method, its path with the query, its `Host` and the other headers that are to be
    /// covered, and its body; all of them must be sent as given here.
    pub fn sign(
        &self,
        (method, path): (&str, &str),
        host: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<(&'static str, String)>, SignError> {
        let signed_at = Moment::from_epoch_s(now.as_secs());
        let mut added = vec![("x-amz-date", signed_at.to_string())];
        if let Some(token) = &self.session_token {
            added.push(("x-amz-security-token", token.clone()));
        }
        let mut request = Request::builder().method(method).uri(path).header("host", host);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        for (name, value) in &added {
            request = request.header(*name, value);
        }
        let (head, ()) = request.body(())?.into_parts();
        let mut names: Vec<String> = head.headers.keys().map(|name| name.as_str().to_owned()).collect();
        names.sort();
        let scope = Scope {
            date: signed_at.date(),
            region: self.region.clone(),
            service: self.service.clone(),
            terminator: "aws4_request".to_owned(),
        };
        let text = string_to_sign(&head, &names, &sha256(body), signed_at, &scope);
        let authorization = format!(
            "{ALGORITHM} Credential={}/{}, SignedHeaders={}, Signature={}",
            self.key.id,
            scope.text(),
            names.join(";"),
            signature(&self.key.secret, &scope, &text)
        );
        added.push(("authorization", authorization));
        Ok(added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature was made by botocore.
    #[test]
    fn a_signature_is_the_one_that_botocore_makes() {
        let signer = Signer {
            key: AccessKey {
                id: "AKIDEXAMPLE".to_owned(),
                secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            },
            session_token: None,
            region: "eu-west-2".to_owned(),
            service: "dynamodb".to_owned(),
        };
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
    fn a_session_token_is_sent_and_covered() {
        let signer = Signer {
            key: AccessKey {
                id: "id".to_owned(),
                secret: "secret".to_owned(),
            },
            session_token: Some("token".to_owned()),
            region: "r".to_owned(),
            service: "s".to_owned(),
        };
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
