//! The common parts of applications: answers, errors with their status, a page with safe headers, a port.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{Json, Path, State};
use axum::http::{HeaderMap, Request};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Router, http};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;
use tower::ServiceExt as _;
use trestle::app::{self, Error, GRACE, Loopback, Result};
use trestle::queue::{ErrorCode, QueueError};
use trestle::reindex::ReindexError;
use trestle::{Embedded, ErrorKind};

use crate::support::embedded;

pub(crate) mod shop {
    trestle::model!("examples/shop.toml");
}
use shop::{CustomerKey, NewCustomer, Shop};

const PAGE: &str =
    "<!doctype html>\n<title>Shop</title><script>let a = 1;</script><p>\n<script>go()</script>";

type Db = State<Shop<Embedded>>;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    email: String,
}

async fn read(State(db): Db, Path(id): Path<String>) -> Result<Response> {
    let found = db.get(CustomerKey::new(&id)).await?;
    let there = found.ok_or_else(|| Error::not_found(format!("customer {id}")))?;
    app::shown(there.name)
}

async fn add(State(db): Db, Path(id): Path<String>, Json(new): Json<Named>) -> Result<Response> {
    let (customer, name, email) = (id, new.name.clone(), new.email.clone());
    let row = NewCustomer {
        customer,
        name,
        email,
    };
    db.put(&row).if_not_exists().await?;
    app::created(new)
}

async fn rename(State(db): Db, Path(id): Path<String>) -> Result<Response> {
    db.update_customer(CustomerKey::new(&id))
        .set_name("Grace")
        .await?;
    app::shown(())
}

