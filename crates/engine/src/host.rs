//! The engine as a [`Host`](trestle_hook::Host) of models.

use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Clock;
use trestle_hook::{AmendWork, Documents, Hook, Host, HostView, Lying, Met, MovedPage, Remaining, Started};
use trestle_item::Item;

use crate::{Engine, View, walked};

impl Host for Engine {
    fn clock(&self) -> &Arc<dyn Clock> {
        Engine::clock(self)
    }

    fn documents(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        Engine::documents(self)
    }

    fn install(&self, documents: Documents, hook: Option<Arc<dyn Hook>>) -> Result<(), Error> {
        Engine::install(self, documents, hook)
    }

    fn store_documents(&self, documents: Documents) -> Result<(), Error> {
        Engine::store_documents(self, documents)
    }

    fn view(&self) -> Box<dyn HostView> {
        Box::new(Engine::view(self))
    }

    fn start_amendment(&self, mut work: AmendWork) -> Started {
        let amendment = self.amend(move |rows, now| Ok((work(rows, now)?, ())));
        Started::new(|| amendment.wait())
    }

    fn lying(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Lying, Error> {
        Engine::lying(self, table, from, at_most)
    }

    fn walked(&self, place: &[u8]) -> Option<f64> {
        Some(walked(place))
    }

    fn could_hold(&self, table: &str, row: &Item) -> Result<(), Error> {
        Engine::could_hold(self, table, row)
    }

    fn move_rows(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<MovedPage, Error> {
        Engine::move_rows(self, table, from, at_most)
    }

    fn rows_to_move(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Remaining, Error> {
        Engine::rows_to_move(self, table, from, at_most)
    }

    fn look_ahead(&self, table: &str) {
        Engine::look_ahead(self, table);
    }

    fn writes_handed_in(&self) -> u64 {
        Engine::writes_handed_in(self)
    }
}

impl HostView for View {
    fn has_table(&self, table: &str) -> bool {
        View::has_table(self, table)
    }

    fn row_count(&self, table: &str) -> u64 {
        View::row_count(self, table)
    }

    fn get(&self, table: &str, key: &Item) -> Result<Option<Item>, Error> {
        View::get(self, table, key)
    }

    fn walk(
        &self,
        table: &str,
        part: (u32, u32),
        each: &mut dyn FnMut(Met) -> Result<(), Error>,
    ) -> Result<(), Error> {
        View::walk(self, table, part, each)
    }
}
