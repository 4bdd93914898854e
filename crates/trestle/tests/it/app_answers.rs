//! Common answers of applications: lists in pages, paths with an optional end, values that a client already
//! has.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Request};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tower::ServiceExt as _;
use trestle::app::{self, ListPart, Loopback, OrNotFound as _, Routes, paths_of, routed, shown};
use trestle::typed::Timestamp;
use trestle::{Embedded, Wait as _};

use crate::app::shop::{NewOrder, OrderStatus, Shop};
use crate::support::embedded;

type Db = State<Shop<Embedded>>;

async fn orders(State(db): Db, Query(part): Query<ListPart>) -> app::Result<axum::response::Response> {
    part.of(db.orders_by_status(OrderStatus::Open)).await
}

async fn order(Path(path): Path<Vec<(String, String)>>) -> app::Result<axum::response::Response> {
    let number = path.iter().find(|(name, _)| name == "number");
    shown(number.map(|(_, number)| number))
}

async fn greeting(headers: HeaderMap) -> app::Result<axum::response::Response> {
    app::shown_unless_known(&headers, json!({ "says": "hello" }))
}

fn routes() -> Routes<Shop<Embedded>> {
    vec![
        ("/orders", get(orders)),
        ("/customers/{customer}/orders[/{number}]", get(order)),
        ("/greeting", get(greeting)),
        (
            "/missing",
            get(async || None::<()>.or_not_found("such thing").map(|()| "")),
        ),
    ]
}

/// A shop with so many open orders.
fn shop(orders: i64) -> Router {
    let db = Shop::apply_to(&embedded()).unwrap();
    for number in 1..=orders {
        let order = NewOrder {
            customer: "ada".into(),
            number,
            placed: Timestamp::from_millis(number.unsigned_abs()),
            cents: 1,
        };
        db.put(&order).wait().unwrap();
    }
    app::site(routed(routes()), "<!doctype html>", "{}").with_state(db)
}

async fn call(router: &Router, path: &str, known: &str) -> (u16, HeaderMap, String) {
    let request = Request::builder().uri(path).header("if-none-match", known);
    let request = request.body(Body::empty()).unwrap();
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let text = to_bytes(body, usize::MAX).await.unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    (parts.status.as_u16(), parts.headers, text)
}

async fn read(router: &Router, path: &str) -> (u16, Value) {
    let (status, _, text) = call(router, path, "").await;
    (status, serde_json::from_str(&text).unwrap())
}

#[tokio::test]
async fn a_list_comes_in_parts_that_follow_each_other() {
    let shop = shop(7);
    let (mut path, mut seen) = ("/orders?limit=3".to_owned(), Vec::new());
    for expected in [3, 3, 1] {
        let (status, page) = read(&shop, &path).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap();
        assert_eq!(items.len(), expected);
        seen.extend(items.iter().map(|order| order["number"].as_i64().unwrap()));
        path = format!("/orders?limit=3&after={}", page["next"].as_str().unwrap_or("end"));
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7]);
    assert!(path.ends_with("after=end"), "{path}");
    let (status, page) = read(&shop, "/orders?limit=0").await;
    assert_eq!((status, page["items"].as_array().unwrap().len()), (200, 1));
    for wrong in ["after=nonsense", "limit=many", "page=2"] {
        let (status, said) = read(&shop, &format!("/orders?{wrong}")).await;
        assert_eq!(status, 400, "{said}");
    }
}

#[tokio::test]
async fn a_list_has_a_hundred_rows_unless_the_client_says_and_a_thousand_at_most() {
    let shop = shop(1_001);
    for (query, expected) in [("", 100), ("?limit=4000000000", 1_000)] {
        let (_, page) = read(&shop, &format!("/orders{query}")).await;
        assert_eq!(page["items"].as_array().unwrap().len(), expected);
        assert!(page["next"].is_string());
    }
}

#[tokio::test]
async fn the_end_of_a_path_in_brackets_may_be_left_out() {
    let shop = shop(0);
    assert_eq!(read(&shop, "/customers/ada/orders").await, (200, Value::Null));
    assert_eq!(read(&shop, "/customers/ada/orders/7").await, (200, json!("7")));
    let paths: Vec<String> = routes().iter().flat_map(|(path, _)| paths_of(path)).collect();
    assert!(
        paths.contains(&"/customers/{customer}/orders".to_owned()),
        "{paths:?}"
    );
    assert!(paths.contains(&"/customers/{customer}/orders/{number}".to_owned()));
    assert_eq!(paths.len(), 5);
    let (status, said) = read(&shop, "/missing").await;
    assert_eq!((status, &said["error"]), (404, &json!("there is no such thing")));
}

#[tokio::test]
async fn what_a_client_has_is_not_sent_again() {
    let shop = shop(0);
    let (status, headers, text) = call(&shop, "/greeting", "\"other\"").await;
    assert_eq!((status, text.as_str()), (200, r#"{"says":"hello"}"#));
    assert_eq!(headers["content-type"], "application/json");
    let tag = headers["etag"].to_str().unwrap();
    assert_eq!(tag.trim_matches('"'), app::fingerprint(text.as_bytes()));
    let (status, headers, _) = call(&shop, "/greeting", tag).await;
    assert_eq!((status, headers["etag"].to_str().unwrap()), (304, tag));
}

#[tokio::test]
async fn work_that_needs_the_server_is_done_while_it_serves_and_its_failure_ends_it() {
    let listener = Loopback::listen(0).await.unwrap();
    let url = listener.url();
    let first = async {
        let mut client = TcpStream::connect(url.trim_start_matches("http://")).await?;
        client.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
        let mut said = String::new();
        client.read_to_string(&mut said).await?;
        let text = said.lines().last().unwrap_or_default();
        Err::<(), _>(std::io::Error::other(format!("the server says {text}")))
    };
    let router = Router::new().route("/", get(async || "hello"));
    let ended = listener.serve_while(first, router).await.unwrap_err();
    assert_eq!(ended.to_string(), "the server says hello");
}
