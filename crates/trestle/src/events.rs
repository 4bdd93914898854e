//! Handlers of changes in the same program: functions that are called with the changes of an entity, as
//! structs.
//!
//! A handler is called at least once for each change that its route selects, in order for each item,
//! including changes made while the program was not running. When it fails or panics it is called again,
//! after increasing pauses; a change that is given up becomes a dead letter, which can be inspected and
//! replayed. So a handler must be idempotent.
//!
//! ```
//! use trestle::events::{ChangeEvent, Changed, Events, Route};
//! use trestle::{Embedded, Options};
//!
//! mod shop {
//!     trestle::model!("examples/shop.toml");
//! }
//! use shop::{Order, Shop};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Embedded::in_memory(Options::default())?;
//! Shop::apply_to(&database)?;
//! let router = Events::of(&database)
//!     .on("mail-the-customer", new_orders, |change: Changed<Order>| async move {
//!         match change.new {
//!             Some(order) => send_mail(&order.customer).await,
//!             None => Ok(()),
//!         }
//!     })
//!     .start()
//!     .await?;
//! # router.stop().await;
//! # Ok(())
//! # }
//!
//! fn new_orders(all: Route) -> Route {
//!     Route { events: vec![ChangeEvent::Insert], ..all }
//! }
//! # async fn send_mail(_: &str) -> std::io::Result<()> { Ok(()) }
//! ```
//!
//! # Routes in a file
//!
//! Routes can also be declared in the model file or in a route file; the program then provides the handlers
//! and queues that they name. `docs/reference/routes.md` has all settings.
//!
//! ```
//! # use trestle::events::{Changed, Events};
//! # use trestle::{Embedded, Options};
//! # mod shop { trestle::model!("examples/shop.toml"); }
//! # use shop::{Order, Shop};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let database = Embedded::in_memory(Options::default())?;
//! let db = Shop::apply_to(&database)?;
//! let router = Events::of(&database)
//!     .routes_of(&db) // Those in the model file: here are none.
//!     .routes_in(
//!         r#"
//!         [route.mail_the_customer]
//!         entity = "order"
//!         event = "insert"
//!         target = { handler = "mail" }
//!         "#,
//!     )
//!     .handler("mail", |change: Changed<Order>| async move {
//!         match change.new {
//!             Some(order) => send_mail(&order.customer).await,
//!             None => Ok(()),
//!         }
//!     })
//!     .start()
//!     .await?;
//! # router.stop().await;
//! # Ok(())
//! # }
//! # async fn send_mail(_: &str) -> std::io::Result<()> { Ok(()) }
//! ```
//!
//! # Streams
//!
//! The table needs a stream. A handler that uses the old row needs one with old images: `stream =
//! "new-and-old-images"` in the model.

mod changed;
mod handler;
mod named;

pub use changed::Changed;
pub use trestle_events::{
    ApplyError, BackfillState, BackfillStatus, Backoff, Change, ChangeEvent, Concurrency, DeadLetter,
    DeadLetters, Destination, Door, GoneRoute, LastError, Maintenance, OnHold, Replayed, Route, RouteState,
    RouteStatus, Router, Selection, StartingPosition,
};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use trestle_binding::BindError;
use trestle_events::{ModelTyper, QueueDoor, RouteSetup};
use trestle_typed::{Client, Definition, Entity, FromRow, Model};

use crate::AnyDatabase;
use handler::Handler;
use named::{Connected, Named};

/// How often to check for changes without a notification.
const POLL: Duration = Duration::from_secs(1);

/// Routes to handlers that are being put together.
#[must_use = "nothing is delivered until this is started"]
pub struct Events {
    db: AnyDatabase,
    routes: Vec<Route>,
    doors: BTreeMap<String, Door>,
    /// Contains the models from the start on.
    typer: Arc<ModelTyper>,
    definitions: BTreeMap<&'static str, &'static Definition>,
    named: Named,
    faults: Vec<String>,
}

impl Events {
    /// Routes for changes of this database: an [`Embedded`](crate::Embedded) or an [`AnyDatabase`].
    pub fn of(db: &(impl Clone + Into<AnyDatabase>)) -> Self {
        let db: AnyDatabase = db.clone().into();
        Self {
            routes: Vec::new(),
            doors: BTreeMap::new(),
            typer: Arc::default(),
            definitions: BTreeMap::new(),
            named: Named::of(db.queues()),
            db,
            faults: Vec::new(),
        }
    }

    /// The routes that the file of a client's model declares: `[route.*]`. Their handlers are connected with
    /// [`Events::handler`], and their queues are those of the database.
    pub fn routes_of<D, M: Model>(mut self, _client: &Client<D, M>) -> Self {
        let definition = M::definition();
        self.definitions.insert(definition.name(), definition);
        let origin = format!("model `{}`", definition.name());
        self.named.read(origin, definition.text().to_owned());
        self
    }

    /// The routes of a route file, given as its text. Entities are looked up in the models of clients and handlers.
    pub fn routes_in(mut self, text: &str) -> Self {
        self.named.read("route file".to_owned(), text.to_owned());
        self
    }

