//! A domain with two people in it, and a search that unfolds within a minute.

use crate::model::Search;
use crate::{Error, MethodDraft, Service};

/// The domain of the demonstration.
pub const DOMAIN: &str = "db3280c";

/// Adds the people, and begins a search for one of them.
pub async fn begin(service: &Service) -> Result<Search, Error> {
    let zavier = service.add_contact(DOMAIN, "Zavier Curtis").await?;
    let arian = service.add_contact(DOMAIN, "Arian Mellor").await?;
    let methods = [
        ("email", "zavier@example.org", 8, true),
        ("text", "+1 555 0100", 8, true),
        ("call", "+1 555 0199", 8, false),
        ("webhook", "http://127.0.0.1:9/nobody-listens", 8, true),
        ("call", "+1 555 0101", 20, true),
    ];
    for (order, (kind, destination, wait, enabled)) in (0..).zip(methods) {
        let draft = draft(kind, destination, wait, enabled, order);
        service.add_method(DOMAIN, &zavier.contact_id, draft).await?;
    }
    let text = draft("text", "+1 555 0200", 15, true, 0);
    service.add_method(DOMAIN, &arian.contact_id, text).await?;
    let metadata = [
        ("subject", "{name}: incident {incident}"),
        (
            "text",
            "{name}, the conference about {incident} waits for you: {link}",
        ),
        ("incident", "INC-1042"),
    ];
    let metadata = metadata.map(|(name, value)| (name.to_owned(), value.to_owned()));
    service.begin(DOMAIN, &zavier.contact_id, metadata.into()).await
}

fn draft(kind: &str, destination: &str, wait: u32, enabled: bool, order: i64) -> MethodDraft {
    MethodDraft {
        r#type: kind.to_owned(),
        destination: destination.to_owned(),
        wait_seconds: Some(wait),
        enabled: Some(enabled),
        order: Some(order),
    }
}
