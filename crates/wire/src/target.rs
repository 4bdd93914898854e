//! The header `X-Amz-Target`: which operation of which service.

use trestle_api::{Error, Family, OperationName};

const DYNAMODB: &str = "DynamoDB_20120810";
const STREAMS: &str = "DynamoDBStreams_20120810";

/// The operation in a target such as `DynamoDB_20120810.PutItem`. Its text is parsed only here.
///
/// # Errors
///
/// `UnknownOperationException`, with a message only if DynamoDB has the operation and Trestle does not.
pub fn parse_target(target: &str) -> Result<OperationName, Error> {
    let Some((service, name)) = target.split_once('.') else {
        return Err(Error::unknown_operation());
    };
    let family = match service {
        DYNAMODB => Family::DynamoDb,
        STREAMS => Family::Streams,
        _ => return Err(Error::unknown_operation()),
    };
    let operation: OperationName = name.parse()?;
    if operation.family() == family {
        Ok(operation)
    } else {
        Err(Error::unknown_operation())
    }
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
    use trestle_api::OperationName;

    #[test]
    fn a_target_names_an_operation_of_its_own_service() {
        assert_eq!(
            parse_target("DynamoDB_20120810.PutItem").unwrap(),
            OperationName::PutItem
        );
        assert_eq!(
            parse_target("DynamoDBStreams_20120810.GetRecords").unwrap(),
            OperationName::GetRecords
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
