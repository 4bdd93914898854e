//! Settings: flags over environment over file over defaults.
//!
//! Each source becomes the same table of sections; the tables are merged and parsed once, so that a setting
//! has one name, one type and one place where it is refused.

mod environment;
mod file;

use crate::args::{ConsoleChoice, Durability, LogFormat, RegionsKept, ServeFlags};
use crate::exit::Failure;
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU16, NonZeroU64};
use std::path::PathBuf;
use toml::{Table, Value};
use trestle_server::Role;

/// All settings; an absent one takes its default where it is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    pub(crate) server: ServerConfig,
    pub(crate) storage: StorageConfig,
    pub(crate) backend: BackendConfig,
    pub(crate) auth: AuthConfig,
    pub(crate) routes: RoutesConfig,
    pub(crate) tables: TablesConfig,
    pub(crate) clock: ClockConfig,
    pub(crate) faults: FaultsConfig,
    pub(crate) log: LogConfig,
}

/// `[server]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerConfig {
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) insecure: Option<bool>,
    pub(crate) cors: Option<String>,
    pub(crate) allowed_hosts: Option<String>,
    pub(crate) console: Option<ConsoleChoice>,
    pub(crate) error_texts: Option<String>,
    pub(crate) behind_gateways: Option<bool>,
    pub(crate) connections_max: Option<usize>,
    pub(crate) memory_mb: Option<usize>,
    pub(crate) idle_seconds: Option<u64>,
    pub(crate) shutdown_seconds: Option<u64>,
}

/// `[backend]`: the endpoint that a gateway stands before. Credentials come from where AWS's tools find them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BackendConfig {
    pub(crate) url: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) profile: Option<String>,
    /// How requests that fail are tried again: `standard` or `adaptive`.
    pub(crate) retry_mode: Option<String>,
    pub(crate) max_attempts: Option<u32>,
    /// Whether the streams of modelled tables are read for changes past the gateways.
    pub(crate) follow: Option<bool>,
    pub(crate) recount_seconds: Option<u64>,
    pub(crate) sweep_seconds: Option<u64>,
}

/// `[storage]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StorageConfig {
    pub(crate) data: Option<PathBuf>,
    pub(crate) in_memory: Option<bool>,
    pub(crate) durability: Option<Durability>,
    pub(crate) cache_mb: Option<u64>,
    pub(crate) block_kb: Option<u32>,
    /// Model files to apply at the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) models: Vec<PathBuf>,
    /// The route file to apply at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) routes: Option<PathBuf>,
}

/// `[auth]`: one key for everything, or several in `[[auth.keys]]`, each with its role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AuthConfig {
    pub(crate) access_key: Option<String>,
    pub(crate) secret_key: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) keys: Vec<KeyConfig>,
}

/// One entry of `[[auth.keys]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyConfig {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    /// What its holder may do; `data` unless it is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<Role>,
}

/// `[routes]`: what routes may use that callers apply. Those in files that the server is started with may use everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RoutesConfig {
    pub(crate) allow_commands: Option<bool>,
    pub(crate) allow_private_webhooks: Option<bool>,
}

/// `[tables]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TablesConfig {
    pub(crate) region: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) regions: Option<RegionsKept>,
    pub(crate) stream_shards: Option<NonZeroU16>,
    pub(crate) stream_shard_mb: Option<NonZeroU64>,
    pub(crate) stream_retention_hours: Option<u64>,
    pub(crate) held_changes_gb: Option<u64>,
    pub(crate) create_ms: Option<u64>,
    pub(crate) update_ms: Option<u64>,
    pub(crate) delete_ms: Option<u64>,
}

/// `[clock]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClockConfig {
    #[serde(rename = "virtual")]
    pub(crate) is_virtual: Option<bool>,
}

/// `[faults]`: what is injected into requests, for tests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FaultsConfig {
    /// Whether callers of the administration may set rules.
    pub(crate) allow: Option<bool>,
    /// The rules at the start; any of them allows more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) rules: Vec<String>,
}

/// `[log]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogConfig {
    pub(crate) format: Option<LogFormat>,
    pub(crate) level: Option<String>,
}

/// The delay of DynamoDB Local's `-delayTransientStatuses`.
const TRANSIENT_STATUS_MS: u64 = 500;

/// Reads the settings from all sources.
pub(crate) fn load(flags: &ServeFlags) -> Result<Config, Failure> {
    let file = file::read(flags.config.as_deref())?;
    let environment = environment::read(std::env::vars_os())?;
    combine([file, environment, typed(flags)?])
}

/// Merges the tables; later ones override earlier ones.
fn combine(layers: impl IntoIterator<Item = Table>) -> Result<Config, Failure> {
    let mut combined = Table::new();
    for layer in layers {
        lay_over(&mut combined, layer);
    }
    combined
        .try_into()
        .map_err(|error| Failure::usage(format!("the settings do not fit together: {error}")))
}

