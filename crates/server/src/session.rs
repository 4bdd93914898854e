//! Sessions of the console: a proof that its visitor holds an access key, and the token that stands for it afterwards.
//!
//! The secret never leaves the page, which signs the time and the key's id with it and then forgets it. The
//! server signs the token with the same secret, so that the token needs no memory here, is valid at every
//! server with that key, and ends with the key. Unlike a cookie, a browser never sends it automatically: a
//! page on another port of this machine counts as the same site, and could make the browser send a cookie.

use crate::role::{Caller, KeyGrant, Role};
use hyper::header::{HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};
use trestle_api::{Error, ErrorKind};
use trestle_sigv4::{Moment, Scope, equal_in_constant_time, hex, signature};

/// The header that carries the token.
const SESSION: HeaderName = HeaderName::from_static("x-trestle-session");

/// The lifetime of a session: a working day.
const LIFETIME_S: u64 = 12 * 60 * 60;

/// How far the clock of a visitor may be off.
const SKEW_S: u64 = 15 * 60;

/// What the page sends to begin a session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    pub(crate) access_key: String,
    /// Its time in the form of signatures: `20261118T061500Z`.
    pub(crate) at: String,
    /// The signature of both with the key's secret.
    pub(crate) proof: String,
}

/// What the page receives.
#[derive(Debug, Serialize)]
pub(crate) struct Session {
    pub(crate) token: String,
    pub(crate) access_key: String,
    pub(crate) role: Role,
    /// Seconds since 1970.
    pub(crate) expires: u64,
}

/// The token of a request, if it has one.
pub(crate) fn token(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

/// Begins a session for the holder of a key.
pub(crate) fn begin(grant: Option<&KeyGrant>, login: &Login, now_s: u64) -> Result<Session, Error> {
    let grant = grant.ok_or_else(Error::unrecognized_client)?;
    let at =
        Moment::parse(&login.at).ok_or_else(|| invalid("`at` is not a time such as 20261118T061500Z"))?;
    let now = Moment::from_epoch_s(now_s);
    if at < now.minus_s(SKEW_S) || at > now.plus_s(SKEW_S) {
        return Err(invalid(format!(
            "the clock of this browser says {at}, that of the server {now}: more than 15 minutes apart"
        )));
    }
    let covered = format!("{}\n{}", login.at, login.access_key);
    let expected = signature(&grant.key.secret, &scope(&at.date(), "trestle_login"), &covered);
    if !equal_in_constant_time(&expected, &login.proof) {
        return Err(Error::invalid_signature());
    }
    let expires = now_s + LIFETIME_S;
    Ok(Session {
        token: format!(
            "{expires}.{}.{}",
            hex(grant.key.id.as_bytes()),
            seal(grant, expires)
        ),
        access_key: grant.key.id.clone(),
        role: grant.role,
        expires,
    })
}

/// The caller of a token. `find` finds the grant of a key whose id is given in hexadecimal digits.
pub(crate) fn resume<'k>(
    token: &str,
    now_s: u64,
    find: impl FnOnce(&str) -> Option<&'k KeyGrant>,
) -> Result<Caller, Error> {
    let ended = || {
        Error::new(
            ErrorKind::UnrecognizedClient,
            "The session has ended: log in again",
        )
    };
    let mut parts = token.splitn(3, '.');
    let (Some(expires), Some(key_id), Some(given)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(ended());
    };
    let grant = find(key_id).ok_or_else(ended)?;
    let expires: u64 = expires.parse().map_err(|_| ended())?;
    if expires <= now_s || !equal_in_constant_time(&seal(grant, expires), given) {
        return Err(ended());
    }
    Ok(Caller {
        key_id: Some(grant.key.id.clone()),
        role: grant.role,
        looks_only: false,
    })
}

fn seal(grant: &KeyGrant, expires: u64) -> String {
    let covered = format!("{expires}\n{}", grant.key.id);
    signature(&grant.key.secret, &scope("session", "trestle_session"), &covered)
}

/// Neither text ends like a request of AWS's protocols, so that no signature of one can be used for the
/// other.
fn scope(date: &str, terminator: &str) -> Scope {
    Scope {
        date: date.to_owned(),
        region: "console".to_owned(),
        service: "trestle".to_owned(),
        terminator: terminator.to_owned(),
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidSignature, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_sigv4::AccessKey;

    const NOW: u64 = 1_795_000_000;

    fn grant(secret: &str) -> KeyGrant {
        KeyGrant {
            key: AccessKey {
                id: "AKID".to_owned(),
                secret: secret.to_owned(),
            },
            role: Role::Data,
        }
    }

    fn login(secret: &str, at_s: u64) -> Login {
        let at = Moment::from_epoch_s(at_s);
        let covered = format!("{at}\nAKID");
        Login {
            access_key: "AKID".to_owned(),
            proof: signature(secret, &scope(&at.date(), "trestle_login"), &covered),
            at: at.to_string(),
        }
    }

    #[test]
    fn a_session_stands_for_its_key_until_it_ends() {
        let grant = grant("secret");
        let session = begin(Some(&grant), &login("secret", NOW), NOW).unwrap();
        let resume_at = |now| resume(&session.token, now, |_| Some(&grant));
        let caller = resume_at(NOW + LIFETIME_S - 1).unwrap();
        assert_eq!((caller.name(), caller.role), ("AKID", Role::Data));
        assert!(resume_at(NOW + LIFETIME_S).is_err());
    }

    #[test]
    fn a_wrong_secret_an_old_proof_and_an_unknown_key_begin_nothing() {
        let grant = grant("secret");
        assert!(begin(Some(&grant), &login("other", NOW), NOW).is_err());
        assert!(begin(Some(&grant), &login("secret", NOW - SKEW_S - 60), NOW).is_err());
        assert!(begin(Some(&grant), &login("secret", NOW + SKEW_S + 60), NOW).is_err());
        assert!(begin(None, &login("secret", NOW), NOW).is_err());
    }

    #[test]
    fn a_token_that_was_changed_or_whose_key_was_is_worth_nothing() {
        let before = grant("secret");
        let session = begin(Some(&before), &login("secret", NOW), NOW).unwrap();
        let after = grant("another secret");
        assert!(resume(&session.token, NOW, |_| Some(&after)).is_err());
        assert!(resume(&session.token, NOW, |_| None).is_err());
        let later = session.token.replacen(
            &session.expires.to_string(),
            &(session.expires + 1).to_string(),
            1,
        );
        assert!(resume(&later, NOW, |_| Some(&before)).is_err());
        for token in ["", ".", "..", "1.2", "x.y.z"] {
            assert!(resume(token, NOW, |_| Some(&before)).is_err(), "{token}");
        }
    }
}
