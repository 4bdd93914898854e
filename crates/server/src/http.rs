//! From an HTTP request to its answer: routes by path, and checks whether the caller is allowed.

use crate::administration;
use crate::admission::{Admission, Effort, Throttled};
use crate::auth::Verifier;
use crate::backup::{self, BackupSource, Backups};
use crate::body::{self, BodyError};
use crate::console;
use crate::cors;
use crate::dispatch;
use crate::faults::{Faulted, Faults};
use crate::hosts::Hosts;
use crate::metrics::{self, Metrics};
use crate::queues;
use crate::receive::ReceivedRequest;
use crate::regions::{self, Region, Regions};
use crate::reply::{Cut, Reply};
use crate::reply_body::ReplyBody;
use crate::same_origin;
use crate::settings::{ConsoleMode, CorsOrigins, Limits, Settings};
use crate::upload::Upload;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trestle_admin::{
    AdminCall, AdminError, Administration, AdministrationExt, BACKUP, Call, ListMigrations, ListRoutes,
    ReadGateway, ReadMetrics, RouteSample,
};
use trestle_api::{Database, Error, ErrorKind};
use trestle_embedded::StorageReads;
use trestle_env::{Clock, SeldomLog, SystemClock};
use trestle_queue::Queues;
use trestle_queue::sqs::QueueOperation;
use trestle_wire::ErrorTexts;

/// The time between two log lines about refusals of one kind.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(1);

/// The most bytes of path and headers, as in DynamoDB. Hyper refuses heads of twice this length earlier.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Services of the program around the server.
#[derive(Clone)]
pub struct Hooks {
    /// The time that signatures are checked against.
    pub clock: Arc<dyn Clock>,
    /// Answers the calls of the administration; without it they are refused.
    pub administration: Option<Arc<dyn Administration>>,
    /// Whether the administration is that of another server, which has its own metrics.
    pub is_forwarded: bool,
    /// The source of backups; without it there are none.
    pub backups: Option<Arc<dyn BackupSource>>,
    /// Answers SQS's operations; without it they are refused.
    pub queues: Option<Queues>,
    /// The separate regions; without it there is one namespace for all.
    pub regions: Option<Arc<dyn Regions>>,
    /// Injects faults into operations, for tests; without it none are injected.
    pub faults: Option<Arc<Faults>>,
    /// The reads of storage, for the metrics; without it they are left out.
    pub storage: Option<StorageSource>,
    /// The lag of the routes that run here, for the metrics of the last hour; without it they are left out.
    pub route_lags: Option<RouteLags>,
}

/// Returns the lag of routes. It is called often, and must not wait for anything.
pub type RouteLags = Arc<dyn Fn() -> Vec<RouteSample> + Send + Sync>;

/// Returns what storage has read to find rows since the database was opened.
pub type StorageSource = Arc<dyn Fn() -> StorageReads + Send + Sync>;

impl Default for Hooks {
    fn default() -> Self {
        Hooks {
            clock: Arc::new(SystemClock::new()),
            administration: None,
            is_forwarded: false,
            backups: None,
            queues: None,
            regions: None,
            faults: None,
            storage: None,
            route_lags: None,
        }
    }
}

/// Everything a request needs, shared by all connections.
pub(crate) struct Service {
    /// Answers requests unless regions are separate.
    own: Region,
    regions: Option<Arc<dyn Regions>>,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) admission: Arc<Admission>,
    pub(crate) refusals: SeldomLog,
    pub(crate) error_texts: ErrorTexts,
    verifier: Option<Verifier>,
    administration: Option<Arc<dyn Administration>>,
    is_forwarded: bool,
    backups: Option<Backups>,
    faults: Option<Arc<Faults>>,
    storage: Option<StorageSource>,
    route_lags: Option<RouteLags>,
    hosts: Hosts,
    pub(crate) console: ConsoleMode,
    cors: CorsOrigins,
    /// Whether clients speak TLS.
    is_tls: bool,
    clock: Arc<dyn Clock>,
    /// Host and port for the health text.
    address: String,
}

impl Service {
    pub(crate) fn new(
        settings: &Settings,
        (bound, address): (IpAddr, String),
        database: Arc<dyn Database>,
        hooks: Hooks,
    ) -> Self {
        Service {
            own: Region {
                database,
                queues: hooks.queues,
            },
            regions: hooks.regions,
            metrics: Metrics::new(),
            limits: settings.limits.clone(),
            admission: Admission::new(&settings.limits),
            refusals: SeldomLog::every(BETWEEN_REFUSALS),
            error_texts: settings.error_texts,
            verifier: Verifier::new(&settings.access_keys, Arc::clone(&hooks.clock)),
            clock: hooks.clock,
            administration: hooks.administration,
            is_forwarded: hooks.is_forwarded,
            backups: hooks
                .backups
                .map(|source| Backups::new(source, settings.limits.body_read)),
            faults: hooks.faults,
            storage: hooks.storage,
            route_lags: hooks.route_lags,
            hosts: Hosts::of(bound, !settings.access_keys.is_empty(), &hosts(settings)),
            console: settings.console,
            is_tls: settings.tls.is_some(),
            cors: settings.cors.clone(),
            address,
        }
    }

