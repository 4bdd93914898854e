//! The handle of an open database.

use std::future::IntoFuture;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use trestle_api::{Access, Database, Error, Operation, Request, ResponseFuture};
use trestle_engine::{ArchiveError, BackupTotals, CloseError, Completion, StorageReads};
use trestle_env::{Clock, Signal};
use trestle_events::WeakRouter;
use trestle_queue::{Queues, Settings as QueueSettings};

use crate::internal::Internal;
use crate::opened::Opened;
use crate::{Options, model_tables};
use trestle_models::Models;

/// An open database in this process with everything that belongs to it. Cloning it is cheap and gives another
/// handle to the same database.
///
/// It closes when the last handle of this type, of its queues and of its router is dropped.
/// [`Embedded::close`] ends it in order and reports errors.
#[derive(Clone)]
pub struct Embedded {
    inner: Arc<Inner>,
}

struct Inner {
    /// The one router, while it runs. A weak reference, because its handlers may own handles of the database.
    router: Mutex<Option<WeakRouter>>,
    queues: Queues,
    /// The number of writes that clients have requested, in this process or over the network.
    client_writes: AtomicU64,
    /// Whether clients may write Trestle's own tables.
    behind_gateways: bool,
    opened: Arc<Opened>,
}

impl Embedded {
    pub(crate) fn of(opened: Opened, options: &Options) -> Self {
        let opened = Arc::new(opened);
        let settings = QueueSettings {
            region: options.engine.region.clone(),
            account: options.engine.account.clone(),
        };
        let clock = Arc::clone(opened.engine.clock());
        let queues = Queues::new(Arc::new(Internal(Arc::clone(&opened))), clock, settings);
        Self {
            inner: Arc::new(Inner {
                router: Mutex::new(None),
                queues,
                client_writes: AtomicU64::new(0),
                behind_gateways: options.behind_gateways,
                opened,
            }),
        }
    }

    /// Starts a request. Reads are executed at once, writes are done when they are durable.
    pub fn start(&self, request: Request) -> Completion {
        let opened = self.opened();
        let allowed = match self.inner.behind_gateways {
            true => opened.models.admit_unenforced(&request),
            false => opened.models.admit(&request),
        };
        let allowed = allowed.and_then(|()| model_tables::refuse_changes(opened, &request));
        match allowed {
            Ok(()) => {
                if request.access() != Access::Read {
                    self.inner.client_writes.fetch_add(1, Ordering::AcqRel);
                }
                model_tables::start(opened, request)
            }
            Err(refused) => Completion::Ready(Err(refused)),
        }
    }

    /// Runs one operation and waits for it. In a task, use [`DatabaseExt`](trestle_api::DatabaseExt).
    pub fn run<O: Operation>(&self, operation: O) -> Result<O::Output, Error> {
        let response = self.start(operation.into_request()).wait()?;
        O::from_response(response).ok_or_else(|| Error::internal("the answer is of another operation"))
    }

    /// The models that are stored with the data: applies, compares, lists and removes them, and migrates to
    /// other keys.
    #[must_use]
    pub fn models(&self) -> &Models {
        &self.opened().models
    }

    /// The queues that are stored with the data.
    #[must_use]
    pub fn queues(&self) -> &Queues {
        &self.inner.queues
    }

    /// A bell that rings after every commit that recorded changes in a stream. It carries no data: read the
    /// stream.
    #[must_use]
    pub fn changes(&self) -> Arc<Signal> {
        self.opened().engine.changes()
    }

    /// The clock for expiry, retention, queues and routes.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.opened().engine.clock()
    }

    /// What storage has read to find rows since the database was opened, by operation. Queues and routes are
    /// counted under the operations on tables that they use. The difference of two values is the cost in
    /// between.
    ///
    /// ```
    /// use trestle_api::{GetItem, OperationName};
    /// use trestle_embedded::{Embedded, Options};
    /// # use trestle_api::{AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType};
    /// # use trestle_item::{Item, ScalarType};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let db = Embedded::in_memory(Options::default())?;
    /// # db.run(CreateTable {
    /// #     table_name: "music".into(),
    /// #     attribute_definitions: vec![AttributeDefinition {
    /// #         attribute_name: "artist".into(),
    /// #         attribute_type: ScalarType::S,
    /// #     }],
    /// #     key_schema: vec![KeySchemaElement {
    /// #         attribute_name: "artist".into(),
    /// #         key_type: KeyType::Hash,
    /// #     }],
    /// #     billing_mode: Some(BillingMode::PayPerRequest),
    /// #     ..CreateTable::default()
    /// # })?;
    /// let before = db.storage_reads();
    /// db.run(GetItem {
    ///     table_name: "music".into(),
    ///     key: Item::from([("artist", "Miles")]),
    ///     ..GetItem::default()
    /// })?;
    /// let cost = db.storage_reads().since(&before).of(OperationName::GetItem);
    /// assert_eq!((cost.point_lookups, cost.ranges, cost.double_reads), (1, 0, 0));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn storage_reads(&self) -> StorageReads {
        self.opened().engine.storage_reads()
    }

    /// Writes everything that is durable now to `out`, while requests continue.
    pub fn backup(&self, out: &mut dyn Write) -> Result<BackupTotals, ArchiveError> {
        self.opened().engine.backup(out)
    }

    /// Ends the database in order: routes after the deliveries that are under way, migrations, waiting for
    /// messages, background work, and the committer once every accepted write is answered. Later writes are
    /// refused. Another process can open the directory when the last handle is dropped.
    pub async fn close(self) -> Result<(), CloseError> {
        if let Some(router) = self.router() {
            router.stop().await;
        }
        self.inner.queues.close();
        self.opened().close()
    }

    /// How many writes clients have requested since the database was opened. Those of queues, routes and
    /// other parts of Trestle are not counted.
    pub(crate) fn client_writes(&self) -> u64 {
        self.inner.client_writes.load(Ordering::Acquire)
    }

    pub(crate) fn opened(&self) -> &Arc<Opened> {
        &self.inner.opened
    }

    pub(crate) fn router_slot(&self) -> &Mutex<Option<WeakRouter>> {
        &self.inner.router
    }
}

impl Database for Embedded {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(self.start(request).into_future())
    }
}

impl std::fmt::Debug for Embedded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}
