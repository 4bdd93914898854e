//! Orders of shops in two layouts: all orders of a shop in one partition, then a partition for each customer.

use trestle_api::{BatchWriteItem, GetItem, PutItem, PutRequest, Query, Request, WriteRequest};
use trestle_item::{AttributeValue, Item};

use crate::dataset::{BATCH, BLOCK, COLLECTION};

pub(super) const TABLE: &str = "orders";
/// Rows of a shop, in whole blocks: all rows of a product are in one shop.
const SHOP: u64 = 5 * BLOCK;
/// Makes an order as large as the items of the other measurements.
const NOTE_BYTES: usize = 800;

/// A version of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Former,
    Present,
}

const FORMER: &str = r#"
model = "orders"

[table.orders]
key = ["pk", "sk"]
entity_attribute = "kind"
stream = "new-and-old-images"

[table.orders.index.by_status]
key = ["status_key", "placed"]

[table.orders.index.by_product]
key = ["product_key", "placed"]

[entity.order]
table = "orders"

[entity.order.key]
pk = "shop#{shop}"
sk = "customer#{customer}#order#{number:04}"
status_key = "{customer}#{status}"
product_key = "product#{product}"

[entity.order.attributes]
shop = "string"
customer = "string"
number = "integer"
product = "string"
status = { type = "string", one_of = ["open", "paid"] }
placed = "timestamp"
"#;

impl Layout {
    /// The model file.
    pub(super) fn text(self) -> String {
        match self {
            Layout::Former => FORMER.to_owned(),
            Layout::Present => FORMER
                .replace("shop#{shop}", "customer#{shop}#{customer}")
                .replace("customer#{customer}#order#", "order#")
                .replace("product#{product}", "{shop}#{product}"),
        }
    }

    pub(super) fn get(self, row: u64) -> GetItem {
        let Order {
            shop,
            customer,
            number,
            ..
        } = Order::of(row);
        let (pk, sk) = match self {
            Layout::Former => (
                format!("shop#{shop}"),
                format!("customer#{customer}#order#{number:04}"),
            ),
            Layout::Present => (
                format!("customer#{shop}#{customer}"),
                format!("order#{number:04}"),
            ),
        };
        GetItem {
            table_name: TABLE.to_owned(),
            key: Item::from([("pk", text(pk)), ("sk", text(sk))]),
            ..GetItem::default()
        }
    }

    /// The orders of the row's customer.
    pub(super) fn of_customer(self, row: u64) -> Query {
        let Order { shop, customer, .. } = Order::of(row);
        match self {
            Layout::Former => query(
                None,
                "pk = :k AND begins_with(sk, :s)",
                [
                    (":k", format!("shop#{shop}")),
                    (":s", format!("customer#{customer}#")),
                ],
            ),
            Layout::Present => query(None, "pk = :k", [(":k", format!("customer#{shop}#{customer}"))]),
        }
    }

    /// The same through an index that is the same in both layouts.
    pub(super) fn of_status(row: u64) -> Query {
        let customer = Order::of(row).customer;
        let key = [(":k", format!("{customer}#open"))];
        query(Some("by_status"), "status_key = :k", key)
    }

    /// The orders of the row's product, through an index whose keys change.
    pub(super) fn of_product(self, row: u64) -> Query {
        let Order { shop, product, .. } = Order::of(row);
        let key = match self {
            Layout::Former => format!("product#{product}"),
            Layout::Present => format!("{shop}#{product}"),
        };
        query(Some("by_product"), "product_key = :k", [(":k", key)])
    }
}

/// Replaces an existing order. Valid in both layouts, because the database derives its keys.
pub(super) fn put(row: u64, note: u64) -> PutItem {
    PutItem {
        table_name: TABLE.to_owned(),
        item: item(row, note),
        ..PutItem::default()
    }
}

/// Puts of all rows.
pub(super) fn batches(rows: u64) -> impl Iterator<Item = Request> {
    (0..rows).step_by(BATCH as usize).map(move |first| {
        let puts = (first..rows.min(first + BATCH)).map(|row| WriteRequest {
            put_request: Some(PutRequest { item: item(row, 0) }),
            ..WriteRequest::default()
        });
        Request::from(BatchWriteItem {
            request_items: [(TABLE.to_owned(), puts.collect())].into(),
            ..BatchWriteItem::default()
        })
    })
}

/// What identifies a row, and its product.
struct Order {
    shop: String,
    customer: String,
    number: u64,
    product: String,
}

impl Order {
    fn of(row: u64) -> Self {
        Order {
            shop: format!("s{:06}", row / SHOP),
            customer: format!("c{:08}", row / COLLECTION),
            number: row % COLLECTION,
            product: format!("p{:08}", row / BLOCK * COLLECTION + row % COLLECTION),
        }
    }
}

fn item(row: u64, note: u64) -> Item {
    let Order {
        shop,
        customer,
        number,
        product,
    } = Order::of(row);
    Item::from([
        ("shop", text(shop)),
        ("customer", text(customer)),
        ("number", AttributeValue::from(number)),
        ("product", text(product)),
        ("status", text("open".to_owned())),
        ("placed", text(format!("2026-11-15T12:00:{:02}.000Z", row % 60))),
        ("note", text(format!("{note:0NOTE_BYTES$}"))),
    ])
}

fn text(value: String) -> AttributeValue {
    AttributeValue::S(value)
}

fn query<const N: usize>(index: Option<&str>, condition: &str, values: [(&str, String); N]) -> Query {
    let values = values.map(|(name, value)| (name, text(value)));
    Query {
        table_name: TABLE.to_owned(),
        index_name: index.map(str::to_owned),
        key_condition_expression: Some(condition.to_owned()),
        expression_attribute_values: Some(Item::from(values)),
        ..Query::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use trestle_model::LayoutChange;

    #[test]
    fn one_index_keeps_its_keys_and_every_row_moves_and_can_come_back() {
        let model = |layout: Layout| Arc::new(trestle_model::load(&layout.text()).model.unwrap());
        let between = LayoutChange::between(&model(Layout::Former), &model(Layout::Present)).unwrap();
        assert!(between.reversed().is_ok());
        let former = Layout::Former.get(12_345).key;
        let present = Layout::Present.get(12_345).key;
        assert_eq!(between.former_place(TABLE, &present), Some(former.clone()));
        assert_eq!(between.renew_key(TABLE, &former).unwrap(), present);
        assert!(between.sources(TABLE, Some("by_status"), None).same);
        assert!(between.sources(TABLE, Some("by_product"), None).everywhere);
    }
}