    /// Answers a request; there is an answer to every faulty request, unless a test wants none.
    pub(crate) async fn answer(&self, head: Parts, body: Upload) -> Result<Response<ReplyBody>, Cut> {
        let received = Instant::now();
        let id = trestle_env::ids::request_id();
        let path = head.uri.path();
        let (answer, cors) = match administration::call_name(path) {
            Some(name) => (
                Box::pin(self.administer(name, &head, body, &id)).await,
                &NO_ORIGIN,
            ),
            None => match console::asked(self.console, path) {
                Some(rest) => (Box::pin(self.console(rest, &head, body, &id)).await, &NO_ORIGIN),
                None => (self.route(&head, body, received, &id).await, self.readers(path)),
            },
        };
        tracing::trace!(method = %head.method, path, status = answer.status().as_u16(), %id, "answered");
        if answer.is_cut() {
            return Err(Cut);
        }
        Ok(answer.into_response(&head.headers, id, cors))
    }

    /// Whose scripts may read the answers of a path. Metrics name routes, migrations and reindexes, and
    /// belong to no data protocol.
    fn readers(&self, path: &str) -> &CorsOrigins {
        match path {
            METRICS => &NO_ORIGIN,
            _ => &self.cors,
        }
    }

    /// The URL by which clients reach this server, from their requests.
    pub(crate) fn origin_of(&self, host: Option<&str>) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}", host.unwrap_or(&self.address))
    }

    async fn route(&self, head: &Parts, body: Upload, received: Instant, id: &str) -> Reply {
        if head_bytes(head) > HEAD_BYTES_MAX {
            return Reply::text(StatusCode::BAD_REQUEST, "Bad Request: the headers are too long");
        }
        if let Err(refused) = self.check_host(head) {
            return self.refuse(refused, id);
        }
        match (&head.method, head.uri.path()) {
            (&Method::POST | &Method::GET, _) if queues::is_query(head) => {
                Box::pin(self.query_operation(head, body, received, id)).await
            }
            // Some SDKs send the operations on a queue to the queue's own URL.
            (&Method::POST, path) if path == "/" || queues::name_of(target(&head.headers)).is_some() => {
                match self.operation(head, body, received, id).await {
                    Ok(answer) if path == "/" => answer.in_type_of(&head.headers),
                    Ok(answer) => answer,
                    Err(refused) => self.refuse(refused, id),
                }
            }
            (&Method::GET | &Method::HEAD, "/") => {
                Reply::text(StatusCode::OK, format!("healthy: {}", self.address))
            }
            (&Method::GET, METRICS) => Reply::metrics(self.metrics_page().await),
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
            return Err(Refused::NotAnOperation);
        }
        self.check_origin(head)?;
        let asked = target(&head.headers);
        if let Some(name) = queues::name_of(asked) {
            return Box::pin(self.queue_operation(name, head, body, received, id)).await;
        }
        let operation = trestle_wire::parse_target(asked)?;
        let request = self.receive(head, body).await?;
        let database = self.region(head).await?.database;
        let hit = self
            .faults
            .as_ref()
            .and_then(|faults| faults.pick(operation, &request.body));
        if let Some(hit) = hit {
            let faulted = Faulted {
                service: self,
                database: &database,
                operation,
                received,
                id,
            };
            return Ok(Box::pin(faulted.answer(hit, request)).await);
        }
        Ok(dispatch::execute(self, &database, operation, request, received, id).await)
    }

    /// Answers a request whose signature has been checked.
    async fn region(&self, head: &Parts) -> Result<Region, Error> {
        regions::of_request(self.regions.as_ref(), &self.own, head).await
    }

    async fn queue_operation(
        &self,
        name: &str,
        head: &Parts,
        body: Upload,
        received: Instant,
        id: &str,
    ) -> Result<Reply, Refused> {
        let operation = match queues::operation(self, name, id) {
            Ok(operation) => operation,
            Err(refusal) => return Ok(refusal),
        };
        let asked = self.receive(head, body).await?;
        let Some(queues) = self.region(head).await?.queues else {
            return Ok(queues::no_queues());
        };
        let protocol = queues::Protocol::Json;
        self.execute_queue(&queues, operation, head, asked, received, id, protocol)
            .await
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "everything that is known of one request"
    )]
    async fn execute_queue(
        &self,
        queues: &Queues,
        operation: QueueOperation,
        head: &Parts,
        asked: ReceivedRequest,
        received: Instant,
        id: &str,
        protocol: queues::Protocol,
    ) -> Result<Reply, Refused> {
        let turn = self.turn(&asked, Effort::small()).await?;
        // It may wait for messages, and does not delay other requests.
        let _turn = (operation != QueueOperation::ReceiveMessage).then_some(turn);
        Ok(queues::execute(self, queues, operation, head, asked, received, id, protocol).await)
    }

    /// An operation on queues in SQS's older protocol.
    async fn query_operation(&self, head: &Parts, body: Upload, received: Instant, id: &str) -> Reply {
        match self.queried(head, body, received, id).await {
            Ok(answer) => answer,
            Err(Refused::Error(error)) => {
                let answer = queues::Protocol::Query.refusal(&error, id);
                self.refuse(Refused::Error(error), id);
                answer
            }
            Err(refused) => self.refuse(refused, id),
        }
    }

    async fn queried(
        &self,
        head: &Parts,
        body: Upload,
        received: Instant,
        id: &str,
    ) -> Result<Reply, Refused> {
        self.check_origin(head)?;
        queues::check_page(head)?;
        let mut asked = self.receive(head, body).await?;
        let Some(queues) = self.region(head).await?.queues else {
            return Ok(queues::no_queues());
        };
        match queues::read_query(self, head, &asked.body, id) {
            Ok(request) => {
                asked.body = Bytes::from(request.body);
                let protocol = queues::Protocol::Query;
                self.execute_queue(&queues, request.operation, head, asked, received, id, protocol)
                    .await
            }
            Err(refusal) => Ok(refusal),
        }
    }

    /// A request to the console.
    async fn console(&self, rest: &str, head: &Parts, body: Upload, id: &str) -> Reply {
        match console::answer(self, rest, head, body).await {
            Ok(answer) => answer,
            Err(refused) => self.refuse(refused, id),
        }
    }

    /// A call of the administration.
    async fn administer(&self, name: &str, head: &Parts, body: Upload, id: &str) -> Reply {
        match self.administered(name, head, body, id).await {
            Ok(answer) => answer,
            Err(refused) => self.refuse(refused, id),
        }
    }

    async fn administered(&self, name: &str, head: &Parts, body: Upload, id: &str) -> Result<Reply, Refused> {
        self.admit(head)?;
        let asked = self.receive(head, body).await?;
        asked.caller.check_call(name)?;
        if administration::is_of_rows(name) {
            tracing::debug!(id, call = name, key = asked.caller.name(), "rows are touched");
        } else if !administration::only_looks(name) {
            tracing::info!(
                id,
                call = name,
                key = asked.caller.name(),
                "the administration is called"
            );
        }
        if name == BACKUP {
            AdminCall::check_empty(&asked.body)?;
            return Ok(self
                .backups
                .as_ref()
                .map_or_else(backup::no_backups, Backups::answer));
        }
        if name == ReadMetrics::INFO.name && !self.is_forwarded {
            return Ok(administration::metrics(&self.metrics, &asked.body));
        }
        match &self.administration {
            Some(administration) => Ok(administration::answer(administration, name, &asked.body).await),
            None => Ok(administration::none()),
        }
    }

    /// Refuses a call that a web page may have sent.
    fn admit(&self, head: &Parts) -> Result<(), Refused> {
        self.check_host(head)?;
        Ok(administration::admit(head, &self.origin_of(host(head)))?)
    }

    /// Refuses a request that a web page sent under a name of its own.
    pub(crate) fn check_host(&self, head: &Parts) -> Result<(), Refused> {
        self.hosts.check(head).map_err(|host| {
            Refused::Error(Error::access_denied(format!(
                "This server does not answer to the host {host:?}. If it is one of its names, add it to --allowed-hosts"
            )))
        })
    }

    /// Refuses an operation that a script of a forbidden origin sent. Browsers usually ask before they send
    /// one; this covers those that do not.
    fn check_origin(&self, head: &Parts) -> Result<(), Refused> {
        match head.headers.get(header::ORIGIN) {
            Some(origin) if !cors::is_allowed(&self.cors, origin) => {
                let own = self.origin_of(host(head));
                let Some(origin) = same_origin::foreign_origin(&head.headers, &own) else {
                    return Ok(());
                };
                Err(Refused::Error(Error::access_denied(format!(
                    "Scripts of {origin} may not call this server. --cors says which may"
                ))))
            }
            _ => Ok(()),
        }
    }

    /// Keeps what was done since the last sample.
    pub(crate) fn sample(&self) {
        let routes = self.route_lags.as_ref().map(|lags| lags()).unwrap_or_default();
        let storage = self.storage.as_ref().map(|reads| reads());
        self.metrics
            .history
            .record(&self.metrics, storage, routes, self.clock.now().as_secs());
    }

    async fn metrics_page(&self) -> String {
        let administration = self.administration.as_ref();
        // Without routes, migrations or reindexes there are no figures about them.
        let routes = asked(administration, ListRoutes {}).await;
        let migrations = asked(administration, ListMigrations::default()).await;
        let gateway = asked(administration, ReadGateway {}).await;
        let reindexes = match administration {
            Some(administration) => metrics::reindexes::running(administration).await,
            None => Vec::new(),
        };
        let faults = self.faults.as_ref();
        let faults = faults.map(|faults| metrics::faults::render(faults));
        let storage = self.storage.as_ref();
        let storage = storage.map(|reads| metrics::storage::render(&reads()));
        self.metrics.render()
            + &metrics::admission::render(&self.admission)
            + &faults.unwrap_or_default()
            + &storage.unwrap_or_default()
            + &metrics::routes::render(&routes.unwrap_or_default())
            + &metrics::migrations::render(&migrations.unwrap_or_default().migrations)
            + &metrics::reindexes::render(&reindexes)
            + &metrics::gateway::render(gateway.as_ref())
    }

    pub(crate) async fn read(&self, body: Upload) -> Result<Bytes, Refused> {
        Ok(body::read(body, self.limits.body_bytes_max, self.limits.body_read).await?)
    }

    pub(crate) fn verifier(&self) -> Option<&Verifier> {
        self.verifier.as_ref()
    }

    fn count(&self, refused: &Refused) {
        self.metrics.refused();
        match refused {
            Refused::Throttled => self.admission.counts.throttle(),
            Refused::TooSlow => self.admission.counts.give_up_body(),
            _ => {}
        }
    }

    fn refuse(&self, refused: Refused, id: &str) -> Reply {
        self.count(&refused);
        let answer = refused.answer(self.limits.body_bytes_max);
        if let Some(left_out) = self.refusals.admit(refused.kind()) {
            tracing::warn!(%id, status = answer.status().as_u16(), reason = %refused, left_out, "refused a request");
        }
        answer
    }
}

