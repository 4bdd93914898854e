//! The rows of an access pattern, deleted: on an embedded database, over the network, and without the model.

use crate::remote::beside_a_server;
use crate::support::{Counted, at, embedded, plain};
use trestle::api::OperationName;
use trestle::typed::{CollectionBookmark, Error};
use trestle::{Database, Wait};

mod shop {
    trestle::model!("examples/shop.toml");
}
use shop::*;

fn fill<D: Database>(db: &Shop<D>, customer: &str, orders: i64) {
    let row = NewCustomer {
        customer: customer.into(),
        name: "N. N.".into(),
        email: format!("{customer}@example.org"),
    };
    db.put(&row).if_not_exists().wait().unwrap();
    put_orders(db, customer, orders);
}

fn put_orders<D: Database>(db: &Shop<D>, customer: &str, orders: i64) {
    let orders = (1..=orders).map(|number| NewOrder {
        customer: customer.into(),
        number,
        placed: at("2024-05-01T08:00:00.000Z"),
        cents: 100,
    });
    let orders: Vec<NewOrder> = orders.collect();
    db.put_many(&orders).wait().unwrap();
}

fn orders<D: Database>(db: &Shop<D>, customer: &str) -> usize {
    let gathered = db.customer_with_orders(customer).gather().wait().unwrap();
    gathered.order.len() + usize::from(gathered.customer.is_some())
}

#[test]
fn a_pattern_is_deleted_in_steps_with_what_follows_and_without_its_neighbours() {
    let db = Shop::apply_to(&embedded()).unwrap();
    fill(&db, "wf", 24);
    fill(&db, "wf-2", 3);
    let first = db
        .customer_with_orders("wf")
        .delete()
        .rows_per_step(10)
        .step()
        .wait()
        .unwrap();
    assert_eq!((first.rows, orders(&db, "wf")), (10, 15));
    // A bookmark travels as text.
    let after: Option<String> = first.next.as_ref().map(CollectionBookmark::to_string);
    let rest = db
        .customer_with_orders("wf")
        .delete()
        .rows_per_step(10)
        .continued(after)
        .all();
    let rest = rest.wait().unwrap();
    assert_eq!((rest.rows, rest.left.len(), rest.next), (15, 0, None));
    assert_eq!((orders(&db, "wf"), orders(&db, "wf-2")), (0, 4));
    fill(&db, "wf", 1);
    assert_eq!(orders(&db, "wf"), 2, "the address is free again");
}

#[test]
fn the_rows_of_an_index_are_deleted_and_others_stay() {
    let db = Shop::apply_to(&embedded()).unwrap();
    fill(&db, "ada", 30);
    for number in [3, 7] {
        let key = OrderKey {
            customer: "ada".into(),
            number,
        };
        db.update_order(key).set_status(OrderStatus::Paid).wait().unwrap();
    }
    let deleted = db
        .orders_by_status(OrderStatus::Open)
        .delete()
        .rows_per_step(9)
        .all()
        .wait()
        .unwrap();
    assert_eq!(deleted.rows, 28);
    assert_eq!(orders(&db, "ada"), 3);
}

#[test]
fn a_hundred_rows_are_one_query_and_four_batches() {
    let embedded = embedded();
    let db = Shop::apply_to(&embedded).unwrap();
    fill(&db, "ada", 99);
    let counted = Counted::new(embedded.clone());
    let before = embedded.storage_reads();
    let deleted = Shop::on(counted.clone())
        .model_applied()
        .customer_with_orders("ada")
        .delete()
        .all()
        .wait()
        .unwrap();
    assert_eq!((deleted.rows, counted.take()), (100, 5));
    let reads = embedded.storage_reads().since(&before);
    assert_eq!(reads.of(OperationName::Query).ranges, 1, "{reads:?}");
}

#[test]
fn over_the_network_it_is_the_same() {
    let embedded = embedded();
    let local = Shop::apply_to(&embedded).unwrap();
    fill(&local, "ada", 60);
    fill(&local, "bob", 1);
    beside_a_server(embedded.clone(), |remote| {
        let db = Shop::on(remote).model_applied();
        let deleted = db
            .customer_with_orders("ada")
            .delete()
            .rows_per_step(50)
            .all()
            .wait()
            .unwrap();
        assert_eq!((deleted.rows, deleted.left.len()), (61, 0));
    });
    assert_eq!((orders(&local, "ada"), orders(&local, "bob")), (0, 2));
}

#[test]
fn a_database_without_the_model_deletes_what_nothing_follows_from() {
    let db = Shop::on(plain::<ShopModel>());
    put_orders(&db, "ada", 5);
    let refused = db.customer_with_orders("ada").delete().all().wait();
    assert!(matches!(refused, Err(Error::NotApplied { .. })), "{refused:?}");
    let deleted = db
        .orders_by_status(OrderStatus::Open)
        .delete()
        .all()
        .wait()
        .unwrap();
    assert_eq!(deleted.rows, 5);
}

#[test]
fn an_access_pattern_is_used_by_its_name_with_texts_in_the_order_of_the_model() {
    let db = Shop::apply_to(&embedded()).unwrap();
    fill(&db, "ada", 3);
    let found = db.rows_of::<ShopRow>("customer_with_orders", &["ada"]).unwrap();
    assert_eq!(found.collect().wait().unwrap().len(), 4);
    for (access, given) in [
        ("customer_with_orders", &[][..]),
        ("customer_with_orders", &["ada", "bob"]),
        ("customers_of_the_moon", &["ada"]),
    ] {
        let refused = db.rows_of::<ShopRow>(access, given);
        assert!(matches!(refused, Err(Error::Invalid(_))), "{access} {given:?}");
    }
}

#[test]
fn rows_of_several_entities_are_removed_in_one_transaction() {
    let db = Shop::apply_to(&embedded()).unwrap();
    fill(&db, "ada", 3);
    let list = || db.rows_of::<ShopRow>("customer_with_orders", &["ada"]).unwrap();
    let rows = list().at_once().wait().unwrap().rows;
    let mut all = db.transaction();
    rows.iter().for_each(|row| all.remove(row));
    let absent = CustomerKey::new("bob");
    let refused = all.with(db.check(absent)).commit().wait();
    assert!(refused.is_err_and(|error| error.is_condition()));
    assert_eq!(list().collect().wait().unwrap().len(), 4, "all or none");
    let mut all = db.transaction();
    rows.iter().for_each(|row| all.remove(row));
    all.commit().wait().unwrap();
    assert_eq!(list().collect().wait().unwrap(), []);
}
