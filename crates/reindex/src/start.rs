//! Starting a reindex: the options are checked, its work items are stored, and its table is acquired.

use std::sync::Arc;

use trestle_api::{
    DatabaseExt, DescribeTable, Error, ErrorKind, REINDEX_VERSION, TableDescription, is_own_table,
    own_table_refusal,
};
use trestle_item::AttributeValue;

use crate::job::{ReindexBudget, ReindexMode, ReindexScope, ReindexState};
use crate::job_rows::TableTaken;
use crate::plan::{Planned, key_parts, plan};
use crate::{Reindex, ReindexError, Reindexer};

/// The options of a new reindex.
#[derive(Clone, Debug, PartialEq)]
pub struct StartReindex {
    /// Its name; by default the table with the version or the time of the start.
    pub name: Option<String>,
    /// The table.
    pub table: String,
    /// Where rows go.
    pub to: ReindexDestination,
    /// Which rows.
    pub scope: ReindexScope,
    /// The limits of its cost.
    pub budget: ReindexBudget,
    /// The most rows on a page.
    pub page_rows: u32,
    /// Workers in each process.
    pub workers: u32,
    /// How often a row is tried before it becomes a dead letter.
    pub attempts: u32,
    /// Whether it starts although nothing would receive the changes.
    pub force: bool,
}

/// The destination of the rows of a new reindex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReindexDestination {
    /// The table's stream: rows are touched.
    Stream {
        /// The version attribute; `reindexVersion` by default.
        attribute: Option<String>,
        /// The version; by default the time in seconds since 1970.
        version: Option<u64>,
    },
    /// The target of a route.
    Route(String),
}

/// A reindex that was started.
#[derive(Clone, Debug, PartialEq)]
pub struct StartedReindex {
    /// The reindex.
    pub job: Reindex,
    /// Warnings about it.
    pub warnings: Vec<String>,
}

impl StartReindex {
    /// The most rows on a page by default: a segment, which has about 900, is one page.
    pub const PAGE_ROWS: u32 = 1_000;
    /// Workers in each process by default.
    pub const WORKERS: u32 = 4;
    /// Attempts by default.
    pub const ATTEMPTS: u32 = 4;

    /// Touches all rows of a table.
    pub fn touch(table: impl Into<String>) -> Self {
        Self::new(
            table,
            ReindexDestination::Stream {
                attribute: None,
                version: None,
            },
        )
    }

    /// Sends all rows of a table to the target of a route.
    pub fn send(table: impl Into<String>, route: impl Into<String>) -> Self {
        Self::new(table, ReindexDestination::Route(route.into()))
    }

    fn new(table: impl Into<String>, to: ReindexDestination) -> Self {
        Self {
            name: None,
            table: table.into(),
            to,
            scope: ReindexScope::Complete,
            budget: ReindexBudget::default(),
            page_rows: Self::PAGE_ROWS,
            workers: Self::WORKERS,
            attempts: Self::ATTEMPTS,
            force: false,
        }
    }
}

/// The most workers of a process.
const WORKERS_MAX: u32 = 256;
/// The most rows on a page.
const PAGE_ROWS_MAX: u32 = 10_000;
/// The longest name.
const NAME_MAX: usize = 128;

impl Reindexer {
    /// Starts a reindex. A process does its work with [`Reindexer::work`].
    pub async fn start(&self, asked: StartReindex) -> Result<StartedReindex, ReindexError> {
        check_numbers(&asked)?;
        let table = self.described(&asked.table).await?;
        let mut warnings = Vec::new();
        if let Some(unheard) = self.unheard(&asked, &table).await {
            match asked.force {
                true => warnings.push(unheard),
                false => return Err(ReindexError::NothingListens(unheard)),
            }
        }
        let mut job = self.job(asked, &table)?;
        let model = self.setup.host.model(&job.table);
        let planned = plan(&job, model.as_ref())?;
        job.entities = planned.entities.clone();
        // Work items have the keys, because the row of the reindex cannot hold any number of ids.
        if let ReindexScope::Ids(ids) = &mut job.scope {
            ids.clear();
        }
        self.store(&job, &planned, table.table_id.as_deref()).await?;
        job.state = ReindexState::Running;
        Ok(StartedReindex { job, warnings })
    }

