//! Reads of tables without a model are passed on unchanged.

use std::sync::Arc;

use bytes::Bytes;
use trestle_api::{Database, ForwardFuture, OperationName, Request, ResponseFuture, Wait};
use trestle_env::SystemClock;

use crate::support::{endpoint, gateway};

const ANSWER: &str = r#"{"Item":{"from":{"S":"the endpoint"}}}"#;

/// An endpoint that receives bytes.
struct Forwarding(Arc<dyn Database>);

impl Database for Forwarding {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        self.0.execute(request)
    }

    fn forward(&self, _: OperationName, _: &Bytes) -> Option<ForwardFuture<'_>> {
        Some(Box::pin(async { Some(Bytes::from_static(ANSWER.as_bytes())) }))
    }
}

#[test]
fn only_reads_of_tables_without_a_model_are_sent_on_as_they_came() {
    let clock = Arc::new(SystemClock::new());
    let gateway = gateway(Arc::new(Forwarding(endpoint(clock.clone()))), clock);
    let forwarded = |operation, table: &str| {
        let body = Bytes::from(format!(r#"{{"TableName":"{table}","Key":{{"pk":{{"S":"a"}}}}}}"#));
        gateway.forward(operation, &body).and_then(Wait::wait)
    };
    let arn = |table: &str| format!("arn:aws:dynamodb:us-east-1:000000000000:table/{table}");
    for table in ["plain".to_owned(), arn("plain")] {
        assert_eq!(
            forwarded(OperationName::GetItem, &table).as_deref(),
            Some(ANSWER.as_bytes())
        );
        assert!(forwarded(OperationName::Query, &table).is_some());
        assert_eq!(forwarded(OperationName::PutItem, &table), None);
        assert_eq!(forwarded(OperationName::Scan, &table), None);
    }
    for table in ["rows".to_owned(), arn("rows")] {
        assert_eq!(
            forwarded(OperationName::GetItem, &table),
            None,
            "{table} has a model"
        );
        assert_eq!(
            forwarded(OperationName::Query, &table),
            None,
            "{table} has a model"
        );
    }
}
