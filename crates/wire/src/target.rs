//! The header `X-Amz-Target`: which operation of which service.

use trestle_api::{Error, Family, SUPPORTED};

use crate::decode::no_such_operation;

const DYNAMODB: &str = "DynamoDB_20120810";
const STREAMS: &str = "DynamoDBStreams_20120810";

/// The operation that a target such as `DynamoDB_20120810.PutItem` names.
///
/// # Errors
///
/// `UnknownOperationException`, with a message only if DynamoDB has the operation and Trestle does not.
pub fn parse_target(target: &str) -> Result<&'static str, Error> {
    let Some((service, name)) = target.split_once('.') else {
        return Err(Error::unknown_operation());
    };
    let family = match service {
        DYNAMODB => Family::DynamoDb,
        STREAMS => Family::Streams,
        _ => return Err(Error::unknown_operation()),
    };
    let known = SUPPORTED
        .iter()
        .find(|(known, of)| *known == name && *of == family);
    known
        .map(|(known, _)| *known)
        .ok_or_else(|| no_such_operation(name))
}

/// The service's part of a target.
pub(crate) fn service(family: Family) -> &'static str {
    match family {
        Family::DynamoDb => DYNAMODB,
        Family::Streams => STREAMS,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_target;

    #[test]
    fn a_target_names_an_operation_of_its_own_service() {
        assert_eq!(parse_target("DynamoDB_20120810.PutItem").unwrap(), "PutItem");
        assert_eq!(
            parse_target("DynamoDBStreams_20120810.GetRecords").unwrap(),
            "GetRecords"
        );
        for unknown in [
            "",
            "PutItem",
            "DynamoDB_20120810",
            "DynamoDB_20120810.",
            "DynamoDB_20120810.putItem",
            "DynamoDB_20120810.GetRecords",
            "DynamoDBStreams_20120810.PutItem",
            "DynamoDB_20111205.PutItem",
            "DynamoDB_20120810.PutItem.x",
        ] {
            assert_eq!(parse_target(unknown).unwrap_err().message(), "", "{unknown}");
        }
    }

    #[test]
    fn a_missing_feature_is_named() {
        let error = parse_target("DynamoDB_20120810.CreateBackup").unwrap_err();
        assert_eq!(error.kind().as_str(), "UnknownOperationException");
        assert!(error.message().contains("CreateBackup"));
    }
}
