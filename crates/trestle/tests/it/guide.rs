//! The snippets of `docs/model/typed-client.md`: compiled, run, and compared with the page.

use std::sync::Arc;

use trestle::events::Events;
use trestle::remote::{Remote, Settings};
use trestle::typed::{self, Timestamp};
use trestle::{AnyDatabase, Database, Embedded, Gateway, Options, Wait};

mod shop {
    trestle::model!("examples/shop.toml");
}

use shop::*;

fn open() -> Result<Shop<Embedded>, Box<dyn std::error::Error>> {
    let database = Embedded::in_memory(Options::default())?;
    let db = Shop::apply_to(&database)?;
    Ok(db)
}

async fn write_and_read(db: &Shop<impl Database>) -> Result<(), Box<dyn std::error::Error>> {
    let ada = NewCustomer {
        customer: "ada".into(),
        name: "Ada Lovelace".into(),
        email: "ada@example.org".into(),
    };
    db.put(&ada).if_not_exists().await?;
    let mut order = Order::from(NewOrder {
        customer: "ada".into(),
        number: 1,
        placed: Timestamp::parse("2024-05-01T08:00:00.000Z")?,
        cents: 1250,
    });
    order.note = Some("as a gift".into());
    db.put(&order).await?;

    let found: Option<Order> = db.order("ada", 1).await?;
    assert_eq!(found, Some(order));
    let same = db.get(ada.key()).await?;
    assert_eq!(same, Some(ada.into()));
    Ok(())
}

async fn collection(db: &Shop<impl Database>) -> Result<(), typed::Error> {
    let CustomerWithOrders { customer, order } = db.customer_with_orders("ada").gather().await?;
    assert_eq!(
        customer.map(|customer| customer.name).as_deref(),
        Some("Ada Lovelace")
    );
    assert_eq!(order.len(), 1);

    for row in db.customer_with_orders("ada").collect().await? {
        match row {
            CustomerWithOrdersRow::Customer(customer) => assert_eq!(customer.customer, "ada"),
            CustomerWithOrdersRow::Order(order) => assert_eq!(order.number, 1),
        }
    }
    Ok(())
}

async fn update(db: &Shop<impl Database>) -> Result<(), typed::Error> {
    let key = OrderKey {
        customer: "ada".into(),
        number: 1,
    };
    let paid: Order = db
        .update_order(&key)
        .set_status(OrderStatus::Paid)
        .remove_note()
        .only_if(
            Order::STATUS
                .equals(OrderStatus::Open)
                .and(Order::CENTS.is_at_most(5000)),
        )
        .await?;
    assert_eq!(paid.status, OrderStatus::Paid);

    let refused = db
        .delete(&key)
        .only_if(Order::STATUS.equals(OrderStatus::Open))
        .await;
    if let Err(typed::Error::ConditionFailed(failed)) = refused {
        let there: Option<Order> = failed.row()?;
        assert_eq!(there, Some(paid));
    }
    Ok(())
}

async fn transaction(db: &Shop<impl Database>) -> Result<(), Box<dyn std::error::Error>> {
    let next = NewOrder {
        customer: "ada".into(),
        number: 2,
        placed: Timestamp::parse("2024-05-02T08:00:00.000Z")?,
        cents: 300,
    };
    let sent = db.update_order(OrderKey {
        customer: "ada".into(),
        number: 1,
    });
    db.transaction()
        .check(CustomerKey::new("ada"), Customer::EMAIL.exists())
        .with(db.put(&next).if_not_exists())
        .with(
            sent.set_status(OrderStatus::Sent)
                .only_if(Order::STATUS.equals(OrderStatus::Paid)),
        )
        .commit()
        .await?;
    Ok(())
}

async fn lists(db: &Shop<impl Database>) -> Result<(), typed::Error> {
    let mut orders = db.orders_by_status(OrderStatus::Open).stream();
    while let Some(order) = orders.next().await {
        assert_eq!(order?.status, OrderStatus::Open);
    }

    let page = db
        .orders_by_status(OrderStatus::Open)
        .page_size(20)
        .page()
        .await?;
    if let Some(bookmark) = page.next {
        let text: String = bookmark.to_string();
        let next = db.orders_by_status(OrderStatus::Open).after(text).page().await?;
        assert!(!next.rows.is_empty());
    }
    Ok(())
}

