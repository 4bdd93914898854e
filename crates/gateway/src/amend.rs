//! Rows that models want otherwise: fills, repairs, copies that follow, large values that go.

use std::collections::BTreeSet;

use tokio::sync::RwLockReadGuard;
use trestle_api::{Error, pause_after};
use trestle_hook::AmendWork;

use crate::commit::{Commit, Sent};
use crate::endpoint::Endpoint;
use crate::known_rows::KnownRows;
use crate::part::Part;
use crate::write::ATTEMPTS_MAX;

/// Looks for a turn, in about three seconds.
const TURN_LOOKS: usize = 50;
/// Rows in one transaction of the endpoint.
const ROWS_MAX: usize = 100;

impl Endpoint {
    /// Waits while another gateway changes what is in force, but not for long: what is in force cannot be read again while models
    /// are applied here, and that may be what this work is part of.
    async fn turn(&self) -> Result<RwLockReadGuard<'_, ()>, Error> {
        for attempt in 0..TURN_LOOKS {
            if let Ok(turn) = self.writing.try_read() {
                return Ok(turn);
            }
            pause_after(attempt).await;
        }
        Err(Error::resource_in_use(
            "another gateway changes the models at this endpoint: look at what is in force, then try again",
        ))
    }

    /// Runs work on the rows of the moment and writes what it returns.
    pub(crate) async fn amend(&self, mut work: AmendWork) -> Result<(), Error> {
        let _writing = self.turn().await?;
        let hook = self.hook();
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                pause_after(fastrand::usize(0..=attempt)).await;
            }
            let now = self.clock.now();
            let mut known = KnownRows::default();
            let companions = self.settle(&mut known, |known| work(known, now)).await?;
            if companions.is_empty() {
                return Ok(());
            }
            let mut parts = Vec::new();
            self.follow(
                hook.as_deref(),
                companions,
                &mut known,
                &BTreeSet::new(),
                &mut parts,
            )
            .await?;
            parts.retain(|part| part.writes() || part.old.is_some());
            if !parts.iter().any(Part::writes) {
                return Ok(());
            }
            match self.send_in_turns(parts).await? {
                Sent::Done(_) => return Ok(()),
                Sent::Overtaken(_) => {}
            }
        }
        Err(Error::transaction_conflict())
    }

    /// Rows that depend on no other are removed or written in as many transactions as it takes; others must fit into one.
    async fn send_in_turns(&self, mut parts: Vec<Part>) -> Result<Sent, Error> {
        let is_alone = parts.iter().all(Part::writes);
        while is_alone && parts.len() > ROWS_MAX {
            let rest = parts.split_off(ROWS_MAX);
            let page = std::mem::replace(&mut parts, rest);
            let sent = self.send(Commit {
                parts: page,
                ..Commit::default()
            });
            if let Sent::Overtaken(positions) = sent.await? {
                return Ok(Sent::Overtaken(positions));
            }
        }
        self.send(Commit {
            parts,
            ..Commit::default()
        })
        .await
    }
}
