//! The transformers change: a new pipeline is filled from the beginning while the sources go on changing, searches are
//! switched over, and nothing is missing. Once by each design, so that they can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::Value;

use crate::api::CATALOGUE;
use crate::model::RunDesign;
use crate::source::{SOURCES, Source};
use crate::{Catalogue, Gap, Mode, NewReindex, RecordFacts, Result, Running, Status};

const SAMPLE: &str = include_str!("../sample.json");
/// Records written at once.
const WRITES_AT_ONCE: usize = 32;
/// How often to look whether everything is done. Real time: workers take it.
const LOOK: Duration = Duration::from_millis(50);
/// How many looks have to agree.
const LOOKS: usize = 6;

type Shown<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Clone, Deserialize)]
struct Sample {
    #[serde(default)]
    facts: RecordFacts,
    payload: Value,
}

/// Sample records without end.
#[derive(Clone)]
pub struct Samples(BTreeMap<String, Vec<Sample>>);

impl Samples {
    /// Those that come with the application.
    pub fn read() -> Result<Self> {
        serde_json::from_str(SAMPLE)
            .map(Self)
            .map_err(crate::Error::invalid)
    }

    /// How many different ones a source has.
    #[must_use]
    pub fn count(&self, source: Source) -> usize {
        self.0.get(&source.to_string()).map_or(0, Vec::len)
    }

    /// Writes the sample of this number as a new version of its record. Numbers beyond the samples give copies.
    pub async fn write(
        &self,
        app: &Catalogue,
        source: Source,
        number: usize,
        edition: &str,
    ) -> Result<String> {
        let samples = self.0.get(&source.to_string()).map_or(&[][..], Vec::as_slice);
        let missing = || crate::Error::NotFound(format!("sample of {source}"));
        let sample = samples.get(number % samples.len().max(1)).ok_or_else(missing)?;
        let payload = match &sample.payload {
            Value::String(xml) => xml.clone(),
            json => json.to_string(),
        };
        let payload = payload.replace("{number}", &format!("{number}{edition}"));
        let id = id(source, number);
        app.put_record(source, &id, sample.facts.clone(), payload.into_bytes())
            .await?;
        Ok(id)
    }
}

/// The id of a sample, in the shape that its source gives ids.
#[must_use]
pub fn id(source: Source, number: usize) -> String {
    match source {
        Source::Sierra => format!("{:07}", 1_000_001 + number),
        Source::Miro => format!("V{:07}", 100 + number),
        Source::Mets => format!("b{:08}", 10_000_001 + number),
        Source::Calm => format!("{number:08x}-3d2a-4c1b-9f00-5a6b7c8d9e0f"),
        Source::Tei => format!("MS_MSL_{number}"),
    }
}

/// Writes so many copies of each sample, of every source.
pub async fn load(app: &Arc<Catalogue>, copies: usize) -> Result<usize> {
    let samples = Samples::read()?;
    let numbers = |source| (0..samples.count(source) * copies).map(move |number| (source, number));
    let all: Vec<_> = SOURCES.into_iter().flat_map(numbers).collect();
    let written = all.len();
    let writes = stream::iter(all).map(|(source, number)| samples.write(app, source, number, ""));
    writes
        .buffer_unordered(WRITES_AT_ONCE)
        .try_for_each(async |_| Ok(()))
        .await?;
    Ok(written)
}

/// Everything from the first record to the last count. Fails if anything is missing.
pub async fn run(running: &Running, copies: usize, out: &mut impl Write) -> Shown<()> {
    let (app, to) = (&running.app, BTreeSet::from([CATALOGUE.to_owned()]));
    app.add_pipeline("first", 1, to.clone()).await?;
    let mut records = load(app, copies).await?;
    settle(running).await?;
    app.serve_from(CATALOGUE, "first").await?;
    writeln!(
        out,
        "{records} records, transformed by version 1, in the index of pipeline first:"
    )?;
    let mut missing = print(running, "first", records, out).await?;
    let plans = [("second", RunDesign::Segments), ("third", RunDesign::Shards)];
    for (round, (pipeline, design)) in plans.into_iter().enumerate() {
        writeln!(
            out,
            "\nVersion 2 of the transformers fills pipeline {pipeline} by {design}."
        )?;
        app.add_pipeline(pipeline, 2, to.clone()).await?;
        let stop = Arc::new(AtomicBool::new(false));
        let new = (round + 1) * 1_000_000;
        let traffic = tokio::spawn(traffic(Arc::clone(app), copies, new, Arc::clone(&stop)));
        reindex(running, design, out).await?;
        stop.store(true, Ordering::Relaxed);
        let [changed, inserted, withdrawn] = traffic.await??;
        settle(running).await?;
        records += inserted;
        writeln!(
            out,
            "Meanwhile {changed} records were changed, {inserted} inserted, {withdrawn} withdrawn."
        )?;
        app.serve_from(CATALOGUE, pipeline).await?;
        missing += print(running, pipeline, records, out).await?;
        let serving = app.serving(CATALOGUE).await?;
        let found = serving.index.search("epidemiology", None, 1, 0)?.total;
        writeln!(
            out,
            "Pipeline {} answers searches: {found} works on epidemiology.",
            serving.name
        )?;
    }
    match missing {
        0 => Ok(writeln!(out, "\nNothing is missing.")?),
        missing => Err(format!("{missing} records are missing").into()),
    }
}

