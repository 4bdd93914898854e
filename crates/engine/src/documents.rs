//! Named byte strings that are stored beside the data, and the hook that they describe: both change in one
//! commit.

use std::sync::Arc;

use trestle_api::{Error, ListTablesOutput, Response};
use trestle_hook::Hook;
use trestle_store::{Direction, Snapshot, Space};

use crate::range::Range;
use crate::shared::internal;
use crate::transaction::Transaction;
use crate::{Engine, meta};

/// A document's name may have this many bytes.
const NAME_BYTES_MAX: usize = 255;

impl Engine {
    /// Stores documents (`None` removes one) and puts `hook`, or none, into effect, in one commit and without
    /// a restart. Requests that were already accepted use the new hook, too.
    ///
    /// Documents are stored; the hook is not: the code that opens the database reads [`Engine::documents`]
    /// and installs the hook again.
    pub fn install(
        &self,
        documents: Vec<(String, Option<Vec<u8>>)>,
        hook: Option<Arc<dyn Hook>>,
    ) -> Result<(), Error> {
        self.store(documents, move |transaction| transaction.install(hook))
    }

    /// Stores documents (`None` removes one). The installed hook stays.
    pub fn store_documents(&self, documents: Vec<(String, Option<Vec<u8>>)>) -> Result<(), Error> {
        self.store(documents, |_| {})
    }

    fn store(
        &self,
        documents: Vec<(String, Option<Vec<u8>>)>,
        and: impl FnOnce(&mut Transaction<'_>) + Send + 'static,
    ) -> Result<(), Error> {
        for (name, _) in &documents {
            check_name(name)?;
        }
        let work = move |transaction: &mut Transaction<'_>| {
            for (name, bytes) in documents {
                let key = meta::document_key(&name);
                match bytes {
                    Some(bytes) => transaction.put_row(Space::Meta, key, bytes),
                    None => transaction.delete_row(Space::Meta, key),
                }
            }
            and(transaction);
            // The committer answers with responses; this work has none, so any empty one will do.
            Ok(Response::from(ListTablesOutput::default()))
        };
        self.submit(Box::new(work), None).wait().map(|_| ())
    }

    /// All documents with their names, in the order of the names.
    pub fn documents(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        read(&*self.shared().store.snapshot())
    }
}

/// All documents of a snapshot with their names, in the order of the names.
pub(crate) fn read(snapshot: &dyn Snapshot) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let rows = Range::prefix(meta::DOCUMENT_PREFIX.to_vec());
    rows.rows(snapshot, Space::Meta, Direction::Forward)
        .map(|row| {
            let (key, bytes) = row.map_err(internal)?;
            let name = meta::document_name(&key)
                .ok_or_else(|| internal("the name of a document cannot be read; run `trestle verify`"))?;
            Ok((name.to_owned(), bytes.to_vec()))
        })
        .collect()
}

fn check_name(name: &str) -> Result<(), Error> {
    if (1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(());
    }
    Err(Error::validation(format!(
        "The name of a document has 1 to {NAME_BYTES_MAX} bytes, not {}",
        name.len()
    )))
}
