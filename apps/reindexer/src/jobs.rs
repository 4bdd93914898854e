//! Jobs by configuration id, and the checks before one is started.

use std::collections::BTreeSet;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::model::{NewRun, Run, RunDesign};
use crate::segments::{self, Parameters, ReindexJob};
use crate::source::{SOURCES, Source, check_id};
use crate::{Catalogue, Error, Result};

/// The jobs that there are: configuration id, source, destination. Each is a route of the database.
pub const JOBS: [(&str, Source, &str); 10] = [
    ("sierra--catalogue", Source::Sierra, "catalogue"),
    ("mets--catalogue", Source::Mets, "catalogue"),
    ("calm--catalogue", Source::Calm, "catalogue"),
    ("tei--catalogue", Source::Tei, "catalogue"),
    ("miro--catalogue", Source::Miro, "catalogue"),
    (
        "miro--catalogue_miro_updates",
        Source::Miro,
        "catalogue_miro_updates",
    ),
    ("sierra--reporting", Source::Sierra, "reporting"),
    ("mets--reporting", Source::Mets, "reporting"),
    ("calm--reporting", Source::Calm, "reporting"),
    ("miro--reporting", Source::Miro, "reporting"),
];

/// The destinations of a source, or all.
#[must_use]
pub fn destinations_of(source: Option<Source>) -> BTreeSet<&'static str> {
    let jobs = JOBS
        .iter()
        .filter(|job| source.is_none_or(|source| job.1 == source));
    jobs.map(|job| job.2).collect()
}

/// A job by its configuration id.
pub(crate) fn job(id: &str) -> Result<(&'static str, Source, &'static str)> {
    let found = JOBS.into_iter().find(|job| job.0 == id);
    let names = || JOBS.map(|job| job.0).join(", ");
    found.ok_or_else(|| Error::not_found(format!("job {id:?}; there are {}", names())))
}

/// A reindex that is asked for: of all records unless `max_records` or `ids` are given.
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
    pub max_records: Option<usize>,
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
    /// The runs, in their order.
    pub runs: Vec<String>,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

impl Catalogue {
    /// Starts a reindex of one or more sources, after the checks. Miro is always last.
    pub async fn start_reindex(&self, asked: &NewReindex) -> Result<Started> {
        let (jobs, parameters) = (asked.jobs()?, asked.parameters()?);
        if asked.design == RunDesign::Shards && parameters != Parameters::Complete {
            return Err(Error::invalid("shards are reindexed as a whole"));
        }
        let mut started = Started::default();
        if self.listeners(&asked.destination).await.is_empty() {
            let silence = format!("nothing listens to {}", asked.destination);
            if !asked.force {
                let way_out = "add a pipeline that does, or use --force";
                return Err(Error::Conflict(format!("{silence}: {way_out}")));
            }
            tracing::warn!("{silence}; going on as told");
            started.warnings = vec![format!("{silence}: what is sent there is lost")];
        }
        for (id, source) in jobs {
            let run = format!("{id}--{}", trestle::ids::uuid());
            let mut row = Run::from(NewRun {
                run: run.clone(),
                job_config_id: id.to_owned(),
                design: asked.design,
                started: self.setup.embedded.clock().now().into(),
            });
            match asked.design {
                RunDesign::Segments => self.queue_run(id, &run, parameters.clone()).await?,
                RunDesign::Shards => {
                    let version = self.start_shards(source, asked.desired_version).await?;
                    row.desired_version = Some(version);
                }
            }
            self.db.put(&row).if_not_exists().await?;
            started.runs.push(run);
        }
        Ok(started)
    }

    /// Lets the worker send the records of a run, or go on with it.
    pub(crate) async fn queue_run(&self, job: &str, run: &str, parameters: Parameters) -> Result<()> {
        let message = ReindexJob {
            job_config_id: job.to_owned(),
            parameters,
            run: Some(run.to_owned()),
        };
        Ok(self.queues.send_jobs(segments::QUEUE.0, [message]).await?)
    }
}

impl NewReindex {
    fn jobs(&self) -> Result<Vec<(&'static str, Source)>> {
        let sources = match self.source.as_str() {
            "all" | "notmiro" if self.ids.is_some() => {
                return Err(Error::invalid("ids are of one source: name it"));
            }
            "all" => SOURCES.to_vec(),
            "notmiro" => SOURCES[..SOURCES.len() - 1].to_vec(),
            name => vec![name.parse().map_err(Error::invalid)?],
        };
        for (source, id) in sources.iter().zip(&self.ids) {
            id.iter().try_for_each(|id| check_id(*source, id))?;
        }
        let is_asked = |job: &&(_, Source, &str)| sources.contains(&job.1) && job.2 == self.destination;
        let jobs: Vec<_> = JOBS.iter().filter(is_asked).map(|job| (job.0, job.1)).collect();
        match jobs.is_empty() {
            true => job(&format!("{}--{}", self.source, self.destination)).map(|_| Vec::new()),
            false => Ok(jobs),
        }
    }

    fn parameters(&self) -> Result<Parameters> {
        match (self.max_records, &self.ids) {
            (None, None) => Ok(Parameters::Complete),
            (Some(max_records), None) => Ok(Parameters::Partial { max_records }),
            (None, Some(ids)) if !ids.is_empty() => Ok(Parameters::Specific { ids: ids.clone() }),
            _ => Err(Error::invalid(
                "give either maxRecords or ids, and one id at least",
            )),
        }
    }
}
