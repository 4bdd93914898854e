//! The bytes of an answer: all there, or sent while they are made.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use std::any::Any;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// Pieces of an answer as they are made. An error, or a sender that is dropped in the middle of the content's own
/// framing, breaks the connection off, so that the client notices.
pub(crate) type Chunks = Receiver<io::Result<Bytes>>;

/// What hyper sends.
pub(crate) enum ReplyBody {
    Whole(Full<Bytes>),
    Stream {
        chunks: Chunks,
        /// Dropped when the last piece is out.
        held: Option<Box<dyn Any + Send>>,
    },
}

impl ReplyBody {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        ReplyBody::Whole(Full::new(bytes))
    }

    pub(crate) fn stream(chunks: Chunks) -> Self {
        ReplyBody::Stream { chunks, held: None }
    }

    /// Keeps `guard` until a streamed answer is over; one that is all there needs no guard any more.
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

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            ReplyBody::Whole(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
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
            ReplyBody::Whole(body) => body.is_end_stream(),
            ReplyBody::Stream { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(body) => body.size_hint(),
            ReplyBody::Stream { .. } => SizeHint::default(),
        }
    }
}
