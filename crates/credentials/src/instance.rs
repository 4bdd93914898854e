//! The role of a machine of EC2, from its metadata service (version 2, with a session token).

use crate::credentials::Credentials;
use crate::fetch::Fetch;
use crate::issued::Issued;
use crate::source_error::SourceError;
use crate::variables::Variables;
use trestle_env::Timestamp;
use trestle_http_client::HttpResponse;

const ENDPOINT: &str = "http://169.254.169.254";
const ENDPOINT_V6: &str = "http://[fd00:ec2::254]";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
const TOKEN_SECONDS: (&str, &str) = ("x-aws-ec2-metadata-token-ttl-seconds", "300");

/// The configured address of the service, if there is one.
pub(crate) fn told_endpoint(variables: &Variables) -> Option<&str> {
    variables.get("AWS_EC2_METADATA_SERVICE_ENDPOINT")
}

pub(crate) async fn credentials(variables: &Variables, now: Timestamp) -> Result<Credentials, SourceError> {
    let is_disabled = variables.get("AWS_EC2_METADATA_DISABLED");
    if is_disabled.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err(SourceError::not_set_up("AWS_EC2_METADATA_DISABLED is true"));
    }
    let mode = variables.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    let usual = match mode.is_some_and(|mode| mode.eq_ignore_ascii_case("ipv6")) {
        true => ENDPOINT_V6,
        false => ENDPOINT,
    };
    let base = told_endpoint(variables).unwrap_or(usual).trim_end_matches('/');
    // A machine outside of EC2 has no such service, which is no failure.
    let token = Fetch::local("PUT", &format!("{base}/latest/api/token"), &[TOKEN_SECONDS], now)
        .send()
        .await
        .map_err(SourceError::NotSetUp)?;
    let token = text(base, &token).map_err(SourceError::Failed)?;
    let read = async |path: &str| {
        let url = format!("{base}{path}");
        let headers = [("x-aws-ec2-metadata-token", token.trim())];
        Fetch::local("GET", &url, &headers, now).send().await
    };
    let roles = read(ROLES).await.map_err(SourceError::Failed)?;
    if roles.status.as_u16() == 404 {
        return Err(SourceError::not_set_up(format!(
            "{base} says that this machine has no role"
        )));
    }
    let roles = text(base, &roles).map_err(SourceError::Failed)?;
    let role = roles.lines().map(str::trim).find(|role| !role.is_empty());
    let role = role.ok_or_else(|| SourceError::not_set_up(format!("{base} names no role")))?;
    let answer = read(&format!("{ROLES}{role}"))
        .await
        .map_err(SourceError::Failed)?;
    let found = text(base, &answer).and_then(|text| Issued::parse(text.as_bytes())?.credentials());
    found.map_err(|why| SourceError::failed(format!("the role {role}: {why}")))
}

fn text(base: &str, answer: &HttpResponse) -> Result<String, String> {
    if !answer.status.is_success() {
        return Err(format!("{base} answered {}", answer.status));
    }
    String::from_utf8(answer.body.to_vec())
        .map_err(|_| format!("{base} answered with bytes that are no text"))
}
