//! Whoever is asked about models in this process: the server's admin call, and commands on a directory.

use crate::migrate::refused;
use trestle_binding::{BindError, Report, Step};
use trestle_embedded::Embedded;
use trestle_embedded::{ApplyOptions, Models, RepairOptions, Watcher};
use trestle_model::Problem;
use trestle_server::{ModelAnswer, ModelCall, ModelKeeper};

/// Answers from the models of one database.
#[derive(Debug)]
pub(crate) struct Keeper(pub(crate) Embedded);

impl Keeper {
    pub(crate) fn models(&self) -> &Models {
        self.0.models()
    }

    /// Answers while somebody watches.
    pub(crate) fn answer_watched(&self, call: ModelCall, watcher: &mut dyn Watcher) -> ModelAnswer {
        let answered = match call {
            ModelCall::List => Ok(ModelAnswer::Done(
                serde_json::json!({ "models": self.models().list() }).to_string(),
            )),
            ModelCall::Text { name } => self.models().text(&name).map(ModelAnswer::Text),
            ModelCall::Remove { name } => self
                .models()
                .remove(&name)
                .map(|()| ModelAnswer::Done(serde_json::json!({ "removed": name }).to_string())),
            ModelCall::Repair { name, dry_run } => {
                let options = RepairOptions { model: name, dry_run };
                self.models().repair(&options, watcher).map(|report| {
                    tracing::info!("model repair: {}", report.to_string().trim_end());
                    ModelAnswer::Done(serde_json::json!(report).to_string())
                })
            }
            ModelCall::Apply {
                text,
                dry_run,
                fill,
                delete_indexes,
            } => {
                let options = ApplyOptions {
                    dry_run,
                    fill,
                    delete_indexes,
                };
                self.models()
                    .apply(&text, options, watcher)
                    .map(|report| reported(&report))
            }
        };
        answered.unwrap_or_else(|error| failed(&error))
    }
}

impl ModelKeeper for Keeper {
    fn answer(&self, call: ModelCall) -> ModelAnswer {
        self.answer_watched(call, &mut Log)
    }
}

fn reported(report: &Report) -> ModelAnswer {
    let json = serde_json::json!(report).to_string();
    if report.is_refused() {
        ModelAnswer::Refused(json)
    } else {
        ModelAnswer::Done(json)
    }
}

fn failed(error: &BindError) -> ModelAnswer {
    match error {
        BindError::Unsound(problems) => {
            let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
            ModelAnswer::Unsound(lines.join("\n"))
        }
        BindError::NoModel { .. } => ModelAnswer::Unknown(error.to_string()),
        BindError::OnTheMove { .. } => ModelAnswer::Refused(refused(error)),
        other => ModelAnswer::Failed(other.to_string()),
    }
}

/// Tells the log.
pub(crate) struct Log;

impl Watcher for Log {
    fn step(&mut self, step: &Step) {
        tracing::info!("model: {step}");
    }

    fn rows(&mut self, doing: &'static str, table: &str, rows: u64) {
        tracing::trace!("model: {doing} of {table}: {rows}");
    }
}
