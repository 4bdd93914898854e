//! Models and migrations as rows of a table at the endpoint, where every gateway finds them.

use std::collections::BTreeMap;

use trestle_api::{
    Database, DatabaseExt, Error, ErrorKind, GetItem, Put, Scan, TransactWriteItem, TransactWriteItems,
    Update,
};
use trestle_hook::Documents;
use trestle_item::{AttributeValue, Item, Map, Number};

use crate::own_table::OwnTable;

/// The table of all documents.
const DOCUMENTS: OwnTable = OwnTable {
    name: DOCUMENTS_TABLE,
    key: NAME,
    ttl: None,
};
const DOCUMENTS_TABLE: &str = "_trestle.documents";
const NAME: &str = "name";
const BYTES: &str = "bytes";
/// The row that counts changes of what is in force, and its attribute. No document has this name.
const GENERATION: &str = "/generation";
const COUNT: &str = "count";
const CHANGED_BY: &str = "changed_by";

/// All documents of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shelf {
    /// By name.
    pub(crate) documents: BTreeMap<String, Vec<u8>>,
    /// How often what is in force has changed.
    pub(crate) generation: u64,
}

impl Shelf {
    /// Reads them. An endpoint that has none yet has no table for them.
    pub(crate) async fn read(database: &dyn Database) -> Result<Self, Error> {
        let mut shelf = Shelf::default();
        let mut start = None;
        loop {
            let asked = Scan {
                table_name: DOCUMENTS_TABLE.to_owned(),
                consistent_read: Some(true),
                exclusive_start_key: start,
                ..Scan::default()
            };
            let page = match database.scan(asked).await {
                Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok(shelf),
                page => page?,
            };
            for row in page.items.iter().flat_map(|rows| rows.iter()) {
                shelf.take(&row)?;
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(shelf);
            }
        }
    }

    fn take(&mut self, row: &Item) -> Result<(), Error> {
        let name = row.get(NAME).and_then(AttributeValue::as_s);
        let name = name.ok_or_else(|| unreadable(row))?;
        if name == GENERATION {
            self.generation = InForce::of(row)?.generation;
            return Ok(());
        }
        let bytes = row.get(BYTES).and_then(AttributeValue::as_b);
        let bytes = bytes.ok_or_else(|| unreadable(row))?;
        self.documents.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }
}

fn unreadable(row: &Item) -> Error {
    Error::internal(format!(
        "a row of {DOCUMENTS_TABLE} cannot be read: it was changed by hand, or written by a newer version of Trestle: {row:?}"
    ))
}

/// What the endpoint says of what is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InForce {
    /// How often it has changed.
    pub(crate) generation: u64,
    /// The gateway that is about to change it.
    pub(crate) changed_by: Option<String>,
}

impl InForce {
    pub(crate) async fn read(database: &dyn Database) -> Result<Self, Error> {
        let asked = GetItem {
            table_name: DOCUMENTS_TABLE.to_owned(),
            key: key(GENERATION),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        let row = match database.get_item(asked).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => None,
            answer => answer?.item,
        };
        match row {
            None => Ok(InForce::default()),
            Some(row) => InForce::of(&row),
        }
    }

    fn of(row: &Item) -> Result<Self, Error> {
        let generation = match row.get(COUNT).and_then(AttributeValue::as_n) {
            Some(count) => count.to_string().parse().map_err(|_| unreadable(row))?,
            None => 0,
        };
        let changed_by = row.get(CHANGED_BY).and_then(AttributeValue::as_s);
        Ok(InForce {
            generation,
            changed_by: changed_by.map(str::to_owned),
        })
    }
}

/// Stores documents. What is in force stays so.
pub(crate) async fn store(database: &dyn Database, documents: Documents) -> Result<(), Error> {
    let items: Vec<TransactWriteItem> = documents.into_iter().map(part).collect();
    match items.is_empty() {
        true => Ok(()),
        false => transact(database, items).await,
    }
}

