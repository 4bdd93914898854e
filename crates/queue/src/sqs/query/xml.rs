//! Answers and errors of SQS's older protocol.

use serde_json::{Map, Value};

use crate::sqs::QueueOperation;

const HEAD: &str = "<?xml version=\"1.0\"?>";
const NAMESPACE: &str = "http://queue.amazonaws.com/doc/2012-11-05/";

/// The answer to an operation.
pub(super) fn answer(operation: QueueOperation, members: &Map<String, Value>, request_id: &str) -> String {
    let name = operation.as_str();
    let mut xml = format!("{HEAD}<{name}Response xmlns=\"{NAMESPACE}\">");
    match (members.is_empty(), has_result(operation)) {
        (_, false) => {}
        (true, true) => xml += &format!("<{name}Result/>"),
        (false, true) => {
            xml += &format!("<{name}Result>");
            write_members(&mut xml, members, name);
            xml += &format!("</{name}Result>");
        }
    }
    xml += "<ResponseMetadata>";
    write_text(&mut xml, "RequestId", request_id);
    xml += &format!("</ResponseMetadata></{name}Response>");
    xml
}

/// An error.
pub(super) fn error(is_fault: bool, code: &str, message: &str, request_id: &str) -> String {
    let mut xml = format!("{HEAD}<ErrorResponse xmlns=\"{NAMESPACE}\"><Error>");
    write_text(&mut xml, "Type", if is_fault { "Receiver" } else { "Sender" });
    write_text(&mut xml, "Code", code);
    write_text(&mut xml, "Message", message);
    xml += "<Detail/></Error>";
    write_text(&mut xml, "RequestId", request_id);
    xml += "</ErrorResponse>";
    xml
}

/// Some operations answer only with their metadata.
fn has_result(operation: QueueOperation) -> bool {
    !matches!(
        operation,
        QueueOperation::AddPermission
            | QueueOperation::ChangeMessageVisibility
            | QueueOperation::DeleteMessage
            | QueueOperation::DeleteQueue
            | QueueOperation::PurgeQueue
            | QueueOperation::RemovePermission
            | QueueOperation::SetQueueAttributes
            | QueueOperation::TagQueue
            | QueueOperation::UntagQueue
    )
}

fn write_members(xml: &mut String, members: &Map<String, Value>, operation: &str) {
    for (name, value) in members {
        match (name.as_str(), value) {
            (_, Value::Object(map)) => write_map(xml, name.trim_end_matches('s'), map, operation),
            ("QueueUrls" | "queueUrls", Value::Array(list)) => write_list(xml, "QueueUrl", list, operation),
            ("Messages", Value::Array(list)) => write_list(xml, "Message", list, operation),
            ("Failed", Value::Array(list)) => write_list(xml, "BatchResultErrorEntry", list, operation),
            // `Successful` of a batch and `Results` of a list of tasks.
            (_, Value::Array(list)) => write_list(xml, &format!("{operation}ResultEntry"), list, operation),
            (_, Value::String(text)) => write_text(xml, name, text),
            (_, Value::Null) => {}
            (_, other) => write_text(xml, name, &other.to_string()),
        }
    }
}

/// Each element separately, under the same name.
fn write_list(xml: &mut String, name: &str, list: &[Value], operation: &str) {
    for value in list {
        match value {
            Value::Object(members) => {
                *xml += &format!("<{name}>");
                write_members(xml, members, operation);
                *xml += &format!("</{name}>");
            }
            Value::String(text) => write_text(xml, name, text),
            other => write_text(xml, name, &other.to_string()),
        }
    }
}

/// Pairs of a key and a value.
fn write_map(xml: &mut String, name: &str, map: &Map<String, Value>, operation: &str) {
    let key_name = if name == "Tag" { "Key" } else { "Name" };
    for (key, value) in map {
        *xml += &format!("<{name}>");
        write_text(xml, key_name, key);
        match value {
            Value::Object(members) => {
                *xml += "<Value>";
                write_members(xml, members, operation);
                *xml += "</Value>";
            }
            Value::String(text) => write_text(xml, "Value", text),
            other => write_text(xml, "Value", &other.to_string()),
        }
        *xml += &format!("</{name}>");
    }
}

fn write_text(xml: &mut String, name: &str, text: &str) {
    *xml += &format!("<{name}>");
    for c in text.chars() {
        match c {
            '&' => *xml += "&amp;",
            '<' => *xml += "&lt;",
            '>' => *xml += "&gt;",
            '"' => *xml += "&quot;",
            // Otherwise a reader of XML would turn it into a line feed.
            '\r' => *xml += "&#xD;",
            // XML cannot contain the other characters; an error may quote a refused value with them.
            c if c < ' ' && c != '\t' && c != '\n' => xml.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            c => xml.push(c),
        }
    }
    *xml += &format!("</{name}>");
}
