//! Rows that come between a look for rows and the commit that rests on it.
//!
//! A transaction checks the rows that were found. It cannot check that there is no other. So the same rows are looked for once more
//! after the commit, before the client has its answer. A row that came meanwhile is written again as it is, and what follows from it is
//! computed from the rows as they are then. A row that comes later needs no such look: its own write reads what the commit has written.

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

/// A look for rows, and what it found.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) query: RowQuery,
    pub(crate) found: BTreeSet<RowId>,
}

impl Endpoint {
    /// Sends a commit, and looks again for the rows that it rests on.
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
        // A write whose answer was lost may have been carried out.
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
            // The write may look for rows itself.
            match Box::pin(self.write(hook, again)).await {
                Ok(_) => {}
                // It is gone, or is a row that only follows from others.
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

/// A write that changes nothing of a row that is there.
fn written_again(table: &str, key: Item, hash: &str) -> Write {
    Write {
        table_name: table.to_owned(),
        action: Action::Update(key, None),
        condition: Some(Condition::Exists(Path::top(hash))),
        show_on_failure: false,
    }
}
