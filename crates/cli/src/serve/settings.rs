//! Converts settings to the options of the server, the store and the engine.

use crate::args::{ConsoleChoice, Durability};
use crate::config::{AuthConfig, Config};
use crate::exit::Failure;
use std::fmt;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;
use trestle_embedded::{BlockSize, Durability as StoreDurability, EngineOptions, StoreSettings};
use trestle_server::{
    AccessKey, ConsoleMode, CorsOrigins, ErrorTexts, KeyGrant, Limits, MEMORY_BYTES_MAX, Role, Settings,
    TlsFiles,
};
use trestle_targets::Trust;

const DEFAULT_DATA: &str = "trestle-data";

/// The least memory for requests and answers.
const MEMORY_MB_MIN: usize = 64;

/// The location of the data.
#[derive(Clone, Debug)]
pub(super) enum Storage {
    Memory,
    Directory { path: PathBuf, settings: StoreSettings },
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Storage::Memory => f.write_str("in memory, gone when it stops"),
            Storage::Directory { path, settings } => {
                write!(f, "data in {}", path.display())?;
                match settings.durability {
                    StoreDurability::Fsync => Ok(()),
                    StoreDurability::Buffered => f.write_str(", buffered"),
                }
            }
        }
    }
}

pub(super) fn storage(config: &Config) -> Result<Storage, Failure> {
    let storage = &config.storage;
    if storage.in_memory == Some(true) {
        return Ok(Storage::Memory);
    }
    let mut settings = StoreSettings::default();
    if let Some(durability) = storage.durability {
        settings.durability = match durability {
            Durability::Fsync => StoreDurability::Fsync,
            Durability::Buffered => StoreDurability::Buffered,
        };
    }
    if let Some(megabytes) = storage.cache_mb {
        settings.cache_bytes = megabytes.saturating_mul(1024 * 1024);
    }
    if let Some(kib) = storage.block_kb {
        let size = BlockSize::from_kib(kib);
        let size = size.map_err(|error| Failure::usage(format!("storage.block_kb: {error}")))?;
        settings.block_size = Some(size);
    }
    Ok(Storage::Directory {
        path: storage
            .data
            .clone()
            .unwrap_or_else(|| PathBuf::from(DEFAULT_DATA)),
        settings,
    })
}

pub(super) fn engine(config: &Config) -> EngineOptions {
    let tables = &config.tables;
    let defaults = EngineOptions::default();
    let delay = |ms: Option<u64>, default| ms.map_or(default, Duration::from_millis);
    EngineOptions {
        region: tables.region.clone().unwrap_or(defaults.region),
        account: tables.account.clone().unwrap_or(defaults.account),
        stream_shards: tables
            .stream_shards
            .map_or(defaults.stream_shards, NonZeroU16::get),
        stream_retention: tables
            .stream_retention_hours
            .map_or(defaults.stream_retention, |hours| {
                Duration::from_secs(hours.saturating_mul(3600))
            }),
        held_changes_bytes_max: tables
            .held_changes_gb
            .map_or(defaults.held_changes_bytes_max, |gigabytes| {
                gigabytes.saturating_mul(1_000_000_000)
            }),
        create_table_delay: delay(tables.create_ms, defaults.create_table_delay),
        update_table_delay: delay(tables.update_ms, defaults.update_table_delay),
        delete_table_delay: delay(tables.delete_ms, defaults.delete_table_delay),
        endpoint: endpoint(config),
        expiry_interval: defaults.expiry_interval,
        stream_shard_bytes_max: tables
            .stream_shard_mb
            .map_or(defaults.stream_shard_bytes_max, |mebibytes| {
                mebibytes.get().saturating_mul(1 << 20)
            }),
    }
}

/// The address at which clients reach this server, for the one operation that returns it.
fn endpoint(config: &Config) -> String {
    let defaults = Settings::default();
    let host = config.server.host.as_ref().unwrap_or(&defaults.host);
    format!("{host}:{}", config.server.port.unwrap_or(defaults.port))
}

/// What routes that callers apply may use.
pub(super) fn trust(config: &Config) -> Trust {
    Trust {
        commands_and_secrets: config.routes.allow_commands.unwrap_or(false),
        private_addresses: config.routes.allow_private_webhooks.unwrap_or(false),
    }
}

