//! `DescribeEndpoints`.

use trestle_api::{DescribeEndpointsOutput, Endpoint};

use crate::shared::Shared;

pub(crate) fn run(shared: &Shared) -> DescribeEndpointsOutput {
    DescribeEndpointsOutput {
        endpoints: vec![Endpoint {
            address: shared.options.endpoint.clone(),
            cache_period_in_minutes: 1440,
        }],
    }
}
