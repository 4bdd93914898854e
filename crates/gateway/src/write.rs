//! Writes on modelled tables: read the rows on which the write depends, compute its result, and send one request
//! that also checks that these rows are unchanged. If another write has changed one of them, all of it is repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::{join_all, try_join_all};
use trestle_api::{
    CancellationCode, CancellationReason, ConsumedCapacity, Error, ReturnConsumedCapacity, TransactWriteItem,
    pause_after, table_name,
};
use trestle_env::Timestamp;
use trestle_hook::{By, Change, Companion, Hook, Refused, Verdict};
use trestle_item::Item;
use trestle_writes::{Action, Write, canceled_by, reason_of, with_key};

use crate::commit::{Commit, Sent, WhyAgain};
use crate::endpoint::Endpoint;
use crate::known_rows::KnownRows;
use crate::limits;
use crate::part::{Becomes, Part};
use crate::relocate::relocated;
use crate::table_shape::RowId;
use crate::token::Token;

/// How often a write is tried when other writes conflict. Each time, one of them succeeded.
pub(crate) const ATTEMPTS_MAX: usize = 64;

/// A client's write of one or several items.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The writes of modelled tables, with their positions in the request.
    pub(crate) writes: Vec<(usize, Write)>,
    /// The parts of a transaction in other tables.
    pub(crate) others: Vec<(usize, TransactWriteItem)>,
    /// How many items a transaction has; `None` for a write of a single item.
    pub(crate) items: Option<usize>,
    /// How much of the cost to report.
    pub(crate) capacity: Option<ReturnConsumedCapacity>,
    /// Whether the response shows the whole item, so that all of it must be unchanged.
    pub(crate) shows_item: bool,
    /// Identifies a transaction, so that repeating it has no effect.
    pub(crate) token: Option<Token>,
    /// The origin of the write.
    pub(crate) by: By,
}

impl Asked {
    /// The write of a single item.
    pub(crate) fn one(write: Write) -> Self {
        Asked {
            writes: vec![(0, write)],
            others: Vec::new(),
            items: None,
            capacity: None,
            shows_item: false,
            token: None,
            by: By::Client,
        }
    }
}

/// A row before and after a write.
pub(crate) type RowImages = (Option<Arc<Item>>, Option<Arc<Item>>);

/// The result of a write.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The rows before and after, in the order of the writes.
    pub(crate) rows: Vec<RowImages>,
    /// The cost.
    pub(crate) capacity: Vec<ConsumedCapacity>,
}

/// A write with its key.
#[derive(Debug)]
struct Placed {
    position: usize,
    write: Write,
    table: String,
    key: Item,
    hash: String,
    id: RowId,
}

