//! The role of a container: of ECS, or of a pod of EKS with a pod identity.

use crate::credentials::Credentials;
use crate::fetch::Fetch;
use crate::issued::Issued;
use crate::source_error::SourceError;
use crate::variables::Variables;
use std::net::IpAddr;
use trestle_env::Timestamp;
use trestle_http_client::Endpoint;

const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

/// The address in ECS.
const HOST: &str = "http://169.254.170.2";

/// The addresses in ECS, and in EKS in both forms. Only to these and to this machine, a token may be sent
/// without TLS.
const HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];

pub(crate) async fn credentials(variables: &Variables, now: Timestamp) -> Result<Credentials, SourceError> {
    let url = match (variables.get(RELATIVE), variables.get(FULL)) {
        (Some(path), _) => format!("{HOST}{path}"),
        (None, Some(url)) => {
            check(url).map_err(SourceError::Failed)?;
            url.to_owned()
        }
        (None, None) => {
            return Err(SourceError::not_set_up(format!(
                "neither {RELATIVE} nor {FULL} is set"
            )));
        }
    };
    fetch(variables, &url, now).await.map_err(SourceError::Failed)
}

async fn fetch(variables: &Variables, url: &str, now: Timestamp) -> Result<Credentials, String> {
    let token = authorization(variables)?;
    let mut headers = vec![("accept", "application/json")];
    if let Some(token) = &token {
        headers.push(("authorization", token.as_str()));
    }
    let answer = Fetch::local("GET", url, &headers, now).send().await?;
    let status = answer.status;
    let issued = Issued::parse(&answer.body);
    if !status.is_success() {
        let said = issued.ok().and_then(|issued| issued.refusal());
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        return Err(format!("{url} answered {status}{said}"));
    }
    let found = issued.and_then(Issued::credentials);
    found.map_err(|why| format!("{url} {why}"))
}

/// The file is read each time, because its content changes.
fn authorization(variables: &Variables) -> Result<Option<String>, String> {
    let token = match variables.get(TOKEN_FILE) {
        Some(path) => {
            let read = std::fs::read_to_string(variables.expand(path));
            let read =
                read.map_err(|error| format!("cannot read {path}, which {TOKEN_FILE} names: {error}"))?;
            Some(read.trim_end_matches(['\r', '\n']).to_owned())
        }
        None => variables.get(TOKEN).map(str::to_owned),
    };
    match token {
        Some(token) if token.contains(['\r', '\n']) => {
            Err("the authorization token has more than one line".to_owned())
        }
        token => Ok(token),
    }
}

/// Refuses to fetch credentials over an open network.
fn check(url: &str) -> Result<(), String> {
    let endpoint = Endpoint::parse(url).map_err(|why| format!("{FULL} {why}: {url}"))?;
    let address: Option<IpAddr> = endpoint.host.parse().ok();
    let is_near = endpoint.host == "localhost"
        || HOSTS.contains(&endpoint.host.as_str())
        || address.is_some_and(|address| address.is_loopback());
    match endpoint.is_https || is_near {
        true => Ok(()),
        false => Err(format!(
            "{FULL} must begin with https://, or be on this machine or one of {}: {url}",
            HOSTS.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_fetched_over_an_open_network() {
        for url in [
            "http://127.0.0.1:51679/get",
            "http://localhost/get",
            "http://[::1]:80/get",
            "http://169.254.170.23/v1/credentials",
            "http://[fd00:ec2::23]/v1/credentials",
            "https://example.com/get",
        ] {
            check(url).unwrap();
        }
        for url in [
            "http://example.com/get",
            "http://10.0.0.1/get",
            "ftp://localhost/",
        ] {
            assert!(check(url).unwrap_err().contains(url), "{url}");
        }
    }
}
