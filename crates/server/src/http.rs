//! From an HTTP request to its answer: which door was knocked on, and may the caller come in.

use crate::admin;
use crate::admission::{Admission, Effort, Throttled};
use crate::auth::Verifier;
use crate::backup::{self, BackupSource, Backups};
use crate::body::{self, BodyError};
use crate::dispatch;
use crate::metrics::{self, Metrics};
use crate::migrations::{self, MigrationKeeper};
use crate::models::{self, ModelKeeper};
use crate::queues;
use crate::reply::Reply;
use crate::reply_body::ReplyBody;
use crate::routes::{self, RouteKeeper};
use crate::settings::{CorsOrigins, Limits, Settings};
use crate::upload::Upload;
use bytes::Bytes;
use hyper::header::{self, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use std::sync::Arc;
use std::time::Instant;
use trestle_api::{Database, Error, ErrorKind};
use trestle_env::{Clock, SystemClock, VirtualClock};
use trestle_queue::Queues;

/// What the server shares with the program around it.
#[derive(Clone, Debug)]
pub struct Hooks {
    /// The time that signatures are checked against.
    pub clock: Arc<dyn Clock>,
    /// A clock that callers of `/_trestle/clock` may move; without it that door is closed.
    pub movable_clock: Option<Arc<VirtualClock>>,
    /// What callers of `/_trestle/backup` get; without it that door is closed.
    pub backups: Option<Arc<dyn BackupSource>>,
    /// Who answers callers of `/_trestle/models`; without it that door is closed.
    pub models: Option<Arc<dyn ModelKeeper>>,
    /// Who answers callers of `/_trestle/migrations`; without it that door is closed.
    pub migrations: Option<Arc<dyn MigrationKeeper>>,
    /// Who answers callers of `/_trestle/routes` and `/_trestle/dead-letters`; without it those doors are closed.
    pub routes: Option<Arc<dyn RouteKeeper>>,
    /// Who answers SQS's operations; without it they are refused.
    pub queues: Option<Queues>,
}

impl Default for Hooks {
    fn default() -> Self {
        Hooks {
            clock: Arc::new(SystemClock::new()),
            movable_clock: None,
            backups: None,
            models: None,
            migrations: None,
            routes: None,
            queues: None,
        }
    }
}

/// Everything a request needs, shared by all connections.
pub(crate) struct Service {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) admission: Arc<Admission>,
    verifier: Option<Verifier>,
    movable_clock: Option<Arc<VirtualClock>>,
    backups: Option<Backups>,
    models: Option<Arc<dyn ModelKeeper>>,
    migrations: Option<Arc<dyn MigrationKeeper>>,
    routes: Option<Arc<dyn RouteKeeper>>,
    queues: Option<Queues>,
    cors: CorsOrigins,
    /// Whether clients speak TLS.
    is_tls: bool,
    /// Host and port for the health text.
    address: String,
}

impl Service {
    pub(crate) fn new(
        settings: &Settings,
        address: String,
        database: Arc<dyn Database>,
        hooks: Hooks,
    ) -> Self {
        Service {
            database,
            metrics: Metrics::new(),
            limits: settings.limits.clone(),
            admission: Admission::new(&settings.limits),
            verifier: Verifier::new(&settings.access_keys, hooks.clock),
            movable_clock: hooks.movable_clock,
            backups: hooks
                .backups
                .map(|source| Backups::new(source, settings.limits.body_read)),
            models: hooks.models,
            migrations: hooks.migrations,
            routes: hooks.routes,
            queues: hooks.queues,
            is_tls: settings.tls.is_some(),
            cors: settings.cors.clone(),
            address,
        }
    }

    /// Answers a request; whatever is wrong with it, there is an answer.
    pub(crate) async fn answer(&self, head: Parts, body: Upload) -> Response<ReplyBody> {
        let received = Instant::now();
        let id = trestle_env::ids::request_id();
        let answer = self.route(&head, body, received, &id).await;
        tracing::trace!(method = %head.method, path = head.uri.path(), status = answer.status().as_u16(), %id, "answered");
        answer.into_response(&head.headers, &id, &self.cors)
    }

