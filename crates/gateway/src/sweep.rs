//! Moves the rows that no client writes, a page of the table at a time. Each row is removed from its former
//! place and put into its own in one transaction, which checks that the row is unchanged since it was read,
//! that its own place is free, and that this gateway still sweeps. At an endpoint without transactions this
//! is one intent (`intent.rs`): both places are locked, the row is put into its own place first and removed
//! from its former one last.

use std::sync::Arc;

use trestle_api::{Error, ErrorKind, TransactWriteItem, pause_after};
use trestle_hook::{Former, MovedPage, Remaining, Stuck};
use trestle_item::{Item, size};

use crate::commit::{Commit, Sent};
use crate::endpoint::Endpoint;
use crate::intent::PLAN_BYTES_MAX;
use crate::part::{Becomes, Part};
use crate::table_shape::{RowId, TableShape};

/// Rows that move in one transaction: each is two items of at most a hundred.
const ROWS_AT_ONCE: usize = 24;
/// The most bytes in one transaction: an endpoint takes 4 MB.
const BYTES_AT_ONCE: usize = 2_000_000;
/// The most bytes in one intent, whose plan also has the keys.
const BYTES_OF_INTENT: usize = PLAN_BYTES_MAX / 2;
/// How often the move of a row is tried while others write it.
const TRIES_MAX: usize = 12;
/// The unit of bytes in which writes are charged.
const UNIT_BYTES: usize = 1024;

const TAKEN: &str = "the place it belongs in is taken by another row: remove one of the two";
const CONTENDED: &str = "others wrote it again and again while it was to move";

/// A row to be moved.
#[derive(Clone)]
struct Relocation {
    from: Item,
    before: Arc<Item>,
    to: Item,
    after: Arc<Item>,
}

impl Endpoint {
    /// Moves the rows in former places among the next `at_most` rows of a table, from `from` on, while
    /// `holds` is true.
    pub(crate) async fn move_rows(
        &self,
        table: &str,
        from: Option<&[u8]>,
        at_most: usize,
        holds: &TransactWriteItem,
    ) -> Result<MovedPage, Error> {
        let _writing = self.turn().await?;
        let page = self.page(table, from, at_most).await?;
        let mut moved = MovedPage {
            looked_at: page.rows.len() as u64,
            next: page.next,
            ..MovedPage::default()
        };
        let former = self.hook().and_then(|hook| hook.former(table));
        let Some(former) = former else { return Ok(moved) };
        let shape = self.shapes.of(&*self.database, table).await?;
        let mut relocations = Vec::new();
        for row in page.rows {
            if !former.is_former(&row) {
                continue;
            }
            let key = shape.key_in(&row);
            match self.relocation(&*former, &shape, row).await {
                Ok(relocation) => relocations.push(relocation),
                Err(error) => moved.stuck.push(Stuck {
                    key,
                    reason: error.message().to_owned(),
                }),
            }
        }
        let at_once = match self.has_transactions().await? {
            true => BYTES_AT_ONCE,
            false => BYTES_OF_INTENT,
        };
        while !relocations.is_empty() {
            let some = take_some(&mut relocations, at_once);
            self.relocate(&shape, some, holds, &mut moved).await?;
        }
        Ok(moved)
    }

    async fn relocation(
        &self,
        former: &dyn Former,
        shape: &TableShape,
        row: Item,
    ) -> Result<Relocation, Error> {
        let renewed = former.renew(row.clone())?;
        self.could_hold(&shape.definition().table_name, &renewed).await?;
        Ok(Relocation {
            from: shape.key_in(&row),
            before: Arc::new(row),
            to: shape.key_in(&renewed),
            after: Arc::new(renewed),
        })
    }

    /// Moves rows together; if one of them conflicts with a client or is refused, one by one.
    async fn relocate(
        &self,
        shape: &TableShape,
        rows: Vec<Relocation>,
        holds: &TransactWriteItem,
        moved: &mut MovedPage,
    ) -> Result<(), Error> {
        if let Tried::Done = self.try_moves(shape, &rows, holds).await? {
            moved.moved += rows.len() as u64;
            moved.cost += rows.iter().map(cost).sum::<u64>();
            return Ok(());
        }
        for row in rows {
            match self.relocate_one(shape, &row, holds).await? {
                Outcome::Moved => {
                    moved.moved += 1;
                    moved.cost += cost(&row);
                }
                Outcome::Gone => {}
                Outcome::Stuck(reason) => moved.stuck.push(Stuck {
                    key: row.from,
                    reason,
                }),
            }
        }
        Ok(())
    }

