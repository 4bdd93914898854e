//! `trestle serve --backend URL`: the server as a gateway of a remote endpoint.

use super::administration::{clock_and_faults, server_only};
use super::gateway_routes::GatewayRoutes;
use super::route_sources::RouteSources;
use super::{faults, listen, models, open_files, previews, route_workers, settings};
use crate::administration::models::{Log, answer};
use crate::administration::touches;
use crate::config::{BackendConfig, Config};
use crate::exit::{Code, Failure};
use crate::routes::doors::Openings;
use crate::runtime;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trestle_admin::{AdminAnswer, AdminCall, AdminError, Administration, GatewayStatus};
use trestle_api::Wait;
use trestle_env::{Clock, SystemClock};
use trestle_gateway::{Gateway, GatewayError, PastWrites, PastWritesOptions, StoredProbe};
use trestle_reindex::TouchByUpdate;
use trestle_remote::{Remote, Settings as RemoteSettings};
use trestle_server::{Faults, Hooks};
use trestle_targets::Surroundings;

/// How long the stored result of a probe is cached.
const PROBE_KNOWN: Duration = Duration::from_secs(60);

/// Serves until it is stopped. Data, streams, tables and models are stored at the endpoint.
pub(super) fn serve(config: &Config, url: &str) -> Result<(), Failure> {
    let mut server_settings = settings::server(config)?;
    open_files::make_room(&mut server_settings);
    let faults = faults::begin(&config.faults)?;
    refuse_local_settings(config)?;
    let remote = Remote::new(remote_settings(url, &config.backend)).map_err(Failure::usage)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let gateway = Gateway::with_clock(Arc::new(remote.clone()), Arc::clone(&clock));
    let gateway = gateway.map_err(|error| cannot_open(url, error))?;
    models::apply_files(gateway.models(), &config.storage.models)?;
    models::log_in_force(gateway.models());
    let workers = route_workers()?;
    let surroundings = Surroundings::of_process(Arc::clone(&clock));
    let doors = Openings::trusting(None, surroundings, settings::trust(config));
    let sources = RouteSources::new(Arc::new(gateway.clone()), doors, &config.storage)?;
    let routes = GatewayRoutes::start(
        gateway.duty(),
        sources,
        remote,
        Arc::clone(&clock),
        workers.handle(),
    );
    if let Some(file) = &config.storage.routes {
        routes.apply_file(file)?;
    }
    let past_writes = gateway.watch_past_writes(past_writes_options(&config.backend));
    let past_writes = Arc::new(past_writes.map_err(|error| cannot_open(url, error.into()))?);
    let administration = GatewayAdministration {
        gateway: gateway.clone(),
        url: url.to_owned(),
        probe: Mutex::default(),
        routes: Arc::clone(&routes),
        past_writes: Arc::clone(&past_writes),
        faults: faults.clone(),
    };
    let lag_source = Arc::clone(&routes);
    let hooks = Hooks {
        clock,
        administration: Some(Arc::new(administration)),
        is_forwarded: false,
        backups: None,
        queues: None,
        regions: None,
        faults,
        storage: None,
        route_lags: Some(Arc::new(move || {
            lag_source
                .at_work()
                .map(|routes| routes.lags())
                .unwrap_or_default()
        })),
    };
    let place = format!("before {url}");
    let runtime = runtime::on_this_thread()?;
    let result = runtime.block_on(listen(&server_settings, Arc::new(gateway), None, hooks, &place));
    workers.block_on(routes.stop());
    result
}

/// Refuses settings that apply only to a data directory.
fn refuse_local_settings(config: &Config) -> Result<(), Failure> {
    let storage = &config.storage;
    let given = [
        ("storage.data (--data)", storage.data.is_some()),
        ("storage.in_memory (--in-memory)", storage.in_memory == Some(true)),
        ("storage.block_kb (--block-kb)", storage.block_kb.is_some()),
        ("tables.regions (--regions)", config.tables.regions.is_some()),
        (
            "clock.virtual (--virtual-clock)",
            config.clock.is_virtual == Some(true),
        ),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(Failure::usage(format!(
            "{name} cannot be used with --backend: a gateway stores nothing itself, everything is at the endpoint"
        ))),
        None => Ok(()),
    }
}

fn remote_settings(url: &str, backend: &BackendConfig) -> RemoteSettings {
    let mut settings = RemoteSettings::from_environment(url);
    settings.region = backend.region.clone().or(settings.region);
    settings.retry_mode = backend.retry_mode.clone().or(settings.retry_mode);
    settings.max_attempts = backend
        .max_attempts
        .map(|tries| tries.to_string())
        .or(settings.max_attempts);
    if let Some(profile) = &backend.profile {
        settings.credentials = settings.credentials.with_profile(profile);
    }
    settings
}

