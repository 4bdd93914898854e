//! A response of any length, read in pieces.

use crate::endpoint::Endpoint;
use crate::failure::Failure;
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::time::Duration;

/// The head of a response, and the stream of its body.
#[derive(Debug)]
pub struct Download {
    /// The status.
    pub status: StatusCode,
    endpoint: Endpoint,
    patience: Option<Duration>,
    body: Incoming,
}

impl Download {
    pub(crate) fn new(
        endpoint: Endpoint,
        patience: Option<Duration>,
        response: Response<Incoming>,
    ) -> Download {
        Download {
            status: response.status(),
            endpoint,
            patience,
            body: response.into_body(),
        }
    }

    /// The next piece; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            let frame = match self.patience {
                None => self.body.frame().await,
                Some(patience) => match tokio::time::timeout(patience, self.body.frame()).await {
                    Ok(frame) => frame,
                    Err(_) => {
                        let why = format!("no more data arrived within {} s", patience.as_secs_f64());
                        return Err(Failure::lost(&self.endpoint, why));
                    }
                },
            };
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(Failure::of_exchange(&self.endpoint, &error)),
                Some(Ok(frame)) => {
                    // Trailers are not used.
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
            }
        }
    }
}
