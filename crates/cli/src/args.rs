//! What can be typed. Every flag is optional: what is not typed comes from the environment or the file.

use crate::bench::{BENCH_HELP, BenchFlags, ConstantFlags};
use crate::console::ConsoleFlags;
use crate::copy::{COPY_HELP, CopyFlags};
use crate::delete_collection::{self, DeleteCollectionFlags};
use crate::docs::DocsFlags;
use crate::endpoint::EndpointCommand;
use crate::exit::EXIT_CODES;
use crate::import::ImportCommand;
use crate::migrate::MigrateCommand;
use crate::model::ModelCommand;
use crate::reindex::ReindexCommand;
use crate::routes::RoutesCommand;
use crate::server_flags::ServerFlags;
use crate::tail::TailFlags;
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU16, NonZeroU64};
use std::path::PathBuf;

/// A database for single-table applications that speaks DynamoDB's protocol.
#[derive(Debug, Parser)]
#[command(name = "trestle", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve DynamoDB's protocol.
    #[command(after_help = SERVE_HELP)]
    Serve(Box<ServeFlags>),
    /// Check that a running server is healthy; for containers without a shell.
    Healthcheck(HealthcheckFlags),
    /// Check that everything in a data directory agrees: items, indexes, change log, expiry, counts, and what the stored
    /// models derive from their rows.
    ///
    /// Every stored model is audited: its keys, heads, relations, counters, copies, entries and unique values must be what
    /// its rows give. `--no-models` skips this. `trestle model repair` corrects what it can.
    Verify(VerifyFlags),
    /// Back up a running server or a directory into one file.
    Backup(Box<BackupFlags>),
    /// Restore a data directory from a backup, and verify it.
    Restore(RestoreFlags),
    /// Check, explain and apply the model of an application.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Change the key layout without downtime: plan, start, watch, finish or roll back a migration.
    #[command(subcommand)]
    Migrate(Box<MigrateCommand>),
    /// Process every row of a table again: touch it, so that the stream has a record of it, or send it to the target of a route.
    #[command(subcommand)]
    Reindex(Box<ReindexCommand>),
    /// Import rows of another database into a model: check, write and compare them.
    #[command(subcommand)]
    Import(ImportCommand),
    /// Copy tables, rows and models to another database while clients write, and switch over to it.
    ///
    /// Rows are copied in parallel and changes are followed until `trestle copy cut-over`. Run a command that was
    /// stopped or killed again: it continues where it was.
    #[command(after_help = COPY_HELP)]
    Copy(Box<CopyFlags>),
    /// Delete all rows of a partition, of a key prefix or of an access pattern, in bounded steps.
    ///
    /// Each row is deleted as a client would delete it: rows that a model derives from it are deleted too, and streams have a record. A
    /// command that is stopped has deleted a part; run the same command again to continue. Works with any server that speaks DynamoDB's
    /// protocol.
    #[command(override_usage = delete_collection::USAGE)]
    DeleteCollection(Box<DeleteCollectionFlags>),
    /// Deliver changes: check and apply route files, show the status of routes, replay dead letters.
    #[command(subcommand)]
    Routes(RoutesCommand),
    /// Test what a remote endpoint supports, and what a gateway needs.
    #[command(subcommand)]
    Endpoint(EndpointCommand),
    /// Serve the console for any endpoint: Amazon DynamoDB, a gateway, a Trestle server.
    ///
    /// A Trestle server also has its console at /console. With this command the browser needs no access to the endpoint.
    Console(Box<ConsoleFlags>),
    /// Show the changes of a table as they happen, by entity, with what changed.
    Tail(Box<TailFlags>),
    /// Open the book in a browser, or print its pages; needs no network.
    Docs(DocsFlags),
    /// Measure this database and the servers it is compared with.
    #[command(after_help = BENCH_HELP)]
    Bench(Box<BenchFlags>),
    /// Answer every request the same; a limit that `bench` compares with.
    #[command(hide = true)]
    BenchConstant(ConstantFlags),
    /// Print this program's commands and flags as the page docs/reference/cli.md.
    #[command(hide = true)]
    PrintReference,
    /// Write completions of shells and man pages into a directory.
    #[cfg(feature = "packaging")]
    #[command(hide = true)]
    PrintForPackages {
        /// The directory, which exists
        #[arg(value_name = "DIR")]
        to: PathBuf,
    },
}

const SERVE_HELP: &str = "Settings come from flags, then TRESTLE__SECTION__KEY variables (TRESTLE__SERVER__PORT=8001), \
then the file, then the defaults. DynamoDB Local's flags are understood too: -port, -inMemory, -dbPath, -sharedDb, \
-cors, -delayTransientStatuses, -optimizeDbBeforeStartup, -disableTelemetry.";

