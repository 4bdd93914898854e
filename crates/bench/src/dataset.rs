//! The rows that every target gets: customers with twenty orders each, 1 KB per order, and an index by day.

/// Orders of a customer, and orders of a day: what a query returns.
pub(crate) const COLLECTION: u64 = 20;
/// Rows form blocks of twenty customers and twenty days, with one order of each customer on each of the days.
/// So the twenty rows of an index query are in twenty different places of the table.
pub(crate) const BLOCK: u64 = COLLECTION * COLLECTION;
/// Items of a batch.
pub(crate) const BATCH: u64 = 25;
/// Digits of the number in every key.
pub(crate) const DIGITS: usize = 10;
/// Size of an item as DynamoDB counts it.
pub(crate) const ITEM_BYTES: usize = 1_024;
/// The table and its index.
pub(crate) const TABLE: &str = "bench";
pub(crate) const INDEX: &str = "by_day";
/// The table whose keys a model derives.
pub(crate) const MODEL_TABLE: &str = "bench-model";

/// The same rows with keys that the database derives, and the times of their first and last write.
pub(crate) const MODEL: &str = r#"
model = "bench"

[table.bench-model]
key = ["pk", "sk"]
stream = "new-and-old-images"

[table.bench-model.index.by_day]
key = ["day", "placed"]

[entity.order]
table = "bench-model"
key = { pk = "CUSTOMER#{customer}", sk = "ORDER#{order}", day = "DAY#{date}", placed = "ORDER#{number}" }
created = "createdAt"
updated = "updatedAt"

[entity.order.attributes]
customer = "string"
order = "string"
date = "string"
number = "string"
"#;

/// An attribute that contains the number of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Partition,
    Sort,
    IndexPartition,
    IndexSort,
    Customer,
    Order,
    Date,
    Number,
}

impl Field {
    /// The keys of a row, as given by a client.
    pub(crate) const KEYS: [Field; 4] = [
        Field::Partition,
        Field::Sort,
        Field::IndexPartition,
        Field::IndexSort,
    ];
    /// The attributes from which the model derives the same keys.
    pub(crate) const PARTS: [Field; 4] = [Field::Customer, Field::Order, Field::Date, Field::Number];

    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Field::Partition => "pk",
            Field::Sort => "sk",
            Field::IndexPartition => "day",
            Field::IndexSort => "placed",
            Field::Customer => "customer",
            Field::Order => "order",
            Field::Date => "date",
            Field::Number => "number",
        }
    }

    /// The prefix of the value; the number follows.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Field::Partition => "CUSTOMER#",
            Field::Sort | Field::IndexSort => "ORDER#",
            Field::IndexPartition => "DAY#",
            Field::Customer | Field::Order | Field::Date | Field::Number => "",
        }
    }

    /// The number in this attribute of a row.
    pub(crate) fn of(self, row: u64) -> u64 {
        match self {
            Field::Partition | Field::Customer => row / COLLECTION,
            Field::Sort | Field::Order => row % COLLECTION,
            Field::IndexPartition | Field::Date => row / BLOCK * COLLECTION + row % COLLECTION,
            Field::IndexSort | Field::Number => row,
        }
    }
}

/// The attributes of an order besides its keys, as JSON members. Variants differ in their text, which is
/// about as compressible as prose.
pub(crate) fn attributes(variant: u64) -> String {
    let fixed = format!(
        r#""status":{{"S":"OPEN"}},"hits":{{"N":"0"}},"total":{{"N":"{}.95"}},"created":{{"S":"2026-11-15T10:11:{:02}Z"}},"address":{{"M":{{"street":{{"S":"{} Long Lane"}},"city":{{"S":"Anytown"}},"zip":{{"S":"{:05}"}}}}}}"#,
        100 + variant % 900,
        variant % 60,
        10 + variant % 90,
        variant % 100_000,
    );
    format!(r#"{fixed},"note":{{"S":"{}"}}"#, prose(variant, NOTE_BYTES))
}

/// Fills the item up to [`ITEM_BYTES`]; a test counts.
const NOTE_BYTES: usize = 840;

const WORDS: [&str; 24] = [
    "amber", "bridge", "cellar", "dozen", "engine", "forest", "garden", "harbour", "island", "journal",
    "kettle", "ladder", "market", "number", "orchard", "parcel", "quarter", "river", "station", "timber",
    "upland", "valley", "window", "yellow",
];

fn prose(seed: u64, bytes: usize) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(random.choice(WORDS).unwrap_or_default());
        text.push_str(&format!("{} ", random.u16(..1_000)));
    }
    text.truncate(bytes);
    text
}

