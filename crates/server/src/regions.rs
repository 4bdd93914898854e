//! Regions as separate namespaces: which database and which queues answer a request.

use crate::admission::on_own_thread;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use std::sync::Arc;
use trestle_api::{Database, Error};
use trestle_queue::Queues;
use trestle_sigv4::query_parameters;

/// What answers the requests of one region.
#[derive(Clone)]
pub struct Region {
    /// Its tables.
    pub database: Arc<dyn Database>,
    /// Its queues.
    pub queues: Option<Queues>,
}

/// The regions of a server that separates them.
pub trait Regions: Send + Sync {
    /// The database and queues for requests that are signed for a region. They may have to be opened, so this
    /// may wait for the disk.
    fn region(&self, name: &str) -> Result<Region, Error>;
}

/// The database and queues for a request; those of the server's own region if regions are not separate, or if
/// the request names none.
pub(crate) async fn of_request(
    regions: Option<&Arc<dyn Regions>>,
    own: &Region,
    head: &Parts,
) -> Result<Region, Error> {
    let (Some(regions), Some(name)) = (regions, named(head)) else {
        return Ok(own.clone());
    };
    let regions = Arc::clone(regions);
    on_own_thread(move || regions.region(&name)).await?
}

/// The region that a request is signed for: the third part of its credential, in the header or in the query string.
fn named(head: &Parts) -> Option<String> {
    if let Some(header) = head.headers.get(AUTHORIZATION) {
        let (_, credential) = header.to_str().ok()?.split_once("Credential=")?;
        return region_in(credential.split([',', ' ']).next()?);
    }
    let parameters = query_parameters(head.uri.query().unwrap_or_default());
    let (_, credential) = parameters.iter().find(|(name, _)| name == "X-Amz-Credential")?;
    region_in(credential)
}

fn region_in(credential: &str) -> Option<String> {
    // An access key may contain slashes; the parts after it may not.
    let mut parts = credential.rsplit('/');
    parts
        .nth(2)
        .filter(|name| !name.is_empty())
        .map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn parts(uri: &str, authorization: Option<&str>) -> Parts {
        let mut request = Request::builder().uri(uri);
        if let Some(text) = authorization {
            request = request.header(AUTHORIZATION, text);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn the_region_is_read_from_the_header_or_from_the_query_string() {
        let header = "AWS4-HMAC-SHA256 Credential=a/b/20261118/eu-west-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
        assert_eq!(named(&parts("/", Some(header))).as_deref(), Some("eu-west-1"));
        let uri = "/?Action=ListQueues&X-Amz-Credential=key%2F20261118%2Feu-west-2%2Fsqs%2Faws4_request";
        assert_eq!(named(&parts(uri, None)).as_deref(), Some("eu-west-2"));
    }

    #[test]
    fn a_request_without_a_credential_names_no_region() {
        for header in [
            None,
            Some("Bearer x"),
            Some("Credential="),
            Some("Credential=key/aws4_request"),
        ] {
            assert_eq!(named(&parts("/", header)), None, "{header:?}");
        }
    }
}
