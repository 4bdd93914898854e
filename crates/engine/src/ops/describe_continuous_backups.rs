//! `DescribeContinuousBackups`: Trestle has none, but tools call it.

use trestle_api::{
    ContinuousBackupsDescription, ContinuousBackupsStatus, DescribeContinuousBackups,
    DescribeContinuousBackupsOutput, Error, ErrorKind, PointInTimeRecoveryDescription, table_name,
};

use crate::shared::Shared;

pub(crate) fn run(
    shared: &Shared,
    request: &DescribeContinuousBackups,
) -> Result<DescribeContinuousBackupsOutput, Error> {
    let name = table_name(&request.table_name);
    if !shared.catalog.load().tables.contains_key(name) {
        return Err(Error::new(
            ErrorKind::TableNotFound,
            format!("Table not found: {name}"),
        ));
    }
    Ok(DescribeContinuousBackupsOutput {
        continuous_backups_description: ContinuousBackupsDescription {
            // DynamoDB's own default: on, with point-in-time recovery off.
            continuous_backups_status: ContinuousBackupsStatus::Enabled,
            point_in_time_recovery_description: Some(PointInTimeRecoveryDescription::default()),
        },
    })
}
