//! Texts and calls by a provider with Twilio's API, and its requests with replies.

use async_trait::async_trait;
use axum::http::header::CONTENT_TYPE;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::Serializer;
use reqwest::{Client, Url};
use ring::hmac;
use serde_json::Value;

use super::webhook::client;
use super::{Channel, Failure, Notice, TIMEOUT, is_refusal};
use crate::destination::number;
use crate::model::ContactMethodType;

/// Sends texts and makes calls by an account with the provider.
pub struct Twilio {
    /// The URL of the account: `https://api.twilio.com/2010-04-01/Accounts/SID`.
    account: String,
    sid: String,
    /// It also signs the requests with replies.
    auth_token: String,
    from: String,
    client: Client,
}

impl Twilio {
    /// A client of the account that a URL names: `https://SID:TOKEN@api.twilio.com?from=15550100`. Texts and calls come from that
    /// number. The provider has ten seconds for each request.
    pub fn new(url: &str) -> Result<Self, String> {
        let client = client(TIMEOUT).map_err(|error| error.to_string())?;
        let opened = Url::parse(url).ok().and_then(|url| {
            let (_, from) = url.query_pairs().find(|(name, _)| name == "from")?;
            let (origin, sid) = (url.origin().ascii_serialization(), url.username());
            Some(Self {
                account: format!("{origin}/2010-04-01/Accounts/{sid}"),
                sid: sid.to_owned(),
                auth_token: url.password()?.to_owned(),
                from: number(&format!("+{}", from.trim_start()))?,
                client,
            })
        });
        let how = "the provider of calls is named as https://SID:TOKEN@api.twilio.com?from=15550100";
        opened.ok_or_else(|| how.to_owned())
    }

    /// Whether a request comes from the provider: its signature covers the called URL and the sent form.
    pub(crate) fn is_signed(&self, url: &str, form: &[(String, String)], signature: &str) -> bool {
        let mut sorted: Vec<_> = form.iter().collect();
        sorted.sort();
        let fields = sorted.iter().flat_map(|(name, value)| [name.as_str(), value]);
        let signed: String = std::iter::once(url).chain(fields).collect();
        let secret = self.auth_token.as_bytes();
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
        let signature = STANDARD.decode(signature).unwrap_or_default();
        hmac::verify(&key, signed.as_bytes(), &signature).is_ok()
    }
}

#[async_trait]
impl Channel for Twilio {
    async fn send(&self, notice: &Notice) -> Result<(), Failure> {
        let (resource, field, content) = match notice.kind {
            Some(ContactMethodType::Call) => ("Calls", "Twiml", spoken(notice)),
            _ => ("Messages", "Body", notice.text.clone()),
        };
        let form = Serializer::new(String::new())
            .append_pair("To", &notice.destination)
            .append_pair("From", &self.from)
            .append_pair(field, &content)
            .finish();
        let post = self.client.post(format!("{}/{resource}.json", self.account));
        let post = post.basic_auth(&self.sid, Some(&self.auth_token));
        let post = post.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let answer = post.body(form).send().await.map_err(Failure::of_call)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let refusal: Value = answer.json().await.unwrap_or_default();
        let why = refusal["message"].as_str().unwrap_or("it does not say why");
        let reason = format!("the provider answered {status}: {why}");
        let is_lasting = is_refusal(status);
        Err(Failure { reason, is_lasting })
    }
}

/// The text of a call, and where a pressed key is posted.
fn spoken(notice: &Notice) -> String {
    let (url, subject) = (escaped(&notice.call_url), escaped(&notice.subject));
    format!(
        "<Response><Gather input=\"dtmf\" numDigits=\"1\" timeout=\"15\" action=\"{url}\">\
         <Say>{subject}. Press a key to answer.</Say></Gather></Response>"
    )
}

/// A text in XML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_signs_its_url_and_its_form() {
        let twilio = Twilio::new("http://AC1:12345@127.0.0.1:9?from=+15550100").unwrap();
        assert_eq!(twilio.account, "http://127.0.0.1:9/2010-04-01/Accounts/AC1");
        assert_eq!(twilio.from, "+15550100");
        for wrong in [
            "",
            "https://api.twilio.com?from=15550100",
            "https://AC1:1@api.twilio.com",
        ] {
            assert!(Twilio::new(wrong).is_err(), "{wrong}");
        }
        let form = [
            ("To", "+18005551212"),
            ("Digits", "1234"),
            ("From", "+14158675310"),
        ];
        let mut form = form.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let url = "https://hunt.example/replies/texts";
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"12345");
        let signed = format!("{url}Digits1234From+14158675310To+18005551212");
        let signature = STANDARD.encode(hmac::sign(&key, signed.as_bytes()));
        assert!(twilio.is_signed(url, &form, &signature));
        assert!(!twilio.is_signed("https://hunt.example/replies/calls", &form, &signature));
        assert!(!twilio.is_signed(url, &form, ""));
        form[1].1 = "1235".to_owned();
        assert!(!twilio.is_signed(url, &form, &signature));
    }

    #[test]
    fn what_is_said_is_no_markup() {
        assert_eq!(
            escaped("<Say>\"a\" & b</Say>"),
            "&lt;Say&gt;&quot;a&quot; &amp; b&lt;/Say&gt;"
        );
    }
}
