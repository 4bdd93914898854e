//! The bytes of an answer: complete, or sent while they are produced.

use crate::admission::ConnectionMemory;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::any::Any;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// Pieces of an answer as they are produced. An error, or a sender that is dropped before the end of the
/// content, closes the connection, so that the client notices.
pub(crate) type Chunks = Receiver<io::Result<Bytes>>;

/// What hyper sends.
pub(crate) enum ReplyBody {
    /// Empty once it was passed on.
    Whole(Bytes),
    Stream {
        chunks: Chunks,
        /// Dropped after the last piece.
        held: Option<Box<dyn Any + Send>>,
    },
}

impl ReplyBody {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        ReplyBody::Whole(bytes)
    }

    pub(crate) fn stream(chunks: Chunks) -> Self {
        ReplyBody::Stream { chunks, held: None }
    }

    /// Keeps `guard` until a streamed answer ends; a complete one needs no guard any more.
    pub(crate) fn holding(self, guard: impl Any + Send) -> Self {
        match self {
            ReplyBody::Whole(_) => self,
            ReplyBody::Stream { chunks, .. } => ReplyBody::Stream {
                chunks,
                held: Some(Box::new(guard)),
            },
        }
    }
}

impl ReplyBody {
    /// Counts the bytes against the connection until they are written. Streamed pieces are bounded by their channel.
    pub(crate) fn held_by(self, connection: &Arc<ConnectionMemory>, is_http1: bool) -> Self {
        match self {
            ReplyBody::Whole(bytes) => ReplyBody::Whole(connection.hold_answer(bytes, is_http1)),
            ReplyBody::Stream { .. } => self,
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            ReplyBody::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            ReplyBody::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            ReplyBody::Stream { chunks, held } => chunks.poll_recv(context).map(|chunk| {
                if chunk.is_none() {
                    held.take();
                }
                Some(chunk?.map(Frame::data))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Whole(bytes) => bytes.is_empty(),
            ReplyBody::Stream { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            ReplyBody::Stream { .. } => SizeHint::default(),
        }
    }
}
