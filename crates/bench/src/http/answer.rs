//! Finds the beginning and end of a response; its content is checked only at times.

use memchr::memmem;
use std::borrow::Cow;

/// The error for bytes that are not a response of an HTTP/1.1 server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is not HTTP/1.1")]
pub(crate) struct NotHttp;

/// A complete answer at the beginning of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BenchResponse {
    pub(crate) status: u16,
    /// Where the head ends and the body begins.
    head: usize,
    /// Where the answer ends.
    pub(crate) end: usize,
    chunked: bool,
    /// Whether the server will close the connection.
    pub(crate) closes: bool,
}

impl BenchResponse {
    /// The bytes of the body as transferred.
    pub(crate) fn body_bytes(&self) -> usize {
        self.end - self.head
    }

    /// The body, joined if it came in chunks.
    pub(crate) fn body<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, NotHttp> {
        let raw = bytes.get(self.head..self.end).ok_or(NotHttp)?;
        if !self.chunked {
            return Ok(Cow::Borrowed(raw));
        }
        let mut body = Vec::with_capacity(raw.len());
        let mut at = 0;
        while let Some((start, length)) = chunk(raw, at)?
            && length > 0
        {
            body.extend_from_slice(raw.get(start..start + length).ok_or(NotHttp)?);
            at = start + length + 2;
        }
        Ok(Cow::Owned(body))
    }
}

/// The response at the beginning of `bytes`, or `None` while a part of it is missing.
pub(crate) fn read_answer(bytes: &[u8]) -> Result<Option<BenchResponse>, NotHttp> {
    let Some(end_of_head) = memmem::find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = end_of_head + 4;
    let mut lines = bytes
        .get(..end_of_head)
        .ok_or(NotHttp)?
        .split(|byte| *byte == b'\n');
    let status = lines.next().and_then(status).ok_or(NotHttp)?;
    let mut length = None;
    let (mut chunked, mut closes) = (false, false);
    for line in lines {
        let Some(colon) = memchr::memchr(b':', line) else {
            return Err(NotHttp);
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                length = Some(decimal(value).ok_or(NotHttp)?)
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => chunked = true,
            10 if name.eq_ignore_ascii_case(b"connection") => closes = value.eq_ignore_ascii_case(b"close"),
            _ => {}
        }
    }
    let end = match length {
        _ if chunked => end_of_chunks(bytes, head)?,
        Some(length) => Some(head.saturating_add(length)),
        None => return Err(NotHttp),
    };
    Ok(end.filter(|end| *end <= bytes.len()).map(|end| BenchResponse {
        status,
        head,
        end,
        chunked,
        closes,
    }))
}

fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.1 ")?;
    u16::try_from(decimal(rest.get(..3)?)?).ok()
}

fn decimal(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn end_of_chunks(bytes: &[u8], head: usize) -> Result<Option<usize>, NotHttp> {
    let mut at = head;
    while let Some((start, length)) = chunk(bytes, at)? {
        at = start.saturating_add(length).saturating_add(2);
        if length == 0 {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Start and length of the chunk whose size line is at `at`.
fn chunk(bytes: &[u8], at: usize) -> Result<Option<(usize, usize)>, NotHttp> {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(line) = memmem::find(rest, b"\r\n") else {
        return Ok(None);
    };
    let size = std::str::from_utf8(&rest[..line]).map_err(|_| NotHttp)?;
    let size = size.split(';').next().unwrap_or_default().trim();
    let length = usize::from_str_radix(size, 16).map_err(|_| NotHttp)?;
    Ok(Some((at + line + 2, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\ncontent-LENGTH: 5\r\n\r\nhelloHTTP";
    const CHUNKED: &[u8] =
        b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n";

    #[test]
    fn an_answer_ends_where_its_length_says() {
        let answer = read_answer(PLAIN).unwrap().unwrap();
        assert_eq!(
            (answer.status, answer.end, answer.closes),
            (200, PLAIN.len() - 4, false)
        );
        assert_eq!(&*answer.body(PLAIN).unwrap(), b"hello");
    }

    #[test]
    fn chunks_are_put_together() {
        let answer = read_answer(CHUNKED).unwrap().unwrap();
        assert_eq!((answer.status, answer.end), (400, CHUNKED.len()));
        assert_eq!(&*answer.body(CHUNKED).unwrap(), b"hello world");
    }

    #[test]
    fn nothing_is_complete_before_its_last_byte() {
        for whole in [&PLAIN[..PLAIN.len() - 4], CHUNKED] {
            for cut in 0..whole.len() {
                assert_eq!(read_answer(&whole[..cut]), Ok(None), "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_closing_server_is_noticed() {
        let answer = read_answer(b"HTTP/1.1 204 x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        assert!(answer.unwrap().unwrap().closes);
    }

    #[test]
    fn other_protocols_are_refused() {
        for bytes in [
            b"SSH-2.0 x\r\n\r\n".as_slice(),
            b"HTTP/1.1 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ] {
            assert_eq!(read_answer(bytes), Err(NotHttp), "{}", bytes.escape_ascii());
        }
    }
}
