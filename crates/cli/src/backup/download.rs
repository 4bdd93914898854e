//! The archive from a running server, over plain HTTP.
//!
//! The request is of HTTP/1.0, so that the answer comes unwrapped and ends with the connection. Whether it is whole,
//! the archive itself tells.

use crate::args::BackupFlags;
use crate::exit::Failure;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use trestle_env::{Clock, SystemClock};
use trestle_server::{AccessKey, sign_get};

const PATH: &str = "/_trestle/backup";
const TIMEOUT: Duration = Duration::from_secs(60);
/// Far more than the head of any answer of ours.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Passes on what arrives and keeps a copy in the file.
pub(super) struct Download {
    stream: BufReader<TcpStream>,
    file: BufWriter<File>,
}

impl Download {
    /// Asks for a backup; everything but an archive becomes a failure.
    pub(super) fn start(flags: &BackupFlags, file: File) -> Result<Self, Failure> {
        let endpoint = &flags.endpoint;
        let host = host(endpoint)?;
        let failed =
            |error: io::Error| Failure::failed(format!("cannot take a backup from {endpoint}: {error}"));
        let stream = TcpStream::connect(&host).map_err(|error| {
            Failure::failed(format!(
                "no server at {endpoint}: {error}; for a database that is not running, use --data"
            ))
        })?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
        stream.set_write_timeout(Some(TIMEOUT)).map_err(failed)?;
        (&stream)
            .write_all(request(flags, &host)?.as_bytes())
            .map_err(failed)?;
        let mut stream = BufReader::new(stream);
        let status = read_head(&mut stream).map_err(failed)?;
        if status != "200" {
            let mut why = String::new();
            let _ = stream.take(HEAD_BYTES_MAX).read_to_string(&mut why);
            let why = why.trim();
            return Err(Failure::failed(format!(
                "{endpoint} gives no backup: it answered {status} {why}"
            )));
        }
        Ok(Download {
            stream,
            file: BufWriter::new(file),
        })
    }

    /// Makes the copy durable.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

impl Read for Download {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(into)?;
        self.file.write_all(into.get(..length).unwrap_or_default())?;
        Ok(length)
    }
}

/// `host:port` of an endpoint.
fn host(endpoint: &str) -> Result<String, Failure> {
    let Some(rest) = endpoint.strip_prefix("http://") else {
        return Err(Failure::usage(format!(
            "cannot use the endpoint {endpoint}: it must begin with http://; docs/backup.md shows how to take a backup \
             over TLS with curl"
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

fn request(flags: &BackupFlags, host: &str) -> Result<String, Failure> {
    let mut request = format!("GET {PATH} HTTP/1.0\r\nHost: {host}\r\n");
    if let (Some(id), Some(secret)) = (&flags.access_key, &flags.secret_key) {
        let key = AccessKey {
            id: id.clone(),
            secret: secret.clone(),
        };
        let signed = sign_get(&key, host, PATH, SystemClock::new().now());
        let signed = signed.map_err(|error| Failure::usage(format!("cannot sign the request: {error}")))?;
        for (name, value) in signed {
            request += &format!("{name}: {value}\r\n");
        }
    }
    Ok(request + "\r\n")
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
