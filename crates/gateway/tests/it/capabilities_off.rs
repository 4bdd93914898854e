//! Endpoints that lack one capability each: the probe detects it, and models work nevertheless.

use std::sync::Arc;

use trestle_api::{
    Database, DatabaseExt, Error, ErrorKind, KeyType, ListTables, OperationType, Projection, ProjectionType,
    Request, Response, ResponseFuture, Wait,
};
use trestle_env::SystemClock;
use trestle_gateway::Capabilities;

use crate::requests::request;
use crate::same_as_embedded::compare_with;
use crate::support::{EVERYTHING, clock, endpoint};
use crate::without_transactions::single;

/// The missing capability.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Off {
    Transactions,
    /// More than 25 items in a transaction.
    LargeTransactions,
    TransactionTokens,
    Streams,
    EventNames,
    Projections,
    MultiAttributeKeys,
    TimeToLive,
}

impl Off {
    const ALL: [Off; 8] = [
        Off::Transactions,
        Off::LargeTransactions,
        Off::TransactionTokens,
        Off::Streams,
        Off::EventNames,
        Off::Projections,
        Off::MultiAttributeKeys,
        Off::TimeToLive,
    ];

    /// The capabilities that the probe reports as missing.
    fn named(self) -> &'static [&'static str] {
        match self {
            Off::Transactions => &["transactions", "transaction tokens"],
            Off::LargeTransactions => &[],
            Off::TransactionTokens => &["transaction tokens"],
            Off::Streams => &["streams", "exact event names"],
            Off::EventNames => &["exact event names"],
            Off::Projections => &["projections"],
            Off::MultiAttributeKeys => &["multi-attribute keys"],
            Off::TimeToLive => &["time to live"],
        }
    }

    /// The request in the form that the endpoint supports, or its refusal.
    fn understood(self, mut request: Request) -> Result<Request, Error> {
        let unknown = || Err(Error::new(ErrorKind::UnknownOperation, String::new()));
        match (self, &mut request) {
            (
                Off::Transactions,
                Request::TransactWriteItems(_)
                | Request::TransactGetItems(_)
                | Request::ExecuteTransaction(_),
            )
            | (Off::TimeToLive, Request::UpdateTimeToLive(_)) => return unknown(),
            (Off::LargeTransactions, Request::TransactWriteItems(write))
                if write.transact_items.len() > 25 =>
            {
                return Err(Error::validation("too many items"));
            }
            (Off::TransactionTokens, Request::TransactWriteItems(write)) => write.client_request_token = None,
            (Off::Streams, Request::CreateTable(create)) => create.stream_specification = None,
            (Off::Projections, Request::CreateTable(create)) => {
                for index in create.global_secondary_indexes.iter_mut().flatten() {
                    index.projection = Projection {
                        projection_type: Some(ProjectionType::All),
                        non_key_attributes: None,
                    };
                }
            }
            (Off::MultiAttributeKeys, Request::CreateTable(create)) => {
                for index in create.global_secondary_indexes.iter().flatten() {
                    let hash = index
                        .key_schema
                        .iter()
                        .filter(|key| key.key_type == KeyType::Hash);
                    if hash.count() > 1 {
                        return Err(Error::validation("too many key attributes"));
                    }
                }
            }
            _ => {}
        }
        Ok(request)
    }

    fn answered(self, mut answer: Response) -> Response {
        if let (Off::EventNames, Response::GetRecords(page)) = (self, &mut answer) {
            for record in &mut page.records {
                if record.event_name == OperationType::Insert {
                    record.event_name = OperationType::Modify;
                }
            }
        }
        answer
    }
}

/// An endpoint without a capability.
struct Lacking {
    off: Off,
    database: Arc<dyn Database>,
}

impl Database for Lacking {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        Box::pin(async move {
            let understood = self.off.understood(request)?;
            let answer = self.database.execute(understood).await?;
            Ok(self.off.answered(answer))
        })
    }
}

#[test]
fn the_probe_finds_out_each_capability_that_an_endpoint_lacks() {
    for off in Off::ALL {
        let database = endpoint(Arc::new(SystemClock::new()));
        let lacking = Lacking { off, database };
        let found = Capabilities::probe(&lacking).wait().unwrap();
        let named = found.named().into_iter().filter(|(_, has, _)| !has);
        let named: Vec<_> = named.map(|(name, ..)| name).collect();
        assert_eq!(named, off.named(), "{off:?}");
        let items = match off {
            Off::Transactions => 0,
            Off::LargeTransactions => 25,
            _ => 100,
        };
        assert_eq!(found.transaction_items, items, "{off:?}");
        let tables = lacking.list_tables(ListTables::default()).wait().unwrap();
        assert!(tables.table_names.is_empty(), "{off:?}: {tables:?}");
    }
}

/// A model with rows that expire is refused at an endpoint without expiry, so that capability is left out.
#[test]
fn models_work_at_an_endpoint_that_lacks_a_capability() {
    for off in Off::ALL.into_iter().filter(|off| *off != Off::TimeToLive) {
        let clock = clock();
        let database = endpoint(clock.clone());
        let remote = Arc::new(Lacking { off, database });
        let requests = match off {
            Off::Transactions => single,
            _ => request,
        };
        compare_with(EVERYTHING, 300, clock, remote, requests);
    }
}
