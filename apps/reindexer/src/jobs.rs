//! Jobs by configuration id, and the checks before one is started.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::RunDesign;
use crate::segments::Parameters;
use crate::source::{SOURCES, Source, check_id};
use crate::{Catalogue, Error, Result};

/// The jobs that there are: configuration id, source, destination.
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

/// The most ids in a message.
const IDS_MAX: usize = 100;
/// Rows of the table for each segment, about.
const SEGMENT_ROWS: u64 = 900;

/// The destinations of a source, or all.
#[must_use]
pub fn destinations_of(source: Option<Source>) -> BTreeSet<&'static str> {
    let jobs = JOBS
        .iter()
        .filter(|job| source.is_none_or(|source| job.1 == source));
    jobs.map(|job| job.2).collect()
}

/// Source and destination of a job.
pub(crate) fn job(id: &str) -> Result<(Source, &'static str)> {
    let found = JOBS.iter().find(|job| job.0 == id);
    let names = || JOBS.map(|job| job.0).join(", ");
    let found = found.ok_or_else(|| Error::NotFound(format!("job {id:?}; there are {}", names())));
    found.map(|&(_, source, destination)| (source, destination))
}

/// Which records are reindexed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Mode {
    /// All of them.
    #[default]
    Complete,
    /// The first that come, so many at most.
    Partial {
        /// How many.
        max_records: usize,
    },
    /// These.
    Specific {
        /// Their ids.
        ids: Vec<String>,
    },
}

/// A reindex that is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewReindex {
    /// A source, `all` or `notmiro`.
    pub source: String,
    /// Where its records go.
    pub destination: String,
    /// Which of them.
    #[serde(default)]
    pub mode: Mode,
    /// How.
    #[serde(default = "segments")]
    pub design: RunDesign,
    /// For shards: the version that rows get; the time in seconds unless given.
    #[serde(default)]
    pub desired_version: Option<i64>,
    /// Goes on with a warning where nothing listens to the destination.
    #[serde(default)]
    pub force: bool,
}

fn segments() -> RunDesign {
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
    pub async fn start_reindex(self: &Arc<Self>, asked: &NewReindex) -> Result<Started> {
        let jobs = asked.jobs()?;
        let mut started = Started::default();
        if self.listeners(&asked.destination).await.is_empty() {
            let silence = format!("nothing listens to {}", asked.destination);
            if !asked.force {
                return Err(Error::Conflict(format!(
                    "{silence}: add a pipeline that does, or use --force"
                )));
            }
            tracing::warn!("{silence}; going on as told");
            started
                .warnings
                .push(format!("{silence}: what is sent there is lost"));
        }
        for (id, source) in jobs {
            started.runs.push(match asked.design {
                RunDesign::Segments => {
                    self.start_segments(id, &self.parts(source, &asked.mode).await?)
                        .await?
                }
                RunDesign::Shards => self.start_shards(id, source, asked.desired_version).await?,
            });
        }
        Ok(started)
    }

    /// The parts in which a mode is worked off.
    async fn parts(&self, source: Source, mode: &Mode) -> Result<Vec<Parameters>> {
        match mode {
            Mode::Complete => {
                let rows = self.table_rows().await?;
                let total_segments = u32::try_from(rows.div_ceil(SEGMENT_ROWS).max(1)).unwrap_or(u32::MAX);
                let segments = 0..total_segments;
                Ok(segments
                    .map(|segment| Parameters::Complete {
                        segment,
                        total_segments,
                    })
                    .collect())
            }
            &Mode::Partial { max_records } => Ok(vec![Parameters::Partial { max_records }]),
            Mode::Specific { ids } => {
                ids.iter().try_for_each(|id| check_id(source, id))?;
                let chunks = ids.chunks(IDS_MAX).map(<[String]>::to_vec);
                Ok(chunks.map(|ids| Parameters::Specific { ids }).collect())
            }
        }
    }
}

impl NewReindex {
    fn jobs(&self) -> Result<Vec<(&'static str, Source)>> {
        let sources = match self.source.as_str() {
            "all" | "notmiro" if matches!(self.mode, Mode::Specific { .. }) => {
                return Err(Error::invalid("ids are of one source: name it"));
            }
            "all" => SOURCES.to_vec(),
            "notmiro" => SOURCES[..SOURCES.len() - 1].to_vec(),
            name => vec![name.parse().map_err(Error::invalid)?],
        };
        if self.design == RunDesign::Shards && !matches!(self.mode, Mode::Complete) {
            return Err(Error::invalid(
                "shards are reindexed as a whole: parts are for segments",
            ));
        }
        let of = |source: &Source| {
            JOBS.iter()
                .find(|job| job.1 == *source && job.2 == self.destination)
        };
        let jobs: Vec<_> = sources.iter().filter_map(of).map(|job| (job.0, job.1)).collect();
        match jobs.is_empty() {
            true => job(&format!("{}--{}", self.source, self.destination)).map(|_| Vec::new()),
            false => Ok(jobs),
        }
    }
}