    /// Connects the name in `target = { handler = "name" }` with a function. The routes to it must take this
    /// entity alone. [`Events::start`] returns an error for a name without a function, and for a function
    /// that no route names.
    pub fn handler<E, F, R, X>(mut self, name: &str, handler: F) -> Self
    where
        E: Entity + 'static,
        F: Fn(Changed<E>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), X>> + Send,
        X: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let definition = <E as FromRow>::Model::definition();
        self.definitions.insert(definition.name(), definition);
        let (handler, typer) = (Arc::new(handler), Arc::clone(&self.typer));
        let connected = definition.table_of::<E>().map(|table| Connected {
            door: Box::new(move |route| Door::Target(Arc::new(Handler::new(&handler, &typer, route)))),
            entity: E::NAME,
            table: table.to_owned(),
        });
        let connected = connected.map_err(|error| format!("handler `{name}`: {error}"));
        let done = connected.and_then(|connected| self.named.connect(name, connected));
        self.faults.extend(done.err());
        self
    }

    /// Calls `handler` with the changes of an entity. By default the route takes all of them from now on;
    /// `narrow` selects changes and sets retries. Its position is stored under its name, which must therefore
    /// not change.
    pub fn on<E, F, R, X>(self, name: &str, narrow: impl FnOnce(Route) -> Route, handler: F) -> Self
    where
        E: Entity + 'static,
        F: Fn(Changed<E>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), X>> + Send,
        X: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (handler, typer) = (Arc::new(handler), Arc::clone(&self.typer));
        let door = |route: &Route| Door::Target(Arc::new(Handler::new(&handler, &typer, route)));
        self.route::<E>(name, Destination::new("handler", name), door, narrow)
    }

    /// Sends a message to a queue of the database for each change of an entity, exactly once. The message is
    /// the change as JSON, or the result of the route's `input`.
    pub fn to_queue<E: Entity>(self, name: &str, narrow: impl FnOnce(Route) -> Route, queue: &str) -> Self {
        let door = Door::Enlist(Arc::new(QueueDoor::new(self.db.queues().clone(), queue)));
        self.route::<E>(name, Destination::new("queue", queue), |_| door, narrow)
    }

    fn route<E: Entity>(
        mut self,
        name: &str,
        target: Destination,
        door: impl FnOnce(&Route) -> Door,
        narrow: impl FnOnce(Route) -> Route,
    ) -> Self {
        let definition = <E as FromRow>::Model::definition();
        match definition.table_of::<E>() {
            Ok(table) => {
                let mut route = Route::new(name, table, target);
                route.entities = vec![E::NAME.to_owned()];
                let route = narrow(route);
                self.doors.insert(name.to_owned(), door(&route));
                self.routes.push(route);
                self.definitions.insert(definition.name(), definition);
            }
            Err(error) => self.faults.push(format!("route `{name}`: {error}")),
        }
        self
    }

    /// Starts delivering, on the Tokio runtime of the caller. When this returns, later changes are delivered.
    /// Routes of an earlier start that are not among these are removed. A database has one router: while an
    /// earlier one runs, this is refused.
    pub async fn start(mut self) -> Result<Router, ApplyError> {
        let mut models: Vec<Arc<trestle_model::Model>> = Vec::new();
        for definition in self.definitions.values() {
            match trestle_model::load(definition.text()).model {
                Some(model) => models.push(Arc::new(model)),
                None => self
                    .faults
                    .push(format!("model `{}` does not load", definition.name())),
            }
        }
        self.typer.set(models.iter().cloned().chain(stored(&self.db)?));
        match self.named.routes(&models) {
            Ok(named) => {
                for (route, door) in named {
                    self.doors.insert(route.name.clone(), door);
                    self.routes.push(route);
                }
            }
            Err(faults) => self.faults.extend(faults),
        }
        let runtime = tokio::runtime::Handle::try_current();
        let runtime = runtime.map_err(|error| self.faults.push(error.to_string())).ok();
        let (Some(runtime), true) = (runtime, self.faults.is_empty()) else {
            return Err(ApplyError::Routes(self.faults));
        };
        let doors = self.doors;
        let router = self.db.start_router(RouteSetup {
            typer: self.typer,
            doors: Arc::new(move |route: &Route| {
                doors
                    .get(&route.name)
                    .cloned()
                    .ok_or_else(|| "it was renamed while it was narrowed; keep its name".to_owned())
            }),
            poll: POLL,
            runtime,
            streams: None,
        });
        let router = router.map_err(|error| ApplyError::Routes(vec![error.to_string()]))?;
        router.apply(self.routes).await?;
        Ok(router)
    }
}

/// The models that are stored with the data, all versions: changes made before a migration are reported in
/// the layout of that time.
fn stored(db: &AnyDatabase) -> Result<Vec<Arc<trestle_model::Model>>, ApplyError> {
    db.model_versions().map_err(|error| match error {
        BindError::Database(error) => ApplyError::Database(error),
        other => ApplyError::Routes(vec![other.to_string()]),
    })
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events")
            .field("routes", &self.routes)
            .finish_non_exhaustive()
    }
}
