//! The identity of calls, and their region.

use crate::settings::Settings;
use crate::surroundings::Surroundings;
use trestle_http_client::Endpoint;
use trestle_sigv4::{AccessKey, Signer, region_of_host};

/// Enough for a server on this machine, which rarely checks signatures.
const LOCAL_REGION: &str = "us-east-1";

/// Signs with the credentials of the environment. Without any, a plain http endpoint is called unsigned.
pub(crate) fn identity(
    settings: &mut Settings<'_>,
    surroundings: &Surroundings,
    endpoint: &Endpoint,
    service: &str,
) -> Option<Signer> {
    let region = region(settings, surroundings, endpoint);
    let key = surroundings
        .variable("AWS_ACCESS_KEY_ID")
        .zip(surroundings.variable("AWS_SECRET_ACCESS_KEY"));
    let Some((id, secret)) = key else {
        if endpoint.is_https {
            settings.complain(
                "target",
                "needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
            );
        }
        return None;
    };
    Some(Signer::new(
        AccessKey { id, secret },
        surroundings.variable("AWS_SESSION_TOKEN"),
        region,
        service,
    ))
}

/// The region that the settings name, or the host, or the environment.
fn region(settings: &mut Settings<'_>, surroundings: &Surroundings, endpoint: &Endpoint) -> String {
    let found = settings
        .optional_text("region")
        .map(str::to_owned)
        .or_else(|| region_of_host(&endpoint.host).map(str::to_owned))
        .or_else(|| surroundings.variable("AWS_REGION"))
        .or_else(|| surroundings.variable("AWS_DEFAULT_REGION"));
    found.unwrap_or_else(|| {
        if endpoint.is_https {
            settings.complain(
                "region",
                "is missing, and the host does not tell it; set it, or AWS_REGION",
            );
        }
        LOCAL_REGION.to_owned()
    })
}
