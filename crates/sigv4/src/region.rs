//! The region in the name of an AWS host.

const ENDINGS: [&str; 3] = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"];

/// Whether a host belongs to AWS.
pub fn is_aws_host(host: &str) -> bool {
    ENDINGS.iter().any(|ending| host.ends_with(ending))
}

/// The region in the name of a host of AWS, at any position: `sqs.eu-west-1.amazonaws.com`, the older
/// `eu-west-1.queue.amazonaws.com`, `streams.dynamodb.cn-north-1.amazonaws.com.cn`,
/// `dynamodb.eu-west-1.api.aws`.
pub fn region_of_host(host: &str) -> Option<&str> {
    let name = ENDINGS.iter().find_map(|ending| host.strip_suffix(ending))?;
    name.split('.').rev().find(|part| is_region(part))
}

/// Words and a number: `us-east-1`, `us-gov-west-1`.
fn is_region(part: &str) -> bool {
    let Some((words, number)) = part.rsplit_once('-') else {
        return false;
    };
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    words.contains('-')
        && words.split('-').all(is_word)
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_aws_tell_their_region() {
        for (host, region) in [
            ("sqs.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("events.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("eu-west-2.queue.amazonaws.com", Some("eu-west-2")),
            ("dynamodb.us-gov-west-1.amazonaws.com", Some("us-gov-west-1")),
            ("streams.dynamodb.us-east-2.amazonaws.com", Some("us-east-2")),
            ("dynamodb-fips.us-east-1.api.aws", Some("us-east-1")),
            ("123456789012.ddb.eu-west-1.amazonaws.com", Some("eu-west-1")),
            (
                "vpce-1a2b3c4d-5e6f.dynamodb.us-east-1.vpce.amazonaws.com",
                Some("us-east-1"),
            ),
            ("queue.amazonaws.com", None),
            ("localhost", None),
            ("eu-west-1.example.com", None),
        ] {
            assert_eq!(region_of_host(host), region, "{host}");
            let is_aws = host.contains("amazonaws.com") || host.contains("api.aws");
            assert_eq!(is_aws_host(host), is_aws, "{host}");
        }
    }
}
