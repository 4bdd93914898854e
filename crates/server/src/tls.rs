//! TLS from PEM files.

use crate::settings::TlsFiles;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Why the TLS files cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The certificate file cannot be read or holds no certificate.
    #[error("cannot read a certificate from {}: {reason}; it must be a PEM file with the server's certificate first", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// The key file cannot be read or holds no key.
    #[error("cannot read a private key from {}: {reason}; it must be an unencrypted PEM file", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// Certificate and key do not match.
    #[error(
        "the certificate and the private key cannot be used together: {0}; check that they belong to each other"
    )]
    Pair(rustls::Error),
}

/// Accepts TLS connections, HTTP/2 preferred.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Pair)?
        .with_no_client_auth()
        .with_single_cert(certificates(files)?, key(files)?)
        .map_err(TlsError::Pair)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(files: &TlsFiles) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |error: pem::Error| TlsError::Certificate {
        path: files.certificate.clone(),
        reason: reason(&error),
    };
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(failed)?;
    if chain.is_empty() {
        return Err(failed(pem::Error::NoItemsFound));
    }
    Ok(chain)
}

fn key(files: &TlsFiles) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(&files.key).map_err(|error| TlsError::Key {
        path: files.key.clone(),
        reason: reason(&error),
    })
}

fn reason(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(io) => io.to_string(),
        pem::Error::NoItemsFound => "the file holds none".to_owned(),
        other => other.to_string(),
    }
}
