//! Rows that are added between a search for rows and the commit that depends on it.
//!
//! A transaction checks the rows that were found. It cannot check that there are no others. So the search is
//! repeated after the commit, before the client gets its response. A row that was added meanwhile is written
//! again unchanged, and its effects are computed from the current rows. For a row that is added later this is
//! not necessary: its own write reads the rows of the commit.

use std::collections::BTreeSet;
use std::sync::Arc;

use trestle_api::{Error, ErrorKind};
use trestle_expr::{Condition, Path};
use trestle_hook::{By, Hook, RowQuery};
use trestle_item::Item;
use trestle_writes::{Action, Write};

use crate::commit::{Commit, Sent};
use crate::endpoint::Endpoint;
use crate::known_rows::KnownRows;
use crate::part::Part;
use crate::table_shape::RowId;
use crate::write::Asked;

/// A search for rows, and its result.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) query: RowQuery,
    pub(crate) found: BTreeSet<RowId>,
}

impl Endpoint {
    /// Sends a commit, and repeats the searches on which it depends.
    pub(crate) async fn send_and_look(
        &self,
        hook: &Arc<dyn Hook>,
        mut commit: Commit,
    ) -> Result<Sent, Error> {
        let looked = std::mem::take(&mut commit.looked);
        if looked.is_empty() {
            return self.send(commit).await;
        }
        let own: BTreeSet<RowId> = commit.parts.iter().map(Part::id).collect();
        let sent = self.send(commit).await;
        // A write whose response was lost may have been executed.
        if !matches!(sent, Ok(Sent::Overtaken(_))) {
            for looked in looked {
                if let Err(error) = self.look_again(hook, looked, &own).await {
                    tracing::warn!(
                        "what follows from rows that were written at the same moment was not looked at: {error}; \
                         `trestle model check` finds what is wrong"
                    );
                }
            }
        }
        sent
    }

    async fn look_again(
        &self,
        hook: &Arc<dyn Hook>,
        looked: Looked,
        own: &BTreeSet<RowId>,
    ) -> Result<(), Error> {
        let table = looked.query.table.clone();
        let mut known = KnownRows::default();
        let found = self.read_query(looked.query, &mut known).await?;
        let shape = self.shapes.of(&*self.database, &table).await?;
        let came = found
            .iter()
            .filter(|id| !looked.found.contains(*id) && !own.contains(*id));
        for id in came {
            let Some(row) = known.row(id) else { continue };
            let again = Asked {
                by: By::SecondLook,
                ..Asked::one(written_again(&table, row.key.clone(), shape.hash()))
            };
            // The write may search for rows itself.
            match Box::pin(self.write(hook, again)).await {
                Ok(_) => {}
                // It was removed, or is a row that clients cannot write.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConditionalCheckFailed | ErrorKind::Validation
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A write that leaves an existing row unchanged.
fn written_again(table: &str, key: Item, hash: &str) -> Write {
    Write {
        table_name: table.to_owned(),
        action: Action::Update(key, None),
        condition: Some(Condition::Exists(Path::top(hash))),
        show_on_failure: false,
    }
}
