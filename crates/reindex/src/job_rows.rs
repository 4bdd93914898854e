//! Reindexes as rows, and the row that records which reindex holds a table.

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

/// Why a table cannot be acquired.
pub(crate) enum TableTaken {
    /// Another reindex holds it.
    By(String),
    /// Its rows were touched with a later version.
    LaterVersion(u64),
}

impl StoredReindex {
    /// A revision, which distinguishes the row from its earlier and later states.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

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
    /// Stores a new reindex; `false` if there is one with its name.
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
        let (mut jobs, mut next) = self.jobs_page(None, None).await?;
        while let Some(after) = next {
            let (more, further) = self.jobs_page(Some(&after), None).await?;
            jobs.extend(more);
            next = further;
        }
        Ok(jobs)
    }

    /// Some of them, after a name, and the name after which the next ones are.
    pub(crate) async fn jobs_page(
        &self,
        after: Option<&str>,
        limit: Option<u32>,
    ) -> Result<(Vec<Reindex>, Option<String>), Error> {
        let (rows, next) = self.page(JOBS, after, limit).await?;
        let jobs = rows
            .iter()
            .map(|row| StoredReindex::read(row).map(|stored| stored.job));
        Ok((jobs.collect::<Result<_, Error>>()?, next))
    }

    /// Those that hold a table, by table.
    pub(crate) async fn jobs_on_tables(&self) -> Result<Vec<Reindex>, ReindexError> {
        let mut jobs = Vec::new();
        for row in self.all(TABLES).await? {
            let Some(name) = text(&row, "job") else {
                continue;
            };
            match self.job(name).await {
                Ok(stored) => jobs.push(stored.job),
                // It was refused after it had acquired the table, and has been removed.
                Err(ReindexError::Unknown(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(jobs)
    }

    /// Removes a reindex that never began.
    pub(crate) async fn remove_job(&self, name: &str) -> Result<(), Error> {
        self.delete(JOBS, name).await
    }

    /// Changes a reindex. `change` receives its present state, again if it was changed meanwhile, and returns
    /// whether there is something to store.
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

    /// Acquires a table for a reindex. `id` distinguishes the table from earlier ones with its name, whose
    /// versions do not count.
    pub(crate) async fn take_table(
        &self,
        job: &Reindex,
        id: Option<&str>,
    ) -> Result<Result<(), TableTaken>, Error> {
        let mut values = Item::from([(":job", job.name.as_str())]);
        let mut update = "SET #job = :job".to_owned();
        let mut condition = "attribute_not_exists(#job)".to_owned();
        let mut names = vec!["job"];
        if let Some(version) = job.version() {
            values.insert(":version", version);
            update += ", #version = :version";
            names.push("version");
            let mut is_later = "attribute_not_exists(#version) OR #version <= :version".to_owned();
            if let Some(id) = id {
                values.insert(":table_id", id);
                update += ", #table_id = :table_id";
                names.push("table_id");
                is_later += " OR (attribute_exists(#table_id) AND #table_id <> :table_id)";
            }
            condition += &format!(" AND ({is_later})");
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
            // It was released in between.
            (None, None) => TableTaken::By("that has just ended".to_owned()),
        }))
    }

    /// Acquires a table again for a finished reindex that continues; `false` if another one holds it.
    pub(crate) async fn retake_table(&self, job: &Reindex) -> Result<bool, Error> {
        let change = Conditional {
            names: &["job"],
            values: Item::from([(":job", job.name.as_str())]),
            update: "SET #job = :job",
            condition: "attribute_not_exists(#job) OR #job = :job",
        };
        Ok(self.update(key(TABLES, &job.table), change).await?.is_some())
    }

    /// Releases a table, if this reindex holds it.
    pub(crate) async fn give_table_back(&self, job: &Reindex) -> Result<(), Error> {
        let change = Conditional {
            names: &["job"],
            values: Item::from([(":job", job.name.as_str())]),
            update: "REMOVE #job",
            condition: "#job = :job",
        };
        self.update(key(TABLES, &job.table), change).await.map(drop)
    }

    /// Ends a reindex whose work is all done, and releases its table. `false` if it has changed since it was
    /// read: work may have been added.
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