async fn as_json(db: &Shop<impl Database>) -> Result<(), Box<dyn std::error::Error>> {
    let page = db.orders_by_status(OrderStatus::Open).page().await?;
    let body = serde_json::to_string(&page)?;
    assert!(body.starts_with(r#"{"rows":[{"cents":"#));
    let status: OrderStatus = serde_json::from_str(r#""open""#)?;
    assert_eq!(status, OrderStatus::Open);
    Ok(())
}

async fn batches(db: &Shop<impl Database>) -> Result<(), typed::Error> {
    let keys: Vec<OrderKey> = (1..=100)
        .map(|number| OrderKey {
            customer: "ada".into(),
            number,
        })
        .collect();
    let found: Vec<Option<Order>> = db.get_many(&keys).await?;
    assert_eq!(found.iter().flatten().count(), 2);
    db.delete_many(&keys).await?;
    Ok(())
}

#[allow(clippy::print_stdout, reason = "the guide prints")]
async fn delete_collection(db: &Shop<impl Database>) -> Result<(), typed::Error> {
    let deletion = db.customer_with_orders("ada").delete().rows_per_step(500);
    let mut step = deletion.step().await?;
    while let Some(bookmark) = step.next {
        println!("{} rows deleted", step.rows);
        step = deletion.clone().continued(Some(bookmark)).step().await?;
    }
    assert!(step.left.is_empty());
    Ok(())
}

fn on_a_thread(db: &Shop<Embedded>) -> Result<(), typed::Error> {
    let ada = db.get(CustomerKey::new("ada")).wait()?;
    assert!(ada.is_some());
    for order in db.orders_by_status(OrderStatus::Open).stream().wait() {
        assert_eq!(order?.customer, "ada");
    }
    Ok(())
}

async fn failures(db: &Shop<impl Database>) -> Result<(), typed::Error> {
    let impostor = NewCustomer {
        customer: "eve".into(),
        name: "Eve".into(),
        email: "ada@example.org".into(),
    };
    match db.put(&impostor).if_not_exists().await {
        Ok(()) => {}
        Err(error) if error.is_taken() => assert!(error.to_string().contains("ada@example.org")),
        Err(error) if error.is_condition() => assert!(error.to_string().contains("customer")),
        Err(error) => return Err(error),
    }
    Ok(())
}

#[expect(dead_code, reason = "only compiled: it would call Amazon DynamoDB")]
fn elsewhere() -> Result<Shop<Gateway>, Box<dyn std::error::Error>> {
    let settings = Settings::from_environment("https://dynamodb.eu-west-1.amazonaws.com");
    let gateway = Gateway::open(Arc::new(Remote::new(settings)?))?;
    let db = Shop::apply_to(&gateway)?;
    Ok(db)
}

#[expect(dead_code, reason = "only compiled: it would call Amazon DynamoDB")]
async fn on_either(endpoint: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    let db: AnyDatabase = match endpoint {
        Some(url) => AnyDatabase::at_endpoint("shop", Settings::from_environment(url))?,
        None => Embedded::open("data", Options::default())?.into(),
    };
    let shop = Shop::apply_to(&db)?;
    let router = Events::of(&db).routes_of(&shop).start().await?;
    router.stop().await;
    Ok(())
}

#[test]
fn the_guide_does_what_it_says() -> Result<(), Box<dyn std::error::Error>> {
    let db = open()?;
    write_and_read(&db).wait()?;
    collection(&db).wait()?;
    update(&db).wait()?;
    transaction(&db).wait()?;
    lists(&db).wait()?;
    as_json(&db).wait()?;
    on_a_thread(&db)?;
    failures(&db).wait()?;
    batches(&db).wait()?;
    delete_collection(&db).wait()?;
    assert_eq!(db.get(CustomerKey::new("ada")).wait()?, None);
    Ok(())
}

#[test]
fn every_snippet_of_the_guide_stands_in_a_file_that_is_compiled() {
    let sources = [
        "tests/it/guide.rs",
        "tests/it/large_values.rs",
        "examples/manhunt.rs",
        "examples/shop.toml",
        "../../apps/klayers/src/expiry.rs",
        "../../apps/klayers/routes.toml",
    ];
    let snippets = compiled_snippets("../../docs/model/typed-client.md", &sources);
    assert!(snippets > 8, "{snippets}");
}

#[test]
fn the_program_of_the_first_five_minutes_is_an_example() {
    let sources = ["examples/five_minutes.rs", "examples/shop.toml"];
    assert_eq!(compiled_snippets("../../docs/start/rust.md", &sources), 2);
}

/// How many snippets of Rust and TOML a page has; each is in one of the sources.
fn compiled_snippets(page: &str, sources: &[&str]) -> usize {
    let read = |path: &str| {
        let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let page = read(page);
    let sources: Vec<_> = sources.iter().map(|source| trimmed(&read(source))).collect();
    let mut snippets = 0;
    let mut blocks = page.split("```");
    while let (Some(_), Some(block)) = (blocks.next(), blocks.next()) {
        let Some((language, snippet)) = block.split_once('\n') else {
            continue;
        };
        // The name of a file may follow the language.
        if ["rust", "toml"].contains(&language.split(' ').next().unwrap_or_default()) {
            snippets += 1;
            for part in snippet.split("// …\n") {
                let part = trimmed(part);
                assert!(sources.iter().any(|source| source.contains(&part)), "{part}");
            }
        }
    }
    snippets
}

/// Without the indentation, which depends on the position of the line.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    lines.join("\n")
}
