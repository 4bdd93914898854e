//! The same tests at an independent endpoint without transactions: `./test endpoints` starts dynalite.

use std::sync::Arc;

use trestle_env::SystemClock;
use trestle_gateway::Gateway;

use crate::migrations::{Abilities, migrate_beside_twin};
use crate::real_endpoint::endpoint;
use crate::same_as_embedded::compare_with;
use crate::support::{EVERYTHING, assert_exact, clock, gateway_with};
use crate::without_transactions::{single, write_singles};

/// Nothing expires at dynalite.
fn model() -> String {
    EVERYTHING.replace("ttl = \"expires\"\n", "")
}

#[test]
#[ignore = "needs dynalite: ./test endpoints"]
fn random_requests_have_the_same_answers_and_leave_the_same_rows() {
    for seed in 200..203 {
        compare_with(&model(), seed, clock(), endpoint(), single);
    }
}

#[test]
#[ignore = "needs dynalite: ./test endpoints"]
fn what_is_derived_is_exact_after_writers_at_three_gateways() {
    let remote = endpoint();
    let first = gateway_with(&model(), Arc::clone(&remote), Arc::new(SystemClock::new()));
    let others = (0..2).map(|_| Gateway::open(Arc::clone(&remote)).unwrap());
    let gateways: Vec<Gateway> = std::iter::once(first).chain(others).collect();
    write_singles(&gateways, 20);
    for gateway in &gateways {
        assert_exact(gateway, "afterwards");
    }
}

#[test]
#[ignore = "needs dynalite: ./test endpoints"]
fn while_rows_move_gateways_answer_as_a_database_that_has_had_the_keys_from_the_beginning() {
    let abilities = Abilities {
        transactions: false,
        streams: false,
    };
    migrate_beside_twin(11, endpoint(), &abilities);
}
