//! HTTP/1.1 by hand: one connection, one request at a time; every failure is distinguished from an answer.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long an answer may take before the server counts as hanging.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct RawResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body, which is JSON in all operations.
    pub body: Value,
}

impl RawResponse {
    /// The name of the exception without its prefix; empty for a success.
    pub fn error(&self) -> &str {
        let name = self.body["__type"].as_str().unwrap_or_default();
        name.rsplit('#').next().unwrap_or_default()
    }

    /// The message of an exception.
    pub fn message(&self) -> &str {
        let message = self.body.get("message").or_else(|| self.body.get("Message"));
        message.and_then(Value::as_str).unwrap_or_default()
    }
}

impl Client {
    /// Connects to `address`.
    pub fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(Client {
            stream: BufReader::new(stream),
        })
    }

    /// Runs an operation of DynamoDB, or of its streams. An error means that it may or may not have been carried out.
    pub fn call(&mut self, operation: &str, body: &Value) -> io::Result<RawResponse> {
        let family = match operation {
            "ListStreams" | "DescribeStream" | "GetShardIterator" | "GetRecords" => {
                "DynamoDBStreams_20120810"
            }
            _ => "DynamoDB_20120810",
        };
        self.post("/", &format!("X-Amz-Target: {family}.{operation}"), body)
    }

    /// Waits for answers so long instead of the usual time.
    pub fn wait_for(&mut self, longest: Duration) -> io::Result<()> {
        self.stream.get_mut().set_read_timeout(Some(longest))
    }

    /// Runs an operation of SQS.
    pub fn call_queue(&mut self, operation: &str, body: &Value) -> io::Result<RawResponse> {
        self.post("/", &format!("X-Amz-Target: AmazonSQS.{operation}"), body)
    }

    /// Moves a virtual clock on.
    pub fn advance_clock(&mut self, seconds: u64) -> io::Result<RawResponse> {
        let body = serde_json::json!({ "advance_seconds": seconds });
        self.administer("move-clock", &body)
    }

    /// Sets a virtual clock.
    pub fn set_clock(&mut self, seconds: u64) -> io::Result<RawResponse> {
        let body = serde_json::json!({ "set": seconds });
        self.administer("move-clock", &body)
    }

    /// Makes a call of the administration.
    pub fn administer(&mut self, name: &str, body: &Value) -> io::Result<RawResponse> {
        self.post(&format!("/_trestle/{name}"), "X-Trestle-Admin: 1", body)
    }

    fn post(&mut self, path: &str, header: &str, body: &Value) -> io::Result<RawResponse> {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\
             Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.send(request.as_bytes())?;
        self.read()
    }

    /// Sends bytes unchanged.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads one answer.
    pub fn read(&mut self) -> io::Result<RawResponse> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("not an answer: {status_line:?}")))?;
        let mut length = 0;
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        let body = serde_json::from_slice(&body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
        Ok(RawResponse { status, body })
    }

    /// A line of the head. The end of the stream is an error: half an answer acknowledges nothing.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// The connection itself, for clients that misbehave.
    pub fn stream(&mut self) -> &mut TcpStream {
        self.stream.get_mut()
    }
}
