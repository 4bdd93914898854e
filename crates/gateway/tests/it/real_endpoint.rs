//! The same tests at an independent endpoint: `./test endpoints` starts one and passes its address.

use std::sync::Arc;

use trestle_api::{Database, DatabaseExt, DeleteTable, ListTables, Wait};
use trestle_env::SystemClock;
use trestle_gateway::Gateway;
use trestle_remote::{AccessKey, Remote, Settings};

use crate::migrations::{Abilities, migrate_beside_twin};
use crate::moments::mend_counts;
use crate::same_as_embedded::compare;
use crate::several_gateways::write_at_all;
use crate::support::{assert_exact, clock, gateway};

/// The endpoint, without any table.
pub(crate) fn endpoint() -> Arc<dyn Database> {
    let url = std::env::var("TRESTLE_TEST_ENDPOINT").expect("./test endpoints sets TRESTLE_TEST_ENDPOINT");
    let mut settings = Settings::new(url);
    settings.credentials = AccessKey {
        id: "any".to_owned(),
        secret: "any".to_owned(),
    }
    .into();
    let remote = Remote::new(settings).unwrap();
    for table_name in remote
        .list_tables(ListTables::default())
        .wait()
        .unwrap()
        .table_names
    {
        remote.delete_table(DeleteTable { table_name }).wait().unwrap();
    }
    Arc::new(remote)
}

#[test]
#[ignore = "needs an endpoint: ./test endpoints"]
fn random_requests_have_the_same_answers_and_leave_the_same_rows() {
    for seed in 100..104 {
        compare(seed, clock(), endpoint());
    }
}

#[test]
#[ignore = "needs an endpoint: ./test endpoints"]
fn while_rows_move_gateways_answer_as_a_database_that_has_had_the_keys_from_the_beginning() {
    migrate_beside_twin(11, endpoint(), &Abilities::ALL);
}

#[test]
#[ignore = "needs an endpoint: ./test endpoints"]
fn what_is_derived_is_exact_after_writers_at_three_gateways() {
    let remote = endpoint();
    let first = gateway(Arc::clone(&remote), Arc::new(SystemClock::new()));
    let others = (0..2).map(|_| Gateway::open(Arc::clone(&remote)).unwrap());
    let gateways: Vec<Gateway> = std::iter::once(first).chain(others).collect();
    write_at_all(&gateways, 16, 150);
    for gateway in &gateways {
        assert_exact(gateway, "afterwards");
    }
}

#[test]
#[ignore = "needs an endpoint: ./test endpoints"]
fn counts_are_mended_exactly_while_sixteen_writers_go_on() {
    let remote = endpoint();
    let first = gateway(Arc::clone(&remote), Arc::new(SystemClock::new()));
    let others = (0..2).map(|_| Gateway::open(Arc::clone(&remote)).unwrap());
    let gateways: Vec<Gateway> = std::iter::once(first).chain(others).collect();
    mend_counts(&gateways, &*remote);
}
