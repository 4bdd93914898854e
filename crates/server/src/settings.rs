//! The settings of a server, and its limits.

use crate::role::KeyGrant;
use std::path::PathBuf;
use std::time::Duration;
use trestle_wire::ErrorTexts;

/// The largest request DynamoDB takes.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The memory for requests and answers, unless it is set.
pub const MEMORY_BYTES_MAX: usize = 192 * 1024 * 1024;

/// Where to listen, which clients to trust, and the limits of clients.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Address or name to listen on.
    pub host: String,
    /// Port to listen on; 0 takes a free one.
    pub port: u16,
    /// Keys that may sign requests, and their roles. Without any, every request is accepted, signed or not.
    pub access_keys: Vec<KeyGrant>,
    /// Certificate and key; without them the server speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Allows a server without access keys to listen on an address that others can reach.
    pub insecure: bool,
    /// Web origins whose scripts may call the DynamoDB and SQS protocols. None may call the administration.
    pub cors: CorsOrigins,
    /// Additional names in `Host` that are accepted; `*` stands for all.
    pub allowed_hosts: Vec<String>,
    /// Whether the console is served, and what it may do.
    pub console: ConsoleMode,
    /// Which of AWS's error texts to use.
    pub error_texts: ErrorTexts,
    /// The limits of clients.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            host: "127.0.0.1".to_owned(),
            port: 8000,
            access_keys: Vec::new(),
            tls: None,
            insecure: false,
            cors: CorsOrigins::Loopback,
            allowed_hosts: Vec::new(),
            console: ConsoleMode::Full,
            error_texts: ErrorTexts::default(),
            limits: Limits::default(),
        }
    }
}

/// Whether the console is served, and what it may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConsoleMode {
    /// It may do what its visitor may.
    #[default]
    Full,
    /// It shows everything and changes nothing, and neither can its sessions.
    ReadOnly,
    /// There is none.
    Off,
}

/// PEM files of a TLS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by the intermediate ones.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Web origins whose scripts may call this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorsOrigins {
    /// Every origin, as DynamoDB itself answers.
    Any,
    /// Those on the visitor's own machine, at any port: web applications under development.
    Loopback,
    /// Only these, written as browsers send them: `https://app.example`.
    Only(Vec<String>),
}

/// The limits of clients. Each one prevents clients from holding the server without using it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Largest request body, as sent and when inflated.
    pub body_bytes_max: usize,
    /// Most connections at a time; others wait in the system's queue.
    pub connections_max: usize,
    /// A connection without requests for this long is closed; that may take up to three times as long.
    pub idle: Duration,
    /// Time for a request's body to arrive.
    pub body_read: Duration,
    /// Memory for arriving bodies, running requests and unread answers together.
    pub memory_bytes_max: usize,
    /// How long a request waits for memory before it is refused as throttled.
    pub admission: Duration,
    /// Time for accepted requests to finish when the server stops.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body_bytes_max: BODY_BYTES_MAX,
            connections_max: 16_384,
            idle: Duration::from_secs(60),
            body_read: Duration::from_secs(60),
            memory_bytes_max: MEMORY_BYTES_MAX,
            admission: Duration::from_secs(5),
            shutdown: Duration::from_secs(10),
        }
    }
}
