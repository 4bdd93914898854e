//! Models and migrations as rows of a table at the endpoint, where every gateway finds them.

use std::collections::BTreeMap;

use trestle_api::{
    Database, DatabaseExt, Error, ErrorKind, Put, Scan, TransactWriteItem, TransactWriteItems, Update,
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
            let count = row.get(COUNT).and_then(AttributeValue::as_n);
            let count = count.and_then(|count| count.to_string().parse().ok());
            self.generation = count.ok_or_else(|| unreadable(row))?;
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

/// Stores documents. With a `generation`, what is in force changes with them: it must not have changed since.
pub(crate) async fn store(
    database: &dyn Database,
    documents: Documents,
    generation: Option<u64>,
) -> Result<(), Error> {
    let mut items: Vec<TransactWriteItem> = documents.into_iter().map(part).collect();
    items.extend(generation.map(next_generation));
    if items.is_empty() {
        return Ok(());
    }
    let request = TransactWriteItems {
        transact_items: items,
        ..TransactWriteItems::default()
    };
    match database.transact_write_items(request.clone()).await {
        Err(error) if error.kind() == ErrorKind::ResourceNotFound => {
            DOCUMENTS.create(database).await?;
            database.transact_write_items(request).await?;
        }
        Err(error) if error.kind() == ErrorKind::TransactionCanceled && generation.is_some() => {
            return Err(Error::resource_in_use(
                "another gateway has changed the models at this endpoint meanwhile: look at what is in force, then try again",
            ));
        }
        answer => {
            answer?;
        }
    }
    Ok(())
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

fn next_generation(seen: u64) -> TransactWriteItem {
    let number = |number: u64| AttributeValue::N(Number::from(number));
    let mut values = Map::from_iter([(":next".to_owned(), number(seen + 1))]);
    let condition = match seen {
        0 => "attribute_not_exists(#c)",
        seen => {
            values.insert(":seen".to_owned(), number(seen));
            "#c = :seen"
        }
    };
    TransactWriteItem {
        update: Some(Box::new(Update {
            table_name: DOCUMENTS_TABLE.to_owned(),
            key: key(GENERATION),
            update_expression: "SET #c = :next".to_owned(),
            condition_expression: Some(condition.to_owned()),
            expression_attribute_names: Some([("#c".to_owned(), COUNT.to_owned())].into()),
            expression_attribute_values: Some(values),
            ..Update::default()
        })),
        ..TransactWriteItem::default()
    }
}
