//! Calls about migrations as requests to a server, and refusals in its answers.

use crate::server_flags::encoded;
use trestle_server::MigrationCall;

/// Method, query and body of the admin call.
pub(super) fn as_request(call: &MigrationCall) -> (&'static str, String, &str) {
    let named = |name: &Option<String>| part("name", name);
    match call {
        MigrationCall::Status { name } => ("GET", format!("?{}", named(name)), ""),
        MigrationCall::Plan {
            text,
            dry_run,
            delete_indexes,
        } => {
            let query = format!("?action=plan&dry-run={dry_run}&delete-indexes={delete_indexes}");
            ("POST", query, text)
        }
        MigrationCall::Start {
            text,
            rate,
            finish,
            paused,
            delete_indexes,
        } => {
            let rate = part("rate", rate);
            let query = format!(
                "?action=start&finish={finish}&paused={paused}&delete-indexes={delete_indexes}&{rate}"
            );
            ("POST", query, text.as_deref().unwrap_or_default())
        }
        MigrationCall::Resume { name, rate } => {
            let query = format!("?action=resume&{}&{}", named(name), part("rate", rate));
            ("POST", query, "")
        }
        MigrationCall::Pause { name } => ("POST", format!("?action=pause&{}", named(name)), ""),
        MigrationCall::Finish { name } => ("POST", format!("?action=finish&{}", named(name)), ""),
        MigrationCall::Rollback { name } => ("POST", format!("?action=rollback&{}", named(name)), ""),
    }
}

fn part(name: &str, value: &Option<String>) -> String {
    let value = value.as_deref().map(encoded);
    value.map_or_else(String::new, |value| format!("{name}={value}"))
}

/// A refusal in words, as JSON.
pub(crate) fn refused(why: &dyn std::fmt::Display) -> String {
    serde_json::json!({ "refused": why.to_string() }).to_string()
}

/// The words of a refusal; none if it is a plan.
pub(crate) fn refusal(text: &str) -> Option<String> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    json["refused"].as_str().map(str::to_owned)
}
