//! A domain with two people, a search that is done within a minute, and one that cannot continue.

use std::collections::BTreeMap;

use serde::Deserialize;
use trestle::ids;
use trestle::typed::Precision;

use crate::model::{NewSearch, Search};
use crate::{Error, MethodDraft, Result, SearchDraft, Service};

/// The domain of the demonstration.
pub const DOMAIN: &str = "db3280c";

const SAMPLE: &str = include_str!("../sample.json");

#[derive(Deserialize)]
struct Sample {
    people: BTreeMap<String, Vec<MethodDraft>>,
    search: SearchDraft,
}

/// Adds the people, and begins a search for the last of them. The step of another search, whose contact is gone, becomes a dead
/// letter.
pub async fn begin(service: &Service) -> Result<Search> {
    let mut sample: Sample = serde_json::from_str(SAMPLE).map_err(Error::invalid)?;
    for (name, methods) in sample.people {
        let contact = service.add_contact(DOMAIN, name.as_str()).await?.contact_id;
        for draft in methods {
            service.add_method(DOMAIN, &contact, draft).await?;
        }
        sample.search.contact_id = contact;
    }
    let lost = NewSearch {
        search_id: ids::uuid(),
        // A contact that does not exist, as in a table that was restored in part.
        contact_id: "0".to_owned(),
        domain_id: DOMAIN.to_owned(),
        started_datetime: service.now().in_precision(Precision::Seconds),
    };
    service.db.put(&lost).await?;
    service.begin(DOMAIN, sample.search).await
}
