//! A worker: a process of its own that polls for tasks over HTTP, does them and reports. It knows nothing of keys, so that
//! workers of any version work for a server of any version.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

/// How long to wait before a server that did not answer is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// Works until the process ends: it can greet.
pub(crate) async fn work(url: &str, tenant: &str) -> reqwest::Result<()> {
    // Another part of the process may have chosen a provider; any will do, as no TLS is spoken.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (client, url) = (Client::builder().build()?, format!("{url}/tenants/{tenant}"));
    let worker = std::process::id().to_string();
    let poll = json!({ "taskDefName": "greet", "workerId": worker, "waitSeconds": 5 });
    loop {
        match one(&client, &url, &poll).await {
            Ok(StatusCode::OK | StatusCode::NO_CONTENT) => continue,
            Ok(status) => tracing::info!(%status, "no task; asking again"),
            Err(error) => tracing::info!(%error, "the server did not answer; asking again"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Does one task, if there is one.
async fn one(client: &Client, url: &str, poll: &Value) -> reqwest::Result<StatusCode> {
    let polled = client.post(format!("{url}/tasks/poll")).json(poll).send().await?;
    if polled.status() != StatusCode::OK {
        return Ok(polled.status());
    }
    let task: Value = polled.json().await?;
    let mut report = json!({ "guid": task["taskGuid"], "attempt": task["attempt"] });
    // What comes of a task: somebody is greeted.
    match task["input"]["name"].as_str() {
        Some("nobody") => report["error"] = json!("there is nobody to greet"),
        name => report["output"] = json!(format!("hello, {}", name.unwrap_or("world"))),
    }
    let run = task["wfRunId"].as_str().unwrap_or_default();
    let report = client.post(format!("{url}/wf-runs/{run}")).json(&json!({ "reportTask": report }));
    let status = report.send().await?.status();
    // If the attempt timed out meanwhile, the report is refused, and another attempt is under way.
    tracing::debug!(%status, run, "reported");
    Ok(StatusCode::OK)
}
