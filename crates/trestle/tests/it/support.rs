//! Databases for tests of clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use trestle::api::{Request, ResponseFuture};
use trestle::typed::{self, Timestamp};
use trestle::{Database, Embedded, Gateway, Options};

/// A database in memory.
pub(crate) fn embedded() -> Embedded {
    Embedded::in_memory(Options::default()).unwrap()
}

/// A gateway in front of an endpoint without models.
pub(crate) fn gateway() -> Gateway {
    let options = Options {
        behind_gateways: true,
        ..Options::default()
    };
    Gateway::open(Arc::new(Embedded::in_memory(options).unwrap())).unwrap()
}

/// A database that forwards requests and counts them.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    embedded: Embedded,
    requests: Arc<AtomicUsize>,
}

impl Counted {
    pub(crate) fn new(embedded: Embedded) -> Self {
        Counted {
            embedded,
            requests: Arc::default(),
        }
    }

    pub(crate) fn embedded(&self) -> &Embedded {
        &self.embedded
    }

    /// The number of requests since the last call.
    pub(crate) fn take(&self) -> usize {
        self.requests.swap(0, Ordering::SeqCst)
    }
}

impl Database for Counted {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.embedded.execute(request)
    }
}

/// A database with the model's tables that does not know the model.
pub(crate) fn plain<M: typed::Model>() -> Embedded {
    let embedded = embedded();
    trestle::apply::<M>(&embedded).unwrap();
    embedded.models().remove(M::definition().name()).unwrap();
    embedded
}

pub(crate) fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}
