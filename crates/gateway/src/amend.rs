//! Writes that models require: fills, repairs, background copies, removal of large values.

use std::collections::BTreeSet;

use tokio::sync::RwLockReadGuard;
use trestle_api::{Error, pause_after};
use trestle_hook::AmendWork;

use crate::commit::{Commit, Sent};
use crate::documents::{self, InForce};
use crate::endpoint::Endpoint;
use crate::known_rows::KnownRows;
use crate::part::Part;
use crate::relocate::relocated;

/// How often the lock is tried, in about three seconds.
const TURN_LOOKS: usize = 50;
/// Rows in one transaction of the endpoint, in addition to the check that a moment is held.
const ROWS_MAX: usize = 99;
/// How often work is tried when clients write the same rows: for about half a minute. A row that every client
/// writes, such as a counter, changes with every write.
const ATTEMPTS_MAX: usize = 500;

impl Endpoint {
    /// Waits a short time while another gateway changes the models in force. Not longer, because the models
    /// cannot be read again while models are applied here, which this work may be part of.
    pub(crate) async fn turn(&self) -> Result<RwLockReadGuard<'_, ()>, Error> {
        for attempt in 0..TURN_LOOKS {
            if let Ok(turn) = self.writing.try_read() {
                return Ok(turn);
            }
            pause_after(attempt).await;
        }
        Err(Error::resource_in_use(
            "another gateway is changing the models at this endpoint: check the applied models, then try again",
        ))
    }

    /// Runs work on the current rows and writes its result.
    pub(crate) async fn amend(&self, mut work: AmendWork) -> Result<(), Error> {
        let _writing = self.turn().await?;
        let hook = self.hook();
        let moment = self.moment.lock().own().map(str::to_owned);
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
            if !parts.iter().any(Part::writes) {
                return Ok(());
            }
            match self.send_in_turns(parts, &known, moment.as_deref()).await? {
                Sent::Done(_) => return Ok(()),
                Sent::Overtaken(_) => self.check_moment(moment.as_deref()).await?,
            }
        }
        Err(Error::transaction_conflict())
    }

    /// Removes or writes independent rows in as many transactions as necessary; other rows must fit into one.
    /// A row that moves is in the same transaction as one of them.
    async fn send_in_turns(
        &self,
        mut parts: Vec<Part>,
        known: &KnownRows,
        moment: Option<&str>,
    ) -> Result<Sent, Error> {
        let commit = |parts: Vec<Part>| Commit {
            parts: relocated(parts, known),
            own: moment.map(documents::while_held).into_iter().collect(),
            ..Commit::default()
        };
        let is_alone = parts.iter().all(Part::writes);
        while is_alone && relocated(parts.clone(), known).len() > ROWS_MAX {
            // If all rows move, each of them needs two items of the transaction.
            let rest = parts.split_off(parts.len().min(ROWS_MAX / 2));
            let page = std::mem::replace(&mut parts, rest);
            if let Sent::Overtaken(why) = self.send(commit(page)).await? {
                return Ok(Sent::Overtaken(why));
            }
        }
        self.send(commit(parts)).await
    }

    /// Checks that the moment on which a write is based is still held.
    pub(crate) async fn check_moment(&self, moment: Option<&str>) -> Result<(), Error> {
        let Some(moment) = moment else { return Ok(()) };
        let held = InForce::read(&*self.database).await?.moment;
        match held.is_some_and(|held| held.id == moment) {
            true => Ok(()),
            false => Err(Error::resource_in_use(
                "this gateway could not reach the endpoint for some time while it added up rows, and another gateway has ended that: \
                 try again",
            )),
        }
    }
}
