//! Signed texts that expire, for links that allow one action.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use trestle_env::Timestamp;

use super::{Error, Result};

/// Signs texts, and recognises those that it signed.
///
/// ```
/// use trestle::Timestamp;
/// use trestle::app::Tokens;
///
/// # fn main() -> trestle::app::Result<()> {
/// let tokens = Tokens::new(&trestle::app::random_bytes()?);
/// let token = tokens.sign("order-7", Timestamp::from_secs(2_000));
/// assert_eq!(tokens.read(&token, Timestamp::from_secs(1_999))?, "order-7");
/// assert!(tokens.read(&token, Timestamp::from_secs(2_000)).is_err());
/// assert!(tokens.read(&token.replace('7', "8"), Timestamp::from_secs(1_999)).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Tokens(hmac::Key);

impl Tokens {
    /// Tokens that only programs with this secret can make.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// A token that contains this readable text, valid until `end`. It is safe in a URL if the text is.
    #[must_use]
    pub fn sign(&self, text: &str, end: Timestamp) -> String {
        let signed = format!("{text}.{}", end.as_secs());
        let signature = hmac::sign(&self.0, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// The text of a token that was signed here and has not expired; otherwise a 404.
    pub fn read<'t>(&self, token: &'t str, now: Timestamp) -> Result<&'t str> {
        let parts = token.rsplit_once('.').and_then(|(signed, signature)| {
            let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
            hmac::verify(&self.0, signed.as_bytes(), &signature).ok()?;
            let (text, end) = signed.rsplit_once('.')?;
            Some((text, end.parse::<u64>().ok()?))
        });
        match parts {
            None => Err(Error::NotFound(
                "this link is not valid: it is not complete".to_owned(),
            )),
            Some((_, end)) if end <= now.as_secs() => {
                Err(Error::NotFound("this link has expired".to_owned()))
            }
            Some((text, _)) => Ok(text),
        }
    }
}

/// Bytes that no other program can guess, for secrets and keys.
pub fn random_bytes() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::failed("the system gives no random bytes"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_until_its_end_and_no_other_is() {
        let tokens = Tokens::new(b"secret");
        let (now, end) = (Timestamp::from_secs(1_000), Timestamp::from_secs(1_060));
        let token = tokens.sign("a.b-7", end);
        assert_eq!(tokens.read(&token, now).unwrap(), "a.b-7");
        let last = Timestamp::from_secs(1_059);
        assert!(tokens.read(&token, last).is_ok());
        let late = tokens.read(&token, end).unwrap_err();
        assert_eq!(late.to_string(), "this link has expired");
        for forged in [
            String::new(),
            "a.b-7".to_owned(),
            "a.b-7.1060.".to_owned(),
            token.replace("b-7", "b-8"),
            token.replace(".1060.", ".9060."),
            format!("{token}A"),
            Tokens::new(b"another").sign("a.b-7", end),
        ] {
            let refused = tokens.read(&forged, now).unwrap_err();
            assert!(matches!(refused, Error::NotFound(_)), "{forged}");
        }
    }

    #[test]
    fn random_bytes_do_not_repeat() {
        assert_ne!(random_bytes().unwrap(), random_bytes().unwrap());
    }
}