/// Flags of `trestle serve`.
#[derive(Debug, Default, Args)]
pub(crate) struct ServeFlags {
    /// Data directory, created if it does not exist [default: ./trestle-data]
    #[arg(long, value_name = "DIR", conflicts_with = "in_memory")]
    pub(crate) data: Option<PathBuf>,
    /// Keep everything in memory and nothing on disk
    #[arg(long)]
    pub(crate) in_memory: bool,
    /// What an acknowledged write survives [default: fsync]
    #[arg(long, value_enum)]
    pub(crate) durability: Option<Durability>,
    /// Size of the blocks of a new directory's files, in KiB: 4, 8, 16, 32 or 64; one that exists keeps its own [default: 8]
    #[arg(long, value_name = "KIB", conflicts_with = "in_memory")]
    pub(crate) block_kb: Option<u32>,
    /// Serve as a gateway in front of this endpoint: Amazon DynamoDB, DynamoDB Local or a Trestle server; http:// or https://
    #[arg(long, value_name = "URL", conflicts_with_all = ["data", "in_memory"])]
    pub(crate) backend: Option<String>,
    /// The region that requests to the endpoint are signed for [default: as its host says, AWS_REGION, us-east-1]
    #[arg(long, value_name = "NAME", requires = "backend")]
    pub(crate) backend_region: Option<String>,
    /// The profile in ~/.aws for the endpoint [default: as AWS's tools find credentials: environment, AWS_PROFILE, role]
    #[arg(long, value_name = "NAME", requires = "backend")]
    pub(crate) backend_profile: Option<String>,
    /// Do not read the streams of modelled tables for rows that expire at the endpoint or are written without a gateway
    #[arg(long, requires = "backend")]
    pub(crate) no_follow: bool,
    /// If rows changed without a gateway and sums may be wrong, audit all rows, at most at this interval [default: 600]
    #[arg(long, value_name = "SECONDS", requires = "backend")]
    pub(crate) recount_seconds: Option<u64>,
    /// Audit all rows at this interval, and correct derived rows [default: never]
    #[arg(long, value_name = "SECONDS", requires = "backend")]
    pub(crate) sweep_seconds: Option<u64>,
    /// Serve as the endpoint of gateways: clients may write the tables that gateways keep here
    #[arg(long, conflicts_with = "backend")]
    pub(crate) behind_gateways: bool,
    /// Apply this model before serving; may be given more than once
    #[arg(long = "model", value_name = "FILE")]
    pub(crate) models: Vec<PathBuf>,
    /// Apply this route file before serving; it replaces the one that was applied before
    #[arg(long, value_name = "FILE")]
    pub(crate) routes: Option<PathBuf>,
    /// Address to listen on [default: 127.0.0.1]
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 takes a free one [default: 8000]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Settings file [default: trestle.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Accept only requests signed with this key; prefer TRESTLE__AUTH__ACCESS_KEY
    #[arg(long, value_name = "ID", requires = "secret_key")]
    pub(crate) access_key: Option<String>,
    /// The secret of the access key; prefer TRESTLE__AUTH__SECRET_KEY
    #[arg(long, value_name = "SECRET", requires = "access_key")]
    pub(crate) secret_key: Option<String>,
    /// Serve TLS with this certificate chain
    #[arg(long, value_name = "PEM", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate
    #[arg(long, value_name = "PEM", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Listen on other addresses than this machine's even without access keys
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Memory for requests and answers, in megabytes [default: 192]
    #[arg(long, value_name = "MB")]
    pub(crate) memory_mb: Option<usize>,
    /// Web origins whose scripts may call: `*`, `none`, `loopback`, or a comma-separated list [default: loopback]
    #[arg(long, value_name = "ORIGINS")]
    pub(crate) cors: Option<String>,
    /// Names to answer to besides those of this machine, comma-separated; `*` for all
    #[arg(long, value_name = "HOSTS")]
    pub(crate) allowed_hosts: Option<String>,
    /// Whether the console is served at /console, and what it may do [default: full]
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) console: Option<ConsoleChoice>,
    /// Which of AWS's texts errors have: `2026-05` or `2026-08`, when AWS changed some [default: 2026-08]
    #[arg(long, value_name = "MONTH")]
    pub(crate) error_texts: Option<String>,
    /// Allow routes that are applied over HTTP to run commands and to read files and variables
    #[arg(long)]
    pub(crate) allow_command_routes: bool,
    /// Allow routes that are applied over HTTP to send to loopback, link-local and private addresses
    #[arg(long)]
    pub(crate) allow_private_webhooks: bool,
    /// Stop the clock until POST /_trestle/move-clock moves it; for tests
    #[arg(long)]
    pub(crate) virtual_clock: bool,
    /// Inject a fault into requests, such as `throttle,operation=UpdateItem,table=orders,share=0.1`; for tests. May be given
    /// more than once; docs/operate/running.md lists faults and parts
    #[arg(long = "inject-fault", value_name = "RULE")]
    pub(crate) inject_faults: Vec<String>,
    /// Allow POST /_trestle/set-faults to inject faults into requests; for tests
    #[arg(long)]
    pub(crate) allow_fault_injection: bool,
    /// Format of the log on standard error [default: text]
    #[arg(long, value_enum)]
    pub(crate) log_format: Option<LogFormat>,
    /// Log level: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// Whether the regions that requests are signed for are namespaces of their own [default: together]
    #[arg(long, value_enum)]
    pub(crate) regions: Option<RegionsKept>,
    /// Shards of a new stream
    #[arg(long, value_name = "N")]
    pub(crate) stream_shards: Option<NonZeroU16>,
    /// Split a shard of a stream in two when this much has been written to it, in mebibytes [default: 4096]
    #[arg(long, value_name = "MIB")]
    pub(crate) stream_shard_mb: Option<NonZeroU64>,
    /// Most space for changes older than the streams' retention that routes have not delivered [default: 10]
    #[arg(long, value_name = "GB")]
    pub(crate) held_changes_gb: Option<u64>,
    /// How long a new table stays CREATING
    #[arg(long, value_name = "MS")]
    pub(crate) create_table_ms: Option<u64>,
    /// How long a changed table stays UPDATING
    #[arg(long, value_name = "MS")]
    pub(crate) update_table_ms: Option<u64>,
    /// How long a dropped table stays DELETING
    #[arg(long, value_name = "MS")]
    pub(crate) delete_table_ms: Option<u64>,
    /// DynamoDB Local's way to ask for such delays.
    #[arg(long, hide = true)]
    pub(crate) delay_transient_statuses: bool,
    /// DynamoDB Local's flags that mean nothing here: all clients share one database anyway, there is no telemetry,
    /// and the store optimises itself.
    #[arg(long, hide = true)]
    pub(crate) shared_db: bool,
    #[arg(long, hide = true)]
    pub(crate) optimize_db_before_startup: bool,
    #[arg(long, hide = true)]
    pub(crate) disable_telemetry: bool,
}

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Durability {
    /// A power cut
    Fsync,
    /// The end of the process, but not a power cut right after it
    Buffered,
}

