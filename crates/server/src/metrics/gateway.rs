//! What a gateway has found about rows that changed without it, for Prometheus.

use super::render::Page;
use trestle_admin::GatewayStatus;

/// The page of a gateway; empty on a server with its own data.
pub(crate) fn render(status: Option<&GatewayStatus>) -> String {
    let mut page = Page::default();
    let Some(GatewayStatus {
        endpoint: Some(_),
        past_writes,
        ..
    }) = status
    else {
        return page.0;
    };
    page.single(
        "past_writes_expired_total",
        "counter",
        "Rows of modelled tables that expired at the endpoint.",
        past_writes.expired,
    );
    page.single(
        "past_writes_changed_total",
        "counter",
        "Rows of modelled tables that were changed past the gateways, so that something derived was wrong near them.",
        past_writes.changed,
    );
    page.single(
        "past_writes_mended_total",
        "counter",
        "Derived facts that were brought back in line.",
        past_writes.mended.values().sum::<u64>(),
    );
    page.single(
        "past_writes_left_total",
        "counter",
        "Derived facts that no repair can bring in line.",
        past_writes.left_total,
    );
    page.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_has_its_figures_and_a_server_has_none() {
        let status: GatewayStatus = serde_json::from_value(serde_json::json!({
            "endpoint": "http://127.0.0.1:8000",
            "past_writes": {"expired": 3, "changed": 2, "mended": {"stray-inverse": 4, "copy": 1}, "left_total": 6},
        }))
        .unwrap();
        let page = render(Some(&status));
        for line in [
            "trestle_past_writes_expired_total 3",
            "trestle_past_writes_changed_total 2",
            "trestle_past_writes_mended_total 5",
            "trestle_past_writes_left_total 6",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}: {page}");
        }
        assert_eq!(render(None), "");
        assert_eq!(render(Some(&GatewayStatus::default())), "");
    }
}
