//! AWS Signature Version 4, verified. Only active when access keys are configured.
//!
//! A request is signed in its `Authorization` header or, presigned, in its query string. Both are read into one
//! [`Claim`]; the [`Verifier`] then asks in AWS's order: is the claim complete, is its time near ours, is the key
//! known, does the signature match what we compute ourselves.

mod canonical;
mod claim;
mod moment;
mod signature;
mod signer;

use claim::Claim;
use hyper::http::request::Parts;
use moment::Moment;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use trestle_api::{Error, ErrorKind};
use trestle_env::Clock;

pub use signer::{sign, sign_get};

/// How far a client's clock may be off, and how long a signature in a header lives.
const SKEW_S: u64 = 15 * 60;

/// The service that DynamoDB's and its Streams' requests are signed for.
const SERVICE: &str = "dynamodb";

/// A key that may sign requests.
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

/// Checks signatures against the configured keys.
pub(crate) struct Verifier {
    secrets: HashMap<String, String>,
    clock: Arc<dyn Clock>,
}

impl Verifier {
    /// A verifier for these keys, or `None` when there are none and everyone is welcome.
    pub(crate) fn new(keys: &[AccessKey], clock: Arc<dyn Clock>) -> Option<Self> {
        if keys.is_empty() {
            return None;
        }
        let secrets = keys
            .iter()
            .map(|key| (key.id.clone(), key.secret.clone()))
            .collect();
        Some(Verifier { secrets, clock })
    }

    /// Accepts a request that one of the keys signed. `body` is the body as it was sent, before inflation.
    pub(crate) fn verify(&self, head: &Parts, body: &[u8]) -> Result<(), Error> {
        let claim = Claim::read(head)?;
        check_scope(&claim)?;
        check_signed_headers(&claim, head)?;
        self.check_time(&claim)?;
        let secret = self
            .secrets
            .get(&claim.key_id)
            .ok_or_else(Error::unrecognized_client)?;
        let string_to_sign = canonical::string_to_sign(&claim, head, body)?;
        let expected = signature::sign(secret, &claim.scope, &string_to_sign);
        if signature::matches(&expected, &claim.signature) {
            Ok(())
        } else {
            Err(Error::invalid_signature())
        }
    }

    fn check_time(&self, claim: &Claim) -> Result<(), Error> {
        let now = Moment::from_epoch_s(self.clock.now().as_secs());
        let lifetime_s = claim.expires_s.unwrap_or(SKEW_S);
        let oldest = now.minus_s(lifetime_s);
        if claim.signed_at < oldest {
            return Err(invalid(format!(
                "Signature expired: {} is now earlier than {oldest} ({now} - {} min.)",
                claim.signed_at,
                lifetime_s / 60
            )));
        }
        let latest = now.plus_s(SKEW_S);
        if claim.signed_at > latest {
            return Err(invalid(format!(
                "Signature not yet current: {} is still later than {latest} ({now} + {} min.)",
                claim.signed_at,
                SKEW_S / 60
            )));
        }
        Ok(())
    }
}

fn check_scope(claim: &Claim) -> Result<(), Error> {
    let scope = &claim.scope;
    let mut problems = String::new();
    if scope.terminator != "aws4_request" {
        problems += &format!(
            "Credential should be scoped with a valid terminator: 'aws4_request', not '{}'. ",
            scope.terminator
        );
    }
    if scope.service != SERVICE {
        problems += &format!("Credential should be scoped to correct service: '{SERVICE}'. ");
    }
    let signed_on = claim.signed_at.date();
    if scope.date != signed_on {
        problems += &format!(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '{}' != '{signed_on}', from '{}'. ",
            scope.date, claim.signed_at
        );
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(invalid(problems))
    }
}

/// The host and the operation must be part of what was signed: otherwise a captured request could be sent to
/// another server or turned into another operation.
fn check_signed_headers(claim: &Claim, head: &Parts) -> Result<(), Error> {
    if !claim.signs("host") && !claim.signs(":authority") {
        return Err(invalid(
            "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.".to_owned(),
        ));
    }
    if head.headers.contains_key("x-amz-target") && !claim.signs("x-amz-target") {
        return Err(invalid(
            "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.".to_owned(),
        ));
    }
    Ok(())
}

/// A signature that is wrong in a way that can be told.
fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidSignature, message)
}

#[cfg(test)]
mod tests;
