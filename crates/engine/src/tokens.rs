//! Idempotency tokens: the same transaction sent twice within ten minutes is carried out once.

use std::time::Duration;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_item::key;
use trestle_store::Space;

use crate::meta;
use crate::transaction::Transaction;

/// How long a token is remembered.
pub(crate) const TOKEN_LIFE: Duration = Duration::from_secs(600);

/// A client's token with a fingerprint of its request.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    name: String,
    fingerprint: u64,
}

/// Whether a token has been used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is new, or has expired.
    Never,
    /// The same request was carried out.
    Before,
}

impl Token {
    /// A token for a request, given by its serialised form.
    pub(crate) fn new(name: String, request: &[u8]) -> Self {
        Self {
            name,
            fingerprint: key::hash(request),
        }
    }

    /// Identifies the token among running transactions.
    pub(crate) fn place(&self) -> Vec<u8> {
        meta::token_key(&self.name)
    }

    /// Stores the token, or reports that it has been used; a different request under the same token is
    /// refused.
    pub(crate) fn claim(&self, transaction: &mut Transaction<'_>) -> Result<Seen, Error> {
        let now = transaction.now();
        if let Some(row) = transaction.row(Space::Meta, &self.place())?
            && let Some((_, fingerprint)) = parse(&row).filter(|(time, _)| now.since(*time) < TOKEN_LIFE)
        {
            return if fingerprint == self.fingerprint {
                Ok(Seen::Before)
            } else {
                Err(Error::idempotent_mismatch())
            };
        }
        let row = [
            &now.as_millis().to_be_bytes()[..],
            &self.fingerprint.to_be_bytes(),
        ]
        .concat();
        transaction.put_row(Space::Meta, self.place(), row);
        Ok(Seen::Never)
    }
}

/// A stored token: `time(8) fingerprint(8)`.
pub(crate) fn parse(row: &[u8]) -> Option<(Timestamp, u64)> {
    let time = u64::from_be_bytes(row.get(..8)?.try_into().ok()?);
    let fingerprint = u64::from_be_bytes(row.get(8..16)?.try_into().ok()?);
    Some((Timestamp::from_millis(time), fingerprint))
}