    async fn relocate_one(
        &self,
        shape: &TableShape,
        row: &Relocation,
        holds: &TransactWriteItem,
    ) -> Result<Outcome, Error> {
        let table = &shape.definition().table_name;
        let (from, to) = (RowId::new(table, &row.from), RowId::new(table, &row.to));
        for attempt in 0..TRIES_MAX {
            pause_after(fastrand::usize(0..=attempt)).await;
            match self.try_moves(shape, std::slice::from_ref(row), holds).await? {
                Tried::Done => return Ok(Outcome::Moved),
                Tried::Refused(reason) => return Ok(Outcome::Stuck(reason)),
                Tried::Overtaken => {}
            }
            // The former place first: a row that has left it is in its own.
            let lying = self.get_rows(&[(from.clone(), row.from.clone())]).await?;
            match lying.get(&from) {
                None => return Ok(Outcome::Gone),
                // No gateway writes it there.
                Some(lying) if *lying != *row.before => return Ok(Outcome::Stuck(CONTENDED.to_owned())),
                Some(_) => {}
            }
            // Without transactions, a row is in both places while a write moves it.
            if !self.has_transactions().await? && self.is_locked(table, &row.to).await? {
                continue;
            }
            let taken = self.get_rows(&[(to.clone(), row.to.clone())]).await?;
            let lying = self.get_rows(&[(from.clone(), row.from.clone())]).await?;
            if taken.contains_key(&to) && lying.contains_key(&from) {
                return Ok(Outcome::Stuck(TAKEN.to_owned()));
            }
        }
        Ok(Outcome::Stuck(CONTENDED.to_owned()))
    }

    async fn try_moves(
        &self,
        shape: &TableShape,
        rows: &[Relocation],
        holds: &TransactWriteItem,
    ) -> Result<Tried, Error> {
        match self.send_moves(shape, rows, holds).await {
            Ok(Sent::Done(_)) => Ok(Tried::Done),
            Ok(Sent::Overtaken(_)) => Ok(Tried::Overtaken),
            Err(error) if error.kind() == ErrorKind::Validation => {
                Ok(Tried::Refused(error.message().to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    async fn send_moves(
        &self,
        shape: &TableShape,
        rows: &[Relocation],
        holds: &TransactWriteItem,
    ) -> Result<Sent, Error> {
        let parts = rows.iter().flat_map(|row| {
            let part = |key: &Item, old: Option<&Arc<Item>>, becomes: Becomes| Part {
                table: shape.definition().table_name.clone(),
                key: key.clone(),
                hash: shape.hash().to_owned(),
                uses: old.iter().flat_map(|old| old.keys().cloned()).collect(),
                old: old.cloned(),
                becomes,
                position: None,
            };
            [
                part(&row.from, Some(&row.before), Becomes::Removed),
                part(&row.to, None, Becomes::Replaced(Arc::clone(&row.after))),
            ]
        });
        self.send(Commit {
            parts: parts.collect(),
            own: vec![holds.clone()],
            ..Commit::default()
        })
        .await
    }

    /// Finds the rows in former places among the next `at_most` rows of a table, from `from` on.
    pub(crate) async fn rows_to_move(
        &self,
        table: &str,
        from: Option<&[u8]>,
        at_most: usize,
    ) -> Result<Remaining, Error> {
        let _writing = self.turn().await?;
        let page = self.page(table, from, at_most).await?;
        let shape = self.shapes.of(&*self.database, table).await?;
        let former = self.hook().and_then(|hook| hook.former(table));
        let is_former = |row: &&Item| former.as_ref().is_some_and(|former| former.is_former(row));
        Ok(Remaining {
            looked_at: page.rows.len() as u64,
            keys: page
                .rows
                .iter()
                .filter(is_former)
                .map(|row| shape.key_in(row))
                .collect(),
            next: page.next,
        })
    }
}

/// The outcome for a row.
enum Outcome {
    Moved,
    /// A client was faster.
    Gone,
    Stuck(String),
}

/// The result of moving rows together.
enum Tried {
    Done,
    Overtaken,
    /// The endpoint refuses them, or they do not fit into the plan of an intent.
    Refused(String),
}

/// The first rows that fit into one transaction, or one intent.
fn take_some(rows: &mut Vec<Relocation>, bytes_max: usize) -> Vec<Relocation> {
    let mut bytes = 0;
    let mut fit = 0;
    for row in rows.iter().take(ROWS_AT_ONCE) {
        bytes += size::of_item(&row.before) + size::of_item(&row.after);
        if fit > 0 && bytes > bytes_max {
            break;
        }
        fit += 1;
    }
    let rest = rows.split_off(fit);
    std::mem::replace(rows, rest)
}

/// The cost of a row, in rows of one write unit.
fn cost(row: &Relocation) -> u64 {
    size::of_item(&row.after).div_ceil(UNIT_BYTES).max(1) as u64
}
