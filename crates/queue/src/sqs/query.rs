//! SQS's older protocol: parameters as a form or in a URL, answers in XML. SDKs from before 2024 speak it.
//!
//! A request is translated to the JSON of the newer protocol, and its answer to XML, so that operations have
//! one implementation.

mod form;
mod xml;

use crate::error::{ErrorCode, QueueError};
use crate::sqs::QueueOperation;
use serde_json::{Map, Value};

use super::no_such_operation;

/// A request in the newer protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryRequest {
    /// The action.
    pub operation: QueueOperation,
    /// Its parameters, as JSON.
    pub body: Vec<u8>,
}

/// Reads the parameters of a request to a path: `/`, or that of a queue's URL.
pub fn read(parameters: Vec<(String, String)>, path: &str) -> Result<QueryRequest, QueueError> {
    let named = |(name, _): &&(String, String)| name == "Action";
    let Some((_, action)) = parameters.iter().find(named) else {
        return Err(QueueError::new(
            ErrorCode::MissingAction,
            "The request must contain the parameter Action.",
        ));
    };
    let operation: QueueOperation = action.parse()?;
    let queue = Some(path.trim_matches('/')).filter(|path| !path.is_empty());
    // Those operations do not concern a single queue.
    let is_general = matches!(
        operation,
        QueueOperation::CreateQueue | QueueOperation::ListQueues
    );
    if queue.is_some() && is_general {
        return Err(no_such_operation(action));
    }
    let mut body = form::read(parameters)?;
    body.remove("Action");
    if let Some(queue) = queue {
        body.entry("QueueUrl").or_insert_with(|| Value::from(queue));
    }
    // The older name takes precedence here; in the newer protocol both count.
    if body.contains_key("AttributeNames") {
        body.remove("MessageSystemAttributeNames");
    }
    Ok(QueryRequest {
        operation,
        body: Value::Object(body).to_string().into_bytes(),
    })
}

/// The answer of the newer protocol as XML.
pub fn answer(operation: QueueOperation, json: &[u8], request_id: &str) -> Result<String, QueueError> {
    let members: Map<String, Value> =
        serde_json::from_slice(json).map_err(|error| QueueError::internal(error.to_string()))?;
    Ok(xml::answer(operation, &members, request_id))
}

/// An error as XML.
#[must_use]
pub fn error(error: &QueueError, request_id: &str) -> String {
    let message = match error.code() {
        ErrorCode::QueueDoesNotExist => "The specified queue does not exist for this wsdl version.",
        _ => error.message(),
    };
    xml::error(
        error.code().is_fault(),
        error.code().query_name(),
        message,
        request_id,
    )
}

