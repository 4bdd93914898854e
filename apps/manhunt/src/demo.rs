//! A domain with two people in it, and a search that unfolds within a minute.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::model::Search;
use crate::{Error, MethodDraft, Result, Service, Words};

/// The domain of the demonstration.
pub const DOMAIN: &str = "db3280c";

const SAMPLE: &str = include_str!("../sample.json");

#[derive(Deserialize)]
struct Sample {
    people: BTreeMap<String, Vec<MethodDraft>>,
    metadata: Words,
}

/// Adds the people, and begins a search for the last of them.
pub async fn begin(service: &Service) -> Result<Search> {
    let sample: Sample = serde_json::from_str(SAMPLE).map_err(Error::invalid)?;
    let mut last = String::new();
    for (name, methods) in sample.people {
        last = service.add_contact(DOMAIN, &name).await?.contact_id;
        for draft in methods {
            service.add_method(DOMAIN, &last, draft).await?;
        }
    }
    service.begin(DOMAIN, &last, sample.metadata).await
}