impl Endpoint {
    /// Carries out a write under the models in force.
    pub(crate) async fn write(&self, hook: &Arc<dyn Hook>, asked: Asked) -> Result<Written, Error> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        let mut why = WhyAgain::default();
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                // A random pause, so that the same writes do not conflict again.
                pause_after(fastrand::usize(0..=attempt)).await;
            }
            let now = self.clock.now();
            if let Some(token) = &asked.token
                && token.is_done(&*self.database, now).await?
            {
                return Ok(Written::default());
            }
            let (commit, rows) = self.compute(&**hook, &asked, now).await?;
            match self.send(commit).await? {
                Sent::Done(capacity) => return Ok(Written { rows, capacity }),
                Sent::Overtaken(again) => why = again,
            }
        }
        Err(match asked.items {
            None if why.is_throttled => limits::throttled(),
            None => Error::transaction_conflict(),
            Some(items) => contended(items, &why),
        })
    }

    /// Executes several independent writes: in parallel, except that writes that searched for rows follow one
    /// after another. If one is refused in the present state of the rows, the others may make it valid: then
    /// they are executed in one transaction, or refused together.
    pub(crate) async fn write_each(
        &self,
        hook: &Arc<dyn Hook>,
        all: Vec<Asked>,
    ) -> Result<Vec<Result<Written, Error>>, Error> {
        let now = self.clock.now();
        let mut ids = BTreeSet::new();
        for asked in &all {
            for placed in self.place(&**hook, asked, now).await? {
                if !ids.insert(placed.id) {
                    return Err(Error::validation(
                        "Provided list of item keys contains duplicates",
                    ));
                }
            }
        }
        let computed = all.iter().map(|asked| self.compute(&**hook, asked, now));
        let computed: Vec<_> = match try_join_all(computed).await {
            Ok(computed) => computed,
            Err(refused) if all.len() == 1 => return Err(refused),
            Err(_) => {
                let count = all.len();
                let mut written = vec![self.write(hook, together(all)).await?];
                written.resize_with(count, Written::default);
                return Ok(written.into_iter().map(Ok).collect());
            }
        };
        let is_alone = all.len() == 1;
        let sent = all
            .into_iter()
            .zip(computed)
            .map(|(asked, (commit, rows))| async move {
                // It may have looked for rows that the other writes of this request add.
                if !commit.looks.is_empty() && !is_alone {
                    return Err(asked);
                }
                self.writes.fetch_add(1, Ordering::Relaxed);
                match self.send(commit).await {
                    Ok(Sent::Done(capacity)) => Ok(Ok(Written { rows, capacity })),
                    Ok(Sent::Overtaken(_)) => Err(asked),
                    Err(error) => Ok(Err(error)),
                }
            });
        let mut written = Vec::new();
        for sent in join_all(sent).await {
            written.push(match sent {
                Ok(done) => done,
                Err(asked) => self.write(hook, asked).await,
            });
        }
        Ok(written)
    }

    /// Reads the rows once, and computes what is written.
    pub(crate) async fn compute(
        &self,
        hook: &dyn Hook,
        asked: &Asked,
        now: Timestamp,
    ) -> Result<(Commit, Vec<RowImages>), Error> {
        let placed = self.place(hook, asked, now).await?;
        let mut known = KnownRows::default();
        let keys = placed
            .iter()
            .map(|placed| (placed.id.clone(), placed.key.clone()));
        self.read_rows(keys.collect(), &mut known).await?;
        let rows = results(&placed, &known, asked.items)?;
        let changes = changes(&placed, &rows, now, asked.by);
        let (positions, changes): (Vec<usize>, Vec<Change<'_>>) = changes.into_iter().unzip();
        let verdict = match changes.is_empty() {
            true => Verdict::default(),
            false => {
                let asking = self.settle(&mut known, |known| {
                    Ok(hook
                        .change(&changes, known)
                        .map_err(|refused| (refused.at, refused)))
                });
                asking.await?.map_err(|(at, refused)| {
                    let position = at.and_then(|at| positions.get(at)).and_then(|at| placed.get(*at));
                    refusal(position.map(|placed| placed.position), refused, asked.items)
                })?
            }
        };
        drop(changes);
        let mut finals = rows.clone();
        for (at, becomes) in positions.iter().zip(verdict.rows) {
            if let Some((_, new)) = finals.get_mut(*at) {
                *new = becomes.apply(new.take());
            }
        }
        let mut parts = Vec::new();
        for (placed, (old, new)) in placed.iter().zip(&finals) {
            parts.push(part_of(hook, placed, old, new, asked.shows_item));
        }
        let roots: BTreeSet<RowId> = placed.iter().map(|placed| placed.id.clone()).collect();
        self.follow(Some(hook), verdict.companions, &mut known, &roots, &mut parts)
            .await?;
        // A delete of a row that does not exist has no effect, and depends on nothing.
        parts.retain(|part| {
            part.writes() || part.old.is_some() || asked.items.is_some() || part.position.is_none()
        });
        let parts = relocated(parts, &known);
        let commit = Commit {
            looks: known.looks(&parts),
            parts,
            others: asked.others.clone(),
            capacity: asked.capacity,
            items: asked.items,
            own: asked.token.iter().map(|token| token.part(now)).collect(),
        };
        Ok((commit, finals))
    }

    /// The id of the row of a write of a single item.
    pub(crate) async fn id_of_one(&self, hook: &dyn Hook, asked: &Asked) -> Result<RowId, Error> {
        let mut placed = self.place(hook, asked, self.clock.now()).await?;
        let one = placed.pop().map(|placed| placed.id);
        one.ok_or_else(|| Error::defect("a write of a single item has none"))
    }

    /// Looks up tables and keys.
    async fn place(&self, hook: &dyn Hook, asked: &Asked, now: Timestamp) -> Result<Vec<Placed>, Error> {
        let mut all: Vec<Placed> = Vec::with_capacity(asked.writes.len());
        for (position, write) in &asked.writes {
            let table = table_name(&write.table_name).to_owned();
            let shape = self.shapes.of(&*self.database, &table).await?;
            let mut write = write.clone();
            let given = match &mut write.action {
                Action::Put(item) | Action::Insert(item) => hook.place(&table, item, now).map(|edits| {
                    edits.apply(item);
                    shape.key_in(item)
                }),
                Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => {
                    hook.key(&table, key).inspect(|found| key.clone_from(found))
                }
            };
            let key = given.map_err(|error| refusal(Some(*position), error.into(), asked.items))?;
            let id = RowId::new(&table, &key);
            if all.iter().any(|other| other.id == id) {
                return Err(Error::validation(
                    "Transaction request cannot include multiple operations on one item",
                ));
            }
            all.push(Placed {
                position: *position,
                write,
                hash: shape.hash().to_owned(),
                table,
                key,
                id,
            });
        }
        Ok(all)
    }

    /// Adds the companions, and the rows that were only read.
    pub(crate) async fn follow(
        &self,
        hook: Option<&dyn Hook>,
        companions: Vec<Companion>,
        known: &mut KnownRows,
        roots: &BTreeSet<RowId>,
        parts: &mut Vec<Part>,
    ) -> Result<(), Error> {
        let mut followed: BTreeMap<RowId, Companion> = BTreeMap::new();
        for companion in companions {
            followed.insert(RowId::new(&companion.table, &companion.key), companion);
        }
        let unread = followed.iter().filter(|(id, _)| known.row(id).is_none());
        let unread = unread.map(|(id, companion)| (id.clone(), companion.key.clone()));
        self.read_rows(unread.collect(), known).await?;
        // The removal of a row that does not exist is no companion. If the row was read, it is checked like
        // any other.
        followed.retain(|id, companion| {
            companion.item.is_some() || known.row(id).is_some_and(|known| known.item.is_some())
        });
        for (id, companion) in &followed {
            let shape = self.shapes.of(&*self.database, &id.table).await?;
            let old = known.row(id).and_then(|known| known.item.clone());
            let new = companion
                .item
                .as_ref()
                .map(|item| with_key(Arc::clone(item), &companion.key));
            if let Some(new) = &new {
                trestle_writes::check_limits(new, trestle_item::size::of_item(new))?;
            }
            let follows = Part {
                table: id.table.clone(),
                key: companion.key.clone(),
                hash: shape.hash().to_owned(),
                uses: uses(hook, &id.table, old.as_deref()),
                becomes: becomes(&old, &new, false),
                old,
                position: None,
            };
            let of_request = parts.iter_mut().filter(|part| part.position.is_some());
            match of_request.into_iter().find(|part| part.is_of(&follows)) {
                None => parts.push(follows),
                // The request only checks the row, or removes a row that does not exist.
                Some(part) if !part.writes() => {
                    part.becomes = follows.becomes;
                    part.uses.extend(follows.uses);
                }
                Some(_) => {
                    return Err(Error::defect(
                        "a row of the request was also named as one that follows",
                    ));
                }
            }
        }
        for (id, row) in known.used() {
            if roots.contains(&id) || followed.contains_key(&id) {
                continue;
            }
            let shape = self.shapes.of(&*self.database, &id.table).await?;
            parts.push(Part {
                hash: shape.hash().to_owned(),
                uses: uses(hook, &id.table, row.item.as_deref()),
                table: id.table,
                key: row.key,
                old: row.item,
                becomes: Becomes::Unchanged,
                position: None,
            });
        }
        Ok(())
    }
}

