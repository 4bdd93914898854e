//! The endpoint of the change streams.

use trestle_sigv4::is_aws_host;

/// The separate host of the streams for a host of AWS; `None` for all others, where streams are at the same
/// endpoint.
pub(crate) fn streams_host(host: &str) -> Option<String> {
    if !is_aws_host(host) {
        return None;
    }
    // Dual-stack endpoints have a different form.
    let prefix = if host.ends_with(".api.aws") {
        "streams-"
    } else {
        "streams."
    };
    let (first, rest) = host.split_once('.')?;
    match first {
        "dynamodb" | "dynamodb-fips" => Some(format!("{prefix}{first}.{rest}")),
        // An account's own endpoint, `123456789012.ddb.eu-west-1.amazonaws.com`, has no streams.
        _ => rest
            .strip_prefix("ddb.")
            .map(|rest| format!("{prefix}dynamodb.{rest}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules are those of botocore's `endpoint-rule-set-1.json` of `dynamodbstreams`.
    #[test]
    fn at_aws_the_streams_have_a_host_of_their_own() {
        for (host, streams) in [
            (
                "dynamodb.eu-west-1.amazonaws.com",
                "streams.dynamodb.eu-west-1.amazonaws.com",
            ),
            (
                "dynamodb.cn-north-1.amazonaws.com.cn",
                "streams.dynamodb.cn-north-1.amazonaws.com.cn",
            ),
            (
                "dynamodb-fips.us-east-1.amazonaws.com",
                "streams.dynamodb-fips.us-east-1.amazonaws.com",
            ),
            ("dynamodb.us-east-1.api.aws", "streams-dynamodb.us-east-1.api.aws"),
            (
                "123456789012.ddb.us-east-1.amazonaws.com",
                "streams.dynamodb.us-east-1.amazonaws.com",
            ),
        ] {
            assert_eq!(streams_host(host).as_deref(), Some(streams), "{host}");
        }
    }

    #[test]
    fn elsewhere_streams_are_at_the_same_endpoint() {
        for host in [
            "localhost",
            "127.0.0.1",
            "::1",
            "scylla.example.com",
            "dynamodb.example.com",
            "vpce-1a2b.dynamodb.us-east-1.vpce.amazonaws.com",
            "streams.dynamodb.eu-west-1.amazonaws.com",
        ] {
            assert_eq!(streams_host(host), None, "{host}");
        }
    }
}
