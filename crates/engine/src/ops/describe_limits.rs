//! `DescribeLimits`.

use trestle_api::DescribeLimitsOutput;

/// DynamoDB's default quotas. Trestle itself does not throttle.
pub(crate) fn run() -> DescribeLimitsOutput {
    DescribeLimitsOutput {
        account_max_read_capacity_units: 80_000,
        account_max_write_capacity_units: 80_000,
        table_max_read_capacity_units: 40_000,
        table_max_write_capacity_units: 40_000,
    }
}
