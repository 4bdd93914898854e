//! A database in this process or at an endpoint, for programs that work with both.

use std::sync::Arc;

use trestle_api::{Database, Error, Request, ResponseFuture, TouchRows};
use trestle_binding::{BindError, MigrationStatus};
#[cfg(feature = "embedded")]
use trestle_embedded::Embedded;
use trestle_engine::CloseError;
use trestle_env::Clock;
use trestle_events::{RouteSetup, Router, RoutesAtWork};
use trestle_model::Model;
use trestle_models::Models;
use trestle_queue::Queues;
use trestle_reindex::{Reindexer, Touch, TouchFuture};

use crate::WithModels;
#[cfg(feature = "remote")]
use crate::endpoint::AtEndpoint;
#[cfg(feature = "remote")]
use crate::migrate::{MigrationPlan, MigrationStep};

/// A database in this process (with the feature `embedded`), or at an endpoint such as Amazon DynamoDB, DynamoDB Local or a Trestle
/// server (with the feature `remote`). Models, queues, routes and reindexes come from the same handle, so that a program is the same for
/// both. Cloning it gives another handle to the same database.
///
/// ```
/// use trestle::{AnyDatabase, Embedded, Options, Wait};
///
/// mod shop {
///     trestle::model!("examples/shop.toml");
/// }
/// use shop::{NewCustomer, Shop};
///
/// fn first_customer(db: &AnyDatabase) -> Result<(), Box<dyn std::error::Error>> {
///     let shop = Shop::apply_to(db)?;
///     let (customer, name) = ("ada".to_owned(), "Ada".to_owned());
///     let email = "ada@example.org".to_owned();
///     shop.put(&NewCustomer { customer, name, email }).wait()?;
///     Ok(())
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let here = Embedded::in_memory(Options::default())?;
/// first_customer(&here.into())?;
/// # Ok(())
/// # }
/// ```
///
/// At an endpoint, queues and the positions of routes are in tables that begin with the program's name, such as `shop.trestle-queues`. One
/// process of the program at a time uses them; a second one is refused. Any number of processes can read and write rows.
#[derive(Clone, Debug)]
pub struct AnyDatabase(Kind);

#[derive(Clone, Debug)]
enum Kind {
    #[cfg(feature = "embedded")]
    Here(Embedded),
    #[cfg(feature = "remote")]
    There(Arc<AtEndpoint>),
}

#[cfg(feature = "embedded")]
impl From<Embedded> for AnyDatabase {
    fn from(embedded: Embedded) -> Self {
        AnyDatabase(Kind::Here(embedded))
    }
}

#[cfg(feature = "remote")]
impl AnyDatabase {
    /// The database of a program at an endpoint. When this returns, the models in force there are loaded. It
    /// blocks.
    pub fn at_endpoint(
        program: &str,
        settings: trestle_remote::Settings,
    ) -> Result<Self, crate::EndpointError> {
        Self::at_endpoint_with_clock(program, settings, Arc::new(trestle_env::SystemClock::new()))
    }

