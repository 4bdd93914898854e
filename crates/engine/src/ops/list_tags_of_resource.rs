//! `ListTagsOfResource`.

use trestle_api::{Error, ListTagsOfResource, ListTagsOfResourceOutput, Tag};

use super::tag_resource::{check_arn, tagged};
use crate::shared::Shared;

pub(crate) fn run(shared: &Shared, request: &ListTagsOfResource) -> Result<ListTagsOfResourceOutput, Error> {
    check_arn(&request.resource_arn)?;
    let table = tagged(&shared.catalog.load(), &request.resource_arn)?;
    let tags = table
        .tags
        .iter()
        .map(|(key, value)| Tag {
            key: key.clone(),
            value: value.clone(),
        })
        .collect();
    // A table has few enough tags for one page.
    Ok(ListTagsOfResourceOutput {
        tags,
        next_token: None,
    })
}
