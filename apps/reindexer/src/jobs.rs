//! Jobs by configuration id, and the checks before one is started.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::model::{NewRun, Run, RunDesign};
use crate::segments::{self, Parameters, ReindexJob};
use crate::source::{Source, check_id};
use crate::{Catalogue, Error, Result};

/// The existing destinations, and the sources whose records are sent there.
pub(crate) const DESTINATIONS: [(&str, &[Source]); 3] = [
    ("catalogue", Source::ALL),
    ("catalogue_miro_updates", &[Source::Miro]),
    (
        "reporting",
        &[Source::Sierra, Source::Mets, Source::Calm, Source::Miro],
    ),
];

/// A job: sends records of a source to a destination. Each is a route of the database.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobConfig {
    /// Its configuration id.
    pub job_config_id: String,
    /// The source.
    pub source: Source,
    /// The destination.
    pub destination: &'static str,
}

/// The existing jobs, Miro last for each destination.
pub fn jobs() -> impl Iterator<Item = JobConfig> {
    let pairs =
        |(destination, sources): (_, &'static [Source])| sources.iter().map(move |to| (*to, destination));
    DESTINATIONS
        .into_iter()
        .flat_map(pairs)
        .map(|(source, destination)| JobConfig {
            job_config_id: format!("{source}--{destination}"),
            source,
            destination,
        })
}

/// A job by its configuration id.
pub(crate) fn job(id: &str) -> Result<JobConfig> {
    let names = || jobs().map(|job| job.job_config_id).collect::<Vec<_>>().join(", ");
    let found = jobs().find(|job| job.job_config_id == id);
    found.ok_or_else(|| Error::not_found(format!("job {id:?}; there are {}", names())))
}

/// A requested reindex: of all records unless `max_records` or `ids` are given.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewReindex {
    /// A source, all or notmiro
    #[arg(long = "src")]
    pub source: String,
    /// Where its records go
    #[arg(long = "dst", default_value = "catalogue")]
    pub destination: String,
    /// Only the first that come, so many at most
    #[arg(long)]
    pub max_records: Option<u64>,
    /// Only these.
    #[arg(skip)]
    pub ids: Option<Vec<String>>,
    /// segments, or shards: the first design, which raises the version of every row
    #[arg(long, default_value = "segments")]
    #[serde(default = "segments_unless_given")]
    pub design: RunDesign,
    /// For shards: the version that rows get; the time in seconds unless given
    #[arg(long)]
    pub desired_version: Option<i64>,
    /// Go on with a warning where nothing listens to the destination
    #[arg(long)]
    #[serde(default)]
    pub force: bool,
}

fn segments_unless_given() -> RunDesign {
    RunDesign::Segments
}

/// What was started.
#[derive(Debug, Default, Serialize)]
pub struct Started {
    /// The runs, in order.
    pub runs: Vec<String>,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
}

/// Refuses a doubtful request, unless it is forced; then this is a warning.
pub(crate) fn warned(force: bool, doubt: String, way_out: &str) -> Result<Vec<String>> {
    if !force {
        return Err(Error::Conflict(format!("{doubt}: {way_out}")));
    }
    tracing::warn!("{doubt}; going on as told");
    Ok(vec![doubt])
}

impl Catalogue {
    /// Starts a reindex of one or more sources, after the checks. Miro is always last.
    pub async fn start_reindex(&self, asked: &NewReindex) -> Result<Started> {
        let (jobs, parameters) = (asked.jobs()?, asked.parameters()?);
        let mut started = Started::default();
        if self.listeners(&asked.destination).await.is_empty() {
            let to = &asked.destination;
            let silence = format!("nothing listens to {to}, so that what is sent there is lost");
            let way_out = "add a pipeline that does, or use --force";
            started.warnings = warned(asked.force, silence, way_out)?;
        }
        for job in jobs {
            let run = format!("{}--{}", job.job_config_id, trestle::ids::uuid());
            let mut row = Run::from(NewRun {
                run: run.clone(),
                job_config_id: job.job_config_id,
                design: asked.design,
                started: self.db.now(),
            });
            match asked.design {
                RunDesign::Segments => self.queue_run(&row, parameters.clone()).await?,
                RunDesign::Shards => {
                    let version = self.start_shards(job.source, asked.desired_version).await?;
                    row.desired_version = Some(version);
                }
            }
            self.db.put(&row).if_not_exists().await?;
            started.runs.push(run);
        }
        Ok(started)
    }

    /// Lets the worker send the records of a run, or continue with it.
    pub(crate) async fn queue_run(&self, run: &Run, parameters: Parameters) -> Result<()> {
        let message = ReindexJob {
            job_config_id: run.job_config_id.clone(),
            parameters,
            run: Some(run.run.clone()),
        };
        Ok(self.queues.send_jobs(segments::QUEUE, [message]).await?)
    }
}

impl NewReindex {
    fn jobs(&self) -> Result<Vec<JobConfig>> {
        let source: Option<Source> = match self.source.as_str() {
            "all" | "notmiro" if self.ids.is_some() => {
                return Err(Error::invalid("ids are of one source: name it"));
            }
            "all" | "notmiro" => None,
            name => Some(name.parse().map_err(Error::invalid)?),
        };
        for (source, ids) in source.iter().zip(&self.ids) {
            ids.iter().try_for_each(|id| check_id(*source, id))?;
        }
        let is_asked = |of: Source| match source {
            Some(source) => of == source,
            None => self.source == "all" || of != Source::Miro,
        };
        let jobs: Vec<_> = jobs()
            .filter(|job| job.destination == self.destination && is_asked(job.source))
            .collect();
        match jobs.is_empty() {
            true => Ok(vec![job(&format!("{}--{}", self.source, self.destination))?]),
            false => Ok(jobs),
        }
    }

    fn parameters(&self) -> Result<Parameters> {
        let is_by_shards = self.design == RunDesign::Shards;
        match (self.max_records, &self.ids) {
            (None, None) => Ok(Parameters::Complete),
            _ if is_by_shards => Err(Error::invalid("shards are reindexed as a whole")),
            (Some(max_records @ 1..), None) => Ok(Parameters::Partial { max_records }),
            (None, Some(ids)) if !ids.is_empty() => Ok(Parameters::Specific { ids: ids.clone() }),
            _ => Err(Error::invalid(
                "give either maxRecords or ids, and one record at least",
            )),
        }
    }
}
