//! Two layouts of the rows of `T`, as in a migration: things are at `old#ID` before and at `new#ID` after it.

use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_events::{ModelTyper, Typer};
use trestle_expr::KeySelection;
use trestle_hook::{Belongs, Change, Edits, Former, Hook, Refused, Rows, Sources, Verdict};
use trestle_item::Item;
use trestle_model::Model;

use crate::support::World;

/// A model whose entity `name` is at `PREFIX#ID`; with others, so that it is recognised only by its key.
pub(crate) fn model(name: &str, prefix: &str, more: &str) -> Arc<Model> {
    let text = format!(
        r#"
        model = "things"
        [table.things]
        key = ["pk"]
        [entity.{name}]
        table = "things"
        key = {{ pk = "{prefix}#{{id}}" }}
        attributes = {{ id = "string", n = {{ type = "integer", optional = true }} }}
        [entity.other]
        table = "things"
        key = {{ pk = "other#{{id}}" }}
        attributes = {{ id = "string" }}
        {more}
        "#
    );
    let loaded = trestle_model::load(&text);
    Arc::new(loaded.model.unwrap_or_else(|| panic!("{:#?}", loaded.problems)))
}

/// Renames the table for models, because `T` would be too short there.
pub(crate) struct OfT(ModelTyper);

impl OfT {
    pub(crate) fn typer<const N: usize>(models: [Arc<Model>; N]) -> Arc<dyn Typer> {
        Arc::new(Self(ModelTyper::new(models)))
    }
}

impl Typer for OfT {
    fn entity(&self, _: &str, item: &Item) -> Option<Arc<str>> {
        self.0.entity("things", item)
    }

    fn former_key(&self, _: &str, key: &Item) -> Option<Item> {
        self.0.former_key("things", key)
    }
}

impl World {
    /// With routers that know both layouts, the newer one first.
    pub(crate) fn with_layouts() -> Self {
        let models = [model("thing", "new", ""), model("thing", "old", "")];
        World {
            typer: OfT::typer(models),
            ..World::new()
        }
    }

    /// From now on, things belong at `new#ID`; a write of one moves it.
    pub(crate) fn lay_out_anew(&self) {
        self.engine.install(Vec::new(), Some(Arc::new(Anew))).unwrap();
    }

    /// Moves all rows.
    pub(crate) fn sweep(&self) {
        let moved = self.engine.move_rows("T", None, 10_000).unwrap();
        assert_eq!((moved.stuck, moved.next), (Vec::new(), None));
    }
}

/// The layout of `new#ID`, for rows that may still be at `old#ID`.
struct Anew;

fn placed(key: &Item, from: &str, to: &str) -> Option<Item> {
    let id = key.get("pk")?.as_s()?.strip_prefix(from)?;
    Some(Item::from([("pk", format!("{to}{id}"))]))
}

impl Hook for Anew {
    fn covers(&self, table: &str) -> bool {
        table == "T"
    }

    fn former(&self, table: &str) -> Option<Arc<dyn Former>> {
        self.covers(table).then(|| Arc::new(Anew) as Arc<dyn Former>)
    }

    fn key(&self, _: &str, given: &Item) -> Result<Item, Error> {
        Ok(given.clone())
    }

    fn place(&self, _: &str, _: &Item, _: Timestamp) -> Result<Edits, Error> {
        Ok(Edits::default())
    }

    fn change(&self, _: &[Change<'_>], _: &dyn Rows) -> Result<Verdict, Refused> {
        Ok(Verdict::default())
    }
}

impl Former for Anew {
    fn may_hold_rows(&self) -> bool {
        true
    }

    fn belongs(&self, key: &Item) -> Belongs {
        placed(key, "old#", "new#").map_or(Belongs::Here, Belongs::At)
    }

    fn place(&self, key: &Item) -> Option<Item> {
        placed(key, "new#", "old#")
    }

    fn renew(&self, mut row: Item) -> Result<Item, Error> {
        if let Some(key) = placed(&row, "old#", "new#").and_then(|mut key| key.remove("pk")) {
            row.insert("pk", key);
        }
        Ok(row)
    }

    fn renew_selection(&self, _: &KeySelection) -> Result<Option<KeySelection>, Error> {
        Ok(None)
    }

    fn sources(&self, _: Option<&str>, _: Option<&KeySelection>) -> Sources {
        Sources {
            everywhere: true,
            ..Sources::default()
        }
    }

    fn looked(&self) {}
}