    /// How clients reach this server, as they say themselves.
    pub(crate) fn origin_of(&self, host: Option<&str>) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}", host.unwrap_or(&self.address))
    }

    async fn route(&self, head: &Parts, body: Upload, received: Instant, id: &str) -> Reply {
        match (&head.method, head.uri.path()) {
            (&Method::POST, "/") => match self.operation(head, body, received, id).await {
                Ok(answer) => answer.in_type_of(&head.headers),
                Err(refused) => self.refuse(refused, id),
            },
            // Some SDKs send the operations on a queue to the queue's own URL.
            (&Method::POST, _) if queues::target(&head.headers).is_some() => {
                match self.operation(head, body, received, id).await {
                    Ok(answer) => answer,
                    Err(refused) => self.refuse(refused, id),
                }
            }
            (&Method::GET | &Method::HEAD, "/") => {
                Reply::text(StatusCode::OK, format!("healthy: {}", self.address))
            }
            (&Method::GET, "/metrics") => Reply::metrics(self.metrics_page()),
            (&Method::GET | &Method::POST, admin::CLOCK_PATH) => match self.clock(head, body).await {
                Ok(answer) => answer,
                Err(refused) => self.refuse(refused, id),
            },
            (&Method::GET | &Method::POST, backup::BACKUP_PATH) => match self.backup(head, body).await {
                Ok(answer) => answer,
                Err(refused) => self.refuse(refused, id),
            },
            (&Method::GET | &Method::POST | &Method::DELETE, models::MODELS_PATH) => {
                match self.models(head, body).await {
                    Ok(answer) => answer,
                    Err(refused) => self.refuse(refused, id),
                }
            }
            (&Method::GET | &Method::POST, migrations::MIGRATIONS_PATH) => {
                match self.migrations(head, body).await {
                    Ok(answer) => answer,
                    Err(refused) => self.refuse(refused, id),
                }
            }
            (&Method::GET | &Method::POST, routes::ROUTES_PATH)
            | (&Method::GET | &Method::POST | &Method::DELETE, routes::DEAD_LETTERS_PATH) => {
                match self.routes(head, body).await {
                    Ok(answer) => answer,
                    Err(refused) => self.refuse(refused, id),
                }
            }
            (&Method::OPTIONS, _) => Reply::preflight(),
            _ => self.refuse(Refused::NotAnOperation, id),
        }
    }

    async fn operation(
        &self,
        head: &Parts,
        body: Upload,
        received: Instant,
        id: &str,
    ) -> Result<Reply, Refused> {
        if !is_json(&head.headers) {
            body::discard(body);
            return Err(Refused::NotAnOperation);
        }
        if let Some(name) = queues::target(&head.headers) {
            return self.queue_operation(name, head, body, received, id).await;
        }
        let target = head.headers.get("x-amz-target").map(|value| value.as_bytes());
        let operation = match dispatch::target(target) {
            Ok(operation) => operation,
            Err(error) => {
                body::discard(body);
                return Err(error.into());
            }
        };
        let asked = self.receive(head, body).await?;
        Ok(dispatch::execute(self, operation, asked, received, id).await)
    }

    async fn queue_operation(
        &self,
        name: &str,
        head: &Parts,
        body: Upload,
        received: Instant,
        id: &str,
    ) -> Result<Reply, Refused> {
        let Some(queues) = &self.queues else {
            body::discard(body);
            return Ok(queues::no_queues());
        };
        let asked = self.receive(head, body).await?;
        let turn = self.turn(&asked, Effort::small()).await?;
        // It may wait for messages, and holds up no other meanwhile.
        let _turn = (name != "ReceiveMessage").then_some(turn);
        Ok(queues::execute(self, queues, name, head, &asked.body, received, id).await)
    }

    async fn clock(&self, head: &Parts, body: Upload) -> Result<Reply, Refused> {
        let Some(clock) = &self.movable_clock else {
            return Ok(admin::no_movable_clock());
        };
        let sent = self.read_signed(head, body).await?;
        Ok(admin::clock(clock, &head.method, &sent))
    }

    async fn backup(&self, head: &Parts, body: Upload) -> Result<Reply, Refused> {
        let Some(backups) = &self.backups else {
            return Ok(backup::no_backups());
        };
        self.read_signed(head, body).await?;
        Ok(backups.answer())
    }

    async fn models(&self, head: &Parts, body: Upload) -> Result<Reply, Refused> {
        let Some(keeper) = &self.models else {
            return Ok(models::no_models());
        };
        let sent = self.read_signed(head, body).await?;
        Ok(models::answer(keeper, head, &sent).await)
    }

    async fn migrations(&self, head: &Parts, body: Upload) -> Result<Reply, Refused> {
        let Some(keeper) = &self.migrations else {
            return Ok(migrations::no_migrations());
        };
        let sent = self.read_signed(head, body).await?;
        Ok(migrations::answer(keeper, head, &sent).await)
    }

    async fn routes(&self, head: &Parts, body: Upload) -> Result<Reply, Refused> {
        let Some(keeper) = &self.routes else {
            return Ok(routes::no_routes());
        };
        let sent = self.read_signed(head, body).await?;
        Ok(routes::answer(keeper, head, &sent).await)
    }

    fn metrics_page(&self) -> String {
        let routes = self.routes.as_ref().map(|keeper| keeper.router().status());
        let migrations = self.migrations.as_ref().map(|keeper| keeper.figures());
        self.metrics.render()
            + &metrics::admission::render(&self.admission)
            + &metrics::routes::render(&routes.unwrap_or_default())
            + &metrics::migrations::render(&migrations.unwrap_or_default())
    }

    /// The body of a request to the administration.
    async fn read_signed(&self, head: &Parts, body: Upload) -> Result<Bytes, Refused> {
        Ok(self.receive(head, body).await?.body)
    }

    pub(crate) async fn read(&self, body: Upload) -> Result<Bytes, Refused> {
        Ok(body::read(body, self.limits.body_bytes_max, self.limits.body_read).await?)
    }

    pub(crate) fn verifier(&self) -> Option<&Verifier> {
        self.verifier.as_ref()
    }

    fn count(&self, refused: &Refused) {
        match refused {
            Refused::Throttled => self.admission.counts.throttle(),
            Refused::TooSlow => self.admission.counts.give_up_body(),
            _ => {}
        }
    }

    fn refuse(&self, refused: Refused, id: &str) -> Reply {
        self.metrics.refused();
        self.count(&refused);
        let answer = refused.answer(self.limits.body_bytes_max);
        tracing::warn!(%id, status = answer.status().as_u16(), reason = %refused, "refused a request");
        answer
    }
}