/// Announces that what is in force changes, unless it has changed or another gateway is about to change it.
pub(crate) async fn announce(database: &dyn Database, id: &str, generation: u64) -> Result<(), Error> {
    let mut values = values([(":id", AttributeValue::S(id.to_owned()))]);
    let condition = match generation {
        0 => "attribute_not_exists(#c) AND (attribute_not_exists(#b) OR #b = :id)",
        seen => {
            values.insert(":seen".to_owned(), number(seen));
            "#c = :seen AND (attribute_not_exists(#b) OR #b = :id)"
        }
    };
    let part = on_generation("SET #b = :id", condition, values);
    changed_meanwhile(transact(database, vec![part]).await)
}

/// Takes back an announcement that came to nothing.
pub(crate) async fn take_back(database: &dyn Database, id: &str) -> Result<(), Error> {
    let values = values([(":id", AttributeValue::S(id.to_owned()))]);
    let part = on_generation("REMOVE #b", "attribute_exists(#n) AND #b = :id", values);
    match transact(database, vec![part]).await {
        Err(error) if error.kind() == ErrorKind::TransactionCanceled => Ok(()),
        answer => answer,
    }
}

/// Stores documents and with them the next generation of what is in force, which this gateway has announced.
pub(crate) async fn change(
    database: &dyn Database,
    documents: Documents,
    id: &str,
    generation: u64,
) -> Result<(), Error> {
    let mut items: Vec<TransactWriteItem> = documents.into_iter().map(part).collect();
    let values = values([
        (":id", AttributeValue::S(id.to_owned())),
        (":next", number(generation + 1)),
    ]);
    items.push(on_generation("SET #c = :next REMOVE #b", "#b = :id", values));
    changed_meanwhile(transact(database, items).await)
}

fn changed_meanwhile(answer: Result<(), Error>) -> Result<(), Error> {
    match answer {
        Err(error) if error.kind() == ErrorKind::TransactionCanceled => Err(Error::resource_in_use(
            "another gateway changes the models at this endpoint: look at what is in force, then try again",
        )),
        answer => answer,
    }
}

async fn transact(database: &dyn Database, items: Vec<TransactWriteItem>) -> Result<(), Error> {
    let request = TransactWriteItems {
        transact_items: items,
        ..TransactWriteItems::default()
    };
    match database.transact_write_items(request.clone()).await {
        Err(error) if error.kind() == ErrorKind::ResourceNotFound => {
            DOCUMENTS.create(database).await?;
            database.transact_write_items(request).await?;
        }
        answer => {
            answer?;
        }
    }
    Ok(())
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(Number::from(number))
}

fn values<const N: usize>(values: [(&str, AttributeValue); N]) -> Map {
    values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// A change of the row that counts changes.
fn on_generation(update: &str, condition: &str, values: Map) -> TransactWriteItem {
    let names = [("#c", COUNT), ("#b", CHANGED_BY), ("#n", NAME)];
    let used = names
        .into_iter()
        .filter(|(name, _)| update.contains(name) || condition.contains(name));
    TransactWriteItem {
        update: Some(Box::new(Update {
            table_name: DOCUMENTS_TABLE.to_owned(),
            key: key(GENERATION),
            update_expression: update.to_owned(),
            condition_expression: Some(condition.to_owned()),
            expression_attribute_names: Some(
                used.map(|(name, stands_for)| (name.to_owned(), stands_for.to_owned()))
                    .collect(),
            ),
            expression_attribute_values: Some(values),
            ..Update::default()
        })),
        ..TransactWriteItem::default()
    }
}

fn key(name: &str) -> Item {
    Item::from([(NAME, name)])
}

fn part((name, bytes): (String, Option<Vec<u8>>)) -> TransactWriteItem {
    let mut part = TransactWriteItem::default();
    match bytes {
        Some(bytes) => {
            let mut item = key(&name);
            item.insert(BYTES, AttributeValue::B(bytes));
            part.put = Some(Box::new(Put {
                table_name: DOCUMENTS_TABLE.to_owned(),
                item,
                ..Put::default()
            }));
        }
        None => {
            part.delete = Some(Box::new(trestle_api::Delete {
                table_name: DOCUMENTS_TABLE.to_owned(),
                key: key(&name),
                ..trestle_api::Delete::default()
            }));
        }
    }
    part
}
