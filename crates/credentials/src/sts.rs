//! Assumes roles at AWS's Security Token Service.

use crate::credentials::Credentials;
use crate::expiry;
use crate::fetch::Fetch;
use form_urlencoded::Serializer;
use std::time::Duration;
use trestle_env::Timestamp;
use trestle_http_client::{HttpResponse, Proxy};
use trestle_sigv4::{AccessKey, Signer};

const VERSION: &str = "2011-06-15";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded; charset=utf-8");
const TIMEOUT: Duration = Duration::from_secs(10);

/// The address of the service, and how to reach it.
#[derive(Clone, Copy)]
pub(crate) struct Sts<'a> {
    /// Used in place of the region's address.
    pub(crate) url: Option<&'a str>,
    pub(crate) region: &'a str,
    pub(crate) ca_file: Option<&'a str>,
    pub(crate) proxy: Option<&'a Proxy>,
}

/// A role, and the settings for assuming it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) arn: String,
    /// The name shown in AWS's logs.
    pub(crate) session_name: Option<String>,
    pub(crate) external_id: Option<String>,
    pub(crate) duration_seconds: Option<String>,
}

impl Sts<'_> {
    /// Assumes a role with other credentials.
    pub(crate) async fn assume(
        self,
        role: &Role,
        with: &Credentials,
        now: Timestamp,
    ) -> Result<Credentials, String> {
        let signer = Signer::new(with.key.clone(), with.session_token.clone(), self.region, "sts");
        let external_id = role.external_id.as_deref().map(|id| ("ExternalId", id));
        let form = role.form("AssumeRole", external_id, now);
        self.call(role, form, Some(&signer), now).await
    }

    /// Assumes a role with a token of another identity provider.
    pub(crate) async fn assume_with_web_identity(
        self,
        role: &Role,
        token: &str,
        now: Timestamp,
    ) -> Result<Credentials, String> {
        let form = role.form(
            "AssumeRoleWithWebIdentity",
            Some(("WebIdentityToken", token)),
            now,
        );
        self.call(role, form, None, now).await
    }

    async fn call(
        self,
        role: &Role,
        form: String,
        signer: Option<&Signer>,
        now: Timestamp,
    ) -> Result<Credentials, String> {
        let url = self.url.map_or_else(|| endpoint(self.region), str::to_owned);
        let fetch = Fetch {
            method: "POST",
            url: &url,
            headers: &[FORM],
            body: form.into(),
            signer,
            now,
            timeout: TIMEOUT,
            ca_file: self.ca_file,
            proxy: self.proxy,
        };
        let found = fetch.send().await.and_then(|answer| read(&url, &answer));
        found.map_err(|why| format!("the role {}: {why}", role.arn))
    }
}

impl Role {
    fn form(&self, action: &str, also: Option<(&str, &str)>, now: Timestamp) -> String {
        let mut form = Serializer::new(String::new());
        let name = self.session_name.clone();
        let name = name.unwrap_or_else(|| format!("trestle-{}", now.as_secs()));
        form.append_pair("Action", action)
            .append_pair("Version", VERSION)
            .append_pair("RoleArn", &self.arn)
            .append_pair("RoleSessionName", &name);
        if let Some(seconds) = &self.duration_seconds {
            form.append_pair("DurationSeconds", seconds);
        }
        if let Some((name, value)) = also {
            form.append_pair(name, value);
        }
        form.finish()
    }
}

fn endpoint(region: &str) -> String {
    let ending = match region.starts_with("cn-") {
        true => "amazonaws.com.cn",
        false => "amazonaws.com",
    };
    format!("https://sts.{region}.{ending}")
}

fn read(url: &str, answer: &HttpResponse) -> Result<Credentials, String> {
    let text = String::from_utf8_lossy(&answer.body);
    if !answer.status.is_success() {
        let said = [element(&text, "Code"), element(&text, "Message")];
        let said: Vec<String> = said.into_iter().flatten().collect();
        return Err(match said.is_empty() {
            true => format!("{url} answered {}", answer.status),
            false => format!("{url} answered {}: {}", answer.status, said.join(": ")),
        });
    }
    let needed = |name: &str| element(&text, name).ok_or_else(|| format!("{url} gave no {name}"));
    let expires = needed("Expiration")?;
    Ok(Credentials {
        key: AccessKey {
            id: needed("AccessKeyId")?,
            secret: needed("SecretAccessKey")?,
        },
        session_token: Some(needed("SessionToken")?),
        expires: Some(
            expiry::parse(&expires)
                .ok_or_else(|| format!("{url} gave an Expiration that is no time: {expires}"))?,
        ),
    })
}

/// The text of the first element of that name. In these answers, each name occurs once, without attributes.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, behind) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = behind.split_once(&format!("</{name}>"))?;
    let plain = text
        .trim()
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&");
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_and_read() {
        let xml = "<A><Code>No</Code><Message>a &lt; b &amp;amp; c</Message><Open></A>";
        assert_eq!(element(xml, "Code").as_deref(), Some("No"));
        assert_eq!(element(xml, "Message").as_deref(), Some("a < b &amp; c"));
        assert_eq!(element(xml, "Open"), None);
        assert_eq!(element(xml, "Other"), None);
    }

    #[test]
    fn each_partition_has_its_own_host() {
        assert_eq!(endpoint("eu-west-1"), "https://sts.eu-west-1.amazonaws.com");
        assert_eq!(endpoint("cn-north-1"), "https://sts.cn-north-1.amazonaws.com.cn");
    }
}
