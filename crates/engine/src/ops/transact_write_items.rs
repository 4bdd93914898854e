//! `TransactWriteItems`.

use std::collections::BTreeMap;

use trestle_api::{Error, TransactWriteItems, TransactWriteItemsOutput};
use trestle_writes::Write;

use crate::completion::Completion;
use crate::shared::internal;
use crate::tokens::Token;
use crate::write_item::ItemWrite;
use crate::{Engine, collection, image, transact};

pub(crate) fn run(engine: &Engine, request: TransactWriteItems) -> Completion {
    let prepared =
        check(&request).and_then(|(writes, token)| transact::prepare(engine.shared(), writes, token));
    let (prepared, hold) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Completion::Ready(Err(error)),
    };
    let (capacity, metrics) = (
        request.return_consumed_capacity,
        request.return_item_collection_metrics,
    );
    let work = move |transaction: &mut crate::transaction::Transaction<'_>| {
        let done = prepared.run(transaction)?;
        let mut collections: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for outcome in &done.outcomes {
            let image = image::item(outcome.new.as_ref().or(outcome.old.as_ref()));
            let image = image.or(outcome.removed.as_ref());
            if let Some(collection) = collection::metrics(&outcome.table, image, metrics) {
                collections
                    .entry(outcome.table.name.clone())
                    .or_default()
                    .push(collection);
            }
        }
        Ok(TransactWriteItemsOutput {
            consumed_capacity: done.report(capacity),
            item_collection_metrics: (!collections.is_empty()).then_some(collections),
        }
        .into())
    };
    engine.submit(Box::new(work), Some(hold))
}

fn check(request: &TransactWriteItems) -> Result<(Vec<ItemWrite>, Option<Token>), Error> {
    let writes = Write::of_transaction(request)?;
    let writes = writes.into_iter().map(ItemWrite::from).collect();
    let token = match &request.client_request_token {
        Some(name) => {
            let request = serde_json::to_vec(&request.transact_items).map_err(internal)?;
            Some(Token::new(name.clone(), &request))
        }
        None => None,
    };
    Ok((writes, token))
}
