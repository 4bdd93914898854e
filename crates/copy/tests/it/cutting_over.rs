//! The end of a copy: writes at the last moment, and a copy that is stopped after the target has taken over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;
use trestle_admin::{
    AdminAnswer, AdminCall, AdminError, AdminErrorCode, Administration, MigrationList, ModelList,
    PausedTableList, Report,
};
use trestle_copy::{CopyEnd, CopyError, CopyJob, CopyOrder, CopyPhase, CopyReport, SideKind};
use trestle_embedded::Embedded;

use crate::support::{Pair, put, row, rows, runtime, table};

fn cut_over(pair: &Pair, job: &CopyJob) -> Result<CopyReport, CopyError> {
    let (_orders, told) = watch::channel(CopyOrder {
        cut_over: true,
        stop: false,
    });
    runtime().block_on(job.run(pair.state(), told))
}

/// A server without models, whose pause ended before it became permanent: a client has written a row in between.
struct WrittenBetweenPauses(Embedded);

impl Administration for WrittenBetweenPauses {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        Ok(match call {
            AdminCall::ListModels(_) => AdminAnswer::ListModels(ModelList::default()),
            AdminCall::ListMigrations(_) => AdminAnswer::ListMigrations(MigrationList::default()),
            AdminCall::PauseWrites(pause) => {
                if pause.seconds.is_none() {
                    put(&self.0, row(7, 1));
                }
                AdminAnswer::PauseWrites(PausedTableList::default())
            }
            other => panic!("{other:?}"),
        })
    }
}

#[test]
fn what_was_written_before_the_pause_became_permanent_is_at_the_target() {
    let pair = Pair::new(SideKind::Server);
    pair.from.run(table("t")).unwrap();
    put(&pair.from, row(1, 1));
    let mut job = pair.job();
    job.from.administration = Some(Arc::new(WrittenBetweenPauses(pair.from.clone())));
    let report = cut_over(&pair, &job).unwrap();
    assert_eq!(report.end, CopyEnd::Done);
    assert_eq!(rows(&pair.to, "t"), [row(1, 1), row(7, 1)]);
}

const OTHER_LAYOUT: &str = r#"
model = "other"

[table.t]
key = ["pk"]

[entity.thing]
table = "t"
key = { pk = "row-{number:05}" }
attributes = { number = "integer" }
"#;

/// A target that does not respond to the first call that applies a model.
#[derive(Default)]
struct SilentAtFirst {
    applied: AtomicUsize,
}

impl Administration for SilentAtFirst {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        match call {
            AdminCall::ListModels(_) => Ok(AdminAnswer::ListModels(ModelList::default())),
            AdminCall::ApplyModel(apply) => {
                assert!(apply.fill && apply.text == OTHER_LAYOUT);
                match self.applied.fetch_add(1, Ordering::Relaxed) {
                    0 => Err(AdminError::new(AdminErrorCode::NoAnswer, "the line is cut")),
                    _ => Ok(AdminAnswer::ApplyModel(Report::new("other"))),
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_copy_that_is_stopped_after_the_target_has_taken_over_still_changes_the_layout() {
    let mut pair = Pair::new(SideKind::Endpoint);
    pair.settings.model = Some(OTHER_LAYOUT.to_owned());
    pair.from.run(table("t")).unwrap();
    put(&pair.from, row(1, 1));
    let target = Arc::new(SilentAtFirst::default());
    let mut job = pair.job();
    job.to.administration = Some(Arc::clone(&target) as Arc<dyn Administration>);
    let error = cut_over(&pair, &job).unwrap_err();
    assert!(error.to_string().contains("the line is cut"), "{error}");
    assert_eq!(pair.stored().phase, CopyPhase::TakenOver);
    let calls = |expected: usize| {
        let report = cut_over(&pair, &job).unwrap();
        assert_eq!(report.end, CopyEnd::Done);
        assert_eq!(pair.stored().phase, CopyPhase::Done);
        assert_eq!(target.applied.load(Ordering::Relaxed), expected);
    };
    calls(2);
    // After that, nothing is left to do.
    calls(2);
    assert_eq!(rows(&pair.to, "t"), [row(1, 1)]);
}
