//! Contacts and their methods. Each call names a domain, and sees nothing of any other.

use serde::Deserialize;
use trestle::ids;
use trestle::typed::{self, Page};

use crate::model::{
    Contact, ContactKey, ContactMethod, ContactMethodKey, ContactMethodType, NewContact, NewContactMethod,
};
use crate::{Error, Service};

/// A method to add.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MethodDraft {
    /// `call`, `text`, `email` or `webhook`.
    pub r#type: String,
    /// The number, address or URL.
    pub destination: String,
    /// How long to wait for an answer before the next method.
    pub wait_seconds: Option<u32>,
    /// Whether it is tried at all.
    pub enabled: Option<bool>,
    /// Smaller numbers are tried first; methods without one come last.
    pub order: Option<i64>,
}

/// What to change of a method; the rest stays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MethodChange {
    /// The number, address or URL.
    pub destination: Option<String>,
    /// How long to wait for an answer before the next method.
    pub wait_seconds: Option<u32>,
    /// Whether it is tried at all.
    pub enabled: Option<bool>,
    /// Smaller numbers are tried first.
    pub order: Option<i64>,
}

impl Service {
    /// Adds a contact.
    pub async fn add_contact(&self, domain: &str, name: &str) -> Result<Contact, Error> {
        let contact = NewContact {
            contact_id: ids::uuid(),
            domain_id: domain.to_owned(),
            name: name.to_owned(),
        };
        self.db.put(&contact).if_not_exists().await?;
        Ok(contact.into())
    }

    /// A domain's contacts, by name.
    pub async fn contacts(&self, domain: &str, after: Option<String>) -> Result<Page<Contact>, Error> {
        let contacts = self.db.contacts_of_domain(domain);
        let page = match after {
            Some(bookmark) => contacts.after(bookmark).page().await,
            None => contacts.page().await,
        };
        Ok(page?)
    }

    /// A contact and its methods, in the order in which they are tried.
    pub async fn contact(&self, domain: &str, id: &str) -> Result<(Contact, Vec<ContactMethod>), Error> {
        let found = self.db.contact_with_methods(id).consistent().gather().await?;
        let mut methods = found.contact_method;
        methods.sort_by(|a, b| position(a).cmp(&position(b)));
        match found.contact {
            Some(contact) if contact.domain_id == domain => Ok((contact, methods)),
            _ => Err(Error::NotFound("contact")),
        }
    }

    /// Adds a method to a contact of this domain.
    pub async fn add_method(
        &self,
        domain: &str,
        contact: &str,
        draft: MethodDraft,
    ) -> Result<ContactMethod, Error> {
        let kind: ContactMethodType = draft
            .r#type
            .parse()
            .map_err(|error: typed::NotOneOf| Error::Invalid(error.to_string()))?;
        let new = NewContactMethod {
            contact_id: contact.to_owned(),
            method_id: ids::uuid(),
            domain_id: domain.to_owned(),
            r#type: kind,
            destination: draft.destination,
        };
        let mut method = ContactMethod::from(new);
        method.wait_seconds = draft.wait_seconds.map_or(method.wait_seconds, i64::from);
        method.enabled = draft.enabled.unwrap_or(method.enabled);
        method.order = draft.order;
        let added = self
            .db
            .transaction()
            .check(ContactKey::new(contact), Contact::DOMAIN_ID.equals(domain))
            .with(self.db.put(&method).if_not_exists())
            .commit()
            .await;
        match added {
            Ok(()) => Ok(method),
            Err(error) if error.is_condition() => Err(Error::NotFound("contact")),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes a method. Attempts that were made keep what they were made with.
    pub async fn change_method(
        &self,
        domain: &str,
        key: ContactMethodKey,
        change: MethodChange,
    ) -> Result<ContactMethod, Error> {
        let mut update = self.db.update_contact_method(&key);
        if let Some(destination) = change.destination {
            update = update.set_destination(destination);
        }
        if let Some(seconds) = change.wait_seconds {
            update = update.set_wait_seconds(i64::from(seconds));
        }
        if let Some(enabled) = change.enabled {
            update = update.set_enabled(enabled);
        }
        if let Some(order) = change.order {
            update = update.set_order(order);
        }
        let own = ContactMethod::DOMAIN_ID.equals(domain);
        update.only_if(own).await.map_err(missing_method)
    }

    /// Removes a method.
    pub async fn remove_method(&self, domain: &str, key: ContactMethodKey) -> Result<(), Error> {
        let own = ContactMethod::DOMAIN_ID.equals(domain);
        let removed = self.db.delete(&key).only_if(own).await;
        match removed.map_err(missing_method)? {
            true => Ok(()),
            false => Err(Error::NotFound("method")),
        }
    }
}

/// Where a method stands among those of its contact.
fn position(method: &ContactMethod) -> (i64, &str) {
    (method.order.unwrap_or(i64::MAX), &method.method_id)
}

fn missing_method(error: typed::Error) -> Error {
    match error {
        typed::Error::NotFound(_) | typed::Error::ConditionFailed(_) => Error::NotFound("method"),
        error => error.into(),
    }
}
