//! `/_trestle/migrations`: new layouts of keys on their way, and what to do with them.

use crate::models::{self, ModelAnswer};
use crate::query::Parameters;
use crate::reply::Reply;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::fmt;
use std::sync::Arc;

pub(crate) const MIGRATIONS_PATH: &str = "/_trestle/migrations";

const USAGE: &str = "GET tells how migrations are doing (?name=MODEL). POST ?action=plan and ?action=start take the new version \
                     of a model in the body (?dry-run, ?delete-indexes; ?rate=ROWS, ?finish, ?paused; without a body, start \
                     takes what was planned). POST ?action=pause, resume (?rate=ROWS), finish and rollback take ?name=MODEL.\n";

/// What a caller asks about migrations. Where no model is named, the only migration that is not over is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MigrationCall {
    /// How migrations are doing, or one of them.
    Status {
        /// The model.
        name: Option<String>,
    },
    /// What a migration would do.
    Plan {
        /// The model file.
        text: String,
        /// Do not keep the plan.
        dry_run: bool,
        /// Delete indexes that the model does not have.
        delete_indexes: bool,
    },
    /// Let the new version take effect, and move the rows.
    Start {
        /// The model file; without it, what was planned.
        text: Option<String>,
        /// How many rows may move in a second, or `unlimited`.
        rate: Option<String>,
        /// Whether it is done as soon as it is verified.
        finish: bool,
        /// Whether only rows that are written move until it is resumed.
        paused: bool,
        /// Delete indexes that the model does not have.
        delete_indexes: bool,
    },
    /// Let the sweep stand still.
    Pause {
        /// The model.
        name: Option<String>,
    },
    /// Let the sweep go on.
    Resume {
        /// The model.
        name: Option<String>,
        /// How many rows may move in a second, or `unlimited`.
        rate: Option<String>,
    },
    /// End a migration that is verified.
    Finish {
        /// The model.
        name: Option<String>,
    },
    /// Go back to the version before.
    Rollback {
        /// The model.
        name: Option<String>,
    },
}

/// A migration in figures, for metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationFigures {
    /// The model.
    pub model: String,
    /// Where it stands.
    pub state: &'static str,
    /// Rows that the sweep has moved.
    pub rows_moved: u64,
    /// Rows that are still to be moved, about.
    pub rows_remaining: u64,
    /// Rows that cannot move.
    pub rows_stuck: u64,
    /// Reads that looked into former places.
    pub double_reads: u64,
}

/// A database whose rows can be moved to other keys.
pub trait MigrationKeeper: Send + Sync + fmt::Debug {
    /// Answers. Called on a thread that may block, for as long as it takes to look at every row.
    fn answer(&self, call: MigrationCall) -> ModelAnswer;

    /// Every migration in figures.
    fn figures(&self) -> Vec<MigrationFigures>;
}

/// Answers when the program around the server moves no rows.
pub(crate) fn no_migrations() -> Reply {
    Reply::text(StatusCode::NOT_FOUND, "This server has no migrations.\n")
}

/// Answers a request of a caller who may.
pub(crate) async fn answer(keeper: &Arc<dyn MigrationKeeper>, head: &Parts, body: &[u8]) -> Reply {
    let Some(call) = understand(&head.method, head.uri.query(), body) else {
        return Reply::text(StatusCode::BAD_REQUEST, USAGE);
    };
    let keeper = Arc::clone(keeper);
    models::answered(move || keeper.answer(call)).await
}

/// `None` for what makes no sense.
fn understand(method: &Method, query: Option<&str>, body: &[u8]) -> Option<MigrationCall> {
    let known = [
        "action",
        "name",
        "dry-run",
        "delete-indexes",
        "rate",
        "finish",
        "paused",
    ];
    let parameters = Parameters::read(query, &known)?;
    let text = |name: &str| parameters.value(name).map(str::to_owned);
    let flag = |name: &str| parameters.flag(name);
    let only = |allowed: &[&str]| {
        let mut others = known.iter().filter(|name| !allowed.contains(name));
        others.all(|name| parameters.value(name).is_none())
    };
    let name = text("name");
    let body = String::from_utf8(body.to_vec()).ok()?;
    match (method.as_str(), parameters.value("action")) {
        ("GET", None) => only(&["name"]).then_some(MigrationCall::Status { name }),
        ("POST", Some("plan")) if only(&["action", "dry-run", "delete-indexes"]) => {
            Some(MigrationCall::Plan {
                text: body,
                dry_run: flag("dry-run")?,
                delete_indexes: flag("delete-indexes")?,
            })
        }
        ("POST", Some("start")) if only(&["action", "delete-indexes", "rate", "finish", "paused"]) => {
            Some(MigrationCall::Start {
                text: (!body.is_empty()).then_some(body),
                rate: text("rate"),
                finish: flag("finish")?,
                paused: flag("paused")?,
                delete_indexes: flag("delete-indexes")?,
            })
        }
        ("POST", Some("resume")) if only(&["action", "name", "rate"]) => {
            let rate = text("rate");
            Some(MigrationCall::Resume { name, rate })
        }
        ("POST", Some(action)) if only(&["action", "name"]) => match action {
            "pause" => Some(MigrationCall::Pause { name }),
            "finish" => Some(MigrationCall::Finish { name }),
            "rollback" => Some(MigrationCall::Rollback { name }),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(query: &str, body: &str) -> Option<MigrationCall> {
        understand(&Method::POST, Some(query), body.as_bytes())
    }

    #[test]
    fn each_action_means_one_thing() {
        let name = Some("shop".to_owned());
        assert_eq!(
            understand(&Method::GET, Some("name=shop"), b""),
            Some(MigrationCall::Status { name: name.clone() })
        );
        assert_eq!(
            post("action=plan&dry-run", "x"),
            Some(MigrationCall::Plan {
                text: "x".to_owned(),
                dry_run: true,
                delete_indexes: false
            })
        );
        assert_eq!(
            post("action=start&rate=7&finish&paused=false", ""),
            Some(MigrationCall::Start {
                text: None,
                rate: Some("7".to_owned()),
                finish: true,
                paused: false,
                delete_indexes: false
            })
        );
        assert_eq!(
            post("action=resume&name=shop&rate=unlimited", ""),
            Some(MigrationCall::Resume {
                name: name.clone(),
                rate: Some("unlimited".to_owned())
            })
        );
        assert_eq!(
            post("action=rollback&name=shop", ""),
            Some(MigrationCall::Rollback { name })
        );
        assert_eq!(
            post("action=finish", ""),
            Some(MigrationCall::Finish { name: None })
        );
    }

    #[test]
    fn what_makes_no_sense_is_not_guessed_at() {
        for query in [
            "",
            "action=begin",
            "action=plan&rate=7",
            "action=pause&finish",
            "action=start&name=shop",
            "action=start&finish=perhaps",
            "action=plan&dryrun",
        ] {
            assert_eq!(post(query, "x"), None, "{query}");
        }
        assert_eq!(understand(&Method::GET, Some("action=pause"), b""), None);
    }
}
