//! `trestle healthcheck`: one request, one exit code.

use crate::args::HealthcheckFlags;
use crate::exit::Failure;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(3);

/// More than enough for the response's head and its one line.
const ANSWER_BYTES_MAX: u64 = 16 * 1024;

/// How a TLS server answers a request without TLS: with an alert record. A check without TLS treats this as
/// healthy: the server accepts connections and answers them.
const TLS_ALERT: &[u8] = &[0x15, 0x03];

/// Succeeds if a healthy server answers.
pub(crate) fn check(flags: &HealthcheckFlags) -> Result<(), Failure> {
    let HealthcheckFlags { host, port } = flags;
    let answer = ask(host, *port).map_err(|error| {
        Failure::failed(format!(
            "no healthy server at {host}:{port}: {error}; start one with `trestle serve --port {port}`"
        ))
    })?;
    let text = String::from_utf8_lossy(&answer);
    if answer.starts_with(TLS_ALERT) || text.starts_with("HTTP/1.1 200") && text.contains("healthy") {
        let _ = writeln!(io::stdout(), "healthy: {host}:{port}");
        return Ok(());
    }
    let first_line = text.lines().next().unwrap_or("nothing");
    Err(Failure::failed(format!(
        "the server at {host}:{port} is not healthy: it answered `{first_line}`"
    )))
}

fn ask(host: &str, port: u16) -> io::Result<Vec<u8>> {
    let mut stream = connect(host, port)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let request = format!("GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    match stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer) {
        // A reset of the connection after the response is no error.
        Err(error) if answer.is_empty() => Err(error),
        _ => Ok(answer),
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last_error = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last_error = error,
        }
    }
    Err(last_error)
}