    pub(crate) async fn described(&self, table: &str) -> Result<TableDescription, ReindexError> {
        if is_own_table(table) || table == self.setup.state_table {
            return Err(own_table_refusal(table).into());
        }
        let table_name = table.to_owned();
        match self
            .setup
            .database
            .describe_table(DescribeTable { table_name })
            .await
        {
            Ok(described) => Ok(*described.table),
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => {
                Err(ReindexError::refused(format!("there is no table {table}")))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Why nothing would receive the changes.
    async fn unheard(&self, asked: &StartReindex, table: &TableDescription) -> Option<String> {
        match &asked.to {
            ReindexDestination::Stream { .. } => {
                let stream = table.stream_specification.as_ref();
                match stream.is_some_and(|stream| stream.stream_enabled) {
                    true => self.setup.host.touches_unheard(&asked.table),
                    false => Some(format!(
                        "table {} has no stream, so nothing sees that its rows are touched",
                        asked.table
                    )),
                }
            }
            ReindexDestination::Route(route) => {
                let why = match self.setup.host.sender(route) {
                    Ok(sender) => sender.unheard().await,
                    Err(why) => Some(why),
                };
                why.map(|why| format!("rows cannot be sent to route {route}: {why}"))
            }
        }
    }

    fn job(&self, asked: StartReindex, table: &TableDescription) -> Result<Reindex, ReindexError> {
        let now = self.setup.clock.now();
        let mode = self.mode(&asked, now.as_secs())?;
        let key = key_parts(table)?;
        let version_is_key = |mode: &ReindexMode| match mode {
            ReindexMode::Touch { attribute, .. } => key.iter().any(|part| part.name == *attribute),
            ReindexMode::Send { .. } => false,
        };
        if version_is_key(&mode) {
            return Err(ReindexError::refused(
                "a key attribute cannot be the version attribute; choose another one",
            ));
        }
        let number = match mode {
            ReindexMode::Touch { version, .. } => version,
            ReindexMode::Send { .. } => now.as_secs(),
        };
        let name = asked.name.unwrap_or_else(|| format!("{}-{number}", asked.table));
        check_name(&name)?;
        Ok(Reindex {
            name,
            table: asked.table,
            key,
            mode,
            scope: asked.scope,
            budget: asked.budget,
            page_rows: asked.page_rows,
            workers: asked.workers,
            attempts: asked.attempts,
            rows_estimated: table.item_count,
            entities: None,
            started_at: now.as_millis(),
            work: None,
            ended_at: None,
            state: ReindexState::Preparing,
        })
    }

    fn mode(&self, asked: &StartReindex, now: u64) -> Result<ReindexMode, ReindexError> {
        Ok(match &asked.to {
            ReindexDestination::Stream { attribute, version } => ReindexMode::Touch {
                attribute: attribute
                    .clone()
                    .unwrap_or_else(|| self.version_attribute(&asked.table)),
                version: version.unwrap_or(now),
            },
            ReindexDestination::Route(route) => {
                if let Ok(sender) = self.setup.host.sender(route)
                    && sender.table() != asked.table
                {
                    return Err(ReindexError::refused(format!(
                        "route {route} takes rows of table {}, and not of {}",
                        sender.table(),
                        asked.table
                    )));
                }
                ReindexMode::Send { route: route.clone() }
            }
        })
    }

    /// Stores a reindex and its work items. It begins when all of them are stored.
    async fn store(
        &self,
        job: &Reindex,
        planned: &Planned,
        table_id: Option<&str>,
    ) -> Result<(), ReindexError> {
        let name = &job.name;
        if !self.state.add_job(job).await? {
            return Err(ReindexError::refused(format!(
                "there is a reindex {name} already; give this one another name, or look at that one with `trestle reindex \
                 status {name}`"
            )));
        }
        if let Err(error) = self.take_table(job, table_id).await {
            self.state.remove_job(name).await?;
            return Err(error);
        }
        // Another process may have removed a start with this name and other ids while its own process
        // continued.
        if matches!(job.scope, ReindexScope::Ids(_)) {
            self.state.remove_work(name).await?;
        }
        self.prepare(job, planned).await.map(drop)
    }

    /// A reindex that is ready for work. If the process that started it ended too early, the start is
    /// finished here.
    pub(crate) async fn ready(&self, name: &str) -> Result<Reindex, ReindexError> {
        let job = self.state.job(name).await?.job;
        if job.state != ReindexState::Preparing {
            return Ok(job);
        }
        let model = job.entities.as_ref().and_then(|filter| {
            let model = trestle_model::load(&filter.model).model?;
            Some((Arc::new(model), filter.model.clone()))
        });
        if matches!(job.scope, ReindexScope::Ids(_)) {
            // Only the process that started it had all ids, and its caller received no confirmation.
            self.forget_start(&job).await?;
            return Err(ReindexError::refused(format!(
                "the start of reindex {name} was cut off before its ids were stored, so there is no such reindex; start it again"
            )));
        }
        let planned = plan(&job, model.as_ref())?;
        let table = self.described(&job.table).await?;
        self.take_table(&job, table.table_id.as_deref()).await?;
        self.prepare(&job, &planned).await
    }

    /// Removes everything that a start stored, its row last, so that an interrupted removal can be repeated.
    async fn forget_start(&self, job: &Reindex) -> Result<(), ReindexError> {
        self.state.remove_work(&job.name).await?;
        self.state.give_table_back(job).await?;
        Ok(self.state.remove_job(&job.name).await?)
    }

    /// Stores work items, and begins the work. Any number of processes can do so at the same time: the items
    /// depend only on the reindex.
    async fn prepare(&self, job: &Reindex, planned: &Planned) -> Result<Reindex, ReindexError> {
        self.state.add_work(&job.name, &planned.items).await?;
        self.begin_version(job)?;
        let begin = |job: &mut Reindex| {
            let is_preparing = job.state == ReindexState::Preparing;
            if is_preparing {
                job.state = ReindexState::Running;
            }
            Ok(is_preparing)
        };
        self.state.change_job(&job.name, begin).await
    }

    /// Before the first row is touched, so that no row is inserted without the version and missed. A scope of
    /// some rows does not apply to inserted ones.
    fn begin_version(&self, job: &Reindex) -> Result<(), ReindexError> {
        let ReindexMode::Touch { version, .. } = &job.mode else {
            return Ok(());
        };
        let host = &self.setup.host;
        match &job.scope {
            ReindexScope::Complete => host.begin(&job.table, None, *version)?,
            ReindexScope::Entity(entity) if self.declares_version(job, entity) => {
                host.begin(&job.table, Some(entity), *version)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn declares_version(&self, job: &Reindex, entity: &str) -> bool {
        let model = self.setup.host.model(&job.table);
        let version = model.and_then(|(model, _)| Some(model.entity(entity)?.reindex_version()?.to_owned()));
        version.is_some()
    }

    /// The attribute that the table's model declares, or the default.
    fn version_attribute(&self, table: &str) -> String {
        let model = self.setup.host.model(table);
        let declared = model.and_then(|(model, _)| {
            let mut entities = model.entities_of(model.table(table)?);
            entities.find_map(|entity| entity.reindex_version().map(str::to_owned))
        });
        declared.unwrap_or_else(|| REINDEX_VERSION.to_owned())
    }

    async fn take_table(&self, job: &Reindex, table_id: Option<&str>) -> Result<(), ReindexError> {
        let taken = self.state.take_table(job, table_id).await?;
        let Err(TableTaken::By(other)) = &taken else {
            return taken.map_err(|taken| refusal(job, &taken));
        };
        if *other == job.name {
            return Ok(());
        }
        // It may have ended without releasing the table, if its process ended at that moment.
        match self.state.job(other).await {
            Ok(other) if other.job.state.is_over() => self.state.give_table_back(&other.job).await?,
            _ => return taken.map_err(|taken| refusal(job, &taken)),
        }
        self.state
            .take_table(job, table_id)
            .await?
            .map_err(|taken| refusal(job, &taken))
    }
}

fn refusal(job: &Reindex, taken: &TableTaken) -> ReindexError {
    let table = &job.table;
    ReindexError::refused(match taken {
        TableTaken::By(other) => format!(
            "reindex {other} works on table {table}; wait for it (`trestle reindex status {other} --watch`), or give it up \
             (`trestle reindex cancel {other}`)"
        ),
        TableTaken::LaterVersion(version) => format!(
            "rows of table {table} were touched with version {version}, and versions are never lowered; choose {version} or a \
             later one"
        ),
    })
}

fn check_name(name: &str) -> Result<(), ReindexError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    match !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(ReindexError::refused(format!(
            "{name:?} is no name of a reindex; use up to {NAME_MAX} letters, digits, `-`, `_` and `.`"
        ))),
    }
}

fn check_numbers(asked: &StartReindex) -> Result<(), ReindexError> {
    let within = |what: &str, number: u32, max: u32| match (1..=max).contains(&number) {
        true => Ok(()),
        false => Err(ReindexError::refused(format!(
            "{what} must be between 1 and {max}, and not {number}"
        ))),
    };
    within("the number of workers", asked.workers, WORKERS_MAX)?;
    within("the number of rows on a page", asked.page_rows, PAGE_ROWS_MAX)?;
    within("the number of attempts", asked.attempts, u32::from(u16::MAX))?;
    let is_none = match &asked.scope {
        ReindexScope::First(rows) => *rows == 0,
        ReindexScope::Ids(ids) => ids.is_empty(),
        ReindexScope::Access { first, .. } => *first == Some(0),
        ReindexScope::Complete | ReindexScope::Entity(_) => false,
    };
    if is_none {
        return Err(ReindexError::refused("no row was asked for"));
    }
    let units = [asked.budget.read_units, asked.budget.write_units];
    if units
        .iter()
        .flatten()
        .any(|units| !units.is_finite() || *units <= 0.0)
    {
        return Err(ReindexError::refused("units in a second must be more than 0"));
    }
    let ReindexDestination::Stream {
        version: Some(version),
        ..
    } = asked.to
    else {
        return Ok(());
    };
    // A number that a row can hold and that other languages read exactly.
    match AttributeValue::from(version)
        .as_n()
        .and_then(trestle_item::Number::to_i64)
    {
        Some(1..) => Ok(()),
        _ => Err(Error::validation(format!("version {version} is not between 1 and {}", i64::MAX)).into()),
    }
}