/// Whether the console is served, and what it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ConsoleChoice {
    /// It may do what the user's key may
    Full,
    /// It shows everything and changes nothing
    ReadOnly,
    /// No console
    Off,
}

/// Whether regions share tables and queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RegionsKept {
    /// One set of tables and queues, whatever the region
    Together,
    /// Tables and queues for each region
    Apart,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object per line
    Json,
}

/// Flags of `trestle healthcheck`.
#[derive(Debug, Args)]
pub(crate) struct HealthcheckFlags {
    /// Address of the server
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Port of the server
    #[arg(long, env = "TRESTLE__SERVER__PORT", default_value_t = 8000)]
    pub(crate) port: u16,
}

/// Flags of `trestle verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyFlags {
    /// The data directory; no server may have it open
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Print one JSON object per line: each disagreement, then the summary
    #[arg(long)]
    pub(crate) json: bool,
    /// Only check storage, not what the stored models derive
    #[arg(long)]
    pub(crate) no_models: bool,
    /// Write, delete and lock nothing in the directory, not even what every start cleans up. A copy of the journals goes to the
    /// temporary directory (TMPDIR) for as long as it takes
    #[arg(long)]
    pub(crate) read_only: bool,
}

/// Flags of `trestle backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupFlags {
    /// Back up this data directory, which no server has open, instead of a server
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The file to write, or a directory, in which the file is named after the time
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) server: ServerFlags,
}

/// Flags of `trestle restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreFlags {
    /// The backup
    #[arg(long, value_name = "FILE")]
    pub(crate) from: PathBuf,
    /// The data directory to create; it must be new or empty
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Size of the blocks of its files, in KiB: 4, 8, 16, 32 or 64 [default: 8]
    #[arg(long, value_name = "KIB")]
    pub(crate) block_kb: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_flags_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn half_a_key_is_refused() {
        assert!(Cli::try_parse_from(["trestle", "serve", "--access-key", "a"]).is_err());
        assert!(Cli::try_parse_from(["trestle", "serve", "--tls-cert", "a"]).is_err());
        assert!(Cli::try_parse_from(["trestle", "serve", "--stream-shards", "0"]).is_err());
    }
}
