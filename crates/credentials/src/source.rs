//! Credentials that are searched once, kept, and renewed before they expire.

use crate::chain::SourceChain;
use crate::credentials::Credentials;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use trestle_env::Timestamp;
use trestle_sigv4::AccessKey;

/// How long before their expiry credentials are renewed. AWS's services have new ones by then.
const RENEWED_BEFORE: Duration = Duration::from_secs(5 * 60);

/// The minimum pause after a renewal, however soon the next expiry is, and after a failed one.
const RENEWAL_PAUSE: Duration = Duration::from_secs(30);

/// For this long after a failed search, requests get the same error.
const FAILURE_KEPT: Duration = Duration::from_secs(1);

/// The minimum pause between two searches because a server refused the credentials.
const REPLACEMENT_PAUSE: Duration = Duration::from_secs(10);

/// No credentials; the text names every source that was tried, with its message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoCredentials(pub(crate) String);

/// The identity of requests. Clones share the credentials that were found.
#[derive(Clone, Debug, Default)]
pub struct CredentialSource(Kind);

#[derive(Clone, Debug, Default)]
enum Kind {
    /// Requests are not signed.
    #[default]
    Unsigned,
    Fixed(Arc<Credentials>),
    Searched(Arc<Searched>),
}

#[derive(Debug)]
struct Searched {
    chain: SourceChain,
    state: Mutex<State>,
    /// Held by the one task that searches.
    looking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    found: Option<Found>,
    /// A server asked for a signature.
    is_wanted: bool,
    failed: Option<(Instant, NoCredentials)>,
    replaced: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Found {
    credentials: Arc<Credentials>,
    /// When to search again.
    renew_at: Timestamp,
}

impl CredentialSource {
    /// Requests are not signed.
    #[must_use]
    pub fn unsigned() -> Self {
        CredentialSource::default()
    }

    /// The credentials of a chain of sources.
    #[must_use]
    pub fn searched(chain: SourceChain) -> Self {
        let state = State {
            is_wanted: chain.is_wanted_at_once(),
            ..State::default()
        };
        CredentialSource(Kind::Searched(Arc::new(Searched {
            chain,
            state: Mutex::new(state),
            looking: tokio::sync::Mutex::new(()),
        })))
    }

    /// The same sources with a profile named by the user; other kinds are unchanged.
    #[must_use]
    pub fn with_profile(&self, profile: impl Into<String>) -> Self {
        match &self.0 {
            Kind::Searched(searched) => CredentialSource::searched(searched.chain.with_profile(profile)),
            _ => self.clone(),
        }
    }

    /// The credentials to sign with now; `None` for an unsigned request. In a Tokio runtime only.
    pub async fn current(&self, now: Timestamp) -> Result<Option<Arc<Credentials>>, NoCredentials> {
        match &self.0 {
            Kind::Unsigned => Ok(None),
            Kind::Fixed(credentials) => Ok(Some(Arc::clone(credentials))),
            Kind::Searched(searched) => searched.current(now).await,
        }
    }

    /// A server refused a request with this key, or an unsigned one. Returns whether there are other
    /// credentials now.
    pub async fn replace(&self, refused: Option<&AccessKey>, now: Timestamp) -> Result<bool, NoCredentials> {
        match &self.0 {
            Kind::Unsigned | Kind::Fixed(_) => Ok(false),
            Kind::Searched(searched) => searched.replace(refused, now).await,
        }
    }
}

impl From<Credentials> for CredentialSource {
    fn from(credentials: Credentials) -> Self {
        CredentialSource(Kind::Fixed(Arc::new(credentials)))
    }
}

impl From<AccessKey> for CredentialSource {
    fn from(key: AccessKey) -> Self {
        Credentials::from(key).into()
    }
}

impl Searched {
    async fn current(&self, now: Timestamp) -> Result<Option<Arc<Credentials>>, NoCredentials> {
        let (found, is_wanted) = {
            let state = self.state.lock();
            (state.found.clone(), state.is_wanted)
        };
        let Some(found) = found else {
            return match is_wanted {
                true => self.first(now).await.map(Some),
                false => Ok(None),
            };
        };
        if now < found.renew_at {
            return Ok(Some(found.credentials));
        }
        if found.credentials.expires.is_some_and(|expires| now < expires) {
            return Ok(Some(self.renewed(found, now).await));
        }
        self.first(now).await.map(Some)
    }

    /// There are no valid credentials: all tasks wait for the one that searches.
    async fn first(&self, now: Timestamp) -> Result<Arc<Credentials>, NoCredentials> {
        let _looking = self.looking.lock().await;
        {
            let state = self.state.lock();
            if let Some(found) = state.found.as_ref().filter(|found| now < found.renew_at) {
                return Ok(Arc::clone(&found.credentials));
            }
            // Real time: services do not follow our clock.
            if let Some((at, error)) = &state.failed
                && at.elapsed() < FAILURE_KEPT
            {
                return Err(error.clone());
            }
        }
        self.look(now).await
    }

    /// Searches, and keeps the result. The caller holds `looking`.
    async fn look(&self, now: Timestamp) -> Result<Arc<Credentials>, NoCredentials> {
        match self.chain.look(now).await {
            Ok(found) => Ok(self.keep(found, now)),
            Err(error) => {
                self.state.lock().failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// The credentials are still valid: one task renews them, and all others continue with these meanwhile.
    async fn renewed(&self, found: Found, now: Timestamp) -> Arc<Credentials> {
        let Ok(_looking) = self.looking.try_lock() else {
            return found.credentials;
        };
        // Another task may have renewed them in between.
        if let Some(next) = self
            .state
            .lock()
            .found
            .as_ref()
            .filter(|next| now < next.renew_at)
        {
            return Arc::clone(&next.credentials);
        }
        match self.chain.look(now).await {
            Ok(next) => self.keep(next, now),
            Err(error) => {
                tracing::warn!(%error, "credentials end soon and cannot be renewed");
                let expires = found.credentials.expires.unwrap_or(Timestamp::MAX);
                let credentials = Arc::clone(&found.credentials);
                self.state.lock().found = Some(Found {
                    renew_at: now.plus(RENEWAL_PAUSE).min(expires),
                    ..found
                });
                credentials
            }
        }
    }

    async fn replace(&self, refused: Option<&AccessKey>, now: Timestamp) -> Result<bool, NoCredentials> {
        let Some(refused) = refused else {
            self.state.lock().is_wanted = true;
            return self.first(now).await.map(|_| true);
        };
        let _looking = self.looking.lock().await;
        {
            let mut state = self.state.lock();
            // Another task may have replaced them meanwhile.
            let present = state.found.as_ref().map(|found| &found.credentials.key);
            if present.is_some_and(|present| present != refused) {
                return Ok(true);
            }
            if state.replaced.is_some_and(|at| at.elapsed() < REPLACEMENT_PAUSE) {
                return match &state.failed {
                    Some((_, error)) => Err(error.clone()),
                    None => Ok(false),
                };
            }
            state.replaced = Some(Instant::now());
        }
        self.look(now).await.map(|found| found.key != *refused)
    }

    fn keep(&self, found: Credentials, now: Timestamp) -> Arc<Credentials> {
        let credentials = Arc::new(found);
        let renew_at = credentials.expires.map_or(Timestamp::MAX, |expires| {
            let soon = expires.minus(RENEWED_BEFORE);
            soon.max(now.plus(RENEWAL_PAUSE)).min(expires)
        });
        let mut state = self.state.lock();
        state.found = Some(Found {
            credentials: Arc::clone(&credentials),
            renew_at,
        });
        state.failed = None;
        credentials
    }
}
