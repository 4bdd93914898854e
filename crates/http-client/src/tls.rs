//! The certificate authorities that a client trusts.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::sync::{Arc, OnceLock};
use tokio_rustls::TlsConnector;

/// The certificate authorities that a client trusts.
#[derive(Clone, Copy, Debug)]
pub enum Roots<'a> {
    /// Those of the system.
    System,
    /// Only those in a PEM file.
    File(&'a str),
}

pub(crate) fn connector(roots: Roots<'_>) -> Result<TlsConnector, String> {
    let store = match roots {
        Roots::System => system_roots()?,
        Roots::File(path) => file_roots(path)?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(store)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Read once: there are hundreds of files.
fn system_roots() -> Result<Arc<RootCertStore>, String> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(store)
    });
    if roots.is_empty() {
        return Err(
            "the system has no certificate authorities to check https with; name them with ca_file".into(),
        );
    }
    Ok(Arc::clone(roots))
}

fn file_roots(path: &str) -> Result<Arc<RootCertStore>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("the file {path} cannot be used: {error}");
    let pem = std::fs::read(path).map_err(|error| unreadable(&error))?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        store.add(certificate).map_err(|error| unreadable(&error))?;
    }
    if store.is_empty() {
        return Err(unreadable(&"it holds no certificate"));
    }
    Ok(Arc::new(store))
}
