//! Single calls: creating tables, and waiting until they are ready.

use crate::error::{BenchError, Doing};
use crate::http::{BenchResponse, plain_request, read_answer};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(30);
const READY_WITHIN: Duration = Duration::from_secs(30);

/// Sends one request on a separate connection.
pub(crate) fn call(address: SocketAddr, operation: &str, body: &str) -> Result<(u16, Vec<u8>), BenchError> {
    let doing = format!("cannot call {operation} at {address}");
    let mut stream = TcpStream::connect(address).doing(&doing)?;
    stream.set_read_timeout(Some(TIMEOUT)).doing(&doing)?;
    stream.write_all(&plain_request(operation, body)).doing(&doing)?;
    let (answer, body) = receive(&mut stream, &doing)?;
    Ok((answer.status, body))
}

/// Reads one response, and returns its body.
pub(crate) fn receive(stream: &mut TcpStream, doing: &str) -> Result<(BenchResponse, Vec<u8>), BenchError> {
    let (mut received, mut room) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let bytes = stream.read(&mut room).doing(doing)?;
        received.extend(room.iter().take(bytes));
        if let Some(answer) = read_answer(&received).doing(doing)? {
            let body = answer.body(&received).doing(doing)?.into_owned();
            return Ok((answer, body));
        }
        if bytes == 0 {
            return Err(BenchError::new(format!("{doing}: the connection was closed")));
        }
    }
}

/// Makes a call that must return status 200.
pub(crate) fn succeed(address: SocketAddr, operation: &str, body: &str) -> Result<Vec<u8>, BenchError> {
    match call(address, operation, body)? {
        (200, answer) => Ok(answer),
        (status, answer) => {
            let said = String::from_utf8_lossy(&answer).into_owned();
            Err(BenchError::new(format!(
                "{operation} failed with status {status}: {said}"
            )))
        }
    }
}

/// Waits until the table and its indexes are active.
pub(crate) fn wait_until_active(address: SocketAddr, table: &str) -> Result<(), BenchError> {
    let asked = Instant::now();
    while asked.elapsed() < READY_WITHIN {
        let body = succeed(address, "DescribeTable", &format!(r#"{{"TableName":"{table}"}}"#))?;
        let answer: serde_json::Value = serde_json::from_slice(&body).doing("cannot read DescribeTable")?;
        let table = &answer["Table"];
        let indexes = table["GlobalSecondaryIndexes"].as_array();
        let ready = |status: &serde_json::Value| status.as_str() == Some("ACTIVE");
        if ready(&table["TableStatus"])
            && indexes
                .into_iter()
                .flatten()
                .all(|index| ready(&index["IndexStatus"]))
        {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(BenchError::new(format!("table {table} did not become active")))
}
