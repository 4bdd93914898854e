//! Files of applications over HTTP, and documents that they post to others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use serde_json::{Value, json};
use trestle::app::{Error, Notice, Objects, PublicFiles, Webhooks, url_below};
use trestle::queue::{Job, Queues, WorkerSettings, Workers};

use crate::support::embedded;

/// A server on a free port. Returns its URL.
async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// Serves files, and other bytes so many times before.
async fn cdn(objects: Objects, lies: Arc<AtomicUsize>) -> String {
    let file = async |State((objects, lies)): State<(Objects, Arc<AtomicUsize>)>,
                      Path(path): Path<String>| {
        let fewer = |left: usize| left.checked_sub(1);
        if lies
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer)
            .is_ok()
        {
            return Ok("something else".into());
        }
        objects.served(&path).await.map(|response| response.into_body())
    };
    serve(
        Router::new()
            .route("/{*path}", get(file))
            .with_state((objects, lies)),
    )
    .await
}

#[tokio::test]
async fn a_file_is_served_with_its_type_and_what_is_not_there_is_a_404() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "x").unwrap();
    let objects = Objects::directory(&folder.path().join("files")).unwrap();
    objects.write("a/b.js", b"let b;".to_vec()).await.unwrap();
    let response = objects.served("a/b.js").await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/javascript");
    assert_eq!(response.headers()["content-length"], "6");
    let body = axum::body::to_bytes(response.into_body(), 100).await.unwrap();
    assert_eq!(body, "let b;");
    for missing in ["a/c.js", "a", "../secret", "a/../../secret", "", "//"] {
        let error = objects.served(missing).await.unwrap_err();
        assert!(matches!(error, Error::NotFound(_)), "{missing}: {error:?}");
    }
}

#[tokio::test]
async fn a_public_file_is_stored_when_its_url_gives_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let lies = Arc::new(AtomicUsize::new(2));
    let url = cdn(Objects::open(place, None).unwrap(), Arc::clone(&lies)).await;
    let files = PublicFiles::open(place, None, &url).unwrap();
    let name = "it's, \"odd\".js";
    let stored = files.store(format!("x/{name}"), b"1".to_vec());
    stored.await.expect("the third look gives the file");
    let fetched = reqwest::get(url_below(&files.url, &format!("x/{name}")))
        .await
        .unwrap();
    assert_eq!(fetched.text().await.unwrap(), "1");
    lies.store(3, Ordering::SeqCst);
    let error = files.store("y".to_owned(), b"2".to_vec()).await.unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, Error::Invalid(_)), "{said}");
    assert!(
        said.contains("/y does not give the file that was stored: 14 other bytes"),
        "{said}"
    );
}

/// What a receiver got: keys and documents.
type Heard = Arc<Mutex<Vec<(String, Value)>>>;

/// Refuses so many documents, then accepts them.
async fn receiver(failures: usize) -> (String, Heard) {
    let (left, heard) = (AtomicUsize::new(failures), Heard::default());
    let state = Arc::new((left, Arc::clone(&heard)));
    type Both = Arc<(AtomicUsize, Heard)>;
    let hear = async |State(both): State<Both>, headers: HeaderMap, axum::Json(told): axum::Json<Value>| {
        let key = headers["idempotency-key"].to_str().unwrap().to_owned();
        both.1.lock().unwrap().push((key, told));
        let fewer = |left: usize| left.checked_sub(1);
        match both.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer) {
            Ok(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Err(_) => StatusCode::OK,
        }
    };
    let url = serve(Router::new().route("/", post(hear)).with_state(state)).await;
    (url, heard)
}

struct Shop(Webhooks, Queues);

impl Shop {
    async fn tell(self: Arc<Self>, job: Job<Notice>) -> trestle::app::Result<()> {
        let mut notice = job.body;
        if notice.is_new() {
            notice.told.insert("more".to_owned(), json!(1));
        }
        let order = notice.text("order").to_owned();
        let key = format!("{order}!");
        self.0.deliver((&self.1, "told"), notice, &order, &key).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_reaches_every_receiver_that_wants_it_and_one_that_fails_is_told_again_alone() {
    let database = embedded();
    let ((good, heard), (bad, late), (other, nothing)) =
        (receiver(0).await, receiver(2).await, receiver(0).await);
    let receivers = [good, format!("seven={bad}"), format!("eight={other}")];
    let webhooks = Webhooks::new(receivers.iter().map(String::as_str)).unwrap();
    let queues = database.queues();
    let (shop, workers) = (Arc::new(Shop(webhooks, queues.clone())), Workers::new(queues));
    let settings = WorkerSettings {
        first_retry: Duration::from_millis(1),
        ..WorkerSettings::default()
    };
    workers.add("told", 9, settings, &shop, Shop::tell).await.unwrap();
    queues
        .send_jobs("told", [json!({ "order": "seven" })])
        .await
        .unwrap();
    let wait = async {
        while !workers.are_idle().await.unwrap() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait)
        .await
        .expect("all are told");
    let told = ("seven!".to_owned(), json!({ "order": "seven", "more": 1 }));
    assert_eq!(*heard.lock().unwrap(), vec![told.clone()]);
    assert_eq!(*late.lock().unwrap(), vec![told; 3]);
    assert!(nothing.lock().unwrap().is_empty());
    workers.stop().await;
}
