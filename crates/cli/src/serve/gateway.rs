//! `trestle serve --backend URL`: the server before a remote endpoint.

use super::administration::{clock_and_faults, server_only};
use super::{faults, listen, models, open_files, settings};
use crate::administration::models::{Log, answer};
use crate::config::{BackendConfig, Config};
use crate::exit::{Code, Failure};
use crate::runtime;
use std::sync::Arc;
use trestle_admin::{AdminAnswer, AdminCall, AdminError, Administration};
use trestle_env::{Clock, SystemClock};
use trestle_gateway::{Gateway, GatewayError};
use trestle_remote::{Remote, Settings as RemoteSettings};
use trestle_server::{Faults, Hooks};

/// Serves until told to stop. Data, streams and tables are those of the endpoint; models are kept there, too.
pub(super) fn serve(config: &Config, url: &str) -> Result<(), Failure> {
    let mut server_settings = settings::server(config)?;
    open_files::make_room(&mut server_settings);
    let faults = faults::begin(&config.faults)?;
    refuse_local_settings(config)?;
    let remote = Remote::new(remote_settings(url, &config.backend)).map_err(Failure::usage)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let gateway = Gateway::with_clock(Arc::new(remote), Arc::clone(&clock));
    let gateway = gateway.map_err(|error| cannot_open(url, error))?;
    models::apply_files(gateway.models(), &config.storage.models)?;
    models::log_in_force(gateway.models());
    let administration = GatewayAdministration {
        gateway: gateway.clone(),
        faults: faults.clone(),
    };
    let hooks = Hooks {
        clock,
        administration: Some(Arc::new(administration)),
        backups: None,
        queues: None,
        faults,
        storage: None,
    };
    let place = format!("before {url}");
    runtime::on_this_thread()?.block_on(listen(&server_settings, Arc::new(gateway), hooks, &place))
}

/// What belongs to a data directory means nothing here.
fn refuse_local_settings(config: &Config) -> Result<(), Failure> {
    let storage = &config.storage;
    let given = [
        ("storage.data (--data)", storage.data.is_some()),
        ("storage.in_memory (--in-memory)", storage.in_memory == Some(true)),
        ("storage.routes (--routes)", storage.routes.is_some()),
        ("storage.block_kb (--block-kb)", storage.block_kb.is_some()),
        (
            "clock.virtual (--virtual-clock)",
            config.clock.is_virtual == Some(true),
        ),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(Failure::usage(format!(
            "{name} does not go with --backend: a gateway keeps nothing of its own, everything is at the endpoint{}",
            match name.contains("routes") {
                true => "; run routes there with `trestle routes run --endpoint URL`",
                false => "",
            }
        ))),
        None => Ok(()),
    }
}

fn remote_settings(url: &str, backend: &BackendConfig) -> RemoteSettings {
    let mut settings = RemoteSettings::from_environment(url);
    settings.region = backend.region.clone().or(settings.region);
    settings
}

fn cannot_open(url: &str, error: GatewayError) -> Failure {
    match error {
        GatewayError::Models(error) => {
            Failure::new(Code::BadModel, format!("cannot serve before {url}: {error}"))
        }
        other => Failure::failed(format!("cannot serve before {url}: {other}")),
    }
}

/// Answers the callers of a gateway: models, and the faults of tests.
struct GatewayAdministration {
    gateway: Gateway,
    faults: Option<Arc<Faults>>,
}

impl Administration for GatewayAdministration {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        match clock_and_faults(call, None, self.faults.as_ref()) {
            Ok(answered) => answered,
            Err(call) => match server_only(&call) {
                true => Err(AdminError::not_found(format!(
                    "a gateway has no {}: routes and reindexes of an endpoint are run by `trestle routes run` and `trestle \
                     reindex` with --endpoint",
                    call.info().name
                ))),
                false => answer(self.gateway.models(), *call, &mut Log),
            },
        }
    }
}
