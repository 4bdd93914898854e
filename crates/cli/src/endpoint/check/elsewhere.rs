//! The step with copies of the table: from the endpoint into a database in memory while clients write to the table, and from there into
//! another table of the endpoint.

use super::steps::{Hitch, Stage, TABLE, order, put, rows};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use trestle_api::Database;
use trestle_copy::{
    CopyJob, CopyOrder, CopyProgress, CopyReport, CopySettings, CopySide, SideKind, StateFile,
};
use trestle_embedded::{Background, Embedded, Options};
use trestle_env::{Clock, SystemClock, ids};
use trestle_item::Item;

/// Rows that are written while the table is copied.
const MEANWHILE: usize = 40;
/// The time between two of these writes.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) fn copied_tables(stage: &Stage) -> Result<(), Hitch> {
    stage.needs(stage.capabilities.streams, "streams")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let there = side(
        "the endpoint",
        SideKind::Endpoint,
        Arc::clone(&stage.scratch) as Arc<dyn Database>,
    );
    let elsewhere = Embedded::in_memory(Options {
        background: Background::Tables,
        ..Options::default()
    })?;
    let here = || side("memory", SideKind::Directory, elsewhere.for_copy());
    let mut written = Ok(());
    let copied = std::thread::scope(|scope| {
        let copying = scope.spawn(|| copy(&runtime, there, here()));
        written = write_meanwhile(stage);
        copying.join()
    });
    let copied = copied.map_err(|_| Hitch::Failed("the copy failed".to_owned()))??;
    written?;
    check_same(&rows(&*stage.scratch)?, &rows(&elsewhere)?, &copied)?;
    // The name of the copy begins with the prefix of the check, so that the copy is deleted with the other tables.
    let back = Arc::new(stage.scratch.beside("copy-"));
    let target = side(
        "the endpoint",
        SideKind::Endpoint,
        Arc::clone(&back) as Arc<dyn Database>,
    );
    let copied = copy(&runtime, here(), target)?;
    check_same(&rows(&elsewhere)?, &rows(&*back)?, &copied)
}

fn side(name: &str, kind: SideKind, database: Arc<dyn Database>) -> CopySide {
    CopySide {
        name: name.to_owned(),
        kind,
        database,
        administration: None,
    }
}

fn write_meanwhile(stage: &Stage) -> Result<(), Hitch> {
    for number in 0..MEANWHILE {
        stage.both(number, put(order(2000 + number, "south"))?)?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The file with the state of a copy. It is removed when this is dropped.
struct StatePath(PathBuf);

impl Drop for StatePath {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl StatePath {
    fn create() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("trestle-check-{}", ids::uuid()));
        std::fs::create_dir(&path)?;
        Ok(StatePath(path))
    }

    fn file(&self) -> PathBuf {
        self.0.join("copy.json")
    }
}

fn copy(runtime: &Runtime, from: CopySide, to: CopySide) -> Result<CopyReport, Hitch> {
    let path = StatePath::create()?;
    let now = SystemClock::new().now().as_millis();
    let state = Arc::new(StateFile::open(&path.file(), &from.name, &to.name, now)?);
    let job = CopyJob {
        from,
        to,
        settings: CopySettings {
            tables: vec![TABLE.to_owned()],
            models: false,
            segments: 4,
            ..CopySettings::default()
        },
        progress: Arc::new(CopyProgress::default()),
    };
    let (_orders, told) = watch::channel(CopyOrder {
        cut_over: true,
        stop: false,
    });
    Ok(runtime.block_on(job.run(state, told))?)
}

fn check_same(source: &[Item], target: &[Item], copied: &CopyReport) -> Result<(), Hitch> {
    match source == target {
        true => Ok(()),
        false => Err(Hitch::Failed(format!(
            "the copy has {} rows instead of {}, or other ones: {copied:?}",
            target.len(),
            source.len()
        ))),
    }
}
