//! A live cluster as a source. Only builds with the feature `cassandra-live` contain the driver.

use crate::exit::Failure;
use clap::Args;
use std::sync::Arc;
#[cfg(feature = "cassandra-live")]
pub(super) use trestle_cassandra::LiveCluster as Cluster;
#[cfg(feature = "cassandra-live")]
use trestle_cassandra::LiveSettings;
use trestle_cassandra::{Mapping, MappingError, Plan, Schema};
use trestle_model::Model;

/// Without the feature there is no cluster.
#[cfg(not(feature = "cassandra-live"))]
pub(super) enum Cluster {}

/// Flags that say which cluster.
#[derive(Debug, Args)]
pub(crate) struct LiveFlags {
    /// A node of a live cluster that is read instead of files; several are separated by commas
    #[arg(
        long = "contact-point",
        alias = "live",
        value_name = "HOST[:PORT]",
        value_delimiter = ',',
        conflicts_with = "schema"
    )]
    contact_points: Vec<String>,
    /// The user of the cluster, if it asks for one
    #[arg(long, alias = "user", value_name = "NAME", requires = "contact_points")]
    username: Option<String>,
    /// The password of the user
    #[arg(
        long,
        value_name = "PASSWORD",
        env = "CASSANDRA_PASSWORD",
        hide_env_values = true
    )]
    password: Option<String>,
    /// The keyspace [default: all but the system's]
    #[arg(long, value_name = "NAME", requires = "contact_points")]
    keyspace: Option<String>,
    /// How many replicas must answer [default: LOCAL_QUORUM]
    #[arg(long, value_name = "LEVEL", requires = "contact_points")]
    consistency: Option<String>,
}

impl LiveFlags {
    /// The cluster, if the flags name one.
    #[cfg(feature = "cassandra-live")]
    pub(super) fn connect(&self) -> Result<Option<Arc<Cluster>>, Failure> {
        if self.contact_points.is_empty() {
            return Ok(None);
        }
        let user = match (&self.username, &self.password) {
            (Some(name), Some(password)) => Some((name.clone(), password.clone())),
            (Some(_), None) => {
                return Err(Failure::usage(
                    "--username needs a password: --password, or CASSANDRA_PASSWORD in the environment",
                ));
            }
            (None, _) => None,
        };
        let settings = LiveSettings {
            contact_points: self.contact_points.clone(),
            user,
            keyspace: self.keyspace.clone(),
            consistency: self.consistency.clone(),
        };
        let cluster = Cluster::connect(&settings).map_err(Failure::failed)?;
        Ok(Some(Arc::new(cluster)))
    }

    #[cfg(not(feature = "cassandra-live"))]
    pub(super) fn connect(&self) -> Result<Option<Arc<Cluster>>, Failure> {
        if self.contact_points.is_empty() {
            return Ok(None);
        }
        Err(Failure::usage(
            "--contact-point needs the CQL driver, which this trestle was built without; build it with \
             `cargo build --release -p trestle-cli --features cassandra-live`",
        ))
    }
}

/// The schema of a cluster.
#[cfg(feature = "cassandra-live")]
pub(super) fn schema(cluster: &Cluster) -> &Schema {
    cluster.schema()
}

#[cfg(not(feature = "cassandra-live"))]
pub(super) fn schema(cluster: &Cluster) -> &Schema {
    match *cluster {}
}

/// The plan for the tables of a cluster.
#[cfg(feature = "cassandra-live")]
pub(super) fn bind(
    mapping: &Mapping,
    cluster: Arc<Cluster>,
    model: Arc<Model>,
) -> Result<Plan, MappingError> {
    Plan::bind_live(mapping, cluster, model)
}

#[cfg(not(feature = "cassandra-live"))]
pub(super) fn bind(_: &Mapping, cluster: Arc<Cluster>, _: Arc<Model>) -> Result<Plan, MappingError> {
    match *cluster {}
}
