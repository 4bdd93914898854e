//! A call to a running server, to `/_trestle/…` or in DynamoDB's protocol, over plain HTTP.
//!
//! The request is of HTTP/1.0, so that the answer comes unwrapped and ends with the connection.

use crate::exit::Failure;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use trestle_env::{Clock, SystemClock};
use trestle_sigv4::{AccessKey, Signer};

/// Far more than the head of any answer of ours, or the text of any refusal.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// A server of ours accepts any region; this one is as good as another.
const REGION: &str = "us-east-1";

/// For commands that can do without a server.
pub(crate) const USE_DATA: &str = "for a database that is not running, use --data";

/// The server that is called, and as whom.
#[derive(Debug)]
pub(crate) struct Caller<'a> {
    pub(crate) endpoint: &'a str,
    pub(crate) access_key: Option<&'a str>,
    pub(crate) secret_key: Option<&'a str>,
    /// How long the server may be silent; without it, as long as it likes.
    pub(crate) patience: Option<Duration>,
    /// The page that shows how to do the same over TLS.
    pub(crate) tls_page: &'static str,
    /// What to do if there is no server.
    pub(crate) without_server: &'static str,
}

/// The beginning of an answer: its status, and where to read the rest.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: String,
    pub(crate) body: BufReader<TcpStream>,
}

impl Answered {
    /// What an answer that is no success says.
    pub(crate) fn why(self) -> String {
        let mut why = String::new();
        let _ = self.body.take(HEAD_BYTES_MAX).read_to_string(&mut why);
        why.trim().to_owned()
    }
}

impl Caller<'_> {
    /// Sends a request and waits for the head of its answer.
    pub(crate) fn call(&self, method: &str, path: &str, body: &[u8]) -> Result<Answered, Failure> {
        self.send(method, path, &[], body)
    }

    /// Sends a request of DynamoDB's protocol.
    pub(crate) fn call_operation(&self, target: &str, body: &[u8]) -> Result<Answered, Failure> {
        let headers = [
            ("X-Amz-Target", target),
            ("Content-Type", "application/x-amz-json-1.0"),
        ];
        self.send("POST", "/", &headers, body)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answered, Failure> {
        let endpoint = self.endpoint;
        let host = self.host()?;
        let failed = |error: io::Error| Failure::failed(format!("the call to {endpoint} failed: {error}"));
        let stream = TcpStream::connect(&host).map_err(|error| {
            let instead = self.without_server;
            Failure::failed(format!("no server at {endpoint}: {error}; {instead}"))
        })?;
        stream.set_read_timeout(self.patience).map_err(failed)?;
        stream.set_write_timeout(self.patience).map_err(failed)?;
        let head = self.request((method, path), headers, body, &host)? + "\r\n";
        (&stream).write_all(head.as_bytes()).map_err(failed)?;
        (&stream).write_all(body).map_err(failed)?;
        let mut body = BufReader::new(stream);
        let status = read_head(&mut body).map_err(failed)?;
        Ok(Answered { status, body })
    }

    /// `host:port` of the endpoint.
    fn host(&self) -> Result<String, Failure> {
        let Some(rest) = self.endpoint.strip_prefix("http://") else {
            return Err(Failure::usage(format!(
                "cannot use the endpoint {}: it must begin with http://; {} shows how to do it over TLS with curl",
                self.endpoint, self.tls_page
            )));
        };
        let host = rest.trim_end_matches('/');
        // The colon of an IPv6 address in brackets is not that of a port.
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        Ok(if has_port {
            host.to_owned()
        } else {
            format!("{host}:80")
        })
    }

    /// The head of a request, but for its end.
    fn request(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &[u8],
        host: &str,
    ) -> Result<String, Failure> {
        let mut request = format!("{method} {path} HTTP/1.0\r\nHost: {host}\r\n");
        if !body.is_empty() {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if let Some(signer) = self.signer() {
            let signed = signer.sign((method, path), host, headers, body, SystemClock::new().now());
            for (name, value) in signed.map_err(|error| Failure::usage(error.to_string()))? {
                request += &format!("{name}: {value}\r\n");
            }
        }
        Ok(request)
    }

    fn signer(&self) -> Option<Signer> {
        let (Some(id), Some(secret)) = (self.access_key, self.secret_key) else {
            return None;
        };
        Some(Signer {
            key: AccessKey {
                id: id.to_owned(),
                secret: secret.to_owned(),
            },
            session_token: None,
            region: REGION.to_owned(),
            service: "dynamodb".to_owned(),
        })
    }
}

/// Reads up to the end of the head; the status.
fn read_head(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut head = stream.take(HEAD_BYTES_MAX);
    let mut first = String::new();
    head.read_line(&mut first)?;
    let status = first.split(' ').nth(1).filter(|_| first.starts_with("HTTP/"));
    let Some(status) = status.map(|status| status.trim().to_owned()) else {
        return Err(io::Error::other("what answers does not speak HTTP"));
    };
    let mut line = Vec::new();
    while head.read_until(b'\n', &mut line)? > 0 {
        if line.trim_ascii().is_empty() {
            return Ok(status);
        }
        line.clear();
    }
    Err(io::Error::other("the answer ended too early"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(endpoint: &str) -> Result<String, Failure> {
        let caller = Caller {
            endpoint,
            access_key: None,
            secret_key: None,
            patience: None,
            tls_page: "a page",
            without_server: "start one",
        };
        caller.host()
    }

    #[test]
    fn an_endpoint_is_a_host_and_perhaps_a_port() {
        assert_eq!(host("http://127.0.0.1:8000").unwrap(), "127.0.0.1:8000");
        assert_eq!(host("http://db/").unwrap(), "db:80");
        assert_eq!(host("http://[::1]:8000").unwrap(), "[::1]:8000");
        assert_eq!(host("http://[::1]").unwrap(), "[::1]:80");
        assert!(host("https://db").is_err());
        assert!(host("127.0.0.1:8000").is_err());
    }
}