/// The header that names an operation.
pub(crate) const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// The requested operation; empty if the request names none, or none in a known form.
pub(crate) fn target(headers: &HeaderMap) -> &str {
    let target = headers.get(TARGET).map(|value| value.as_bytes());
    target
        .and_then(|value| std::str::from_utf8(value).ok())
        .unwrap_or_default()
}

/// The path of the metrics.
const METRICS: &str = "/metrics";

/// The administration's answer, if it has one. It may read rows of an endpoint, which takes time.
async fn asked<C: Call + Send + 'static>(
    administration: Option<&Arc<dyn Administration>>,
    call: C,
) -> Option<C::Answer>
where
    C::Answer: Send,
{
    let administration = Arc::clone(administration?);
    let ask = move || administration.ask(call).ok();
    tokio::task::spawn_blocking(ask).await.ok().flatten()
}

/// No script of another origin may read answers of the administration, or the metrics.
static NO_ORIGIN: CorsOrigins = CorsOrigins::Only(Vec::new());

fn head_bytes(head: &Parts) -> usize {
    let headers = head.headers.iter();
    headers.fold(head.uri.path().len(), |sum, (name, value)| {
        sum + name.as_str().len() + value.len()
    })
}

/// Additional names, and the name that the server listens on.
fn hosts(settings: &Settings) -> Vec<String> {
    let own = std::iter::once(&settings.host);
    settings.allowed_hosts.iter().chain(own).cloned().collect()
}

/// The host in a request.
pub(crate) fn host(head: &Parts) -> Option<&str> {
    let header = head.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    header.or_else(|| head.uri.authority().map(|authority| authority.as_str()))
}

/// Why a request was refused before it became an operation.
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
    #[error("{0}")]
    Call(#[from] AdminError),
}

impl Refused {
    /// The name in the log.
    fn kind(&self) -> &'static str {
        match self {
            Refused::NotAnOperation => "no operation",
            Refused::TooLarge => "too large",
            Refused::TooSlow => "too slow",
            Refused::Broken => "broken",
            Refused::Throttled => "throttled",
            Refused::Error(error) => error.kind().as_str(),
            Refused::Call(_) => "call",
        }
    }

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
            Refused::Call(error) => administration::refusal(error),
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

/// DynamoDB accepts two content types, each with or without parameters such as a charset.
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
