//! `trestle copy` to an independent endpoint, and back: `./test endpoints` starts one and passes its address.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::copy::{call, copy, count, order, orders_of, put, shops, url};
use crate::running::{Running, run};

/// Puts orders until the server reports that writes are paused, or until it is over; returns how many were
/// acknowledged.
fn order_on(server: &Running, is_over: &AtomicBool) -> u64 {
    for number in 1.. {
        if is_over.load(Ordering::SeqCst) {
            return number - 1;
        }
        let answer = call(
            server,
            "PutItem",
            json!({"TableName": "shop", "Item": order("bob", number)}),
        );
        if let Some(refused) = answer.get("__type") {
            assert!(refused.as_str().unwrap().ends_with("Exception"), "{answer}");
            return number - 1;
        }
    }
    unreachable!("there are more numbers than orders")
}

/// All rows, by their keys.
fn rows(server: &Running) -> Vec<(String, Value)> {
    let mut scan = json!({"TableName": "shop"});
    let mut rows = Vec::new();
    loop {
        let page = call(server, "Scan", scan.clone());
        for row in page["Items"].as_array().unwrap() {
            rows.push((format!("{} {}", row["pk"], row["sk"]), row.clone()));
        }
        match page.get("LastEvaluatedKey") {
            Some(key) => scan["ExclusiveStartKey"] = key.clone(),
            None => break,
        }
    }
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    rows
}

#[test]
#[ignore = "needs an endpoint: ./test endpoints"]
fn a_shop_goes_to_an_endpoint_of_others_while_it_is_written_and_comes_back() {
    let endpoint =
        std::env::var("TRESTLE_TEST_ENDPOINT").expect("./test endpoints sets TRESTLE_TEST_ENDPOINT");
    let shops = shops();
    let place = shops.directory.path();
    put(
        &shops.first,
        &json!({"kind": {"S": "customer"}, "customer": {"S": "bob"}, "email": {"S": "b@x"}}),
    );
    let is_over = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(|| order_on(&shops.first, &is_over));
        let copying = scope.spawn(|| {
            let keys = ["--to-access-key", "any", "--to-secret-key", "any"];
            let from = url(&shops.first);
            let mut args = vec![
                from.as_str(),
                &endpoint,
                "--table",
                "shop",
                "--state",
                "there.json",
            ];
            args.extend(keys);
            copy(place, &args)
        });
        std::thread::sleep(Duration::from_secs(3));
        let (code, said) = loop {
            let (code, said) = copy(place, &["cut-over", "--state", "there.json"]);
            // Until the copy has created its state file.
            match code {
                Some(2) => std::thread::sleep(Duration::from_millis(100)),
                _ => break (code, said),
            }
        };
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(code, Some(0), "{said}");
        let (code, said) = copying.join().unwrap();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("the target has taken over"), "{said}");
        writer.join().unwrap()
    });
    assert!(written > 50, "{written} orders were written beside the copy");

    let keys = ["--from-access-key", "any", "--from-secret-key", "any"];
    let back = url(&shops.second);
    let mut args = vec![
        endpoint.as_str(),
        &back,
        "--table",
        "shop",
        "--state",
        "back.json",
    ];
    args.extend(keys);
    args.extend(["--settle", "1", "--cut-over"]);
    let (code, said) = copy(place, &args);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(rows(&shops.second), rows(&shops.first));
    // 20 orders and the two customers with their addresses, in addition to those that were put meanwhile.
    assert_eq!(count(&shops.second), json!(written + 24));

    let applied = run(
        place,
        &["model", "apply", "shop.toml", "--fill", "--endpoint", &back],
    );
    assert!(
        applied.status.success(),
        "{}",
        String::from_utf8_lossy(&applied.stderr)
    );
    put(&shops.second, &order("bob", written + 1));
    assert_eq!(orders_of(&shops.second, "bob"), json!((written + 1).to_string()));
}
