//! Models and migrations as rows of a table at the endpoint, where every gateway finds them.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use trestle_api::{
    ConditionCheck, Database, DatabaseExt, DeleteItem, Error, ErrorKind, GetItem, Put, PutItem, Request,
    Scan, TransactWriteItem, TransactWriteItems, Update, UpdateItem,
};
use trestle_hook::Documents;
use trestle_item::{AttributeValue, Item, Map, Number};

use crate::own_table::OwnTable;

/// The table of all documents.
const DOCUMENTS: OwnTable = OwnTable {
    name: DOCUMENTS_TABLE,
    key: NAME,
    range: None,
    ttl: None,
};
const DOCUMENTS_TABLE: &str = "_trestle.documents";
const NAME: &str = "name";
const BYTES: &str = "bytes";
/// The key of the row with the generation, and the name of its attribute. No document has this name.
const GENERATION: &str = "/generation";
const COUNT: &str = "count";
const OF_DOCUMENTS: &str = "documents";
const CHANGED_BY: &str = "changed_by";
/// Whether the announced change moves rows.
const MOVES: &str = "moves";
const MOMENT: &str = "moment";
const MOMENT_OF: &str = "moment_of";
/// Documents that are not stored in their own rows yet, at an endpoint without transactions.
const STAGED: &str = "staged";

/// All documents of an endpoint, by name. An endpoint without documents has no table for them.
pub(crate) async fn read(database: &dyn Database) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let mut documents = BTreeMap::new();
    // Read first: a document that is not staged any more has its own row.
    let staged = staged_in(generation_row(database).await?.as_ref())?;
    let mut start = None;
    loop {
        let asked = Scan {
            table_name: DOCUMENTS_TABLE.to_owned(),
            consistent_read: Some(true),
            exclusive_start_key: start,
            ..Scan::default()
        };
        let page = match database.scan(asked).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok(documents),
            page => page?,
        };
        for row in page.items.iter().flat_map(|rows| rows.iter()) {
            documents.extend(document_in(&row)?);
        }
        start = page.last_evaluated_key;
        if start.is_none() {
            break;
        }
    }
    for (name, bytes) in staged {
        match bytes {
            Some(bytes) => documents.insert(name, bytes),
            None => documents.remove(&name),
        };
    }
    Ok(documents)
}

/// The row with the generation.
async fn generation_row(database: &dyn Database) -> Result<Option<Item>, Error> {
    row_of(database, GENERATION).await
}

/// The row with this name.
async fn row_of(database: &dyn Database, name: &str) -> Result<Option<Item>, Error> {
    let asked = GetItem {
        table_name: DOCUMENTS_TABLE.to_owned(),
        key: key(name),
        consistent_read: Some(true),
        ..GetItem::default()
    };
    match database.get_item(asked).await {
        Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(None),
        answer => Ok(answer?.item),
    }
}

/// The document of a row; `None` for the row with the generation.
fn document_in(row: &Item) -> Result<Option<(String, Vec<u8>)>, Error> {
    let name = row.get(NAME).and_then(AttributeValue::as_s);
    let name = name.ok_or_else(|| unreadable(row))?;
    if name == GENERATION {
        return Ok(None);
    }
    let bytes = row.get(BYTES).and_then(AttributeValue::as_b);
    let bytes = bytes.ok_or_else(|| unreadable(row))?;
    Ok(Some((name.to_owned(), bytes.to_vec())))
}

fn unreadable(row: &Item) -> Error {
    Error::internal(format!(
        "a row of {DOCUMENTS_TABLE} cannot be read: it was changed by hand, or written by a newer version of Trestle: {row:?}"
    ))
}

/// What is stored at the endpoint about the models in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InForce {
    /// How often they have changed.
    pub(crate) generation: u64,
    /// The generation of the documents: that of the last change that was not a moment.
    pub(crate) documents: u64,
    /// The gateway that has announced a change.
    pub(crate) changed_by: Option<String>,
    /// Whether the announced change moves rows.
    pub(crate) moves: bool,
    /// The moment that a gateway holds.
    pub(crate) moment: Option<OpenMoment>,
}

/// A moment that a gateway holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenMoment {
    pub(crate) id: String,
    /// The gateway.
    pub(crate) of: String,
}

impl InForce {
    pub(crate) async fn read(database: &dyn Database) -> Result<Self, Error> {
        match generation_row(database).await? {
            None => Ok(InForce::default()),
            Some(row) => InForce::of(&row),
        }
    }

