//! A hand-written HTTP/1.1 client, so that tests see the bytes and can misbehave.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// The value of a header, or the empty string.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// `UnknownOperationException` and the like; empty for a success.
    pub(crate) fn error_type(&self) -> String {
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        body["__type"].as_str().unwrap_or_default().to_owned()
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            stream: BufReader::new(stream),
        }
    }

    /// Sends bytes unchanged.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Reads so many bytes unchanged.
    pub(crate) fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Sends bytes while the server accepts them.
    pub(crate) fn write_while_accepted(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.send("GET", path, &[], b"")
    }

    /// A call of the administration.
    pub(crate) fn administer(&mut self, name: &str, body: &str) -> Response {
        let headers = [("X-Trestle-Admin", "1")];
        self.send("POST", &format!("/_trestle/{name}"), &headers, body.as_bytes())
    }

    /// Runs an operation of DynamoDB.
    pub(crate) fn call(&mut self, operation: &str, body: &[u8]) -> Response {
        self.call_with(operation, &[], body)
    }

    pub(crate) fn call_with(&mut self, operation: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let target = format!("DynamoDB_20120810.{operation}");
        let mut all = vec![
            ("X-Amz-Target", target.as_str()),
            ("Content-Type", "application/x-amz-json-1.0"),
        ];
        all.extend_from_slice(headers);
        self.send("POST", "/", &all, body)
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        self.ask(method, path, headers, body);
        if method == "HEAD" {
            self.read_head()
        } else {
            self.read()
        }
    }

    /// Sends an operation of DynamoDB, and waits for the end of the connection instead of an answer.
    pub(crate) fn call_in_vain(&mut self, operation: &str, body: &str) -> bool {
        let target = format!("DynamoDB_20120810.{operation}");
        let headers = [
            ("X-Amz-Target", target.as_str()),
            ("Content-Type", "application/x-amz-json-1.0"),
        ];
        self.ask("POST", "/", &headers, body.as_bytes());
        self.is_closed()
    }

    fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += "Host: localhost\r\n";
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        self.write(head);
        self.write(body);
    }

    /// The next answer.
    pub(crate) fn read(&mut self) -> Response {
        let mut response = self.read_head();
        let length = response.header("content-length").parse().unwrap();
        response.body = vec![0; length];
        self.stream.read_exact(&mut response.body).unwrap();
        response
    }

    fn read_head(&mut self) -> Response {
        let status = self.line();
        let status = status
            .split(' ')
            .nth(1)
            .unwrap_or_else(|| panic!("no answer: {status:?}"));
        let mut response = Response {
            status: status.parse().unwrap(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else {
                return response;
            };
            response.headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// Everything until the connection ends, however it ends.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        let _ = self.stream.read_to_end(&mut all);
        all
    }

    /// The status of the next answer, whose body is not read.
    pub(crate) fn head_status(&mut self) -> u16 {
        self.read_head().status
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The next byte, for unusual answers.
    pub(crate) fn byte(&mut self) -> char {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).unwrap();
        char::from(byte[0])
    }

    /// Waits for the server to close the connection; returns whether it did.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0; 1]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    /// Whether the server sends nothing for this long.
    pub(crate) fn is_silent(&mut self, time: Duration) -> bool {
        self.stream.get_mut().set_read_timeout(Some(time)).unwrap();
        let waited = self
            .stream
            .fill_buf()
            .is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        self.stream.get_mut().set_read_timeout(Some(TIMEOUT)).unwrap();
        waited
    }
}
