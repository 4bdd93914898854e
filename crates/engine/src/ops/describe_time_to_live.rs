//! `DescribeTimeToLive`.

use trestle_api::{
    DescribeTimeToLive, DescribeTimeToLiveOutput, Error, TimeToLiveDescription, TimeToLiveStatus, table_name,
};

use crate::shared::Shared;

pub(crate) fn run(shared: &Shared, request: &DescribeTimeToLive) -> Result<DescribeTimeToLiveOutput, Error> {
    let catalog = shared.catalog.load();
    let name = table_name(&request.table_name);
    let table = catalog
        .tables
        .get(name)
        .ok_or_else(|| Error::table_not_found(name))?;
    let time_to_live_description = match &table.ttl {
        Some(ttl) => TimeToLiveDescription {
            time_to_live_status: TimeToLiveStatus::Enabled,
            attribute_name: Some(ttl.attribute.clone()),
        },
        None => TimeToLiveDescription {
            time_to_live_status: TimeToLiveStatus::Disabled,
            attribute_name: None,
        },
    };
    Ok(DescribeTimeToLiveOutput {
        time_to_live_description,
    })
}
