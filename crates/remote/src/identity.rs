//! The identity of requests to an endpoint.

use crate::settings::Settings;
use parking_lot::Mutex;
use std::sync::Arc;
use trestle_api::{Error, ErrorKind};
use trestle_credentials::{CredentialSource, Credentials};
use trestle_env::Timestamp;
use trestle_sigv4::Signer;

/// Signs requests to an endpoint, and decides what to do when the endpoint refuses the signature.
#[derive(Debug)]
pub struct Identity {
    endpoint: String,
    credentials: CredentialSource,
    region: String,
    /// The signer of the last credentials, which has cached today's signing key.
    signer: Mutex<Option<(Arc<Credentials>, Arc<Signer>)>>,
}

/// What to do when an endpoint refuses a signature, or requires one. The request was not carried out.
#[derive(Debug)]
pub enum SignatureRefusal {
    /// Send it again: there are other credentials now.
    Repeat,
    /// Return the error; its message may contain advice.
    Tell(Error),
}

impl Identity {
    /// The identity of these settings.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        Identity {
            endpoint: settings.endpoint.clone(),
            credentials: settings.credentials.clone(),
            region: settings.signed_region(),
            signer: Mutex::default(),
        }
    }

    /// Signs the next request; `None`: it is sent without a signature. In a Tokio runtime only.
    pub async fn signer(&self, now: Timestamp) -> Result<Option<Arc<Signer>>, Error> {
        let credentials = self.credentials.current(now).await;
        let credentials = credentials
            .map_err(|why| Error::internal(format!("cannot sign requests to {}: {why}", self.endpoint)))?;
        Ok(credentials.map(|credentials| self.signer_with(credentials)))
    }

    fn signer_with(&self, credentials: Arc<Credentials>) -> Arc<Signer> {
        let mut last = self.signer.lock();
        match &*last {
            Some((of, signer)) if Arc::ptr_eq(of, &credentials) => Arc::clone(signer),
            _ => {
                let signer = Arc::new(Signer::new(
                    credentials.key.clone(),
                    credentials.session_token.clone(),
                    self.region.clone(),
                    "dynamodb",
                ));
                *last = Some((credentials, Arc::clone(&signer)));
                signer
            }
        }
    }

    /// What to do about an error, if it concerns the signature.
    pub async fn after(
        &self,
        error: &Error,
        signer: Option<&Signer>,
        may_repeat: bool,
        now: Timestamp,
    ) -> Option<SignatureRefusal> {
        let may_be_replaced = match error.kind() {
            ErrorKind::MissingAuthenticationToken => signer.is_none(),
            ErrorKind::ExpiredToken | ErrorKind::UnrecognizedClient => signer.is_some(),
            ErrorKind::IncompleteSignature | ErrorKind::InvalidSignature => false,
            _ => return None,
        };
        let replaced = match may_be_replaced && may_repeat {
            true => self.credentials.replace(signer.map(Signer::key), now).await,
            false => Ok(false),
        };
        Some(match replaced {
            Ok(true) => SignatureRefusal::Repeat,
            Ok(false) => SignatureRefusal::Tell(with(error, &way_out(signer))),
            Err(none) => SignatureRefusal::Tell(with(error, &format!("{}; {none}", way_out(signer)))),
        })
    }
}

fn with(error: &Error, way_out: &str) -> Error {
    Error::new(error.kind(), format!("{error}; {way_out}"))
}

fn way_out(signer: Option<&Signer>) -> String {
    match signer {
        None => "the server wants signed requests: give an access key and its secret, or set AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY"
            .to_owned(),
        Some(signer) => format!(
            "check the access key {} and its secret, the region {}, and this machine's clock",
            signer.key().id,
            signer.region()
        ),
    }
}
