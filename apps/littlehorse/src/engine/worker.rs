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
        let polled = ask(&client, &format!("{url}/tasks/poll"), &poll).await;
        if let (StatusCode::OK, task) = polled {
            let (run, report) = greet(&task, &worker);
            // A report that is refused came too late: the attempt timed out, and another one is under way.
            let (status, _) = ask(&client, &format!("{url}/wf-runs/{run}"), &report).await;
            tracing::debug!(%status, run, "reported");
        } else if polled.0 != StatusCode::NO_CONTENT {
            tracing::info!(status = %polled.0, "no task; asking again");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// What comes of a task, and for which run: somebody is greeted.
fn greet<'t>(task: &'t Value, worker: &str) -> (&'t str, Value) {
    let run = task["wfRunId"].as_str().unwrap_or_default();
    let mut report = json!({ "guid": task["taskGuid"], "attempt": task["attempt"], "workerId": worker });
    match task["input"]["name"].as_str() {
        Some("nobody") => report["error"] = json!("there is nobody to greet"),
        name => report["output"] = json!(format!("hello, {}", name.unwrap_or("world"))),
    }
    (run, json!({ "reportTask": report }))
}

/// Repeats a request until the server takes or refuses it.
async fn ask(client: &Client, url: &str, body: &Value) -> (StatusCode, Value) {
    loop {
        match client.post(url).json(body).send().await {
            Ok(answer) if !answer.status().is_server_error() => {
                let status = answer.status();
                return (status, answer.json().await.unwrap_or_default());
            }
            Ok(answer) => tracing::info!(status = %answer.status(), "the server failed; asking again"),
            Err(error) => tracing::info!(%error, "the server did not answer; asking again"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
