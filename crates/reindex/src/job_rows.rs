//! Reindexes as rows, and the row of a table that says which one works on it.

use trestle_api::Error;
use trestle_item::{AttributeValue, Item};

use crate::state_table::{Conditional, StateTable, from_json, key, number, text, to_json};
use crate::{Reindex, ReindexError, ReindexState};

const JOBS: &str = "jobs";
const TABLES: &str = "tables";

/// A reindex and the revision of its row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredReindex {
    pub(crate) job: Reindex,
    revision: u64,
}

/// Why a table cannot be taken.
pub(crate) enum TableTaken {
    /// Another reindex works on it.
    By(String),
    /// Its rows were touched with a later version.
    LaterVersion(u64),
}

impl StoredReindex {
    fn read(row: &Item) -> Result<Self, Error> {
        let revision = number(row, "revision").ok_or_else(|| Error::defect("a reindex has no revision"))?;
        Ok(Self {
            job: from_json(row, "job")?,
            revision,
        })
    }
}

fn row(job: &Reindex, revision: u64) -> Result<Item, Error> {
    let mut row = key(JOBS, &job.name);
    row.insert("job", to_json(job)?);
    row.insert("revision", revision);
    Ok(row)
}

impl StateTable {
    /// Stores a new reindex; `false` if there is one of its name.
    pub(crate) async fn add_job(&self, job: &Reindex) -> Result<bool, Error> {
        self.insert(row(job, 1)?).await
    }

    /// A reindex.
    pub(crate) async fn job(&self, name: &str) -> Result<StoredReindex, ReindexError> {
        let unknown = || ReindexError::Unknown(name.to_owned());
        let row = self.get(JOBS, name).await?.ok_or_else(unknown)?;
        Ok(StoredReindex::read(&row)?)
    }

    /// All of them, by name.
    pub(crate) async fn jobs(&self) -> Result<Vec<Reindex>, Error> {
        let rows = self.all(JOBS).await?;
        rows.iter()
            .map(|row| StoredReindex::read(row).map(|stored| stored.job))
            .collect()
    }

    /// Forgets a reindex that never began.
    pub(crate) async fn remove_job(&self, name: &str) -> Result<(), Error> {
        self.delete(JOBS, name).await
    }

    /// Changes a reindex. `change` looks at it as it is, again if it was changed in the meantime, and says whether there is
    /// something to store.
    pub(crate) async fn change_job(
        &self,
        name: &str,
        mut change: impl FnMut(&mut Reindex) -> Result<bool, ReindexError>,
    ) -> Result<Reindex, ReindexError> {
        loop {
            let StoredReindex { mut job, revision } = self.job(name).await?;
            if !change(&mut job)? {
                return Ok(job);
            }
            if self.store_job(&job, revision).await? {
                return Ok(job);
            }
        }
    }

    /// Takes a table for a reindex.
    pub(crate) async fn take_table(&self, job: &Reindex) -> Result<Result<(), TableTaken>, Error> {
        let mut values = Item::from([(":job", job.name.as_str())]);
        let mut update = "SET #job = :job".to_owned();
        let mut condition = "attribute_not_exists(#job)".to_owned();
        let mut names = vec!["job"];
        if let Some(version) = job.version() {
            values.insert(":version", version);
            update += ", #version = :version";
            condition += " AND (attribute_not_exists(#version) OR #version <= :version)";
            names.push("version");
        }
        let change = Conditional {
            names: &names,
            values,
            update: &update,
            condition: &condition,
        };
        if self.update(key(TABLES, &job.table), change).await?.is_some() {
            return Ok(Ok(()));
        }
        let row = self.get(TABLES, &job.table).await?.unwrap_or_default();
        Ok(Err(match (text(&row, "job"), number(&row, "version")) {
            (Some(other), _) => TableTaken::By(other.to_owned()),
            (None, Some(version)) => TableTaken::LaterVersion(version),
            // It was given back in between.
            (None, None) => TableTaken::By("that has just ended".to_owned()),
        }))
    }

    /// Takes a table again for a reindex that has ended and goes on; `false` if another one works on it.
    pub(crate) async fn retake_table(&self, job: &Reindex) -> Result<bool, Error> {
        let change = Conditional {
            names: &["job"],
            values: Item::from([(":job", job.name.as_str())]),
            update: "SET #job = :job",
            condition: "attribute_not_exists(#job) OR #job = :job",
        };
        Ok(self.update(key(TABLES, &job.table), change).await?.is_some())
    }

    /// Gives a table back, if this reindex has it.
    pub(crate) async fn give_table_back(&self, job: &Reindex) -> Result<(), Error> {
        let change = Conditional {
            names: &["job"],
            values: Item::from([(":job", job.name.as_str())]),
            update: "REMOVE #job",
            condition: "#job = :job",
        };
        self.update(key(TABLES, &job.table), change).await.map(drop)
    }

    /// Ends a reindex all of whose work is done, and gives its table back. `false` if it was changed since it was read: work
    /// may have been added.
    pub(crate) async fn end_job(&self, seen: &StoredReindex, now: u64) -> Result<bool, Error> {
        let ended = Reindex {
            state: ReindexState::Done,
            ended_at: Some(now),
            ..seen.job.clone()
        };
        let is_stored = self.store_job(&ended, seen.revision).await?;
        if is_stored {
            self.give_table_back(&ended).await?;
        }
        Ok(is_stored)
    }

    /// Stores a reindex if its row still has this revision.
    async fn store_job(&self, job: &Reindex, revision: u64) -> Result<bool, Error> {
        let change = Conditional {
            names: &["job", "revision"],
            values: Item::from([
                (":job", AttributeValue::from(to_json(job)?)),
                (":next", (revision + 1).into()),
                (":revision", revision.into()),
            ]),
            update: "SET #job = :job, #revision = :next",
            condition: "#revision = :revision",
        };
        Ok(self.update(key(JOBS, &job.name), change).await?.is_some())
    }
}
