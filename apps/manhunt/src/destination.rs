//! Numbers, addresses and URLs, checked before a search depends on them.

use lettre::Address;
use reqwest::Url;

use crate::model::ContactMethodType::{self, Call, Email, Text, Webhook};
use crate::{Error, Result};

/// A destination as it is stored, if a method of this type can have it. Numbers lose their spaces and punctuation.
pub(crate) fn checked(kind: ContactMethodType, destination: &str) -> Result<String> {
    let given = destination.trim();
    let (fits, example) = match kind {
        Call | Text => (number(given), "a number with its country, such as +49 30 901820"),
        Email => (address(given), "a mail address, such as ada@example.org"),
        Webhook => (url(given), "a URL, such as https://example.org/hook"),
    };
    fits.ok_or_else(|| Error::Invalid(format!("destination: {given:?} is not {example}")))
}

/// `+` and seven to fifteen digits, as numbers are written internationally.
pub(crate) fn number(text: &str) -> Option<String> {
    let plain: String = text.chars().filter(|c| !" -./()".contains(*c)).collect();
    let digits = plain.strip_prefix('+')?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (7..=15).contains(&digits.len())
        && !digits.starts_with('0');
    is_number.then_some(plain)
}

fn address(text: &str) -> Option<String> {
    Some(text.parse::<Address>().ok()?.to_string())
}

fn url(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    is_web.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_what_their_type_can_reach() {
        for (kind, given, stored) in [
            (Text, "+49 (30) 901-820", "+4930901820"),
            (Call, " +15550100 ", "+15550100"),
            (Email, "ada@example.org", "ada@example.org"),
            (
                Webhook,
                "https://example.org/hook?a=1",
                "https://example.org/hook?a=1",
            ),
            (Webhook, "http://127.0.0.1:9", "http://127.0.0.1:9"),
        ] {
            assert_eq!(checked(kind, given).unwrap(), stored);
        }
        for (kind, given) in [
            (Text, "030 901820"),
            (Text, "+0301234567"),
            (Text, "+12"),
            (Text, "+1234567890123456"),
            (Call, "ada@example.org"),
            (Email, "ada"),
            (Email, "Ada <ada@example.org>"),
            (Email, "a b@example.org"),
            (Webhook, "example.org/hook"),
            (Webhook, "ftp://example.org"),
            (Webhook, "javascript:alert(1)"),
            (Webhook, ""),
        ] {
            let refused = checked(kind, given).unwrap_err().to_string();
            assert!(refused.starts_with("destination: "), "{refused}");
        }
    }
}
