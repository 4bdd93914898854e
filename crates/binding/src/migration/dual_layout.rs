//! The two layouts of a model during a migration, for the hook and the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_expr::KeySelection;
use trestle_hook::{Belongs, Edits, Former, Renewal, Sources};
use trestle_item::Item;
use trestle_model::{LayoutChange, Model};

use crate::model_hook::refused;

/// The layout change between two versions of a model, and the number of reads of former places.
#[derive(Debug)]
pub struct DualLayout {
    layout_change: LayoutChange,
    /// The version from which rows move.
    former: Arc<Model>,
    double_reads: AtomicU64,
}

impl DualLayout {
    /// The layout change from the version `former`; `double_reads` were counted before.
    #[must_use]
    pub fn new(layout_change: LayoutChange, former: Arc<Model>, double_reads: u64) -> Self {
        DualLayout {
            layout_change,
            former,
            double_reads: AtomicU64::new(double_reads),
        }
    }

    /// The layout change.
    #[must_use]
    pub fn layout_change(&self) -> &LayoutChange {
        &self.layout_change
    }

    /// The number of reads of former places.
    #[must_use]
    pub fn double_reads(&self) -> u64 {
        self.double_reads.load(Ordering::Relaxed)
    }

    /// Sets the number counted before, if it is larger.
    pub fn count_at_least(&self, double_reads: u64) {
        self.double_reads.fetch_max(double_reads, Ordering::Relaxed);
    }

    /// The own key of the row that `given` identifies. Clients that do not know the present version may give
    /// a key of the former one, or its identifying attributes.
    pub fn key(&self, present: &Model, table: &str, given: &Item) -> Result<Item, Error> {
        let renewed = |key: &Item| self.layout_change.renew_key(table, key);
        if self.layout_change.is_former(table, given) {
            return renewed(given).map_err(|refusal| refused(&refusal));
        }
        present.key_of(table, given).or_else(|refusal| {
            let former = self.former.key_of(table, given).ok();
            let former = former.filter(|key| self.layout_change.is_former(table, key));
            let own = former.and_then(|key| renewed(&key).ok());
            own.ok_or_else(|| refused(&refusal))
        })
    }

    /// Gives the item of a put its own key, for clients of either version.
    pub fn place(&self, present: &Model, table: &str, item: &Item, now: Timestamp) -> Result<Edits, Error> {
        let now = now.as_millis();
        if self.layout_change.is_former(table, item) {
            let renewed = self.layout_change.renew_given(table, item.clone());
            let placed = renewed.and_then(|item| present.place(table, item, now));
            let edits = placed.map(|placed| Edits::between(item, &placed));
            return edits.map_err(|refusal| refused(&refusal));
        }
        present.place_edits(table, item, now).or_else(|refusal| {
            let former = self.former.place(table, item.clone(), now).ok();
            let former = former.filter(|item| self.layout_change.is_former(table, item));
            let own = former.and_then(|item| self.layout_change.renew_given(table, item).ok());
            let own = own.and_then(|item| present.place(table, item, now).ok());
            let edits = own.map(|own| Edits::between(item, &own));
            edits.ok_or_else(|| refused(&refusal))
        })
    }
}

/// The former places of one table.
pub(crate) struct TableFormer {
    pub(crate) moving: Arc<DualLayout>,
    pub(crate) table: String,
    pub(crate) may_hold_rows: bool,
    pub(crate) swept: Option<Vec<u8>>,
}

impl Former for TableFormer {
    fn may_hold_rows(&self) -> bool {
        self.may_hold_rows
    }

    fn swept(&self) -> Option<Vec<u8>> {
        self.swept.clone()
    }

    fn belongs(&self, key: &Item) -> Belongs {
        self.moving.layout_change.belongs(&self.table, key)
    }

    fn is_former(&self, key: &Item) -> bool {
        self.moving.layout_change.is_former(&self.table, key)
    }

    fn may_be_former(&self, hash: &[u8], range: &[u8]) -> bool {
        self.moving
            .layout_change
            .may_be_former(&self.table, [hash, range])
    }

    fn place(&self, key: &Item) -> Option<Item> {
        self.moving.layout_change.former_place(&self.table, key)
    }

    fn renew(&self, row: Item) -> Result<Item, Error> {
        let renewed = self.moving.layout_change.renew_owned(&self.table, row);
        renewed.map_err(|refusal| refused(&refusal))
    }

    fn renew_stored(&self, row: &[u8]) -> Renewal {
        self.moving.layout_change.renew_stored(&self.table, row)
    }

    fn renew_selection(&self, selection: &KeySelection) -> Result<Option<KeySelection>, Error> {
        let renewed = self.moving.layout_change.renew_selection(&self.table, selection);
        renewed.map_err(|refusal| refused(&refusal))
    }

    fn sources(&self, index: Option<&str>, selection: Option<&KeySelection>) -> Sources {
        self.moving.layout_change.sources(&self.table, index, selection)
    }

    fn looked(&self) {
        self.moving.double_reads.fetch_add(1, Ordering::Relaxed);
    }
}
