//! `UpdateItem`.

use trestle_api::{UpdateItem, UpdateItemOutput};
use trestle_writes::{Action, Write, shown_of_update};

use crate::completion::Completion;
use crate::{Engine, collection, image, ops};

pub(crate) fn run(engine: &Engine, mut request: UpdateItem) -> Completion {
    let write = Write::of_update(&mut request);
    let update = match &write {
        Ok(Write {
            action: Action::Update(_, update),
            ..
        }) => update.clone(),
        _ => None,
    };
    ops::write_item(engine, write, move |outcome| {
        let (old, new) = (
            image::item(outcome.old.as_ref()),
            image::item(outcome.new.as_ref()),
        );
        UpdateItemOutput {
            attributes: shown_of_update(request.return_values, update.as_ref(), old, new),
            consumed_capacity: outcome
                .consumed
                .report(&outcome.table, request.return_consumed_capacity),
            item_collection_metrics: collection::metrics(
                &outcome.table,
                new.or(outcome.removed.as_ref()),
                request.return_item_collection_metrics,
            ),
        }
    })
}
