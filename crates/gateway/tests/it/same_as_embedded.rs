//! A gateway answers like an embedded database with the models, and leaves the same rows.

use std::sync::Arc;

use trestle_api::{Database, Error, GetItem, Request, Wait};
use trestle_embedded::{ApplyOptions, Background, Embedded, Options, PreviewedRow, Unwatched};
use trestle_env::Clock;
use trestle_gateway::Gateway;
use trestle_model::COUNTS_TABLE;
use trestle_store::MemoryStore;

use crate::requests::request;
use crate::support::{EVERYTHING, assert_exact, clock, endpoint, gateway_with, rows};

#[test]
fn random_requests_have_the_same_answers_and_leave_the_same_rows() {
    for seed in 0..12 {
        let clock = clock();
        compare(seed, Arc::clone(&clock) as Arc<dyn Clock>, endpoint(clock));
    }
}

/// Random requests to a gateway and to an embedded database with the models.
pub(crate) fn compare(seed: u64, clock: Arc<dyn Clock>, remote: Arc<dyn Database>) {
    compare_with(EVERYTHING, seed, clock, remote, request);
}

/// The same with the given model and requests.
pub(crate) fn compare_with(
    model: &str,
    seed: u64,
    clock: Arc<dyn Clock>,
    remote: Arc<dyn Database>,
    mut request: impl FnMut(&mut fastrand::Rng) -> Request,
) {
    let options = Options {
        background: Background::Tables,
        ..Options::default()
    };
    let embedded = Embedded::on(Arc::new(MemoryStore::new()), Arc::clone(&clock), options).unwrap();
    let applied = embedded
        .models()
        .apply(model, ApplyOptions::default(), &mut Unwatched);
    applied.unwrap();
    let gateway = gateway_with(model, Arc::clone(&remote), clock);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut refused = 0;
    for number in 0..250 {
        let request = request(&mut random);
        let foretold = foretold(&embedded, &gateway, &request);
        let here = embedded.execute(request.clone()).wait();
        let there = gateway.execute(request.clone()).wait();
        refused += usize::from(here.is_err());
        assert_eq!(there, here, "seed {seed}, request {number}: {request:?}");
        for row in foretold {
            let get = GetItem {
                table_name: row.table.clone(),
                key: row.key.clone(),
                ..GetItem::default()
            };
            let found = embedded.run(get).unwrap().item;
            assert_eq!(found, row.after, "seed {seed}, request {number}: {row:?}");
        }
    }
    assert!(
        (1..200).contains(&refused),
        "some requests are refused, most are not: {refused}"
    );
    for table in ["rows", COUNTS_TABLE] {
        assert_eq!(
            rows(&*remote, table),
            rows(&embedded, table),
            "seed {seed}, {table}"
        );
    }
    assert_exact(&gateway, "afterwards");
}

/// The rows that a write of one item would change, for which gateway and database must agree. None, if the
/// write is refused.
fn foretold(embedded: &Embedded, gateway: &Gateway, request: &Request) -> Vec<PreviewedRow> {
    if !matches!(
        request,
        Request::PutItem(_) | Request::UpdateItem(_) | Request::DeleteItem(_)
    ) {
        return Vec::new();
    }
    let sorted = |rows: Result<Vec<PreviewedRow>, Error>| {
        rows.map(|mut rows| {
            rows.sort_by_key(|row| format!("{} {:?}", row.table, row.key));
            rows
        })
    };
    let here = sorted(embedded.preview(request.clone()));
    let there = sorted(gateway.preview(request.clone()).wait());
    assert_eq!(there, here, "{request:?}");
    here.unwrap_or_default()
}
