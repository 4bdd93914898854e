//! A worker: a separate process that polls for tasks over HTTP, executes them and reports. It does not use
//! keys, so that workers of any version work with a server of any version.

use reqwest::Client;

use super::*;

/// How long to wait before a server is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// Works until the process ends: it can greet.
pub(crate) async fn work(url: &str, tenant: &str) -> reqwest::Result<()> {
    // Another part of the process may have chosen a provider; any will do, because TLS is not used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().build()?;
    let url = format!("{url}/tenants/{tenant}");
    let worker = std::process::id().to_string();
    let poll = json!({ "taskDefName": "greet", "workerId": worker, "waitSeconds": 5 });
    loop {
        let task = ask(&client, format!("{url}/tasks/poll"), &poll).await;
        let Some(run) = task["wfRunId"].as_str() else {
            // No task arrived meanwhile, or no workflow has such tasks yet.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let mut report = json!({ "guid": task["taskGuid"], "attempt": task["attempt"], "workerId": worker });
        match task["input"]["name"].as_str() {
            Some("nobody") => report["error"] = json!("there is nobody to greet"),
            name => report["output"] = json!(format!("hello, {}", name.unwrap_or("world"))),
        }
        let report = json!({ "reportTask": report });
        // A refused report was too late: another attempt is in progress.
        ask(&client, format!("{url}/wf-runs/{run}"), &report).await;
    }
}

/// Repeats a request until the server accepts or refuses it; returns the server's answer.
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
