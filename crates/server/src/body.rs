//! Reading a request's body: whole, bounded in size and in time.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How much of a refused body is still read, so that the client gets to see the refusal, and for how long.
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;
const DRAIN_TIME_MAX: Duration = Duration::from_secs(5);

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// It is larger than allowed.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The connection broke or the framing was wrong.
    Broken,
}

/// The whole body. One that announces its size is refused before it is read, any other as soon as it is too
/// large; neither is kept in memory.
///
/// A client that `waits` for permission to send has not sent anything, so nothing of a refused body is on its way;
/// reading it would even grant the permission.
pub(crate) async fn read(
    mut body: Incoming,
    waits: bool,
    bytes_max: usize,
    time: Duration,
) -> Result<Bytes, BodyError> {
    if body.size_hint().lower() > bytes_max as u64 {
        if !waits {
            drain(body);
        }
        return Err(BodyError::TooLarge);
    }
    match timeout(time, collect(&mut body, bytes_max)).await {
        Err(_) => Err(BodyError::TooSlow),
        Ok(Err(BodyError::TooLarge)) => {
            drain(body);
            Err(BodyError::TooLarge)
        }
        Ok(result) => result,
    }
}

async fn collect(body: &mut Incoming, bytes_max: usize) -> Result<Bytes, BodyError> {
    let Some(first) = next_chunk(body).await? else {
        return Ok(Bytes::new());
    };
    check_size(first.len(), bytes_max)?;
    let Some(second) = next_chunk(body).await? else {
        return Ok(first);
    };
    let mut whole = BytesMut::with_capacity(expected_size(body, first.len() + second.len(), bytes_max));
    whole.extend_from_slice(&first);
    append(&mut whole, &second, bytes_max)?;
    while let Some(chunk) = next_chunk(body).await? {
        append(&mut whole, &chunk, bytes_max)?;
    }
    Ok(whole.freeze())
}

/// What is here already plus what the client announced, so that the buffer is allocated once.
fn expected_size(body: &Incoming, received: usize, bytes_max: usize) -> usize {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(bytes_max);
    received.saturating_add(announced).min(bytes_max)
}

fn append(whole: &mut BytesMut, chunk: &[u8], bytes_max: usize) -> Result<(), BodyError> {
    check_size(whole.len().saturating_add(chunk.len()), bytes_max)?;
    whole.extend_from_slice(chunk);
    Ok(())
}

fn check_size(bytes: usize, bytes_max: usize) -> Result<(), BodyError> {
    if bytes > bytes_max {
        Err(BodyError::TooLarge)
    } else {
        Ok(())
    }
}

async fn next_chunk(body: &mut Incoming) -> Result<Option<Bytes>, BodyError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Throws away what a client goes on sending after it was refused. If the server closed the connection at once,
/// the system would answer the unread bytes with a reset, and most clients would never see the refusal.
fn drain(mut body: Incoming) {
    tokio::spawn(async move {
        let deadline = Instant::now() + DRAIN_TIME_MAX;
        let mut drained = 0_usize;
        while drained < DRAIN_BYTES_MAX {
            match timeout_at(deadline, next_chunk(&mut body)).await {
                Ok(Ok(Some(chunk))) => drained += chunk.len(),
                _ => break,
            }
        }
    });
}