    fn of(row: &Item) -> Result<Self, Error> {
        let count = |name: &str| match row.get(name).and_then(AttributeValue::as_n) {
            Some(count) => count.to_string().parse().map(Some).map_err(|_| unreadable(row)),
            None => Ok(None),
        };
        let generation = count(COUNT)?.unwrap_or_default();
        let text = |name: &str| row.get(name).and_then(AttributeValue::as_s).map(str::to_owned);
        let moment = text(MOMENT).zip(text(MOMENT_OF));
        Ok(InForce {
            generation,
            documents: count(OF_DOCUMENTS)?.unwrap_or(generation),
            changed_by: text(CHANGED_BY),
            moves: row.get(MOVES).is_some(),
            moment: moment.map(|(id, of)| OpenMoment { id, of }),
        })
    }
}

/// Stores documents; the models in force stay.
pub(crate) async fn store(database: &dyn Database, documents: Documents) -> Result<(), Error> {
    match documents.is_empty() {
        true => Ok(()),
        false => transact(database, documents.into_iter().map(part).collect()).await,
    }
}

/// Stores documents if the generation of the documents has not changed.
pub(crate) async fn store_in_generation(
    database: &dyn Database,
    documents: Documents,
    generation: u64,
    has_transactions: bool,
) -> Result<(), Error> {
    if has_transactions {
        let mut items: Vec<TransactWriteItem> = documents.into_iter().map(part).collect();
        items.push(while_documents_are(generation));
        return transact_unchanged(database, items).await;
    }
    let stored = documents.iter().map(|(name, _)| row_of(database, name));
    let stored = try_join_all(stored).await?;
    // A gateway that changes the documents increases the generation first. So if this check succeeds, a
    // document is unchanged since it was read before.
    transact_unchanged(database, vec![while_documents_are(generation)]).await?;
    for (document, stored) in documents.into_iter().zip(stored) {
        transact_unchanged(database, vec![over(stored.as_ref(), document)]).await?;
    }
    Ok(())
}

/// Announces a change of the models in force. Refused if they have changed, if another gateway has announced
/// a change, or if another gateway holds a moment.
pub(crate) async fn announce(
    database: &dyn Database,
    id: &str,
    generation: u64,
    moves: bool,
) -> Result<(), Error> {
    let mut values = values([(":id", AttributeValue::S(id.to_owned()))]);
    let unchanged = match generation {
        0 => "attribute_not_exists(#c)",
        seen => {
            values.insert(":seen".to_owned(), number(seen));
            "#c = :seen"
        }
    };
    let condition = format!(
        "{unchanged} AND (attribute_not_exists(#b) OR #b = :id) AND (attribute_not_exists(#o) OR #o = :id)"
    );
    let update = match moves {
        true => {
            values.insert(":moves".to_owned(), AttributeValue::Bool(true));
            "SET #b = :id, #v = :moves"
        }
        false => "SET #b = :id REMOVE #v",
    };
    let part = on_generation(update, &condition, values);
    transact_unchanged(database, vec![part]).await
}

/// Withdraws an announcement whose change was not made.
pub(crate) async fn take_back(database: &dyn Database, id: &str) -> Result<(), Error> {
    let values = values([(":id", AttributeValue::S(id.to_owned()))]);
    let part = on_generation("REMOVE #b, #v", "attribute_exists(#n) AND #b = :id", values);
    match transact(database, vec![part]).await {
        Err(error) if error.kind() == ErrorKind::TransactionCanceled => Ok(()),
        answer => answer,
    }
}

/// The next state of the models in force.
pub(crate) struct Next<'a> {
    pub(crate) documents: Documents,
    /// A moment that begins.
    pub(crate) moment: Option<&'a str>,
    /// Writes in the same transaction; without transactions, before it.
    pub(crate) also: Vec<TransactWriteItem>,
}

