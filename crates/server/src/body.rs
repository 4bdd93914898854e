//! Reading a request's body: complete, bounded in size, in time, and in the memory of all bodies.

use crate::admission::pace::{BODY_PERIOD, BodyPace};
use crate::admission::{FREE_BYTES, Lease, LeasedBytes, SMALL_BODY_BYTES, Throttled, small_request_cost};
use crate::upload::Upload;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout, timeout_at};

/// How much of a refused body is still read, and for how long, so that the client receives the refusal.
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;
const DRAIN_TIME_MAX: Duration = Duration::from_secs(5);

/// After so many bytes of a body, the other connections of the thread get their turn.
const TURN_BYTES: usize = 256 * 1024;

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// It is larger than allowed.
    TooLarge,
    /// It did not arrive in time, or too slowly while others waited.
    TooSlow,
    /// The connection broke or the framing was wrong.
    Broken,
    /// There is not enough memory for it.
    Throttled,
}

impl From<Throttled> for BodyError {
    fn from(Throttled: Throttled) -> Self {
        BodyError::Throttled
    }
}

/// The complete body. A body that is too large is refused before it is read if its size is announced,
/// otherwise as soon as it exceeds the limit; neither is kept in memory. It counts against the budget as it
/// grows, and until the last reference to it is dropped.
pub(crate) async fn read(upload: Upload, bytes_max: usize, time: Duration) -> Result<Bytes, BodyError> {
    if upload.announced() > bytes_max as u64 {
        return Err(BodyError::TooLarge);
    }
    let (lease, is_alone) = (upload.lease(), upload.is_alone);
    let Some(mut body) = upload.into_body() else {
        return Ok(Bytes::new());
    };
    let whole = timeout(time, collect(&mut body, lease, is_alone, bytes_max)).await;
    match whole.unwrap_or(Err(BodyError::TooSlow)) {
        Err(refused @ (BodyError::TooLarge | BodyError::Throttled)) => {
            drain(body);
            Err(refused)
        }
        read => read,
    }
}

async fn collect(
    body: &mut Incoming,
    mut lease: Lease,
    is_alone: bool,
    bytes_max: usize,
) -> Result<Bytes, BodyError> {
    let Some(first) = next_chunk(body).await? else {
        return Ok(Bytes::new());
    };
    if is_alone && first.len() <= FREE_BYTES && body.is_end_stream() {
        check_size(first.len(), bytes_max)?;
        return Ok(first);
    }
    let mut arriving = Arriving {
        body,
        pace: BodyPace::beginning(Instant::now()),
        lease: &mut lease,
        bytes_max,
    };
    // A separate function, so that most requests, whose body arrives in one piece, do not carry its state.
    let whole = Box::pin(arriving.collect(first)).await?;
    Ok(LeasedBytes::wrap(whole, lease))
}

/// A body that has arrived in part.
struct Arriving<'a> {
    body: &'a mut Incoming,
    pace: BodyPace,
    lease: &'a mut Lease,
    bytes_max: usize,
}

impl Arriving<'_> {
    async fn collect(&mut self, first: Bytes) -> Result<Bytes, BodyError> {
        self.grow(first.len()).await?;
        let Some(second) = self.next(first.len()).await? else {
            return self.finish(first).await;
        };
        let mut whole = Vec::with_capacity(first.len() + second.len());
        whole.extend_from_slice(&first);
        drop(first);
        self.append(&mut whole, second).await?;
        while let Some(chunk) = self.next(whole.len()).await? {
            self.append(&mut whole, chunk).await?;
        }
        self.finish(whole.into()).await
    }

    async fn append(&mut self, whole: &mut Vec<u8>, chunk: Bytes) -> Result<(), BodyError> {
        let (before, after) = (whole.len(), whole.len() + chunk.len());
        self.grow(after).await?;
        self.make_room(whole, chunk.len());
        whole.extend_from_slice(&chunk);
        if before / TURN_BYTES != after / TURN_BYTES {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// A quarter more each time, and at most the announced size: capacity for bytes that have not arrived is
    /// memory, too.
    fn make_room(&self, whole: &mut Vec<u8>, more: usize) {
        if whole.capacity() - whole.len() < more {
            let rest = self.announced_rest().unwrap_or(usize::MAX);
            whole.reserve_exact(more + rest.min(whole.len() / 4));
        }
    }

    fn announced_rest(&self) -> Option<usize> {
        let announced = self.body.size_hint().exact()?;
        usize::try_from(announced).ok()
    }

    /// Counts what has arrived, and waits while there is no memory for it. The client does not count as slow
    /// meanwhile.
    async fn grow(&mut self, bytes: usize) -> Result<(), BodyError> {
        check_size(bytes, self.bytes_max)?;
        if bytes <= SMALL_BODY_BYTES {
            self.lease.grow(bytes).await?;
        } else if !self.lease.try_grow_with_body(bytes) {
            self.lease.grow_with_body(bytes).await?;
            self.pace = BodyPace::beginning(Instant::now());
        }
        Ok(())
    }

    /// A small request is counted with the memory of its execution; a large one gets that separately.
    async fn finish(&mut self, whole: Bytes) -> Result<Bytes, BodyError> {
        self.lease.arrived();
        if whole.len() <= SMALL_BODY_BYTES {
            self.lease.grow(small_request_cost(whole.len())).await?;
        }
        Ok(whole)
    }

    /// The next piece, unless the client is too slow.
    async fn next(&mut self, arrived: usize) -> Result<Option<Bytes>, BodyError> {
        loop {
            let waited = timeout(BODY_PERIOD, next_chunk(self.body)).await;
            let now = Instant::now();
            if let Ok(Ok(Some(chunk))) = &waited {
                self.pace.arrived(chunk.len(), now);
            }
            let is_large = arrived > SMALL_BODY_BYTES;
            match waited {
                Ok(end @ (Err(_) | Ok(None))) => return end,
                _ if self.pace.is_too_slow(now, is_large, self.lease.others_wait()) => {
                    return Err(BodyError::TooSlow);
                }
                Ok(chunk) => return chunk,
                Err(_) => {}
            }
        }
    }
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

/// Discards what a client sends after it was refused. If the server closed the connection at once, the system
/// would answer the unread bytes with a reset, and most clients would never see the refusal.
pub(crate) fn drain(mut body: Incoming) {
    let Ok(runtime) = Handle::try_current() else {
        // The server has ended.
        return;
    };
    runtime.spawn(async move {
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
