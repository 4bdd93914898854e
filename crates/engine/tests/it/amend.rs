//! Amendments: rows computed from the rows of their own commit, with everything that belongs to a row.

use trestle_api::{Error, StreamViewType};
use trestle_hook::Companion;
use trestle_item::Item;

use crate::support::{Fixture, get, n, number, put, s, table, with_stream};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let counted = table("T", "pk:S", &[], &[("by-count", "count:N", "ALL")]);
    let counted = with_stream(counted, StreamViewType::NewAndOldImages);
    fixture.engine.run(counted).unwrap();
    let row = Item::from([("pk", s("a")), ("count", n(1))]);
    fixture.engine.run(put("T", row)).unwrap();
    fixture
}

fn key() -> Item {
    Item::from([("pk", s("a"))])
}

/// Adds one to what the row of that moment counts.
fn add_one(rows: &dyn trestle_hook::Rows) -> Result<(Vec<Companion>, i64), Error> {
    let row = rows.get("T", &key())?.unwrap();
    let count = number(&row, "count") + 1;
    let item = Item::from([("count", n(count))]);
    let companion = Companion {
        table: "T".to_owned(),
        key: key(),
        item: Some(item.into()),
    };
    Ok((vec![companion], count))
}

#[test]
fn an_amendment_sees_the_rows_of_its_commit_and_writes_index_rows_changes_and_counts() {
    let fixture = fixture();
    let started: Vec<_> = (0..20)
        .map(|_| fixture.engine.amend(|rows, _| add_one(rows)))
        .collect();
    let told: Vec<i64> = started
        .into_iter()
        .map(|amendment| amendment.wait().unwrap())
        .collect();
    assert_eq!(told, (2..22).collect::<Vec<i64>>());
    let row = get(&fixture.engine, "T", key()).unwrap();
    assert_eq!(number(&row, "count"), 21);
    let mut found = Vec::new();
    let summary = fixture.engine.verify(&mut found).unwrap();
    assert_eq!((found, summary.change_records), (Vec::new(), 21));
}

#[test]
fn a_refused_amendment_leaves_nothing_behind() {
    let fixture = fixture();
    let refused = fixture
        .engine
        .amend(|rows, _| -> Result<(Vec<Companion>, ()), Error> {
            let (mut companions, _) = add_one(rows)?;
            companions.push(Companion {
                table: "missing".to_owned(),
                key: key(),
                item: None,
            });
            Ok((companions, ()))
        });
    assert!(refused.wait().is_err());
    let row = get(&fixture.engine, "T", key()).unwrap();
    assert_eq!(number(&row, "count"), 1);
    let many = fixture.engine.amend(|rows, _| {
        let (companions, _) = add_one(rows)?;
        Ok((vec![companions[0].clone(); 10_001], ()))
    });
    assert!(many.wait().unwrap_err().message().contains("10000 are the most"));
}
