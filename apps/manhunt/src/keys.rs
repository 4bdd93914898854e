//! API keys: each belongs to a domain, and opens that one only.

use subtle::ConstantTimeEq as _;
use trestle::app::{OrNotFound as _, OrNothing as _, fingerprint, random_bytes};
use trestle::typed::Held;

use crate::model::{ApiKey, ApiKeyKey, NewApiKey};
use crate::{Error, Result, Service};

impl Service {
    /// Checks a client's key for access to a domain; only the administrator's key gives access to keys. A
    /// program without an administrator's key is open to all.
    pub(crate) async fn admit(&self, domain: &str, key: Option<&str>, is_about_keys: bool) -> Result<()> {
        let Some(admin) = &self.settings.admin_key else {
            return Ok(());
        };
        let key = key.unwrap_or_default();
        if bool::from(key.as_bytes().ct_eq(admin.as_bytes())) {
            return Ok(());
        }
        let id = ApiKeyKey::new(fingerprint(key.as_bytes()));
        let found = self.db.get(&id).consistent().await?;
        let refused = "only the administrator's key opens this";
        let needed = "this needs a key of the domain, in a header: authorization: Bearer mh_…";
        match found.is_some_and(|found| found.domain_id == domain) {
            true if is_about_keys => Err(Error::Forbidden(refused.to_owned())),
            true => Ok(()),
            false => Err(Error::Unauthorized(needed.to_owned())),
        }
    }

    /// Makes a key of a domain. Its text is shown only now; the database stores only its SHA-256.
    pub async fn add_key(&self, domain: &str) -> Result<(ApiKey, String)> {
        let text = format!("mh_{}", fingerprint(&random_bytes()?));
        let key = NewApiKey {
            key_id: fingerprint(text.as_bytes()),
            domain_id: domain.to_owned(),
            created_at: self.now(),
        };
        self.db.put(&key).if_not_exists().await?;
        Ok((key.into(), text))
    }

    /// The keys of a domain, oldest first.
    pub async fn keys(&self, domain: &str) -> Result<Vec<ApiKey>> {
        Ok(self.db.keys_of_domain(domain).collect().await.or_nothing()?)
    }

    /// Removes a key, which is invalid from now on.
    pub async fn remove_key(&self, domain: &str, id: &str) -> Result<()> {
        let (key, own) = (ApiKeyKey::new(id), ApiKey::DOMAIN_ID.equals(domain));
        let removed = self.db.delete(key).if_exists().only_if(own).await.held();
        removed.or_nothing()?.map(drop).or_not_found("such key")
    }
}
