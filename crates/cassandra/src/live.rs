//! A live cluster as a source: its schema, and the rows of its tables in the order of their tokens.

mod cell;
mod pages;
mod schema;
mod text;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::Consistency;
use tokio::runtime::Runtime;

pub(crate) use pages::Pages;

use crate::schema::Schema;

/// A page with large rows takes a while to read.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the first response of a node may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// The default partitioner of all clusters since 1.2; with others, tokens are not 64-bit numbers.
const PARTITIONER: &str = "Murmur3Partitioner";

/// The cluster, and the credentials for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveSettings {
    /// The first nodes to contact, as `host` or `host:port`.
    pub contact_points: Vec<String>,
    /// Name and password, if the cluster requires them.
    pub user: Option<(String, String)>,
    /// The keyspace; `None` for all except the system's.
    pub keyspace: Option<String>,
    /// How many replicas must answer, as a consistency level of CQL; `None` for `LOCAL_QUORUM`.
    pub consistency: Option<String>,
}

/// Why a cluster cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LiveError(String);

/// A connected cluster.
pub struct LiveCluster {
    session: Arc<Session>,
    schema: Schema,
    name: String,
    /// The runtime of the driver, which also works while nothing waits for it. Dropped last.
    runtime: Runtime,
}

impl fmt::Debug for LiveCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveCluster")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl LiveCluster {
    /// Connects, and reads the schema.
    pub fn connect(settings: &LiveSettings) -> Result<Self, LiveError> {
        let consistency = match &settings.consistency {
            Some(name) => consistency(name)?,
            None => Consistency::LocalQuorum,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("cassandra")
            .enable_all()
            .build()
            .map_err(|error| LiveError(format!("cannot start a thread: {error}")))?;
        let session = runtime.block_on(session(settings, consistency))?;
        let (name, partitioner) = runtime.block_on(local(&session))?;
        if !partitioner.ends_with(PARTITIONER) {
            return Err(LiveError(format!(
                "the cluster has the partitioner {partitioner}, and only {PARTITIONER} is read; export its tables with COPY"
            )));
        }
        let schema = schema::of_cluster(&session.get_cluster_state(), settings.keyspace.as_deref())?;
        Ok(LiveCluster {
            session: Arc::new(session),
            schema,
            name,
            runtime,
        })
    }

    /// The schema of the requested keyspaces.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The name of the cluster.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

async fn session(settings: &LiveSettings, consistency: Consistency) -> Result<Session, LiveError> {
    let profile = ExecutionProfile::builder()
        .consistency(consistency)
        .request_timeout(Some(REQUEST_TIMEOUT))
        .build();
    let mut builder = SessionBuilder::new()
        .known_nodes(&settings.contact_points)
        .connection_timeout(CONNECT_TIMEOUT)
        .pool_size(PoolSize::PerHost(std::num::NonZeroUsize::MIN))
        .default_execution_profile_handle(profile.into_handle());
    if let Some((name, password)) = &settings.user {
        builder = builder.user(name, password);
    }
    if let Some(keyspace) = &settings.keyspace {
        builder = builder.keyspaces_to_fetch([keyspace]);
    }
    builder.build().await.map_err(|error| {
        LiveError(format!(
            "cannot connect to {}: {error}",
            settings.contact_points.join(", ")
        ))
    })
}

/// The name of the cluster, and its partitioner.
async fn local(session: &Session) -> Result<(String, String), LiveError> {
    let failed =
        |error: &dyn fmt::Display| LiveError(format!("the cluster does not say what it is: {error}"));
    let asked = "SELECT cluster_name, partitioner FROM system.local";
    let answer = session.query_unpaged(asked, &[]).await;
    let rows = answer.map_err(|error| failed(&error))?.into_rows_result();
    let rows = rows.map_err(|error| failed(&error))?;
    rows.first_row().map_err(|error| failed(&error))
}

fn consistency(name: &str) -> Result<Consistency, LiveError> {
    Ok(match name.to_ascii_lowercase().replace('-', "_").as_str() {
        "one" => Consistency::One,
        "two" => Consistency::Two,
        "three" => Consistency::Three,
        "quorum" => Consistency::Quorum,
        "all" => Consistency::All,
        "local_quorum" => Consistency::LocalQuorum,
        "local_one" => Consistency::LocalOne,
        _ => {
            return Err(LiveError(format!(
                "{name} is no consistency; there is ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM and LOCAL_ONE"
            )));
        }
    })
}
