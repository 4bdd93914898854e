//! `/_trestle/models`: the models that the database enforces, listed, applied and removed.

use crate::query::decoded;
use crate::reply::Reply;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::fmt;
use std::sync::Arc;

pub(crate) const MODELS_PATH: &str = "/_trestle/models";

const USAGE: &str = "GET lists the models, GET ?name=NAME gives one's text, POST applies the model in the body \
                     (?dry-run, ?fill, ?delete-indexes), POST ?repair brings derived rows back in line (?name=NAME, \
                     ?dry-run), DELETE ?name=NAME lets go of one.\n";

/// What a caller asks about models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelCall {
    /// Which models there are.
    List,
    /// The text of one.
    Text {
        /// Its name.
        name: String,
    },
    /// Apply a model.
    Apply {
        /// The model file.
        text: String,
        /// Only say what would be done.
        dry_run: bool,
        /// Fill in what rows from before lack.
        fill: bool,
        /// Delete indexes that the model does not have.
        delete_indexes: bool,
    },
    /// Bring derived rows back in line with the rows they are derived from.
    Repair {
        /// One model only.
        name: Option<String>,
        /// Only say what is wrong.
        dry_run: bool,
    },
    /// Let go of a model.
    Remove {
        /// Its name.
        name: String,
    },
}

/// The answer to a [`ModelCall`], or to a [`MigrationCall`](crate::MigrationCall).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelAnswer {
    /// As asked, in JSON.
    Done(String),
    /// As asked, in plain text.
    Text(String),
    /// There is no such model.
    Unknown(String),
    /// The model has errors: which.
    Unsound(String),
    /// The model cannot be applied: why, in JSON.
    Refused(String),
    /// Something else went wrong.
    Failed(String),
}

/// A database that has models.
pub trait ModelKeeper: Send + Sync + fmt::Debug {
    /// Answers. Called on a thread that may block, for as long as it takes to build indexes.
    fn answer(&self, call: ModelCall) -> ModelAnswer;
}

/// Answers when the program around the server keeps no models.
pub(crate) fn no_models() -> Reply {
    Reply::text(StatusCode::NOT_FOUND, "This server keeps no models.\n")
}

/// Answers a request of a caller who may.
pub(crate) async fn answer(keeper: &Arc<dyn ModelKeeper>, head: &Parts, body: &[u8]) -> Reply {
    let Some(call) = understand(&head.method, head.uri.query().unwrap_or_default(), body) else {
        return Reply::text(StatusCode::BAD_REQUEST, USAGE);
    };
    let keeper = Arc::clone(keeper);
    answered(move || keeper.answer(call)).await
}

/// The answer of a call that blocks its thread for as long as it takes.
pub(crate) async fn answered(answer: impl FnOnce() -> ModelAnswer + Send + 'static) -> Reply {
    match tokio::task::spawn_blocking(answer).await {
        Ok(answered) => shown(answered),
        Err(error) => {
            tracing::error!(%error, "a call about models failed");
            Reply::text(StatusCode::INTERNAL_SERVER_ERROR, "The call failed.\n")
        }
    }
}

fn shown(answered: ModelAnswer) -> Reply {
    match answered {
        ModelAnswer::Done(json) => Reply::admin(StatusCode::OK, json),
        ModelAnswer::Text(text) => Reply::text(StatusCode::OK, text),
        ModelAnswer::Unknown(why) => Reply::text(StatusCode::NOT_FOUND, why + "\n"),
        ModelAnswer::Unsound(why) => Reply::text(StatusCode::BAD_REQUEST, why + "\n"),
        ModelAnswer::Refused(json) => Reply::admin(StatusCode::CONFLICT, json),
        ModelAnswer::Failed(why) => Reply::text(StatusCode::INTERNAL_SERVER_ERROR, why + "\n"),
    }
}

/// `None` for what makes no sense: a misspelt flag must not be taken for its absence.
fn understand(method: &Method, query: &str, body: &[u8]) -> Option<ModelCall> {
    let mut parameters = Parameters::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        parameters.take(pair)?;
    }
    let Parameters {
        name,
        dry_run,
        fill,
        delete_indexes,
        repair,
    } = parameters;
    let flagged = dry_run || fill || delete_indexes || repair;
    match (method.as_str(), name) {
        ("GET", None) if !flagged => Some(ModelCall::List),
        ("GET", Some(name)) if !flagged => Some(ModelCall::Text { name }),
        ("DELETE", Some(name)) if !flagged => Some(ModelCall::Remove { name }),
        ("POST", name) if repair => {
            let is_plain = !fill && !delete_indexes && body.is_empty();
            is_plain.then_some(ModelCall::Repair { name, dry_run })
        }
        ("POST", None) => Some(ModelCall::Apply {
            text: String::from_utf8(body.to_vec()).ok()?,
            dry_run,
            fill,
            delete_indexes,
        }),
        _ => None,
    }
}

#[derive(Default)]
struct Parameters {
    name: Option<String>,
    dry_run: bool,
    fill: bool,
    delete_indexes: bool,
    repair: bool,
}

impl Parameters {
    fn take(&mut self, pair: &str) -> Option<()> {
        let (key, value) = pair.split_once('=').unwrap_or((pair, "true"));
        let flag = match key {
            "name" => {
                self.name = Some(decoded(value)?);
                return Some(());
            }
            "dry-run" => &mut self.dry_run,
            "fill" => &mut self.fill,
            "delete-indexes" => &mut self.delete_indexes,
            "repair" => &mut self.repair,
            _ => return None,
        };
        *flag = match value {
            "true" | "" | "1" => true,
            "false" | "0" => false,
            _ => return None,
        };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_means_one_thing() {
        let get = |query| understand(&Method::GET, query, b"");
        assert_eq!(get(""), Some(ModelCall::List));
        let name = "a b".to_owned();
        assert_eq!(get("name=a%20b"), Some(ModelCall::Text { name: name.clone() }));
        assert_eq!(
            understand(&Method::DELETE, "name=a%20b", b""),
            Some(ModelCall::Remove { name })
        );
        assert_eq!(
            understand(&Method::POST, "fill&dry-run=true&delete-indexes=false", b"x"),
            Some(ModelCall::Apply {
                text: "x".to_owned(),
                dry_run: true,
                fill: true,
                delete_indexes: false,
            })
        );
    }

    #[test]
    fn a_repair_is_of_all_models_or_of_one() {
        let post = |query| understand(&Method::POST, query, b"");
        let repair = |name: Option<&str>, dry_run| {
            let name = name.map(str::to_owned);
            Some(ModelCall::Repair { name, dry_run })
        };
        assert_eq!(post("repair"), repair(None, false));
        assert_eq!(post("repair&name=shop&dry-run"), repair(Some("shop"), true));
        assert_eq!(post("repair&fill"), None);
        assert_eq!(understand(&Method::POST, "repair", b"model"), None);
        assert_eq!(understand(&Method::GET, "repair", b""), None);
    }

    #[test]
    fn what_makes_no_sense_is_not_guessed_at() {
        assert_eq!(understand(&Method::DELETE, "", b""), None);
        assert_eq!(understand(&Method::GET, "fill", b""), None);
        assert_eq!(understand(&Method::GET, "name=%zz", b""), None);
        assert_eq!(understand(&Method::POST, "dryrun", b""), None);
        assert_eq!(understand(&Method::POST, "fill=perhaps", b""), None);
        assert_eq!(understand(&Method::POST, "name=a", b""), None);
        assert_eq!(understand(&Method::POST, "", b"\xff"), None);
    }
}