pub(super) fn server(config: &Config) -> Result<Settings, Failure> {
    let server = &config.server;
    let defaults = Settings::default();
    let limits = Limits::default();
    let seconds = |set: Option<u64>, default| set.map_or(default, Duration::from_secs);
    Ok(Settings {
        host: server.host.clone().unwrap_or(defaults.host),
        port: server.port.unwrap_or(defaults.port),
        access_keys: access_keys(&config.auth)?,
        tls: tls(server.tls_cert.clone(), server.tls_key.clone())?,
        insecure: server.insecure.unwrap_or(false),
        cors: server.cors.as_deref().map_or(Ok(defaults.cors), cors)?,
        allowed_hosts: server.allowed_hosts.as_deref().map_or(Ok(Vec::new()), hosts)?,
        console: match server.console {
            None | Some(ConsoleChoice::Full) => ConsoleMode::Full,
            Some(ConsoleChoice::ReadOnly) => ConsoleMode::ReadOnly,
            Some(ConsoleChoice::Off) => ConsoleMode::Off,
        },
        error_texts: server
            .error_texts
            .as_deref()
            .map_or(Ok(defaults.error_texts), error_texts)?,
        limits: Limits {
            connections_max: server.connections_max.unwrap_or(limits.connections_max).max(1),
            // With a limit of zero, no request could ever arrive.
            idle: seconds(server.idle_seconds, limits.idle).max(Duration::from_secs(1)),
            shutdown: seconds(server.shutdown_seconds, limits.shutdown),
            memory_bytes_max: memory(server.memory_mb)?,
            ..limits
        },
    })
}

/// Half of it must hold the largest body and leave room for others.
fn memory(megabytes: Option<usize>) -> Result<usize, Failure> {
    match megabytes {
        None => Ok(MEMORY_BYTES_MAX),
        Some(megabytes) if megabytes < MEMORY_MB_MIN => Err(Failure::usage(format!(
            "server.memory_mb is {megabytes}; it must be at least {MEMORY_MB_MIN}"
        ))),
        Some(megabytes) => Ok(megabytes.saturating_mul(1024 * 1024)),
    }
}

fn access_keys(auth: &AuthConfig) -> Result<Vec<KeyGrant>, Failure> {
    let mut keys: Vec<KeyGrant> = Vec::new();
    match (&auth.access_key, &auth.secret_key) {
        (Some(id), Some(secret)) => keys.push(KeyGrant::everything(access_key(id, secret)?)),
        (None, None) => {}
        _ => {
            return Err(Failure::usage(
                "set both auth.access_key and auth.secret_key, or neither",
            ));
        }
    }
    for key in &auth.keys {
        keys.push(KeyGrant {
            key: access_key(&key.access_key, &key.secret_key)?,
            role: key.role.unwrap_or(Role::Data),
        });
    }
    for (at, grant) in keys.iter().enumerate() {
        let id = &grant.key.id;
        if keys.iter().take(at).any(|other| other.key.id == *id) {
            return Err(Failure::usage(format!(
                "the access key {id} is configured twice; give each key its own id"
            )));
        }
    }
    Ok(keys)
}

/// Refuses an empty key, which would give no protection.
fn access_key(id: &str, secret: &str) -> Result<AccessKey, Failure> {
    if id.is_empty() || secret.is_empty() {
        return Err(Failure::usage(
            "an access key or its secret is empty; set both, or neither",
        ));
    }
    Ok(AccessKey {
        id: id.to_owned(),
        secret: secret.to_owned(),
    })
}

fn tls(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<TlsFiles>, Failure> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        (None, None) => Ok(None),
        _ => Err(Failure::usage(
            "set both server.tls_cert and server.tls_key, or neither",
        )),
    }
}

fn error_texts(text: &str) -> Result<ErrorTexts, Failure> {
    let parsed = text.trim().parse();
    parsed.map_err(|error| Failure::usage(format!("server.error_texts: {error}")))
}

fn cors(text: &str) -> Result<CorsOrigins, Failure> {
    let origins = match text.trim() {
        "*" => return Ok(CorsOrigins::Any),
        "loopback" => return Ok(CorsOrigins::Loopback),
        "none" | "" => Vec::new(),
        list => listed(list),
    };
    match origins.iter().find(|origin| !is_origin(origin)) {
        Some(origin) => Err(Failure::usage(format!(
            "server.cors: `{origin}` is no origin; write it as browsers send it, such as https://app.example, or use *, \
             loopback or none"
        ))),
        None => Ok(CorsOrigins::Only(origins)),
    }
}

