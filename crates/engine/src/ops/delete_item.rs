//! `DeleteItem`.

use trestle_api::{DeleteItem, DeleteItemOutput};
use trestle_writes::{Write, shown_of_removal};

use crate::completion::Completion;
use crate::{Engine, collection, image, ops};

pub(crate) fn run(engine: &Engine, mut request: DeleteItem) -> Completion {
    let write = Write::of_delete(&mut request);
    ops::write_item(engine, write, move |outcome| DeleteItemOutput {
        attributes: shown_of_removal(request.return_values, image::item(outcome.old.as_ref())),
        consumed_capacity: outcome
            .consumed
            .report(&outcome.table, request.return_consumed_capacity),
        item_collection_metrics: collection::metrics(
            &outcome.table,
            outcome.removed.as_ref(),
            request.return_item_collection_metrics,
        ),
    })
}
