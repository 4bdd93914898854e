//! HTTP/2 by hand, for a client that sends many requests and reads nothing.

use std::io::{self, Write};
use std::net::TcpStream;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The setting that says how much of each answer the server may send unasked.
const INITIAL_WINDOW_SIZE: u16 = 4;
/// The most that can be said.
const WINDOW_MAX: u32 = (1 << 31) - 1;

/// A connection on which requests are sent. Answers fill the system's buffers, and then the server's.
#[derive(Debug)]
pub struct Unread {
    stream: TcpStream,
    next_stream: u32,
}

impl Unread {
    /// Connects, and lets the server send without a limit.
    pub fn connect(address: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(PREFACE)?;
        let mut window = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
        window.extend(WINDOW_MAX.to_be_bytes());
        stream.write_all(&frame(SETTINGS, 0, 0, &window))?;
        // The window of the whole connection begins at 65,535.
        let more = WINDOW_MAX - 65_535;
        stream.write_all(&frame(WINDOW_UPDATE, 0, 0, &more.to_be_bytes()))?;
        Ok(Unread {
            stream,
            next_stream: 1,
        })
    }

    /// Sends a request on a stream of its own. The server may have closed the connection, which is an error.
    pub fn ask(&mut self, operation: &str, body: &[u8]) -> io::Result<()> {
        let target = format!("DynamoDB_20120810.{operation}");
        let length = body.len().to_string();
        let headers: Vec<u8> = [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", "localhost"),
            (":path", "/"),
            ("x-amz-target", target.as_str()),
            ("content-type", "application/x-amz-json-1.0"),
            ("content-length", length.as_str()),
        ]
        .iter()
        .flat_map(|(name, value)| literal(name, value))
        .collect();
        let mut bytes = frame(HEADERS, END_HEADERS, self.next_stream, &headers);
        bytes.extend(frame(DATA, END_STREAM, self.next_stream, body));
        self.next_stream += 2;
        self.stream.write_all(&bytes)
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap();
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A header in HPACK without tables and without Huffman codes.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        let length = u8::try_from(text.len()).unwrap();
        assert!(length < 127, "longer texts are written in another way");
        bytes.push(length);
        bytes.extend(text.as_bytes());
    }
    bytes
}
