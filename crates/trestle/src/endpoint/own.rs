//! The data of a program at an endpoint besides its rows: queues, and the positions of its routes. They are
//! plain tables with the program's name, so that every endpoint accepts them, even one that protects
//! Trestle's own tables.

use std::sync::Arc;

use tokio::sync::OnceCell;
use trestle_api::{Database, Error, Request, Response, ResponseFuture};
use trestle_gateway::{Fence, ProgramLease};

/// The names of the tables for queues and routers, and the ends of their names at the endpoint.
const TABLES: [(&str, &str); 2] = [("_trestle.queues", "queues"), ("_trestle.routes", "routes")];

/// The tables of a program at an endpoint, written by one process at a time. The first request takes the lease.
pub(super) struct OwnTables {
    program: String,
    /// The row of the lease.
    endpoint: Arc<dyn Database>,
    /// The database for transactions that contain rows of models and messages.
    rows: Arc<dyn Database>,
    held: OnceCell<Held>,
}

struct Held {
    fence: Fence,
    lease: ProgramLease,
}

impl OwnTables {
    pub(super) fn new(program: &str, endpoint: Arc<dyn Database>, rows: Arc<dyn Database>) -> Self {
        Self {
            program: program.to_owned(),
            endpoint,
            rows,
            held: OnceCell::new(),
        }
    }

    /// Why nothing may be delivered now; `None` if it may.
    pub(super) fn objection(&self) -> Option<String> {
        match self.held.get() {
            Some(held) => held.lease.objection(),
            None => Some("the lease of the program is not taken yet".to_owned()),
        }
    }

    async fn take(&self) -> Result<Held, Error> {
        let lease = ProgramLease::take(Arc::clone(&self.endpoint), &self.program).await?;
        let there = |(own, end)| (own, format!("{}.trestle-{end}", self.program));
        let fence = lease.fence(Arc::clone(&self.rows), TABLES.map(there).to_vec());
        Ok(Held { fence, lease })
    }

    async fn answer(&self, request: Request) -> Result<Response, Error> {
        let held = self.held.get_or_try_init(|| self.take()).await?;
        let answer = held.fence.execute(request).await;
        answer.map_err(|error| match held.fence.is_lost() {
            true => held.lease.lost(),
            false => error,
        })
    }
}

impl Database for OwnTables {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(self.answer(request))
    }
}
