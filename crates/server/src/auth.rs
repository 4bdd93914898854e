//! AWS Signature Version 4, verified. Only active when access keys are configured.
//!
//! A request is signed in its `Authorization` header or, presigned, in its query string. Both are read into
//! one [`Claim`]; the [`Verifier`] then checks in AWS's order that the claim is complete, that its time is
//! near the server's, that the key is known, and that the signature matches the computed one. Only the last
//! check needs the body.

mod claim;

use crate::http::TARGET;
use crate::queues;
use crate::role::{Caller, KeyGrant};
use crate::session::{self, Login, Session};
use claim::Claim;
use hyper::header::HeaderName;
use hyper::http::request::Parts;
use std::collections::HashMap;
use std::sync::Arc;
use trestle_api::{Error, ErrorKind};
use trestle_env::Clock;
use trestle_sigv4::{Moment, equal_in_constant_time, hex, signature, string_to_sign};

/// How far a client's clock may be off, and how long a signature in a header is valid.
const SKEW_S: u64 = 15 * 60;

/// The header that announces the hash of the body.
const CONTENT_HASH: HeaderName = HeaderName::from_static("x-amz-content-sha256");

/// The service name in signatures of requests to DynamoDB, its Streams, and the administration.
const DYNAMODB: &str = "dynamodb";
/// The service name in signatures of requests to SQS.
const SQS: &str = "sqs";

/// Checks signatures against the configured keys.
pub(crate) struct Verifier {
    keys: HashMap<String, KeyGrant>,
    clock: Arc<dyn Clock>,
}

impl Verifier {
    /// A verifier for these keys, or `None` without keys, when every request is accepted.
    pub(crate) fn new(keys: &[KeyGrant], clock: Arc<dyn Clock>) -> Option<Self> {
        if keys.is_empty() {
            return None;
        }
        let keys = keys.iter().map(|grant| (grant.key.id.clone(), grant.clone()));
        Some(Verifier {
            keys: keys.collect(),
            clock,
        })
    }

    /// Accepts a head whose claim is complete, in time, and made with one of the keys.
    pub(crate) fn examine(&self, head: &Parts) -> Result<Examined<'_>, Error> {
        let claim = Claim::read(head)?;
        let service = if queues::is_asked(head) { SQS } else { DYNAMODB };
        check_scope(&claim, service)?;
        check_signed_headers(&claim, head)?;
        self.check_time(&claim)?;
        let grant = self.keys.get(&claim.key_id);
        let grant = grant.ok_or_else(Error::unrecognized_client)?;
        Ok(Examined { claim, grant })
    }

    /// Begins a session of the console.
    pub(crate) fn log_in(&self, login: &Login) -> Result<Session, Error> {
        session::begin(
            self.keys.get(&login.access_key),
            login,
            self.clock.now().as_secs(),
        )
    }

    /// The caller of a session.
    pub(crate) fn resume(&self, token: &str) -> Result<Caller, Error> {
        let find = |id: &str| {
            let mut keys = self.keys.values();
            keys.find(|grant| hex(grant.key.id.as_bytes()) == id)
        };
        session::resume(token, self.clock.now().as_secs(), find)
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

/// A claim with a known key and a valid time. Its signature can be checked only with the body.
pub(crate) struct Examined<'a> {
    claim: Claim,
    grant: &'a KeyGrant,
}

impl Examined<'_> {
    /// The caller that the claim names.
    pub(crate) fn caller(&self) -> Caller {
        Caller {
            key_id: Some(self.grant.key.id.clone()),
            role: self.grant.role,
            looks_only: false,
        }
    }

    /// Accepts a request that was signed with the key. `payload_hash` is that of the body as it was sent, before inflation.
    pub(crate) fn verify(&self, head: &Parts, payload_hash: &str) -> Result<(), Error> {
        let claim = &self.claim;
        check_announced_hash(head, payload_hash)?;
        let covered = string_to_sign(
            head,
            &claim.signed_headers,
            payload_hash,
            claim.signed_at,
            &claim.scope,
        );
        let expected = signature(&self.grant.key.secret, &claim.scope, &covered);
        if equal_in_constant_time(&expected, &claim.signature) {
            Ok(())
        } else {
            Err(Error::invalid_signature())
        }
    }
}

fn check_scope(claim: &Claim, service: &str) -> Result<(), Error> {
    let scope = &claim.scope;
    let mut problems = String::new();
    if scope.terminator != "aws4_request" {
        problems += &format!(
            "Credential should be scoped with a valid terminator: 'aws4_request', not '{}'. ",
            scope.terminator
        );
    }
    if scope.service != service {
        problems += &format!("Credential should be scoped to correct service: '{service}'. ");
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

/// The signature must cover the host and the operation: otherwise a captured request could be sent to another
/// server or turned into another operation.
fn check_signed_headers(claim: &Claim, head: &Parts) -> Result<(), Error> {
    if !claim.signs("host") && !claim.signs(":authority") {
        return Err(invalid(
            "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.".to_owned(),
        ));
    }
    if head.headers.contains_key(TARGET) && !claim.signs("x-amz-target") {
        return Err(invalid(
            "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.".to_owned(),
        ));
    }
    Ok(())
}

/// If the client announces another hash than that of its body, the body was changed on the way, or the client
/// is faulty.
fn check_announced_hash(head: &Parts, payload_hash: &str) -> Result<(), Error> {
    match head.headers.get(CONTENT_HASH) {
        Some(announced) if !announced.as_bytes().eq_ignore_ascii_case(payload_hash.as_bytes()) => Err(
            invalid("The provided 'x-amz-content-sha256' header does not match what was computed."),
        ),
        _ => Ok(()),
    }
}

/// A wrong signature whose mistake can be named.
fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidSignature, message)
}

#[cfg(test)]
mod tests;
