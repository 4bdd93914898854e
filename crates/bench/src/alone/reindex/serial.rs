//! The comparison for a reindex: a client that scans and updates rows one by one, over HTTP. It does as
//! little as possible; a script with an SDK is slower.

use super::super::Run;
use super::beside::VERSIONS_MAX;
use super::{Figures, TABLE};
use crate::client::receive;
use crate::error::{BenchError, Doing};
use crate::http::plain_request;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows of a page of the scan.
const PAGE: u64 = 900;

/// `alone` is the number of rows that a reindex touches per second.
pub(super) fn measure(
    run: &Run<'_>,
    data: &Path,
    alone: f64,
    figures: &mut Figures<'_>,
) -> Result<(), BenchError> {
    figures.doing("a serial client");
    let server = run.trestle.start(data, &run.directory.join("log"))?;
    let stream = TcpStream::connect(server.address).doing("cannot connect")?;
    stream.set_nodelay(true).doing("cannot connect")?;
    let rate = Serial { stream }.run(run.settings.measured)?;
    server.process.stop()?;
    figures.add("rows updated per second by a serial client over HTTP", rate, "");
    figures.add(
        "rows touched per second, of those of the serial client",
        alone / rate.max(1e-9),
        "×",
    );
    Ok(())
}

/// A client with one connection.
struct Serial {
    stream: TcpStream,
}

impl Serial {
    fn call(&mut self, operation: &str, body: &Value) -> Result<Value, BenchError> {
        let doing = format!("cannot call {operation}");
        let request = plain_request(operation, &body.to_string());
        self.stream.write_all(&request).doing(&doing)?;
        let (answer, body) = receive(&mut self.stream, &doing)?;
        let body: Value = serde_json::from_slice(&body).doing(&doing)?;
        match answer.status {
            200 => Ok(body),
            status => Err(BenchError::new(format!("{doing}: status {status}, {body}"))),
        }
    }

    /// Updates the rows of pages of a scan for a while; returns the number per second.
    fn run(mut self, measured: Duration) -> Result<f64, BenchError> {
        let (began, mut done) = (Instant::now(), 0_u64);
        let mut scan = json!({"TableName": TABLE, "Limit": PAGE, "ProjectionExpression": "pk"});
        loop {
            let page = self.call("Scan", &scan)?;
            for row in page["Items"].as_array().into_iter().flatten() {
                self.call("UpdateItem", &update(row))?;
                done += 1;
                if began.elapsed() >= measured {
                    return Ok(done as f64 / began.elapsed().as_secs_f64());
                }
            }
            match &page["LastEvaluatedKey"] {
                Value::Null => return Ok(done as f64 / began.elapsed().as_secs_f64().max(1e-9)),
                key => scan["ExclusiveStartKey"] = key.clone(),
            }
        }
    }
}

/// The update of a row by a reindex at an endpoint.
fn update(row: &Value) -> Value {
    json!({
        "TableName": TABLE,
        "Key": {"pk": row["pk"]},
        "UpdateExpression": "SET reindexVersion = :v",
        "ConditionExpression": "attribute_exists(pk) AND (attribute_not_exists(reindexVersion) OR reindexVersion < :v)",
        "ExpressionAttributeValues": {":v": {"N": (VERSIONS_MAX + 2).to_string()}},
    })
}
