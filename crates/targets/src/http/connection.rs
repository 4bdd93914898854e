//! One connection.

use super::endpoint::Endpoint;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

pub(super) type Connection = SendRequest<Full<Bytes>>;

pub(super) async fn open(endpoint: &Endpoint, tls: Option<&TlsConnector>) -> Result<Connection, String> {
    let refused = |error: std::io::Error| format!("no connection to {}: {error}", endpoint.authority);
    let stream = TcpStream::connect((endpoint.host.as_str(), endpoint.port))
        .await
        .map_err(refused)?;
    stream.set_nodelay(true).map_err(refused)?;
    let Some(tls) = tls else {
        return speak(TokioIo::new(stream)).await;
    };
    let name = ServerName::try_from(endpoint.host.clone()).map_err(|error| error.to_string())?;
    let stream = tls.connect(name, stream).await.map_err(refused)?;
    speak(TokioIo::new(stream)).await
}

async fn speak(stream: impl Read + Write + Send + Unpin + 'static) -> Result<Connection, String> {
    let (sender, connection) = handshake(stream).await.map_err(|error| error.to_string())?;
    // It ends with its sender, or with the server's side.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to a target ended");
        }
    });
    Ok(sender)
}
