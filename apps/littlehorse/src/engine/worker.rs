//! A worker: a process of its own that polls for tasks over HTTP, does them and reports. It does not use keys, so that
//! workers of any version work with a server of any version.

use reqwest::Client;

use super::*;

/// How long to wait before a server is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// Works until the process ends: it can greet.
pub(crate) async fn work(url: &str, tenant: &str) -> reqwest::Result<()> {
    // Another part of the process may have chosen a provider; any will do, as no TLS is spoken.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().build()?;
    let url = format!("{url}/tenants/{tenant}");
    let worker = std::process::id().to_string();
    let poll = json!({ "taskDefName": "greet", "workerId": worker, "waitSeconds": 5 });
    loop {
        let task = ask(&client, format!("{url}/tasks/poll"), &poll).await;
        let Some(run) = task["wfRunId"].as_str() else {
            // None came meanwhile, or there is no workflow yet that has such tasks.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let mut report = json!({ "guid": task["taskGuid"], "attempt": task["attempt"], "workerId": worker });
        match task["input"]["name"].as_str() {
            Some("nobody") => report["error"] = json!("there is nobody to greet"),
            name => report["output"] = json!(format!("hello, {}", name.unwrap_or("world"))),
        }
        let report = json!({ "reportTask": report });
        // If it is refused, it came too late: another attempt is under way.
        ask(&client, format!("{url}/wf-runs/{run}"), &report).await;
    }
}

/// Repeats a request until the server takes or refuses it; answers with what the server said.
async fn ask(client: &Client, url: String, body: &Value) -> Value {
    loop {
        match client.post(&url).json(body).send().await {
            Ok(answer) if !answer.status().is_server_error() => {
                return answer.json().await.unwrap_or_default();
            }
            failed => tracing::info!(url, ?failed, "asking again"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