/// Stores documents and the next generation in one step; this gateway has announced the change.
pub(crate) async fn change(
    database: &dyn Database,
    next: Next<'_>,
    id: &str,
    generation: u64,
    has_transactions: bool,
) -> Result<(), Error> {
    let Next {
        documents,
        moment,
        also,
    } = next;
    let mut values = values([
        (":id", AttributeValue::S(id.to_owned())),
        (":next", number(generation + 1)),
    ]);
    let update = match moment {
        None => "SET #c = :next, #d = :next REMOVE #b, #v",
        Some(moment) => {
            values.insert(":moment".to_owned(), AttributeValue::S(moment.to_owned()));
            match documents.is_empty() {
                true => "SET #c = :next, #m = :moment, #o = :id REMOVE #b, #v",
                false => "SET #c = :next, #d = :next, #m = :moment, #o = :id REMOVE #b, #v",
            }
        }
    };
    if has_transactions {
        let mut items: Vec<TransactWriteItem> = documents.into_iter().map(part).collect();
        items.extend(also);
        items.push(on_generation(update, "#b = :id", values));
        return transact_unchanged(database, items).await;
    }
    finish_staged(database).await?;
    for item in also {
        database.execute(alone(item)?).await?;
    }
    // The documents are stored in this row until they have their own rows. The change stays announced until
    // then.
    values.insert(
        ":staged".to_owned(),
        AttributeValue::L(documents.into_iter().map(staged).collect()),
    );
    let update = update.replace(" REMOVE #b, #v", ", #s = :staged");
    transact_unchanged(database, vec![on_generation(&update, "#b = :id", values)]).await?;
    finish_staged(database).await?;
    take_back(database, id).await
}

/// A document as part of the row with the generation.
fn staged((name, bytes): (String, Option<Vec<u8>>)) -> AttributeValue {
    let mut staged = key(&name);
    if let Some(bytes) = bytes {
        staged.insert(BYTES, AttributeValue::B(bytes));
    }
    AttributeValue::M(staged)
}

/// The documents in the row with the generation.
fn staged_in(row: Option<&Item>) -> Result<Documents, Error> {
    let Some(row) = row else { return Ok(Vec::new()) };
    let Some(AttributeValue::L(all)) = row.get(STAGED) else {
        return Ok(Vec::new());
    };
    let document = |staged: &AttributeValue| {
        let AttributeValue::M(staged) = staged else {
            return None;
        };
        let name = staged.get(NAME)?.as_s()?.to_owned();
        let bytes = staged.get(BYTES).map(|bytes| bytes.as_b().map(<[u8]>::to_vec));
        Some((name, bytes.unwrap_or_default()))
    };
    all.iter()
        .map(|staged| document(staged).ok_or_else(|| unreadable(row)))
        .collect()
}

/// Moves the documents of the last change to their own rows.
async fn finish_staged(database: &dyn Database) -> Result<(), Error> {
    let row = generation_row(database).await?;
    let staged = staged_in(row.as_ref())?;
    let Some(row) = row.filter(|row| row.contains_key(STAGED)) else {
        return Ok(());
    };
    store(database, staged).await?;
    let count = InForce::of(&row)?.generation;
    let part = on_generation("REMOVE #s", "#c = :count", values([(":count", number(count))]));
    match transact(database, vec![part]).await {
        Err(error) if error.kind() == ErrorKind::TransactionCanceled => Ok(()),
        answer => answer,
    }
}

/// Ends a moment, if it is still held.
pub(crate) async fn end_moment(database: &dyn Database, moment: &str) -> Result<(), Error> {
    let values = values([(":moment", AttributeValue::S(moment.to_owned()))]);
    let part = on_generation("REMOVE #m, #o", "#m = :moment", values);
    match transact(database, vec![part]).await {
        Err(error) if error.kind() == ErrorKind::TransactionCanceled => Ok(()),
        answer => answer,
    }
}

/// A transaction item that succeeds only while a moment is held.
pub(crate) fn while_held(moment: &str) -> TransactWriteItem {
    TransactWriteItem {
        condition_check: Some(Box::new(ConditionCheck {
            table_name: DOCUMENTS_TABLE.to_owned(),
            key: key(GENERATION),
            condition_expression: "#m = :moment".to_owned(),
            expression_attribute_names: Some([("#m".to_owned(), MOMENT.to_owned())].into()),
            expression_attribute_values: Some(values([(":moment", AttributeValue::S(moment.to_owned()))])),
            ..ConditionCheck::default()
        })),
        ..TransactWriteItem::default()
    }
}

/// A transaction item that succeeds only if the documents have this generation.
fn while_documents_are(generation: u64) -> TransactWriteItem {
    TransactWriteItem {
        condition_check: Some(Box::new(ConditionCheck {
            table_name: DOCUMENTS_TABLE.to_owned(),
            key: key(GENERATION),
            condition_expression: "#d = :known".to_owned(),
            expression_attribute_names: Some([("#d".to_owned(), OF_DOCUMENTS.to_owned())].into()),
            expression_attribute_values: Some(values([(":known", number(generation))])),
            ..ConditionCheck::default()
        })),
        ..TransactWriteItem::default()
    }
}

