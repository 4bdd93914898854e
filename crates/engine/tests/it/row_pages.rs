//! Pages of rows with the position of the streams at the same moment.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use trestle_api::{RowPage, StreamViewType};
use trestle_item::Item;

use crate::streams::read_all;
use crate::support::{Fixture, describe, n, number, put, s, table, with_stream};

fn pk(item: &Item) -> String {
    item.get("pk").unwrap().as_s().unwrap().to_owned()
}

/// A row is exactly the result of the changes up to the mark, while others write.
#[test]
fn the_rows_of_a_page_are_what_the_changes_up_to_its_mark_have_made_of_them() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    engine
        .run(with_stream(
            table("T", "pk:S", &[], &[]),
            StreamViewType::NewImage,
        ))
        .unwrap();
    let row = |item: usize, version: i64| Item::from([("pk", s(format!("item-{item}"))), ("v", n(version))]);
    let items = 30;
    for item in 0..items {
        engine.run(put("T", row(item, 0))).unwrap();
    }
    let ends = AtomicBool::new(false);
    let pages: Vec<RowPage> = std::thread::scope(|scope| {
        for writer in 0..3 {
            let (ends, row) = (&ends, &row);
            scope.spawn(move || {
                for version in 1.. {
                    if ends.load(Ordering::Acquire) {
                        return;
                    }
                    let item = writer + 3 * (version as usize % 10);
                    engine.run(put("T", row(item, version))).unwrap();
                }
            });
        }
        let pages = (0..300)
            .map(|_| engine.row_page("T", None, 1_000, ""))
            .collect::<Result<_, _>>();
        ends.store(true, Ordering::Release);
        pages.unwrap()
    });
    let arn = describe(engine, "T").latest_stream_arn.unwrap();
    let records = read_all(engine, &arn);
    let mut versions: HashMap<String, i64> = HashMap::new();
    let mut at = 0;
    for page in pages {
        while let Some(record) = records
            .get(at)
            .filter(|record| record.dynamodb.sequence_number <= page.mark)
        {
            let new = record.dynamodb.new_image.as_ref().unwrap();
            versions.insert(pk(&record.dynamodb.keys), number(new, "v"));
            at += 1;
        }
        assert_eq!(page.key, ["pk"]);
        let found: HashMap<String, i64> = page.rows.iter().map(|row| (pk(row), number(row, "v"))).collect();
        assert_eq!(found, versions, "at {}", page.mark);
    }
}

#[test]
fn pages_go_on_behind_a_key_and_tell_when_documents_have_changed() {
    let fixture = Fixture::new();
    let engine = &fixture.engine;
    engine.run(table("T", "pk:S", &[], &[])).unwrap();
    for item in 0..25 {
        engine
            .run(put("T", Item::from([("pk", s(format!("{item}")))])))
            .unwrap();
    }
    let mut rows = Vec::new();
    let mut after = None;
    let first = engine.row_page("T", None, 10, "model/").unwrap();
    loop {
        let page = engine.row_page("T", after.as_ref(), 10, "model/").unwrap();
        assert!(page.rows.len() <= 10 && page.layout == first.layout);
        rows.extend(page.rows);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let names: std::collections::BTreeSet<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    assert_eq!((rows.len(), names.len()), (25, 25));
    let named = |name: &str| {
        engine
            .store_documents(vec![(name.to_owned(), Some(Vec::new()))])
            .unwrap();
        engine.row_page("T", None, 1, "model/").unwrap().layout
    };
    assert_eq!(named("migration/shop"), first.layout);
    let second = named("model/shop/1");
    assert_ne!(second, first.layout);
    assert_ne!(named("model/shop/2"), second);
}
