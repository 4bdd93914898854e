//! Sources, and services that issue keys.

use crate::service::{Asked, Service};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use trestle_credentials::{CredentialSource, NoCredentials, SourceChain};
use trestle_env::{Timestamp, iso_8601_millis};

pub(crate) const AT_AWS: &str = "https://dynamodb.eu-west-1.amazonaws.com";

/// 2027-01-15 08:00:00.
pub(crate) const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

pub(crate) fn later(minutes: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(60 * minutes))
}

pub(crate) fn written(at: Timestamp) -> String {
    format!("{}Z", iso_8601_millis(at))
}

/// The sources of an endpoint with these variables and an empty home.
pub(crate) fn source(endpoint: &str, home: &Path, variables: &[(&str, &str)]) -> CredentialSource {
    let chain = SourceChain::new(endpoint, &|name| match name {
        "HOME" => Some(home.display().to_string()),
        _ => {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    });
    CredentialSource::searched(chain)
}

/// The id of the key that is found.
pub(crate) async fn key(source: &CredentialSource, now: Timestamp) -> Result<String, NoCredentials> {
    let found = source.current(now).await?;
    Ok(found.map_or("unsigned".to_owned(), |found| found.key.id.clone()))
}

pub(crate) async fn refusal(source: &CredentialSource) -> String {
    source.current(NOW).await.unwrap_err().to_string()
}

/// A metadata service of EC2 whose keys are `key 1`, `key 2` and so on, each for an hour from the time that it shows.
pub(crate) async fn metadata(clock: &'static AtomicU64) -> Service {
    let count = AtomicU64::new(0);
    Service::start(move |asked: &Asked| {
        let token = asked.header("x-aws-ec2-metadata-token") == "t";
        match (asked.method.as_str(), asked.path.as_str(), token) {
            ("PUT", "/latest/api/token", _) if asked.headers.contains_key("x-aws-ec2-metadata-token-ttl-seconds") => {
                (200, "t".to_owned())
            }
            ("GET", "/latest/meta-data/iam/security-credentials/", true) => (200, "shop\n".to_owned()),
            ("GET", "/latest/meta-data/iam/security-credentials/shop", true) => {
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                let now = Timestamp::from_millis(clock.load(Ordering::SeqCst));
                let expires = written(now.plus(Duration::from_secs(3600)));
                (
                    200,
                    format!(
                        r#"{{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"key {number}","SecretAccessKey":"hush","Token":"session","Expiration":"{expires}"}}"#
                    ),
                )
            }
            (_, _, false) => (401, String::new()),
            _ => (404, String::new()),
        }
    })
    .await
}

/// A clock for a service. It is leaked, because tests are few.
pub(crate) fn service_clock(at: Timestamp) -> &'static AtomicU64 {
    Box::leak(Box::new(AtomicU64::new(at.as_millis())))
}
