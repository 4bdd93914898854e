//! After rows expire at the endpoint of a gateway, derived rows are repaired, and the gateway reports it.

use crate::routes::{admin, until};
use crate::running::{Running, start};
use serde_json::{Value, json};

const MODEL: &str = r#"
model = "shop"

[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "expires"
stream = "new-and-old-images"

[entity.customer]
table = "shop"
key = { pk = "customer#{customer}", sk = "customer" }
attributes = { customer = "string", orders = { type = "integer", default = 0 } }

[entity.order]
table = "shop"
key = { pk = "order#{number}", sk = "order" }
attributes = { customer = "string", number = "string", code = "string" }

[entity.order.unique.code]
key = { pk = "code#{code}", sk = "code" }

[entity.order.counter.orders]
entity = "customer"
attribute = "orders"
"#;

fn call(server: &Running, operation: &str, body: &Value) -> Value {
    let answer = server.call(operation, &body.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

fn order(number: u32, expires: Option<u64>) -> Value {
    let mut item = json!({
        "kind": {"S": "order"}, "customer": {"S": "ann"}, "number": {"S": number.to_string()}, "code": {"S": format!("c{number}")},
    });
    if let Some(expires) = expires {
        item["expires"] = json!({"N": expires.to_string()});
    }
    json!({"TableName": "shop", "Item": item})
}

fn orders(gateway: &Running) -> String {
    let key = json!({"kind": {"S": "customer"}, "customer": {"S": "ann"}});
    let found = call(
        gateway,
        "GetItem",
        &json!({"TableName": "shop", "Key": key, "ConsistentRead": true}),
    );
    found["Item"]["orders"]["N"].as_str().unwrap().to_owned()
}

fn past_writes(gateway: &Running) -> Value {
    let (status, answer) = admin(gateway, "read-gateway", json!({}));
    assert_eq!(status, 200, "{answer}");
    answer["past_writes"].clone()
}

#[test]
fn what_followed_from_a_row_goes_when_it_expires_at_the_endpoint() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("shop.toml"), MODEL).unwrap();
    let endpoint = start(
        home.path(),
        &[
            "serve",
            "--in-memory",
            "--behind-gateways",
            "--virtual-clock",
            "--port",
            "0",
        ],
    );
    let (_, clock) = admin(&endpoint, "read-clock", json!({}));
    let now = clock["now"].as_f64().unwrap() as u64;
    let url = format!("http://{}", endpoint.address);
    let gateway = start(
        home.path(),
        &[
            "serve",
            "--backend",
            &url,
            "--model",
            "shop.toml",
            "--recount-seconds",
            "0",
            "--port",
            "0",
        ],
    );
    call(
        &gateway,
        "PutItem",
        &json!({"TableName": "shop", "Item": {"kind": {"S": "customer"}, "customer": {"S": "ann"}}}),
    );
    call(&gateway, "PutItem", &order(1, None));
    // A change shows that the stream is being read.
    let mut number = 100;
    until("the stream is read", || {
        number += 1;
        call(&gateway, "PutItem", &order(number, None));
        std::thread::sleep(std::time::Duration::from_millis(200));
        past_writes(&gateway)["records"].as_u64() > Some(0)
    });
    let before: u32 = orders(&gateway).parse().unwrap();
    call(&gateway, "PutItem", &order(2, Some(now + 3600)));
    assert_eq!(orders(&gateway), (before + 1).to_string());
    let (status, answer) = admin(&endpoint, "move-clock", json!({"advance_seconds": 7200}));
    assert_eq!(status, 200, "{answer}");
    until("the order is not counted any more", || {
        orders(&gateway) == before.to_string()
    });
    let code = json!({"TableName": "shop", "Key": {"pk": {"S": "code#c2"}, "sk": {"S": "code"}}});
    until("its code is free", || {
        call(&gateway, "GetItem", &code).get("Item").is_none()
    });
    let found = past_writes(&gateway);
    assert_eq!(
        (&found["expired"], &found["left_total"]),
        (&json!(1), &json!(0)),
        "{found}"
    );
    let metrics = gateway.get("/metrics");
    assert!(
        metrics.contains("\ntrestle_past_writes_expired_total 1\n"),
        "{metrics}"
    );
    // A server with its own data has no endpoint.
    let (status, answer) = admin(&endpoint, "read-gateway", json!({}));
    assert_eq!((status, answer.get("endpoint")), (200, None), "{answer}");
}