fn lay_over(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay_over(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// The flags as a table. A directory given as a flag also overrides an `in_memory` of another source.
fn typed(flags: &ServeFlags) -> Result<Table, Failure> {
    let delay = flags.delay_transient_statuses.then_some(TRANSIENT_STATUS_MS);
    let config = Config {
        server: ServerConfig {
            host: flags.host.clone(),
            port: flags.port,
            tls_cert: flags.tls_cert.clone(),
            tls_key: flags.tls_key.clone(),
            insecure: flags.insecure.then_some(true),
            cors: flags.cors.clone(),
            allowed_hosts: flags.allowed_hosts.clone(),
            console: flags.console,
            error_texts: flags.error_texts.clone(),
            behind_gateways: flags.behind_gateways.then_some(true),
            memory_mb: flags.memory_mb,
            ..ServerConfig::default()
        },
        storage: StorageConfig {
            data: flags.data.clone(),
            in_memory: flags
                .in_memory
                .then_some(true)
                .or(flags.data.is_some().then_some(false)),
            durability: flags.durability,
            block_kb: flags.block_kb,
            models: flags.models.clone(),
            routes: flags.routes.clone(),
            ..StorageConfig::default()
        },
        backend: BackendConfig {
            url: flags.backend.clone(),
            region: flags.backend_region.clone(),
            profile: flags.backend_profile.clone(),
            follow: flags.no_follow.then_some(false),
            recount_seconds: flags.recount_seconds,
            sweep_seconds: flags.sweep_seconds,
            ..BackendConfig::default()
        },
        auth: AuthConfig {
            access_key: flags.access_key.clone(),
            secret_key: flags.secret_key.clone(),
            keys: Vec::new(),
        },
        routes: RoutesConfig {
            allow_commands: flags.allow_command_routes.then_some(true),
            allow_private_webhooks: flags.allow_private_webhooks.then_some(true),
        },
        tables: TablesConfig {
            regions: flags.regions,
            stream_shards: flags.stream_shards,
            stream_shard_mb: flags.stream_shard_mb,
            held_changes_gb: flags.held_changes_gb,
            create_ms: flags.create_table_ms.or(delay),
            update_ms: flags.update_table_ms.or(delay),
            delete_ms: flags.delete_table_ms.or(delay),
            ..TablesConfig::default()
        },
        clock: ClockConfig {
            is_virtual: flags.virtual_clock.then_some(true),
        },
        faults: FaultsConfig {
            allow: flags.allow_fault_injection.then_some(true),
            rules: flags.inject_faults.clone(),
        },
        log: LogConfig {
            format: flags.log_format,
            level: flags.log_level.clone(),
        },
    };
    Table::try_from(config).map_err(|error| Failure::usage(format!("cannot use the flags: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn from(file: &str, variables: &[(&str, &str)], flags: &ServeFlags) -> Config {
        let variables = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        combine([
            file::parse(file, "trestle.toml").unwrap(),
            environment::read(variables).unwrap(),
            typed(flags).unwrap(),
        ])
        .unwrap()
    }

    #[test]
    fn flags_win_over_environment_over_file() {
        let file = "[server]\nport = 1\nhost = 'a'\ncors = 'x'";
        let flags = ServeFlags {
            port: Some(3),
            ..ServeFlags::default()
        };
        let config = from(
            file,
            &[("TRESTLE__SERVER__PORT", "2"), ("TRESTLE__SERVER__HOST", "b")],
            &flags,
        );
        assert_eq!(config.server.port, Some(3));
        assert_eq!(config.server.host.as_deref(), Some("b"));
        assert_eq!(config.server.cors.as_deref(), Some("x"));
    }

    #[test]
    fn a_flag_that_was_not_typed_overrules_nothing() {
        let config = from("[storage]\nin_memory = true", &[], &ServeFlags::default());
        assert_eq!(config.storage.in_memory, Some(true));
        let flags = ServeFlags {
            data: Some("d".into()),
            ..ServeFlags::default()
        };
        let config = from("[storage]\nin_memory = true", &[], &flags);
        assert_eq!(config.storage.in_memory, Some(false));
    }

    #[test]
    fn dynamodb_locals_delay_gives_way_to_a_precise_one() {
        let flags = ServeFlags {
            delay_transient_statuses: true,
            create_table_ms: Some(7),
            ..ServeFlags::default()
        };
        let config = from("", &[], &flags);
        assert_eq!(config.tables.create_ms, Some(7));
        assert_eq!(config.tables.delete_ms, Some(TRANSIENT_STATUS_MS));
    }
}
