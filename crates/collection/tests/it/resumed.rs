//! A deletion that was stopped continues, also in another process.

use std::sync::Arc;

use trestle_api::Wait;
use trestle_collection::{CollectionBookmark, StepBounds};
use trestle_item::{Item, ScalarType};
use trestle_store::MemoryStore;

use crate::support::{create, deleted, keys, on, partition, put, total};

#[test]
fn after_a_crash_it_goes_on_from_the_bookmark_or_from_the_beginning() {
    for from_bookmark in [true, false] {
        let store = Arc::new(MemoryStore::new());
        let db = on(&store);
        create(&db, "T", &[("pk", ScalarType::S), ("sk", ScalarType::S)]);
        for n in 0..50 {
            put(&db, "T", Item::from([("pk", "p"), ("sk", &*format!("{n:02}"))]));
        }
        let bounds = StepBounds {
            rows: 20,
            ..StepBounds::default()
        };
        let first = partition(&db, "T", "p").delete(&db, None, bounds).wait().unwrap();
        let bookmark = first.next.unwrap().to_string();
        // The process ends without closing anything; acknowledged writes are stored.
        drop(db);
        let db = on(&store);
        let rows = partition(&db, "T", "p");
        assert_eq!(keys(&db, "T").len(), 30);
        if from_bookmark {
            let bookmark = CollectionBookmark::from(bookmark);
            let second = rows.delete(&db, Some(&bookmark), bounds).wait().unwrap();
            assert_eq!(second.rows, 20);
            // The response was lost: the same step, repeated, finds the rest.
            let again = rows.delete(&db, Some(&bookmark), bounds).wait().unwrap();
            assert_eq!((again.rows, again.next), (10, None));
        } else {
            assert_eq!(total(&deleted(&db, &rows)), 30);
        }
        assert!(keys(&db, "T").is_empty());
    }
}