    /// The same with another clock, for queues and for the times that models derive. Rows expire according to the clock of the endpoint.
    pub fn at_endpoint_with_clock(
        program: &str,
        settings: trestle_remote::Settings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, crate::EndpointError> {
        let there = AtEndpoint::open(program, settings, clock)?;
        Ok(AnyDatabase(Kind::There(Arc::new(there))))
    }
}

impl AnyDatabase {
    /// The database, if it is in this process: for features that only such a database has.
    #[cfg(feature = "embedded")]
    #[must_use]
    pub fn embedded(&self) -> Option<&Embedded> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => Some(embedded),
            #[cfg(feature = "remote")]
            Kind::There(_) => None,
        }
    }

    /// Its queues; at an endpoint those of the program.
    #[must_use]
    pub fn queues(&self) -> &Queues {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.queues(),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.queues(),
        }
    }

    /// The clock of models, queues and routes.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.clock(),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.clock(),
        }
    }

    /// Its reindexes; at an endpoint those of the program. Rows are sent to the routes of the router while it
    /// runs.
    #[must_use]
    pub fn reindexer(&self) -> Reindexer {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.reindexer(),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.reindexer(),
        }
    }

    /// Records that a reindex to a version begins: see [`Embedded::set_reindex_version`]. It blocks.
    pub fn set_reindex_version(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.set_reindex_version(table, entity, version),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.set_reindex_version(table, entity, version),
        }
    }

    /// The migrations of its models; none if the endpoint does not answer.
    #[must_use]
    pub fn migrations(&self) -> Vec<MigrationStatus> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.models().migrations(),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.migrations(),
        }
    }

    /// Ends the work of this process for the database: see [`Embedded::close`]. At an endpoint, another
    /// process of the program can take over immediately once the last handle is dropped.
    pub async fn close(self) -> Result<(), CloseError> {
        match self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.close().await,
            #[cfg(feature = "remote")]
            Kind::There(there) => {
                there.close().await;
                Ok(())
            }
        }
    }

    /// All versions of its models; none if a server at the endpoint stores them, because the program then
    /// knows only the version with which it was compiled.
    pub(crate) fn model_versions(&self) -> Result<Vec<Arc<Model>>, BindError> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.models().versions(),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.model_versions(),
        }
    }

    pub(crate) fn start_router(&self, setup: RouteSetup) -> Result<Router, RoutesAtWork> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.start_router(setup),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.start_router(setup),
        }
    }
}

impl Database for AnyDatabase {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.execute(request),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.rows().execute(request),
        }
    }
}

impl Touch for AnyDatabase {
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => Touch::touch(embedded, rows),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.touch(rows),
        }
    }

    fn records_again(&self) -> bool {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.records_again(),
            #[cfg(feature = "remote")]
            Kind::There(_) => false,
        }
    }
}

impl WithModels for AnyDatabase {
    fn models(&self) -> Result<&Models, Error> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => Ok(embedded.models()),
            #[cfg(feature = "remote")]
            Kind::There(there) => there.models(),
        }
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        AnyDatabase::clock(self)
    }

    #[cfg(feature = "remote")]
    fn with_models<T: Send>(&self, work: impl FnOnce(&Models) -> T + Send) -> Result<T, Error> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.with_models(work),
            Kind::There(there) => there.with_models(work),
        }
    }

    #[cfg(feature = "remote")]
    fn apply_model_with(
        &self,
        text: &str,
        options: trestle_models::ApplyOptions,
    ) -> Result<trestle_binding::Report, crate::ApplyError> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.apply_model_with(text, options),
            Kind::There(there) => there.apply_model_with(text, options),
        }
    }

    #[cfg(feature = "remote")]
    fn remove_model(&self, name: &str) -> Result<(), crate::ApplyError> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.remove_model(name),
            Kind::There(there) => there.remove_model(name),
        }
    }

    #[cfg(feature = "remote")]
    fn migrate_model(
        &self,
        text: &str,
        options: trestle_models::StartOptions,
    ) -> Result<(), crate::migrate::MigrateError> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.migrate_model(text, options),
            Kind::There(there) => there.migrate_model(text, options),
        }
    }

    #[cfg(feature = "remote")]
    fn plan_migration(&self, text: &str) -> Result<MigrationPlan, BindError> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.plan_migration(text),
            Kind::There(there) => there.plan_migration(text),
        }
    }

    #[cfg(feature = "remote")]
    fn step_migration(&self, model: &str, step: MigrationStep) -> Result<MigrationStatus, BindError> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.step_migration(model, step),
            Kind::There(there) => there.step_migration(model, step),
        }
    }

    #[cfg(feature = "remote")]
    fn roll_back_migration(&self, model: &str) -> Result<Option<MigrationPlan>, BindError> {
        match &self.0 {
            #[cfg(feature = "embedded")]
            Kind::Here(embedded) => embedded.roll_back_migration(model),
            Kind::There(there) => there.roll_back_migration(model),
        }
    }
}
