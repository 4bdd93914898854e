//! One connection.

use crate::endpoint::Endpoint;
use crate::failure::Failure;
use crate::proxy::Tunnel;
use crate::reach::Reach;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

pub(crate) type Connection = SendRequest<Full<Bytes>>;

pub(crate) async fn open(
    endpoint: &Endpoint,
    (reach, tunnel): (Reach, Option<&Tunnel>),
    tls: Option<&TlsConnector>,
) -> Result<Connection, Failure> {
    let refused = |error: std::io::Error| Failure::no_connection(endpoint, error);
    let stream = match tunnel {
        Some(tunnel) => tunnel.open(endpoint).await?,
        None => {
            let connected = reach.connect(&endpoint.host, endpoint.port).await;
            connected.map_err(refused)?
        }
    };
    stream.set_nodelay(true).map_err(refused)?;
    let Some(tls) = tls else {
        return speak(endpoint, TokioIo::new(stream)).await;
    };
    let name = ServerName::try_from(endpoint.host.clone())
        .map_err(|error| Failure::no_connection(endpoint, error))?;
    let stream = tls
        .connect(name, stream)
        .await
        .map_err(|error| Failure::of_tls(endpoint, &error))?;
    speak(endpoint, TokioIo::new(stream)).await
}

async fn speak(
    endpoint: &Endpoint,
    stream: impl Read + Write + Send + Unpin + 'static,
) -> Result<Connection, Failure> {
    let (sender, connection) = handshake(stream)
        .await
        .map_err(|error| Failure::no_connection(endpoint, error))?;
    // It ends when its sender is dropped, or when the server closes it.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended");
        }
    });
    Ok(sender)
}