/// Why a request never became an operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("not shaped like a request of DynamoDB")]
    NotAnOperation,
    #[error("the body is too large")]
    TooLarge,
    #[error("the body did not arrive in time")]
    TooSlow,
    #[error("the body could not be read")]
    Broken,
    #[error("there is no memory for it")]
    Throttled,
    #[error("{0}")]
    Error(#[from] Error),
}

impl Refused {
    fn answer(&self, body_bytes_max: usize) -> Reply {
        match self {
            Refused::NotAnOperation => Reply::not_an_operation(),
            Refused::TooLarge => {
                let message = format!("Request size exceeds the maximum of {body_bytes_max} bytes");
                dispatch::error_answer(&Error::new(ErrorKind::RequestEntityTooLarge, message)).closing()
            }
            Refused::TooSlow => {
                Reply::text(StatusCode::REQUEST_TIMEOUT, "The request body took too long.\n").closing()
            }
            Refused::Broken => {
                Reply::text(StatusCode::BAD_REQUEST, "The request body could not be read.\n").closing()
            }
            Refused::Throttled => dispatch::error_answer(&Error::throttled()),
            Refused::Error(error) => dispatch::error_answer(error),
        }
    }
}

impl From<BodyError> for Refused {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge => Refused::TooLarge,
            BodyError::TooSlow => Refused::TooSlow,
            BodyError::Broken => Refused::Broken,
            BodyError::Throttled => Refused::Throttled,
        }
    }
}

impl From<Throttled> for Refused {
    fn from(Throttled: Throttled) -> Self {
        Refused::Throttled
    }
}

/// DynamoDB takes two content types, each with or without parameters such as a charset.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .map(|value| value.as_bytes())
        .unwrap_or_default();
    let kind = value
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    kind.eq_ignore_ascii_case(b"application/x-amz-json-1.0") || kind.eq_ignore_ascii_case(b"application/json")
}
