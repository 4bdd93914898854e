//! The header that proves to a webhook who sent a request, and when.

use trestle_env::Timestamp;
use trestle_sigv4::{hex, keyed_hash};

/// `t=<seconds>,v1=<digits>`: the digits are the HMAC-SHA-256 of `<seconds>.<body>`. The signature covers the
/// time, so that an intercepted request cannot be replayed much later.
pub(super) fn header(secret: &str, now: Timestamp, body: &[u8]) -> String {
    let seconds = now.as_secs();
    let mut signed = format!("{seconds}.").into_bytes();
    signed.extend_from_slice(body);
    format!("t={seconds},v1={}", hex(&keyed_hash(secret.as_bytes(), &signed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits are those of `printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec`.
    #[test]
    fn others_compute_the_same_digits() {
        assert_eq!(
            header("whsec", Timestamp::from_secs(1_700_000_000), b"{}"),
            "t=1700000000,v1=7d44587dddbaf4c7f70fef20f48cd594834ffea1641e3ac227b84408298738af"
        );
    }
}
