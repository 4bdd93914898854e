//! The program of `docs/start/rust.md`: a database in this process, used through a model.
//!
//! ```sh
//! cargo run -p trestle --example five_minutes -- ./shop-data
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use trestle::typed::Timestamp;
use trestle::{Embedded, Options, Wait};

mod shop {
    trestle::model!("./shop.toml");
}
use shop::{CustomerWithOrders, NewCustomer, NewOrder, Order, OrderStatus, Shop};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).unwrap_or_else(|| "shop-data".into());
    let db = Shop::apply_to(&Embedded::open(&directory, Options::default())?)?;

    db.put(&NewCustomer {
        customer: "ada".into(),
        name: "Ada".into(),
        email: "ada@example.com".into(),
    })
    .wait()?;
    let order = NewOrder {
        customer: "ada".into(),
        number: 1,
        placed: Timestamp::parse("2026-05-01T08:00:00.000Z")?,
        cents: 1250,
    };
    db.put(&order).wait()?;

    // The order moves to another place of the index, in the same commit.
    db.update_order(order.key())
        .set_status(OrderStatus::Paid)
        .only_if(Order::STATUS.equals(OrderStatus::Open))
        .wait()?;

    let paid = db.orders_by_status(OrderStatus::Paid).collect().wait()?;
    println!("paid orders: {}", paid.len());

    // One query reads the customer with all orders.
    let CustomerWithOrders { customer, order } = db.customer_with_orders("ada").gather().wait()?;
    let name = customer.map(|customer| customer.name).unwrap_or_default();
    println!("orders of {name}: {}", order.len());
    Ok(())
}