/// The error for a request that never became an operation, as XML.
#[must_use]
pub fn refusal(code: &str, message: &str, request_id: &str) -> String {
    xml::error(false, code, message, request_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameters(query: &str) -> Vec<(String, String)> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn body(query: &str, path: &str) -> Value {
        let request = read(parameters(query), path).unwrap();
        serde_json::from_slice(&request.body).unwrap()
    }

    #[test]
    fn parameters_with_numbers_become_lists_and_maps() {
        assert_eq!(
            body(
                "Action=CreateQueue&QueueName=q&Attribute.1.Name=DelaySeconds&Attribute.1.Value=5&Tag.1.Key=a&Tag.1.Value=b",
                "/"
            ),
            json!({"QueueName": "q", "Attributes": {"DelaySeconds": "5"}, "Tags": {"a": "b"}})
        );
        // In the order of their numbers, which may have gaps; an element without a number stands alone.
        assert_eq!(
            body(
                "Action=ReceiveMessage&AttributeName.10=b&AttributeName.2=a&MaxNumberOfMessages=3",
                "/000000000000/q"
            ),
            json!({"QueueUrl": "000000000000/q", "AttributeNames": ["a", "b"], "MaxNumberOfMessages": 3})
        );
        assert_eq!(
            body("Action=UntagQueue&QueueUrl=q&TagKey=a", "/other"),
            json!({"QueueUrl": "q", "TagKeys": ["a"]})
        );
        assert_eq!(
            body(
                "Action=SetQueueAttributes&Attribute.Name=DelaySeconds&Attribute.Value=5",
                "/q"
            ),
            json!({"QueueUrl": "q", "Attributes": {"DelaySeconds": "5"}})
        );
        // SDKs give an empty list or map the name of its shape.
        assert_eq!(
            body(
                "Action=ReceiveMessage&QueueUrl=q&AttributeNames=&MessageAttributeNames=",
                "/"
            ),
            json!({"QueueUrl": "q", "AttributeNames": [], "MessageAttributeNames": []})
        );
        assert_eq!(
            body("Action=SendMessageBatch&QueueUrl=q&Entries=", "/"),
            json!({"QueueUrl": "q", "Entries": []})
        );
        assert_eq!(
            body("Action=CreateQueue&QueueName=q&Attributes=", "/"),
            json!({"QueueName": "q", "Attributes": {}})
        );
        let entry = "SendMessageBatchRequestEntry.1";
        let query = format!(
            "Action=SendMessageBatch&{entry}.Id=a&{entry}.MessageBody=x&{entry}.DelaySeconds=1&{entry}.MessageAttribute.1.\
             Name=n&{entry}.MessageAttribute.1.Value.DataType=String&{entry}.MessageAttribute.1.Value.StringValue=v"
        );
        assert_eq!(
            body(&query, "/q")["Entries"],
            json!([{
                "Id": "a", "MessageBody": "x", "DelaySeconds": 1,
                "MessageAttributes": {"n": {"DataType": "String", "StringValue": "v"}},
            }])
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let code = |query: &str, path: &str| read(parameters(query), path).unwrap_err().code();
        assert_eq!(code("Version=1", "/"), ErrorCode::MissingAction);
        assert_eq!(code("Action=FooBar", "/"), ErrorCode::UnknownOperationException);
        assert_eq!(
            code("Action=ListQueues", "/0/q"),
            ErrorCode::UnknownOperationException
        );
        let number = "Action=ReceiveMessage&MaxNumberOfMessages=many";
        assert_eq!(code(number, "/q"), ErrorCode::InvalidParameterValue);
        for odd in [
            "Attribute.1.Value=x",
            "Attribute=x",
            "Attribute.x.Name=a",
            "Tag.1=b",
        ] {
            let query = format!("Action=SetQueueAttributes&{odd}");
            assert_eq!(code(&query, "/q"), ErrorCode::InvalidParameterValue, "{odd}");
        }
        let deep = format!("Action=SendMessage&MessageBody{}=x", ".1".repeat(10_000));
        assert!(read(parameters(&deep), "/q").is_err());
    }

    #[test]
    fn answers_and_errors_are_xml() {
        let received = json!({"Messages": [{
            "MessageId": "m", "Body": "<a>\r&", "Attributes": {"SenderId": "s"},
            "MessageAttributes": {"n": {"DataType": "String", "StringValue": "v"}},
        }]});
        let xml = answer(
            QueueOperation::ReceiveMessage,
            received.to_string().as_bytes(),
            "id",
        )
        .unwrap();
        assert_eq!(
            xml,
            "<?xml version=\"1.0\"?><ReceiveMessageResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">\
             <ReceiveMessageResult><Message><Attribute><Name>SenderId</Name><Value>s</Value></Attribute>\
             <Body>&lt;a&gt;&#xD;&amp;</Body><MessageAttribute><Name>n</Name><Value><DataType>String</DataType>\
             <StringValue>v</StringValue></Value></MessageAttribute><MessageId>m</MessageId></Message>\
             </ReceiveMessageResult><ResponseMetadata><RequestId>id</RequestId></ResponseMetadata>\
             </ReceiveMessageResponse>"
        );
        let empty = answer(QueueOperation::ReceiveMessage, b"{}", "id").unwrap();
        assert!(empty.contains("<ReceiveMessageResult/>"));
        let nothing = answer(QueueOperation::DeleteMessage, b"{}", "id").unwrap();
        assert!(!nothing.contains("Result"));
        let batch = json!({"Successful": [{"Id": "a"}], "Failed": [{"Id": "b", "SenderFault": true}]});
        let batch = answer(
            QueueOperation::DeleteMessageBatch,
            batch.to_string().as_bytes(),
            "id",
        )
        .unwrap();
        assert!(batch.contains("<DeleteMessageBatchResultEntry><Id>a</Id></DeleteMessageBatchResultEntry>"));
        assert!(batch.contains(
            "<BatchResultErrorEntry><Id>b</Id><SenderFault>true</SenderFault></BatchResultErrorEntry>"
        ));
        assert_eq!(
            error(&QueueError::no_such_queue(), "id"),
            "<?xml version=\"1.0\"?><ErrorResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><Error>\
             <Type>Sender</Type><Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does \
             not exist for this wsdl version.</Message><Detail/></Error><RequestId>id</RequestId></ErrorResponse>"
        );
    }
}
