//! Contacts and their methods. Each call names a domain, and sees nothing of any other.

use serde::Deserialize;
use trestle::ids;
use trestle::typed::{Held, Page, Part};

use crate::model::{
    Contact, ContactKey, ContactMethod, ContactMethodKey, ContactMethodType, ManhuntModel, NewContact,
    NewContactMethod, UpdateContactMethod,
};
use crate::{Error, Result, Service};

/// A method to add.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MethodDraft {
    /// How somebody is reached.
    pub r#type: ContactMethodType,
    /// The number, address or URL.
    pub destination: String,
    /// How long to wait for an answer before the next method.
    pub wait_seconds: Option<u32>,
    /// Whether it is tried at all.
    pub enabled: Option<bool>,
    /// Smaller numbers are tried first; without one it comes after those that are there.
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
    pub async fn add_contact(&self, domain: &str, name: &str) -> Result<Contact> {
        let contact = NewContact {
            contact_id: ids::uuid(),
            domain_id: domain.to_owned(),
            name: name.to_owned(),
        };
        self.db.put(&contact).if_not_exists().await?;
        Ok(contact.into())
    }

    /// A domain's contacts, by name.
    pub async fn contacts(&self, domain: &str, after: Option<String>) -> Result<Page<Contact>> {
        let contacts = self.db.contacts_of_domain(domain);
        Ok(contacts.continued(after).page().await?)
    }

    /// A contact and its methods, in the order in which they are tried.
    pub async fn contact(&self, domain: &str, id: &str) -> Result<(Contact, Vec<ContactMethod>)> {
        let found = self.db.contact_with_methods(id).consistent().gather().await?;
        let mut methods = found.contact_method;
        methods.sort_by_key(|method| method.order.unwrap_or(i64::MAX));
        match found.contact {
            Some(contact) if contact.domain_id == domain => Ok((contact, methods)),
            _ => Err(Error::not_found("such contact")),
        }
    }

    /// Adds a method to a contact of this domain, behind the others unless the draft says where.
    pub async fn add_method(&self, domain: &str, contact: &str, draft: MethodDraft) -> Result<ContactMethod> {
        let (_, others) = self.contact(domain, contact).await?;
        let last = others.iter().filter_map(|method| method.order).max();
        let mut method = ContactMethod::from(NewContactMethod {
            contact_id: contact.to_owned(),
            method_id: ids::uuid(),
            domain_id: domain.to_owned(),
            r#type: draft.r#type,
            destination: draft.destination,
        });
        method.wait_seconds = draft.wait_seconds.map_or(method.wait_seconds, i64::from);
        method.enabled = draft.enabled.unwrap_or(method.enabled);
        let behind = last.map_or(0, |order| order.saturating_add(1));
        method.order = Some(draft.order.unwrap_or(behind));
        let put = self.db.put(&method).if_not_exists();
        self.write_for(domain, contact, put).await?;
        Ok(method)
    }

    /// Writes what belongs to a contact, if the contact belongs to the domain.
    pub(crate) async fn write_for(
        &self,
        domain: &str,
        contact: &str,
        write: impl Part<ManhuntModel>,
    ) -> Result<()> {
        let own = Contact::DOMAIN_ID.equals(domain);
        let writes = self.db.transaction().check(ContactKey::new(contact), own);
        let written = writes.with(write).commit().await;
        written.held()?.ok_or_else(|| Error::not_found("such contact"))
    }

    /// Changes a method. Attempts that were made keep what they were made with.
    pub async fn change_method(
        &self,
        domain: &str,
        key: ContactMethodKey,
        change: MethodChange,
    ) -> Result<ContactMethod> {
        let wait_seconds = change.wait_seconds.map(i64::from);
        let update = self.db.update_contact_method(&key);
        let update = update
            .when(change.destination, UpdateContactMethod::set_destination)
            .when(wait_seconds, UpdateContactMethod::set_wait_seconds)
            .when(change.enabled, UpdateContactMethod::set_enabled)
            .when(change.order, UpdateContactMethod::set_order);
        let changed = update.only_if(ContactMethod::DOMAIN_ID.equals(domain)).await;
        changed.held()?.ok_or_else(|| Error::not_found("such method"))
    }

    /// Removes a method.
    pub async fn remove_method(&self, domain: &str, key: ContactMethodKey) -> Result<()> {
        let own = ContactMethod::DOMAIN_ID.equals(domain);
        let removed = self.db.delete(&key).if_exists().only_if(own).await;
        removed
            .held()?
            .map(|_| ())
            .ok_or_else(|| Error::not_found("such method"))
    }
}
