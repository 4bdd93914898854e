//! A rollback to the first version.

use klayers::model::{Layer, NewLayer};
use trestle::WithModels as _;
use trestle::migrate::MigrationState;

use super::answers::{self, assert_same};
use super::{First, Migrating, rows, v1};
use crate::support;

/// Rolls back, and returns the outcome.
fn roll_back(moving: &Migrating) -> String {
    let plan = moving.world.stored.roll_back_migration("klayers");
    plan.unwrap().unwrap().to_string()
}

#[tokio::test]
async fn point_12_a_migration_that_is_rolled_back_leaves_every_row_as_it_was() {
    for pages in [0, 1, 8, usize::MAX] {
        let first = First::new().await;
        let (before, lay) = (answers::first(&first.db).await, rows(&first.stored).await);
        let moving = first.migrate();
        if pages == usize::MAX {
            moving.sweep_all();
        }
        for _ in (0..pages).take_while(|_| moving.status().state != MigrationState::Verified) {
            moving.page();
        }
        let plan = roll_back(&moving);
        assert_eq!(moving.status().state, MigrationState::RollingBack, "{plan}");
        moving.page();
        assert_eq!(moving.sweep_all().state, MigrationState::RolledBack);
        assert_eq!(rows(&moving.world.stored).await, lay, "after {pages} pages");
        let db = v1::Klayers::apply_to(&moving.world.stored).unwrap();
        assert_same(&before, &answers::first(&db).await, "rolled back");
    }
}

#[tokio::test]
async fn point_12_there_is_no_way_back_for_layers_of_another_python() {
    let moving = First::new().await.migrate();
    let db = &moving.app().db;
    let layer = Layer::from(NewLayer {
        rgn: support::REGION.into(),
        pckg: "requests".into(),
        py_vrsn: support::PYTHON.into(),
        lyr_vrsn: 1,
        arn: "arn".into(),
        pckg_vrsn: "1.0".into(),
    });
    db.put(&layer).await.unwrap();
    let plan = roll_back(&moving);
    assert!(
        plan.contains("cannot be rolled back; nothing was changed"),
        "{plan}"
    );
    assert!(plan.contains("requests:p3.12"), "{plan}");
    assert_eq!(moving.status().state, MigrationState::Dual);
    db.delete(&layer).await.unwrap();
    let plan = roll_back(&moving);
    assert_eq!(moving.sweep_all().state, MigrationState::RolledBack, "{plan}");
}
