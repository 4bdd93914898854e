//! `PutItem`.

use trestle_api::{PutItem, PutItemOutput};
use trestle_writes::{Write, shown_of_removal};

use crate::completion::Completion;
use crate::{Engine, collection, image, ops};

pub(crate) fn run(engine: &Engine, mut request: PutItem) -> Completion {
    let write = Write::of_put(&mut request);
    ops::write_item(engine, write, move |outcome| PutItemOutput {
        attributes: shown_of_removal(request.return_values, image::item(outcome.old.as_ref())),
        consumed_capacity: outcome
            .consumed
            .report(&outcome.table, request.return_consumed_capacity),
        item_collection_metrics: collection::metrics(
            &outcome.table,
            image::item(outcome.new.as_ref()),
            request.return_item_collection_metrics,
        ),
    })
}