/// Combines several writes of one item each into one write of several items.
fn together(all: Vec<Asked>) -> Asked {
    let capacity = all.first().and_then(|asked| asked.capacity);
    let writes = all.into_iter().flat_map(|asked| asked.writes);
    Asked {
        writes: writes.enumerate().map(|(at, (_, write))| (at, write)).collect(),
        others: Vec::new(),
        items: None,
        capacity,
        shows_item: false,
        token: None,
        by: By::Client,
    }
}

/// The results of the writes: condition, then new item. In a transaction, all conditions are checked.
fn results(placed: &[Placed], known: &KnownRows, items: Option<usize>) -> Result<Vec<RowImages>, Error> {
    let mut rows = Vec::with_capacity(placed.len());
    let mut reasons = vec![CancellationReason::none(); items.unwrap_or_default()];
    let mut is_canceled = false;
    for placed in placed {
        let old = known.row(&placed.id).and_then(|known| known.item.clone());
        let found = old.as_deref();
        let result = placed
            .write
            .holds(found)
            .and_then(|()| placed.write.result(found));
        match result {
            Ok(new) => rows.push((old, new.map(Arc::new))),
            Err(error) if items.is_none() => return Err(error),
            Err(error) => {
                is_canceled = true;
                if let Some(slot) = reasons.get_mut(placed.position) {
                    *slot = reason_of(error)?;
                }
            }
        }
    }
    match is_canceled {
        true => Err(Error::transaction_canceled(reasons)),
        false => Ok(rows),
    }
}

