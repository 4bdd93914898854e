//! Contacts. Each call names a domain, and has no access to others.

use serde::Deserialize;
use trestle::app::{OrNotFound as _, OrNothing as _};
use trestle::ids;
use trestle::typed::{Held, Part};

use crate::model::{Contact, ContactKey, ContactMethod, ManhuntModel, NewContact, SearchStatus};
use crate::{Error, Result, Service, quiet_hours};

/// The fields of a new or existing contact. Fields that are left out stay; an empty text removes an optional
/// one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContactDraft {
    /// The name; a new contact needs one.
    pub name: Option<String>,
    /// Its time zone: an IANA name, such as `Europe/Berlin`.
    pub time_zone: Option<String>,
    /// When its quiet hours begin: `22:00`.
    pub quiet_from: Option<String>,
    /// When its quiet hours end: `07:00`.
    pub quiet_until: Option<String>,
}

impl From<&str> for ContactDraft {
    fn from(name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..Self::default()
        }
    }
}

impl ContactDraft {
    /// The resulting contact, if it is valid.
    fn applied_to(self, mut contact: Contact) -> Result<Contact> {
        contact.name = self.name.unwrap_or(contact.name);
        for (given, kept) in [
            (self.time_zone, &mut contact.time_zone),
            (self.quiet_from, &mut contact.quiet_from),
            (self.quiet_until, &mut contact.quiet_until),
        ] {
            if let Some(given) = given {
                *kept = Some(given).filter(|given| !given.is_empty());
            }
        }
        quiet_hours::check(&contact)?;
        Ok(contact)
    }
}

impl Service {
    /// Adds a contact.
    pub async fn add_contact(&self, domain: &str, draft: impl Into<ContactDraft>) -> Result<Contact> {
        // Browsers interpret these as steps in a path, in every spelling.
        if matches!(domain, "." | "..") {
            return Err(Error::invalid("a domain cannot be called . or .."));
        }
        let draft = draft.into();
        let name = draft.name.clone();
        let contact = Contact::from(NewContact {
            contact_id: ids::uuid(),
            domain_id: domain.to_owned(),
            name: name.ok_or_else(|| Error::invalid("name is missing"))?,
        });
        let contact = draft.applied_to(contact)?;
        self.db.put(&contact).if_not_exists().await?;
        Ok(contact)
    }

    /// A contact and its methods, in the order in which they are tried.
    pub async fn contact(&self, domain: &str, id: &str) -> Result<(Contact, Vec<ContactMethod>)> {
        let found = self.db.contact_with_methods(id).consistent().gather();
        let found = found.await.or_nothing()?;
        let mut methods = found.contact_method;
        methods.sort_by_key(|method| method.order.unwrap_or(i64::MAX));
        let own = found.contact.filter(|contact| contact.domain_id == domain);
        Ok((own.or_not_found("such contact")?, methods))
    }

    /// Changes a contact.
    pub async fn change_contact(&self, domain: &str, id: &str, change: ContactDraft) -> Result<Contact> {
        let (read, _) = self.contact(domain, id).await?;
        let contact = change.applied_to(read.clone())?;
        let put = self.db.put(&contact).if_unchanged(Some(&read)).await;
        let changed = || Error::Busy("the contact was changed meanwhile; try again".to_owned());
        put.held()?.ok_or_else(changed)?;
        Ok(contact)
    }

    /// Removes a contact with its methods, and calls off its searches. The searches themselves stay on
    /// record.
    pub async fn remove_contact(&self, domain: &str, id: &str) -> Result<()> {
        self.contact(domain, id).await?;
        self.cancel_all(domain, id).await?;
        self.db.contact_with_methods(id).delete().all().await?;
        // Searches that were begun meanwhile.
        self.cancel_all(domain, id).await
    }

    async fn cancel_all(&self, domain: &str, contact: &str) -> Result<()> {
        let active = self.db.searches_by_status(contact, SearchStatus::Active);
        for search in active.collect().await? {
            let id = &search.search_id;
            match self.cancel(domain, id, "the contact was removed").await {
                // It ended meanwhile.
                Ok(_) | Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes rows of a contact, if the contact belongs to the domain.
    pub(crate) async fn write_for(
        &self,
        domain: &str,
        contact: &str,
        write: impl Part<ManhuntModel>,
    ) -> Result<()> {
        let own = Contact::DOMAIN_ID.equals(domain);
        let writes = self.db.transaction().check(ContactKey::new(contact), own);
        let written = writes.with(write).commit().await;
        written.held()?.or_not_found("such contact")
    }
}