/// Whether a text is a scheme and an authority, with nothing after them.
fn is_origin(text: &str) -> bool {
    let authority = text.split_once("://").map(|(_, authority)| authority);
    authority
        .is_some_and(|authority| !authority.is_empty() && !authority.contains(['/', '?', '#', '@', ' ', '*']))
}

fn hosts(text: &str) -> Result<Vec<String>, Failure> {
    let hosts = listed(text);
    match hosts
        .iter()
        .find(|host| *host != "*" && host.contains(['/', '*', ' ', '@']))
    {
        Some(host) => Err(Failure::usage(format!(
            "server.allowed_hosts: `{host}` is not a host name; write db.example, or * for all"
        ))),
        None => Ok(hosts),
    }
}

/// The items of a comma-separated list.
fn listed(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KeyConfig;

    #[test]
    fn half_a_pair_is_refused() {
        let mut config = Config::default();
        config.auth.access_key = Some("a".to_owned());
        assert!(server(&config).is_err());
        config.auth.secret_key = Some(String::new());
        assert!(server(&config).is_err());
        config.auth.secret_key = Some("b".to_owned());
        assert_eq!(server(&config).unwrap().access_keys.len(), 1);
        config.server.tls_key = Some("k".into());
        assert!(server(&config).is_err());
    }

    #[test]
    fn the_one_key_is_for_everything_and_those_of_a_list_are_for_data_unless_they_say_more() {
        let mut config = Config::default();
        config.auth.access_key = Some("one".to_owned());
        config.auth.secret_key = Some("s".to_owned());
        let listed = |id: &str, role| KeyConfig {
            access_key: id.to_owned(),
            secret_key: "s".to_owned(),
            role,
        };
        config.auth.keys = vec![listed("app", None), listed("viewer", Some(Role::ReadOnly))];
        let roles = server(&config)
            .unwrap()
            .access_keys
            .into_iter()
            .map(|grant| grant.role);
        assert_eq!(
            roles.collect::<Vec<_>>(),
            [Role::Administration, Role::Data, Role::ReadOnly]
        );
        config.auth.keys.push(listed("app", Some(Role::Administration)));
        assert!(
            server(&config)
                .unwrap_err()
                .message
                .contains("app is configured twice")
        );
    }

    #[test]
    fn memory_for_less_than_a_few_requests_is_refused() {
        let mut config = Config::default();
        assert_eq!(server(&config).unwrap().limits.memory_bytes_max, MEMORY_BYTES_MAX);
        config.server.memory_mb = Some(MEMORY_MB_MIN - 1);
        assert!(server(&config).is_err());
        config.server.memory_mb = Some(100);
        assert_eq!(server(&config).unwrap().limits.memory_bytes_max, 100 << 20);
    }

    #[test]
    fn origins_are_all_none_those_of_this_machine_or_a_list() {
        assert_eq!(error_texts("2026-05"), Ok(ErrorTexts::May2026));
        assert!(error_texts("yesterday").is_err());
        assert_eq!(cors("*"), Ok(CorsOrigins::Any));
        assert_eq!(cors("loopback"), Ok(CorsOrigins::Loopback));
        assert_eq!(server(&Config::default()).unwrap().cors, CorsOrigins::Loopback);
        assert_eq!(cors("none"), Ok(CorsOrigins::Only(Vec::new())));
        let list = vec!["https://a".to_owned(), "https://b".to_owned()];
        assert_eq!(cors("https://a, https://b"), Ok(CorsOrigins::Only(list)));
        for wrong in [
            "not a url",
            "https://a.example/path",
            "app.example",
            "https://*.example",
        ] {
            assert!(cors(wrong).is_err(), "{wrong}");
        }
        assert_eq!(hosts("a.example, *").unwrap().len(), 2);
        assert!(hosts("http://a.example").is_err());
    }

    #[test]
    fn the_default_is_a_directory_that_survives_a_power_cut() {
        let storage = storage(&Config::default()).unwrap();
        assert_eq!(storage.to_string(), "data in trestle-data");
    }
}