/// Reindexes everything by one of the designs, and says what it cost.
async fn reindex(running: &Running, design: RunDesign, out: &mut impl Write) -> Shown<()> {
    let begun = Instant::now();
    let asked = NewReindex {
        source: "all".to_owned(),
        destination: CATALOGUE.to_owned(),
        mode: Mode::Complete,
        design,
        desired_version: None,
        force: false,
    };
    let started = running.app.start_reindex(&asked).await?;
    while !running.is_sent().await? {
        tokio::time::sleep(LOOK).await;
    }
    let (took, mut parts, mut sent, mut raised) = (begun.elapsed(), 0, 0, 0);
    for run in &started.runs {
        let run = running.app.run(run).await?;
        (parts, sent) = (parts + run.run.parts, sent + run.sent);
        raised += run.at_version.map_or(0, |(_, there)| there);
    }
    writeln!(
        out,
        "{design}: {parts} parts, {raised} rows written, {sent} records sent, {took:.1?}."
    )?;
    Ok(())
}

/// Changes records, inserts new ones and withdraws some, until it is stopped. Says how many of each.
async fn traffic(
    app: Arc<Catalogue>,
    copies: usize,
    new: usize,
    stop: Arc<AtomicBool>,
) -> Result<[usize; 3]> {
    let samples = Samples::read()?;
    let [mut changed, mut inserted, mut withdrawn] = [0; 3];
    for number in 0.. {
        let source = SOURCES[(number + number / 10) % SOURCES.len()];
        let there = number % (samples.count(source) * copies);
        if number % 10 == 9 {
            samples.write(&app, source, new + number, " (new)").await?;
            inserted += 1;
        } else if number % 25 == 2 {
            app.withdraw(source, &id(source, there)).await?;
            withdrawn += 1;
        } else {
            samples.write(&app, source, there, " (changed)").await?;
            changed += 1;
        }
        // At any speed, each of these happens.
        if stop.load(Ordering::Relaxed) && inserted > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok([changed, inserted, withdrawn])
}

/// Waits until nothing is under way. The route counts what it has not read a moment after it was written, so several looks
/// in a row have to agree.
pub async fn settle(running: &Running) -> Result<()> {
    let mut agreed = 0;
    while agreed < LOOKS {
        tokio::time::sleep(LOOK).await;
        agreed = if running.is_idle().await? { agreed + 1 } else { 0 };
    }
    Ok(())
}

/// Prints the counts and the gaps; says how many records are missing.
async fn print(running: &Running, pipeline: &str, records: usize, out: &mut impl Write) -> Shown<usize> {
    let (status, gaps) = running.status(pipeline).await?;
    write!(out, "{}", table(&status, &gaps))?;
    let rows: usize = status.sources.iter().map(|stages| stages.rows).sum();
    Ok(gaps.len() + records.abs_diff(rows))
}

/// A status for people.
#[must_use]
pub fn table(status: &Status, gaps: &[Gap]) -> String {
    let mut text = format!(
        "  {:8} {:>7} {:>12} {:>8} {:>6} {:>7}\n",
        "source", "rows", "transformed", "indexed", "gaps", "%"
    );
    for stages in &status.sources {
        text += &format!(
            "  {:8} {:>7} {:>12} {:>8} {:>6} {:>7.2}\n",
            stages.source.to_string(),
            stages.rows,
            stages.transformed,
            stages.indexed,
            stages.gaps,
            stages.percent
        );
    }
    let dead: usize = status.queues.iter().map(|queue| queue.dead).sum();
    let waiting: usize = status
        .queues
        .iter()
        .map(|queue| queue.waiting + queue.in_flight)
        .sum();
    text += &format!("  {waiting} messages wait, {dead} dead letters\n");
    for gap in gaps {
        let (id, source, version, stage) = (&gap.id, gap.source, gap.version, gap.missing_at);
        text += &format!("  missing: {source} {id}, version {version}, at the {stage}\n");
    }
    text
}
