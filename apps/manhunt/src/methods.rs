//! Contact methods: how a contact is reached, and in which order.

use serde::Deserialize;
use trestle::app::{OrNotFound as _, OrNothing as _};
use trestle::ids;
use trestle::typed::Held;

use crate::model::{
    Contact, ContactMethod, ContactMethodKey, ContactMethodType, NewContactMethod, UpdateContactMethod,
};
use crate::{Error, Result, Service, destination};

/// The longest wait for an answer: 30 days.
const WAIT_SECONDS_MAX: i64 = 30 * 24 * 3600;
/// How often sending is retried by default.
pub(crate) const RETRIES: i64 = 2;
/// The first pause before a retry, by default.
pub(crate) const RETRY_SECONDS: i64 = 10;
/// The most repetitions.
const RETRIES_MAX: i64 = 20;
/// The longest first pause.
const RETRY_SECONDS_MAX: i64 = 3600;
/// Orders lie between this and its negative.
const ORDER_MAX: i64 = 1_000_000_000;

/// The fields of a new or existing method. Fields that are left out have a default, or stay.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MethodDraft {
    /// The kind of method. A new method needs it, and it does not change.
    pub r#type: Option<ContactMethodType>,
    /// The number, address or URL. A new method needs it.
    pub destination: Option<String>,
    /// How long to wait for an answer before the next method.
    pub wait_seconds: Option<i64>,
    /// Whether it is tried at all.
    pub enabled: Option<bool>,
    /// Smaller numbers are tried first, and methods of one number at once. A new method without one comes
    /// after the existing ones.
    pub order: Option<i64>,
    /// How often sending is retried after a failure.
    pub retries: Option<i64>,
    /// The pause after the first failure; each further pause is twice as long.
    pub retry_seconds: Option<i64>,
}

impl MethodDraft {
    /// Refuses numbers that are out of bounds.
    fn check(&self) -> Result<()> {
        for (what, given, least, most) in [
            ("waitSeconds", self.wait_seconds, 0, WAIT_SECONDS_MAX),
            ("retries", self.retries, 0, RETRIES_MAX),
            ("retrySeconds", self.retry_seconds, 0, RETRY_SECONDS_MAX),
            ("order", self.order, -ORDER_MAX, ORDER_MAX),
        ] {
            if given.is_some_and(|given| !(least..=most).contains(&given)) {
                return Err(Error::Invalid(format!("{what} lies between {least} and {most}")));
            }
        }
        Ok(())
    }
}

impl Service {
    /// Adds a method to a contact of this domain, after the others unless the draft gives an order.
    pub async fn add_method(&self, domain: &str, contact: &str, draft: MethodDraft) -> Result<ContactMethod> {
        draft.check()?;
        let (owner, others) = self.contact(domain, contact).await?;
        let named = draft.r#type.zip(draft.destination);
        let (kind, to) = named.ok_or_else(|| Error::invalid("type or destination is missing"))?;
        let mut method = ContactMethod::from(NewContactMethod {
            contact_id: contact.to_owned(),
            method_id: ids::uuid(),
            domain_id: domain.to_owned(),
            r#type: kind,
            destination: destination::checked(kind, &to)?,
        });
        method.wait_seconds = draft.wait_seconds.unwrap_or(method.wait_seconds);
        method.enabled = draft.enabled.unwrap_or(method.enabled);
        method.retries = draft.retries.or(Some(RETRIES));
        method.retry_seconds = draft.retry_seconds.or(Some(RETRY_SECONDS));
        method.order = match draft.order {
            Some(order) => Some(order),
            None => Some(self.next_order(domain, &owner, &others).await?),
        };
        let put = self.db.put(&method).if_not_exists();
        self.write_for(domain, contact, put).await?;
        Ok(method)
    }

    /// The next order of a contact's methods: the database counts, so that no other call gets the same.
    async fn next_order(&self, domain: &str, contact: &Contact, methods: &[ContactMethod]) -> Result<i64> {
        let last = methods.iter().filter_map(|method| method.order).max();
        // Given orders may be ahead of the count.
        if let Some(last) = last.filter(|last| contact.last_order.is_none_or(|known| known < *last)) {
            let behind = Contact::LAST_ORDER.is_absent();
            let behind = behind.or(Contact::LAST_ORDER.is_less_than(last));
            let raised = self.db.update_contact(contact.key()).set_last_order(last);
            raised.only_if(behind).await.held()?;
        }
        let counted = self.db.update_contact(contact.key()).add_to_last_order(1);
        let counted = counted.only_if(Contact::DOMAIN_ID.equals(domain)).await;
        let order = counted.held()?.and_then(|contact| contact.last_order);
        order.or_not_found("such contact")
    }

    /// Changes a method. Existing attempts keep their values.
    pub async fn change_method(
        &self,
        domain: &str,
        key: ContactMethodKey,
        change: MethodDraft,
    ) -> Result<ContactMethod> {
        change.check()?;
        let found = self.db.get(&key).consistent().await.or_nothing()?;
        let own = found.filter(|method| method.domain_id == domain);
        let own = own.or_not_found("such method")?;
        if change.r#type.is_some_and(|kind| kind != own.r#type) {
            return Err(Error::invalid("a method keeps its type: add another method"));
        }
        let destination = change.destination.map(|to| destination::checked(own.r#type, &to));
        let update = self.db.update_contact_method(&key);
        let update = update
            .when(destination.transpose()?, UpdateContactMethod::set_destination)
            .when(change.wait_seconds, UpdateContactMethod::set_wait_seconds)
            .when(change.enabled, UpdateContactMethod::set_enabled)
            .when(change.order, UpdateContactMethod::set_order)
            .when(change.retries, UpdateContactMethod::set_retries)
            .when(change.retry_seconds, UpdateContactMethod::set_retry_seconds);
        let changed = update.only_if(ContactMethod::DOMAIN_ID.equals(domain)).await;
        changed.held()?.or_not_found("such method")
    }

    /// Removes a method.
    pub async fn remove_method(&self, domain: &str, key: ContactMethodKey) -> Result<()> {
        let own = ContactMethod::DOMAIN_ID.equals(domain);
        let removed = self.db.delete(&key).if_exists().only_if(own).await.held();
        removed.or_nothing()?.map(drop).or_not_found("such method")
    }
}