/// A transaction that is refused if another gateway has changed something.
async fn transact_unchanged(database: &dyn Database, items: Vec<TransactWriteItem>) -> Result<(), Error> {
    match transact(database, items).await {
        Err(error) if error.kind() == ErrorKind::TransactionCanceled => Err(Error::resource_in_use(
            "another gateway changes the models at this endpoint, or fills or repairs rows: try again when it is done",
        )),
        answer => answer,
    }
}

async fn transact(database: &dyn Database, items: Vec<TransactWriteItem>) -> Result<(), Error> {
    let request = TransactWriteItems {
        transact_items: items,
        ..TransactWriteItems::default()
    };
    let answer = send(database, &request).await;
    match answer {
        Err(error) if error.kind() == ErrorKind::ResourceNotFound => {
            DOCUMENTS.create(database).await?;
            send(database, &request).await
        }
        answer => answer,
    }
}

/// Without transactions, the items are written one after another.
async fn send(database: &dyn Database, request: &TransactWriteItems) -> Result<(), Error> {
    match database.transact_write_items(request.clone()).await {
        Err(error) if error.kind() == ErrorKind::UnknownOperation => {}
        answer => return answer.map(drop),
    }
    for item in &request.transact_items {
        match database.execute(alone(item.clone())?).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => {
                return Err(Error::transaction_canceled(Vec::new()));
            }
            answer => answer.map(drop)?,
        }
    }
    Ok(())
}

/// An item of a transaction as a separate request. A check becomes a conditional update that changes nothing.
pub(crate) fn alone(item: TransactWriteItem) -> Result<Request, Error> {
    if let Some(check) = item.condition_check {
        return Ok(Request::UpdateItem(UpdateItem {
            table_name: check.table_name,
            key: check.key,
            condition_expression: Some(check.condition_expression),
            expression_attribute_names: check.expression_attribute_names,
            expression_attribute_values: check.expression_attribute_values,
            ..UpdateItem::default()
        }));
    }
    if let Some(update) = item.update {
        return Ok(Request::UpdateItem(UpdateItem {
            table_name: update.table_name,
            key: update.key,
            update_expression: Some(update.update_expression),
            condition_expression: update.condition_expression,
            expression_attribute_names: update.expression_attribute_names,
            expression_attribute_values: update.expression_attribute_values,
            ..UpdateItem::default()
        }));
    }
    if let Some(put) = item.put {
        return Ok(Request::PutItem(PutItem {
            table_name: put.table_name,
            item: put.item,
            condition_expression: put.condition_expression,
            expression_attribute_names: put.expression_attribute_names,
            expression_attribute_values: put.expression_attribute_values,
            ..PutItem::default()
        }));
    }
    let delete = item
        .delete
        .ok_or_else(|| Error::defect("an item of a transaction does nothing"))?;
    Ok(Request::DeleteItem(DeleteItem {
        table_name: delete.table_name,
        key: delete.key,
        condition_expression: delete.condition_expression,
        expression_attribute_names: delete.expression_attribute_names,
        expression_attribute_values: delete.expression_attribute_values,
        ..DeleteItem::default()
    }))
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

/// An update of the row with the generation.
fn on_generation(update: &str, condition: &str, values: Map) -> TransactWriteItem {
    let names = [
        ("#c", COUNT),
        ("#d", OF_DOCUMENTS),
        ("#b", CHANGED_BY),
        ("#v", MOVES),
        ("#n", NAME),
        ("#m", MOMENT),
        ("#o", MOMENT_OF),
        ("#s", STAGED),
    ];
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

/// Replaces the row that was read by a document.
fn over(stored: Option<&Item>, document: (String, Option<Vec<u8>>)) -> TransactWriteItem {
    let (condition, named, read) = match stored.and_then(|row| row.get(BYTES)) {
        Some(bytes) => ("#b = :read", BYTES, Some(values([(":read", bytes.clone())]))),
        None => ("attribute_not_exists(#b)", NAME, None),
    };
    let condition = Some(condition.to_owned());
    let names = Some([("#b".to_owned(), named.to_owned())].into());
    let mut item = part(document);
    if let Some(put) = &mut item.put {
        put.condition_expression.clone_from(&condition);
        put.expression_attribute_names.clone_from(&names);
        put.expression_attribute_values.clone_from(&read);
    }
    if let Some(delete) = &mut item.delete {
        delete.condition_expression = condition;
        delete.expression_attribute_names = names;
        delete.expression_attribute_values = read;
    }
    item
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