fn past_writes_options(backend: &BackendConfig) -> PastWritesOptions {
    let default = PastWritesOptions::default();
    PastWritesOptions {
        follow: backend.follow.unwrap_or(default.follow),
        recount: backend
            .recount_seconds
            .map_or(default.recount, Duration::from_secs),
        sweep: backend.sweep_seconds.map(Duration::from_secs).or(default.sweep),
    }
}

fn cannot_open(url: &str, error: GatewayError) -> Failure {
    match error {
        GatewayError::Models(error) => {
            Failure::new(Code::BadModel, format!("cannot serve before {url}: {error}"))
        }
        other => Failure::failed(format!("cannot serve before {url}: {other}")),
    }
}

/// Answers administration calls to a gateway: models, routes, and the faults for tests.
struct GatewayAdministration {
    gateway: Gateway,
    url: String,
    /// The stored result of the last probe, and when it was read.
    probe: Mutex<(Option<Instant>, Option<StoredProbe>)>,
    routes: Arc<GatewayRoutes>,
    past_writes: Arc<PastWrites>,
    faults: Option<Arc<Faults>>,
}

impl Administration for GatewayAdministration {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let call = match self.routes.answer(call) {
            Ok(answered) => return answered,
            Err(call) => *call,
        };
        match call {
            AdminCall::ReadGateway(_) => self.status().map(AdminAnswer::ReadGateway),
            AdminCall::PreviewWrite(call) => {
                let preview = |request| self.gateway.preview(request).wait();
                previews::write(&call, preview).map(AdminAnswer::PreviewWrite)
            }
            AdminCall::TouchPage(call) => {
                let rows = TouchByUpdate::new(Arc::new(self.gateway.touching()));
                touches::touch(&rows, call).map(AdminAnswer::TouchPage)
            }
            AdminCall::SetReindexVersion(call) => {
                touches::set_version(self.gateway.models(), call).map(AdminAnswer::SetReindexVersion)
            }
            call => match clock_and_faults(call, None, self.faults.as_ref()) {
                Ok(answered) => answered,
                Err(call) => match server_only(&call) {
                    true => Err(not_here(&call)),
                    false => self.of_models(*call),
                },
            },
        }
    }
}

/// The error for a call that only a server with its own data answers.
fn not_here(call: &AdminCall) -> AdminError {
    let instead = match call {
        AdminCall::TryRoute(_) => "`trestle tail` shows the changes of an endpoint",
        AdminCall::InferModel(_) => "`trestle model infer` reads an endpoint with --endpoint",
        AdminCall::DeleteCollection(_) => {
            "`trestle delete-collection` deletes through a gateway with --endpoint"
        }
        AdminCall::ListPausedTables(_)
        | AdminCall::PauseWrites(_)
        | AdminCall::ResumeWrites(_)
        | AdminCall::WriteKeptRows(_) => "a copy asks a Trestle server with its own data",
        _ => "`trestle reindex` with --endpoint URL, the gateway's, runs it",
    };
    AdminError::not_found(format!("a gateway has no {}: {instead}", call.info().name))
}

impl GatewayAdministration {
    /// The stored result of the last probe: read once a minute, because metrics are read often.
    fn probe(&self) -> Option<StoredProbe> {
        let mut known = self.probe.lock();
        let (read, probe) = &mut *known;
        if read.is_none_or(|read| read.elapsed() >= PROBE_KNOWN) {
            match self.gateway.stored_probe().wait() {
                Ok(stored) => *probe = stored,
                Err(error) => tracing::warn!("the stored probe of the endpoint cannot be read: {error}"),
            }
            *read = Some(Instant::now());
        }
        probe.clone()
    }

    fn status(&self) -> Result<GatewayStatus, AdminError> {
        let probe = self.probe().map(serde_json::to_value).transpose();
        Ok(GatewayStatus {
            endpoint: Some(self.url.clone()),
            probe: probe.map_err(AdminError::failed)?,
            past_writes: self.past_writes.status(),
        })
    }

    /// When a version takes effect, its routes do so at the gateway that runs routes; immediately, if it is
    /// this one.
    fn of_models(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let text = match &call {
            AdminCall::ApplyModel(call) => Some(&call.text),
            AdminCall::PlanMigration(call) => Some(&call.text),
            AdminCall::StartMigration(call) => call.text.as_ref(),
            _ => None,
        };
        if let Some(problems) = text.and_then(|text| self.routes.sources().unsound(text)) {
            return Err(AdminError::unsound("the routes of the model", problems));
        }
        if let Some(why) = text.and_then(|text| self.routes.objection_to(text)) {
            return Err(AdminError::invalid(why));
        }
        let may_change = matches!(
            call,
            AdminCall::ApplyModel(_)
                | AdminCall::RemoveModel(_)
                | AdminCall::StartMigration(_)
                | AdminCall::RollBackMigration(_)
        );
        let answered = answer(self.gateway.models(), call, &mut Log);
        if let Some(routes) = self.routes.at_work().filter(|_| may_change && answered.is_ok()) {
            routes.follow_models();
        }
        answered
    }
}