/// The changes for the hook, each with its position among the writes.
fn changes<'r>(
    placed: &'r [Placed],
    rows: &'r [RowImages],
    now: Timestamp,
    by: By,
) -> Vec<(usize, Change<'r>)> {
    let all = placed.iter().zip(rows).enumerate();
    let asked = all.filter(|(_, (placed, (old, new)))| {
        !matches!(placed.write.action, Action::Check(_)) && (old.is_some() || new.is_some())
    });
    asked
        .map(|(at, (placed, (old, new)))| {
            let change = Change {
                table: &placed.table,
                old: old.as_ref(),
                new: new.as_ref(),
                now,
                by,
            };
            (at, change)
        })
        .collect()
}

fn part_of(
    hook: &dyn Hook,
    placed: &Placed,
    old: &Option<Arc<Item>>,
    new: &Option<Arc<Item>>,
    shows_item: bool,
) -> Part {
    let is_check = matches!(placed.write.action, Action::Check(_));
    let replaces = matches!(placed.write.action, Action::Put(_) | Action::Insert(_));
    let mut uses = match is_check {
        // Models do not apply to a row that is only checked.
        true => BTreeSet::new(),
        false => uses(Some(hook), &placed.table, old.as_deref()),
    };
    uses.extend(placed.write.mentioned().map(str::to_owned));
    if shows_item {
        uses.extend(old.iter().flat_map(|old| old.keys().cloned()));
    }
    Part {
        table: placed.table.clone(),
        key: placed.key.clone(),
        hash: placed.hash.clone(),
        becomes: match is_check {
            true => Becomes::Unchanged,
            false => becomes(old, new, replaces),
        },
        old: old.clone(),
        uses,
        position: Some(placed.position),
    }
}

fn becomes(old: &Option<Arc<Item>>, new: &Option<Arc<Item>>, replaces: bool) -> Becomes {
    match (old, new) {
        (old, new) if old == new => Becomes::Unchanged,
        (_, None) => Becomes::Removed,
        (Some(_), Some(new)) if !replaces => Becomes::Changed(Arc::clone(new)),
        (_, Some(new)) => Becomes::Replaced(Arc::clone(new)),
    }
}

/// The attributes of a row that the models use.
fn uses(hook: Option<&dyn Hook>, table: &str, row: Option<&Item>) -> BTreeSet<String> {
    let Some(row) = row else { return BTreeSet::new() };
    match hook.and_then(|hook| hook.uses(table, row)) {
        Some(names) => names.into_iter().collect(),
        None => row.keys().cloned().collect(),
    }
}

/// A refusal as the error of the request.
fn refusal(position: Option<usize>, refused: Refused, items: Option<usize>) -> Error {
    match items {
        Some(items) => canceled_by(refused.error, position, items),
        None => refused.error,
    }
}

/// The error of a transaction that conflicted with other writes at every attempt, or that the endpoint throttled.
fn contended(items: usize, why: &WhyAgain) -> Error {
    let mut reasons = vec![CancellationReason::none(); items];
    let reason = || match why.is_throttled {
        true => limits::throttled_part(),
        false => CancellationReason::new(
            CancellationCode::TransactionConflict,
            "Transaction is ongoing for the item",
        ),
    };
    for position in &why.positions {
        if let Some(slot) = reasons.get_mut(*position) {
            *slot = reason();
        }
    }
    if let Some(first) = reasons.first_mut().filter(|_| why.positions.is_empty()) {
        *first = reason();
    }
    Error::transaction_canceled(reasons)
}
