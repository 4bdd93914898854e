//! A domain with two people in it, and a search that unfolds within a minute.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::model::Search;
use crate::{Error, MethodDraft, Service};

/// The domain of the demonstration.
pub const DOMAIN: &str = "db3280c";

const SAMPLE: &str = include_str!("../sample.json");

#[derive(Deserialize)]
struct Sample {
    people: Vec<Person>,
    metadata: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Person {
    name: String,
    methods: Vec<MethodDraft>,
}

/// Adds the people, and begins a search for the last of them.
pub async fn begin(service: &Service) -> Result<Search, Error> {
    let sample: Sample = serde_json::from_str(SAMPLE).map_err(Error::invalid)?;
    let mut last = String::new();
    for person in sample.people {
        last = service.add_contact(DOMAIN, &person.name).await?.contact_id;
        for draft in person.methods {
            service.add_method(DOMAIN, &last, draft).await?;
        }
    }
    service.begin(DOMAIN, &last, sample.metadata).await
}