/// The `CreateTable` request.
pub(crate) fn create_table(table: &str, with_index: bool, with_stream: bool) -> String {
    let mut keys = vec![Field::Partition, Field::Sort];
    let mut more = String::new();
    if with_index {
        keys.extend([Field::IndexPartition, Field::IndexSort]);
        more.push_str(&format!(
            r#","GlobalSecondaryIndexes":[{{"IndexName":"{INDEX}","KeySchema":{},"Projection":{{"ProjectionType":"ALL"}}}}]"#,
            schema(Field::IndexPartition, Field::IndexSort)
        ));
    }
    if with_stream {
        more.push_str(
            r#","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}"#,
        );
    }
    let definitions: Vec<String> = keys
        .iter()
        .map(|field| {
            format!(
                r#"{{"AttributeName":"{}","AttributeType":"S"}}"#,
                field.attribute()
            )
        })
        .collect();
    format!(
        r#"{{"TableName":"{table}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{}],"KeySchema":{}{more}}}"#,
        definitions.join(","),
        schema(Field::Partition, Field::Sort),
    )
}

fn schema(hash: Field, range: Field) -> String {
    format!(
        r#"[{{"AttributeName":"{}","KeyType":"HASH"}},{{"AttributeName":"{}","KeyType":"RANGE"}}]"#,
        hash.attribute(),
        range.attribute()
    )
}

/// A whole item of a row, as DynamoDB's JSON.
pub(crate) fn item_json(row: u64, variant: u64) -> String {
    let keys = Field::KEYS.map(|field| {
        format!(
            r#""{}":{{"S":"{}{:0digits$}"}}"#,
            field.attribute(),
            field.prefix(),
            field.of(row),
            digits = DIGITS
        )
    });
    format!("{{{},{}}}", keys.join(","), attributes(variant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use trestle_item::{AttributeValue, Item, size};

    #[test]
    fn an_item_has_the_size_it_is_said_to_have() {
        for variant in [0, 1, 99_999] {
            let item: Item = serde_json::from_str(&item_json(7, variant)).unwrap();
            let off = size::of_item(&item).abs_diff(ITEM_BYTES);
            assert!(off <= 8, "{} bytes", size::of_item(&item));
        }
    }

    #[test]
    fn every_query_finds_twenty_rows_in_every_block() {
        for field in [Field::Partition, Field::IndexPartition] {
            let mut rows = HashMap::new();
            for row in 0..3 * BLOCK {
                *rows.entry(field.of(row)).or_insert(0) += 1;
            }
            assert!(rows.values().all(|count| *count == COLLECTION), "{field:?}");
        }
    }

    #[test]
    fn the_model_derives_the_keys_that_clients_give_otherwise() {
        let model = trestle_model::load(MODEL).model.unwrap();
        let text = |field: Field, row: u64| {
            let number = format!("{}{:0digits$}", field.prefix(), field.of(row), digits = DIGITS);
            (field.attribute(), AttributeValue::S(number))
        };
        for row in [0, 7, 4_321] {
            let item: Item = Field::PARTS.map(|field| text(field, row)).into();
            let derived = model.derive(MODEL_TABLE, None, &item, 0).unwrap().unwrap();
            for key in Field::KEYS {
                assert!(derived.set.contains(&text(key, row)), "{key:?} of {row}");
            }
        }
    }

    #[test]
    fn no_two_rows_share_a_key() {
        let keys: std::collections::HashSet<_> = (0..BLOCK * 2)
            .map(|row| (Field::Partition.of(row), Field::Sort.of(row)))
            .collect();
        assert_eq!(keys.len() as u64, BLOCK * 2);
    }

    #[test]
    fn the_table_is_json_with_and_without_its_extras() {
        for extras in [true, false] {
            let table: serde_json::Value = serde_json::from_str(&create_table("t", extras, extras)).unwrap();
            assert_eq!(table["StreamSpecification"].is_object(), extras);
            assert_eq!(
                table["AttributeDefinitions"].as_array().unwrap().len(),
                if extras { 4 } else { 2 }
            );
        }
    }
}