fn shop() -> Router {
    let customer = get(read).put(add).post(rename);
    let routes = Router::new().route("/customers/{id}", customer);
    let fail = async || Err::<Response, _>(Error::failed("the password is swordfish"));
    let routes = routes.route("/fail", get(fail));
    let db = Shop::apply_to(&embedded()).unwrap();
    app::site(routes, PAGE, r#"{"openapi":"3.1.0"}"#).with_state(db)
}

/// Status, headers and text of an answer.
async fn call(router: &Router, method: &str, path: &str, body: &str) -> (u16, HeaderMap, String) {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json");
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let text = to_bytes(body, usize::MAX).await.unwrap();
    (
        parts.status.as_u16(),
        parts.headers,
        String::from_utf8(text.to_vec()).unwrap(),
    )
}

/// Status and text of an error, which is in JSON.
async fn refused(router: &Router, method: &str, path: &str, body: &str) -> (u16, String) {
    let (status, headers, text) = call(router, method, path, body).await;
    assert_eq!(headers["content-type"], "application/json", "{text}");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers.contains_key("allow"), status == 405);
    let json: Value = serde_json::from_str(&text).unwrap();
    (status, json["error"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn errors_have_the_status_of_their_class_and_say_what_is_wrong() {
    let shop = shop();
    let (ada, two) = ("/customers/ada", "/customers/two");
    let new = r#"{"name": "Ada", "email": "ada@example.org"}"#;
    assert_eq!(
        refused(&shop, "GET", ada, "").await,
        (404, "there is no customer ada".into())
    );
    let (status, _, text) = call(&shop, "PUT", ada, new).await;
    assert_eq!(
        (status, text.as_str()),
        (201, r#"{"name":"Ada","email":"ada@example.org"}"#)
    );
    let (status, _, text) = call(&shop, "GET", ada, "").await;
    assert_eq!((status, text.as_str()), (200, r#""Ada""#));
    let too_large = format!(r#"{{"name": "{}", "email": "e"}}"#, "x".repeat(500_000));
    for (method, path, body, expected, says) in [
        ("PUT", ada, new, 409, "condition on entity customer"),
        ("PUT", two, new, 409, "ada@example.org"),
        ("PUT", two, "{", 400, "EOF while parsing"),
        ("PUT", two, r#"{"name": "Ada"}"#, 400, "missing field `email`"),
        ("PUT", two, &too_large, 400, "size"),
        ("POST", two, "", 404, "There is no row of entity customer"),
        ("DELETE", two, "", 405, "/openapi.json says what there is"),
        ("GET", "/nowhere", "", 404, "/openapi.json says what there is"),
        ("GET", "/customers/%ff", "", 400, "UTF-8"),
    ] {
        let (status, said) = refused(&shop, method, path, body).await;
        assert_eq!(status, expected, "{method} {path}: {said}");
        assert!(said.contains(says), "{method} {path}: {said}");
    }
}

#[tokio::test]
async fn what_failed_inside_is_for_the_log_and_not_for_the_client() {
    let (status, said) = refused(&shop(), "GET", "/fail", "").await;
    assert_eq!(status, 500);
    assert_eq!(said, "the request failed; the log of the server says why");
}

#[test]
fn errors_of_the_database_of_queues_and_of_reindexes_have_a_class() {
    let database = |kind| Error::from(trestle::Error::new(kind, "said"));
    let queue = |code| Error::from(QueueError::new(code, "said"));
    let text = || "said".to_owned();
    for (error, status) in [
        (database(ErrorKind::Validation), 400),
        (database(ErrorKind::Throttling), 503),
        (database(ErrorKind::ResourceNotFound), 500),
        (queue(ErrorCode::QueueDoesNotExist), 404),
        (queue(ErrorCode::InternalError), 500),
        (ReindexError::Unknown(text()).into(), 404),
        (ReindexError::Refused(text()).into(), 409),
        (ReindexError::NothingListens(text()).into(), 409),
        (std::io::Error::other("said").into(), 500),
    ] {
        assert_eq!(error.status().as_u16(), status, "{error:?}");
        assert!(error.to_string().contains("said"), "{error}");
    }
}

#[tokio::test]
async fn the_page_runs_its_own_scripts_and_no_others() {
    let shop = shop();
    let (status, headers, page) = call(&shop, "GET", "/", "").await;
    assert_eq!((status, page.as_str()), (200, PAGE));
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    let policy = headers["content-security-policy"].to_str().unwrap();
    // printf '%s' 'let a = 1;' | openssl dgst -sha256 -binary | base64
    let scripts = "script-src 'sha256-xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck=' 'sha256-5KYv+PUboo5h+0+YAtGRPbwv5d/QxzHslP4YGnUaxRw='";
    assert!(policy.ends_with(scripts), "{policy}");
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    let (_, headers, openapi) = call(&shop, "GET", "/openapi.json", "").await;
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(openapi, r#"{"openapi":"3.1.0"}"#);
    let plain = app::site(Router::new(), "<p>", "{}");
    let (_, headers, _) = call(&plain, "GET", "/", "").await;
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.ends_with("script-src 'none'"), "{policy}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_named_with_the_way_out() {
    let first = Loopback::listen(0).await.unwrap();
    let port = first.url().rsplit_once(':').unwrap().1.parse().unwrap();
    let refused = Loopback::listen(port).await.unwrap_err().to_string();
    assert!(
        refused.starts_with(&format!("cannot listen on port {port}: ")),
        "{refused}"
    );
    assert!(refused.contains("--port chooses another"), "{refused}");
}

/// A server whose answers wait for a signal, and a client that has begun a request.
async fn asked(
    begun: &str,
) -> (
    impl Fn(),
    oneshot::Sender<()>,
    tokio::task::JoinHandle<()>,
    TcpStream,
) {
    let word = std::sync::Arc::new(tokio::sync::Notify::new());
    let its = std::sync::Arc::clone(&word);
    let answer = async move |_body: String| {
        its.notified().await;
        http::StatusCode::NO_CONTENT
    };
    let listener = Loopback::listen(0).await.unwrap();
    let mut client = TcpStream::connect(listener.url().trim_start_matches("http://")).unwrap();
    client.write_all(begun.as_bytes()).unwrap();
    let (end, ended) = oneshot::channel::<()>();
    let router = Router::new().route("/", post(answer));
    let served = tokio::spawn(async move {
        let end = async { ended.await.unwrap() };
        listener.serve_until(end, router).await.unwrap();
    });
    // The server asked for the body, so the request is in progress.
    let client = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        BufReader::new(&client).read_line(&mut line).unwrap();
        assert!(line.contains("100 Continue"), "{line}");
        client
    });
    (move || word.notify_one(), end, served, client.await.unwrap())
}

const BEGUN: &str = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\nexpect: 100-continue\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_way_is_answered_before_the_end() {
    let (answer, end, served, mut client) = asked(BEGUN).await;
    client.write_all(b"x").unwrap();
    end.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!served.is_finished(), "it waits for the request");
    answer();
    served.await.unwrap();
    let mut said = String::new();
    client.read_to_string(&mut said).unwrap();
    assert!(said.contains("204 No Content"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_finishes_its_request_does_not_hold_up_the_end() {
    let (_answer, end, served, _client) = asked(BEGUN).await;
    let begun = Instant::now();
    end.send(()).unwrap();
    served.await.unwrap();
    assert!(begun.elapsed() >= GRACE);
}
