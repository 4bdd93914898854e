//! Operations on dead letters, including those of removed routes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use trestle_api::Error;

use super::Router;
use crate::dead_letter::{self, DeadLetterPages, Retried};
use crate::live::Live;
use crate::rows::Kept;
use crate::{DeadLetter, DeadLetters, Replayed, Selection};

/// After this many consecutive failures, a target is not tried again in the same replay.
const SILENT_MAX: u32 = 3;

impl Router {
    /// A page of dead letters, of one route or of all, after the one with the id `after`.
    pub async fn dead_letters(
        &self,
        route: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<DeadLetters, Error> {
        let page = dead_letter::page(&self.inner.rows, route, after, limit.max(1)).await?;
        if let (Some(route), None, true) = (route, after, page.letters.is_empty()) {
            self.check_known(route).await?;
        }
        Ok(page)
    }

    /// One dead letter.
    pub async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, Error> {
        dead_letter::one(&self.inner.rows, id).await
    }

    /// Tries dead letters again, each once, oldest first. Those that are taken are removed. When all dead
    /// letters are selected, those of routes that are not running are skipped, and the rest of a route whose
    /// target does not answer.
    pub async fn replay(&self, selection: Selection) -> Result<Replayed, Error> {
        let mut pages = DeadLetterPages::new(&self.inner.rows, selection.clone());
        let mut replayed = Replayed::default();
        let mut silent: HashMap<String, u32> = HashMap::new();
        loop {
            let letters = pages.next().await?;
            if letters.is_empty() {
                self.check_found(&selection, replayed.found()).await?;
                return Ok(replayed);
            }
            for (route, kept) in letters {
                let silent = silent.entry(route.clone()).or_default();
                match self.live(&route) {
                    Some(_) if *silent >= SILENT_MAX => replayed.left += 1,
                    Some(live) => self.replay_one(&live, kept, &mut replayed, silent).await?,
                    None if selection == Selection::All => replayed.left += 1,
                    None => return Err(not_at_work(&route)),
                }
            }
        }
    }

    async fn replay_one(
        &self,
        live: &Arc<Live>,
        kept: Kept,
        replayed: &mut Replayed,
        silent: &mut u32,
    ) -> Result<(), Error> {
        let work = Arc::clone(live);
        // On the router's own threads, like all deliveries.
        let replay = self
            .inner
            .setup
            .runtime
            .spawn(async move { dead_letter::replay(&work, kept).await });
        let retried = replay
            .await
            .map_err(|_| Error::internal("the router was stopped"))??;
        *silent = match retried {
            Retried::Taken | Retried::Refused => 0,
            Retried::Failed => *silent + 1,
            Retried::Away => SILENT_MAX,
        };
        match retried {
            Retried::Taken => {
                replayed.delivered += 1;
                live.counters.delivered.fetch_add(1, Ordering::Relaxed);
                live.counters.went_well();
                self.lost_dead(&live.name);
            }
            Retried::Refused => replayed.failed += 1,
            Retried::Failed | Retried::Away => replayed.unanswered += 1,
        }
        Ok(())
    }

    /// Moves dead letters to another route, so that it can replay them; returns how many.
    pub async fn move_dead_letters(&self, selection: Selection, to: &str) -> Result<u64, Error> {
        self.check_known(to).await?;
        let mut pages = DeadLetterPages::new(&self.inner.rows, selection.clone());
        let (mut moved, mut found) = (0, 0);
        loop {
            let letters = pages.next().await?;
            if letters.is_empty() {
                self.check_found(&selection, found).await?;
                return Ok(moved);
            }
            found += letters.len() as u64;
            for (route, kept) in letters.into_iter().filter(|(route, _)| route != to) {
                let _changing = self.inner.gone.changing.lock().await;
                let is_new = dead_letter::give(&self.inner.rows, &route, &kept, to).await?;
                moved += 1;
                self.lost_dead(&route);
                if is_new {
                    self.got_dead(to);
                }
            }
        }
    }

    /// Removes dead letters permanently; returns how many.
    pub async fn drop_dead_letters(&self, selection: Selection) -> Result<u64, Error> {
        let mut pages = DeadLetterPages::new(&self.inner.rows, selection.clone());
        let mut dropped = 0;
        loop {
            let letters = pages.next().await?;
            if letters.is_empty() {
                self.check_found(&selection, dropped).await?;
                return Ok(dropped);
            }
            for (route, kept) in letters {
                let _changing = self.inner.gone.changing.lock().await;
                dead_letter::remove(&self.inner.rows, &route, &kept).await?;
                dropped += 1;
                self.lost_dead(&route);
            }
        }
    }

    /// Refuses the name of a route that neither exists nor has stored dead letters.
    async fn check_known(&self, route: &str) -> Result<(), Error> {
        let remembered = self.inner.rows.routes().await?.into_iter();
        let mut known: BTreeSet<String> = remembered.map(|stored| stored.name).collect();
        known.extend(self.inner.view.read().keys().cloned());
        if known.contains(route) {
            return Ok(());
        }
        let known: Vec<String> = known.into_iter().collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        Err(Error::validation(format!(
            "There is no route `{route}`, and no dead letter of it; there is {known}"
        )))
    }

    async fn check_found(&self, selection: &Selection, found: u64) -> Result<(), Error> {
        match selection {
            Selection::Route(route) if found == 0 => self.check_known(route).await,
            _ => Ok(()),
        }
    }

    /// Records that a dead letter of a route was removed.
    fn lost_dead(&self, route: &str) {
        match self.inner.view.read().get(route) {
            Some((_, work)) => {
                work.dead().fetch_sub(1, Ordering::Relaxed);
            }
            None => self.inner.gone.lost(route),
        }
    }

    /// Records that a route has one more dead letter.
    fn got_dead(&self, route: &str) {
        if let Some((_, work)) = self.inner.view.read().get(route) {
            work.dead().fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn not_at_work(route: &str) -> Error {
    Error::validation(format!(
        "No running route `{route}` can deliver its dead letters again: add it, move them to another route \
         (trestle routes dead-letters move --route {route} --to NAME), or drop them"
    ))
}
