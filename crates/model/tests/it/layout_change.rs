//! What moves between two versions of a model.

mod grouped;
mod hindrances;
mod random;
mod rows;
mod selections;

use std::sync::Arc;

use trestle_expr::{KeyOp, KeySelection};
use trestle_item::Item;
use trestle_model::{Hindrance, LayoutChange};

use crate::rows::model;

/// What moves between two models that must load.
fn between(from: &str, to: &str) -> Result<LayoutChange, Vec<Hindrance>> {
    LayoutChange::between(&Arc::new(model(from)), &Arc::new(model(to)))
}

fn layout_change(from: &str, to: &str) -> LayoutChange {
    between(from, to).unwrap_or_else(|hindrances| panic!("{}", shown(&hindrances)))
}

fn shown(hindrances: &[Hindrance]) -> String {
    let shown: Vec<String> = hindrances.iter().map(ToString::to_string).collect();
    shown.join("\n")
}

/// A key of texts: `pk`, and `sk` if there is one.
fn key(texts: &[&str]) -> Item {
    ["pk", "sk"].into_iter().zip(texts.iter().copied()).collect()
}

fn select(hash: &str, range_last: Option<KeyOp>) -> KeySelection {
    KeySelection {
        hash: vec![hash.into()],
        range_equal: Vec::new(),
        range_last,
    }
}

fn exactly(hash: &str, range: &str) -> KeySelection {
    KeySelection {
        hash: vec![hash.into()],
        range_equal: vec![range.into()],
        range_last: None,
    }
}
