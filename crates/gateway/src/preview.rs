//! Computes what a write would change, without changing it.

use trestle_api::{Error, ErrorKind, Request, table_name};
use trestle_engine::PreviewedRow;
use trestle_item::Item;
use trestle_writes::Write;

use crate::Gateway;
use crate::endpoint::Endpoint;
use crate::part::{Becomes, Part};
use crate::write::Asked;

impl Gateway {
    /// The rows that a PutItem, UpdateItem or DeleteItem on a modelled table would change: its own row first,
    /// then the companions. A write that would be refused is refused with the same error. Nothing is written.
    pub async fn preview(&self, request: Request) -> Result<Vec<PreviewedRow>, Error> {
        self.models().admit(&request)?;
        self.endpoint().preview(Write::of_previewed(request)?).await
    }
}

impl Endpoint {
    async fn preview(&self, write: Write) -> Result<Vec<PreviewedRow>, Error> {
        let _writing = self.writing.read().await;
        let table = table_name(&write.table_name).to_owned();
        let Some(hook) = self.hook().filter(|hook| hook.covers(&table)) else {
            return Err(Error::new(
                ErrorKind::ResourceNotFound,
                format!("no model has table {table}, so that nothing follows from its rows"),
            ));
        };
        let (commit, _) = self.compute(&*hook, &Asked::one(write), self.clock.now()).await?;
        Ok(commit.parts.into_iter().filter(Part::writes).map(row).collect())
    }
}

fn row(part: Part) -> PreviewedRow {
    PreviewedRow {
        table: part.table,
        key: part.key,
        before: part.old.as_deref().cloned(),
        after: match part.becomes {
            Becomes::Replaced(new) | Becomes::Changed(new) => Some(Item::clone(&new)),
            Becomes::Removed | Becomes::Unchanged => None,
        },
    }
}
