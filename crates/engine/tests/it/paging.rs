//! Pages of any size, joined, equal one read without paging.

use trestle_api::{Query, Scan, Select};
use trestle_item::Item;

use crate::support::{Fixture, b, n, put, query_all, rounds, s, scan, scan_all, table};

/// What is read page by page.
#[derive(Clone, Copy, Debug)]
struct Source {
    index: Option<&'static str>,
    hash: &'static str,
}

const SOURCES: &[Source] = &[
    Source {
        index: None,
        hash: "pk",
    },
    Source {
        index: Some("local"),
        hash: "pk",
    },
    Source {
        index: Some("local-keys"),
        hash: "pk",
    },
    Source {
        index: Some("global"),
        hash: "g",
    },
    Source {
        index: Some("global-keys"),
        hash: "g",
    },
];

fn filled(rng: &mut fastrand::Rng, items: usize) -> Fixture {
    let fixture = Fixture::new();
    let create = table(
        "T",
        "pk:S | sk:B",
        &[
            ("local", "pk:S | l:N", "ALL"),
            ("local-keys", "pk:S | l:N", "KEYS_ONLY"),
        ],
        &[
            ("global", "g:S | h:S", "ALL"),
            ("global-keys", "g:S | h:S, l:N", "KEYS_ONLY"),
        ],
    );
    fixture.engine.run(create).unwrap();
    for _ in 0..items {
        let mut item = Item::from([("pk", s(["x", "y"][rng.usize(..2)])), ("v", n(rng.i64(0..4)))]);
        let bytes: Vec<u8> = (0..rng.usize(1..4))
            .map(|_| [0, 1, 0xFF][rng.usize(..3)])
            .collect();
        item.insert("sk", b(&bytes));
        if rng.u32(..5) > 0 {
            item.insert("l", n(rng.i64(-3..3)));
        }
        if rng.u32(..5) > 0 {
            item.insert("g", s(["x", "y"][rng.usize(..2)]));
            item.insert("h", s(["p", "p\0", "q"][rng.usize(..3)]));
        }
        fixture.engine.run(put("T", item)).unwrap();
    }
    fixture
}

fn query_of(source: Source, forward: bool, filtered: bool) -> Query {
    let mut values = Item::from([(":h", s("x"))]);
    if filtered {
        values.insert(":v", n(2));
    }
    // The index that keeps only keys has no `v` to filter by.
    Query {
        table_name: "T".into(),
        index_name: source.index.map(str::to_owned),
        key_condition_expression: Some(format!("{} = :h", source.hash)),
        filter_expression: filtered.then(|| "v < :v".to_owned()),
        expression_attribute_values: Some(values),
        scan_index_forward: Some(forward),
        ..Query::default()
    }
}

fn has_filter(source: Source) -> bool {
    !source.index.is_some_and(|name| name.ends_with("keys"))
}

#[test]
fn a_query_in_pages_of_any_size_equals_one_pass() {
    rounds(3, |rng| {
        let fixture = filled(rng, 60);
        for source in SOURCES {
            for forward in [true, false] {
                for filtered in [false, has_filter(*source)] {
                    let query = query_of(*source, forward, filtered);
                    let (whole, scanned, pages) = query_all(&fixture.engine, query.clone());
                    assert_eq!(pages, 1);
                    for limit in (1..12).chain([scanned, scanned + 1]).filter(|limit| *limit > 0) {
                        let limited = Query {
                            limit: Some(limit),
                            ..query.clone()
                        };
                        let (joined, read, pages) = query_all(&fixture.engine, limited);
                        assert_eq!(joined, whole, "{source:?} limit {limit}");
                        assert_eq!(read, scanned);
                        assert_eq!(pages as u32, scanned / limit + 1);
                    }
                }
            }
        }
    });
}

#[test]
fn reading_backwards_is_reading_forwards_turned_round() {
    rounds(3, |rng| {
        let fixture = filled(rng, 60);
        for source in SOURCES {
            let (forward, ..) = query_all(&fixture.engine, query_of(*source, true, false));
            let (mut backward, ..) = query_all(&fixture.engine, query_of(*source, false, false));
            backward.reverse();
            assert_eq!(forward, backward, "{source:?}");
        }
    });
}

#[test]
fn a_scan_in_pages_of_any_size_equals_one_pass() {
    rounds(3, |rng| {
        let fixture = filled(rng, 60);
        for source in SOURCES {
            for filtered in [false, has_filter(*source)] {
                let scan = Scan {
                    filter_expression: filtered.then(|| "v < :v".to_owned()),
                    expression_attribute_values: filtered.then(|| Item::from([(":v", n(2))])),
                    ..scan("T", source.index)
                };
                let (whole, scanned) = scan_all(&fixture.engine, scan.clone());
                for limit in (1..12).chain([scanned.max(1), scanned + 1]) {
                    let limited = Scan {
                        limit: Some(limit),
                        ..scan.clone()
                    };
                    let (joined, read) = scan_all(&fixture.engine, limited);
                    assert_eq!(joined, whole, "{source:?} limit {limit}");
                    assert_eq!(read, scanned);
                }
            }
        }
    });
}

#[test]
fn an_index_with_equal_sort_keys_is_paged_without_loop_or_gap() {
    let fixture = Fixture::new();
    let create = table("T", "pk:S | sk:N", &[], &[("same", "g:S | h:N", "ALL")]);
    fixture.engine.run(create).unwrap();
    for at in 0..150 {
        let item = Item::from([
            ("pk", s(format!("p{}", at % 7))),
            ("sk", n(at)),
            ("g", s("g")),
            ("h", n(1)),
        ]);
        fixture.engine.run(put("T", item)).unwrap();
    }
    for forward in [true, false] {
        for limit in [1, 2, 3, 7, 50, 149, 150, 151] {
            let query = Query {
                table_name: "T".into(),
                index_name: Some("same".into()),
                key_condition_expression: Some("g = :g AND h = :h".into()),
                expression_attribute_values: Some(Item::from([(":g", s("g")), (":h", n(1))])),
                scan_index_forward: Some(forward),
                limit: Some(limit),
                ..Query::default()
            };
            let (items, scanned, pages) = query_all(&fixture.engine, query);
            let mut found: Vec<i64> = items
                .iter()
                .map(|item| crate::support::number(item, "sk"))
                .collect();
            found.sort_unstable();
            assert_eq!(found, (0..150).collect::<Vec<_>>(), "limit {limit}");
            assert_eq!((scanned, pages as u32), (150, 150 / limit + 1));
        }
    }
}

#[test]
fn a_page_ends_at_a_megabyte_and_the_next_goes_on_from_there() {
    let fixture = Fixture::new();
    fixture
        .engine
        .run(table("T", "pk:S | sk:N", &[], &[("g", "pk:S | sk:N", "ALL")]))
        .unwrap();
    for sk in 0..12 {
        let item = Item::from([("pk", s("p")), ("sk", n(sk)), ("big", s("x".repeat(300_000)))]);
        fixture.engine.run(put("T", item)).unwrap();
    }
    for index in [None, Some("g".to_owned())] {
        for select in [None, Some(Select::Count)] {
            let mut query = Query {
                table_name: "T".into(),
                index_name: index.clone(),
                key_condition_expression: Some("pk = :p".into()),
                expression_attribute_values: Some(Item::from([(":p", s("p"))])),
                select,
                ..Query::default()
            };
            let mut counts = Vec::new();
            loop {
                let page = fixture.engine.run(query.clone()).unwrap();
                assert_eq!(page.items.is_none(), select.is_some());
                counts.push(page.count);
                match page.last_evaluated_key {
                    Some(last) => query.exclusive_start_key = Some(last),
                    None => break,
                }
            }
            assert_eq!(counts.iter().sum::<u32>(), 12);
            assert!(counts.iter().all(|count| *count <= 4), "{counts:?}");
            assert!(counts.len() >= 3, "{counts:?}");
        }
    }
}

/// A row may be deleted between two pages; its key still marks the position.
#[test]
fn paging_goes_on_from_a_row_that_was_deleted_meanwhile() {
    let fixture = Fixture::new();
    fixture
        .engine
        .run(table("T", "pk:S | sk:N", &[], &[("g", "pk:S | sk:N", "ALL")]))
        .unwrap();
    for index in [None, Some("g".to_owned())] {
        for sk in 0..6 {
            let item = Item::from([("pk", s("p")), ("sk", n(sk))]);
            fixture.engine.run(put("T", item)).unwrap();
        }
        let query = Query {
            table_name: "T".into(),
            index_name: index,
            key_condition_expression: Some("pk = :p".into()),
            expression_attribute_values: Some(Item::from([(":p", s("p"))])),
            limit: Some(3),
            ..Query::default()
        };
        let first = fixture.engine.run(query.clone()).unwrap();
        let delete = trestle_api::DeleteItem {
            table_name: "T".into(),
            key: Item::from([("pk", s("p")), ("sk", n(2))]),
            ..trestle_api::DeleteItem::default()
        };
        fixture.engine.run(delete).unwrap();
        let rest = Query {
            exclusive_start_key: first.last_evaluated_key,
            limit: None,
            ..query
        };
        let rest = fixture.engine.run(rest).unwrap().items.unwrap().to_vec();
        let found: Vec<i64> = rest
            .iter()
            .map(|item| crate::support::number(item, "sk"))
            .collect();
        assert_eq!(found, [3, 4, 5]);
    }
}

/// An index that projects only keys still returns whole items, if requested.
#[test]
fn a_page_shows_of_its_rows_what_was_asked_for() {
    let fixture = Fixture::new();
    let local = [("l", "pk:S | place:N", "KEYS_ONLY")];
    fixture
        .engine
        .run(table("T", "pk:S | sk:N", &local, &[]))
        .unwrap();
    let item = |sk: i64| {
        Item::from([
            ("pk", s("p")),
            ("sk", n(sk)),
            ("place", n(-sk)),
            ("note", s(format!("note {sk}"))),
        ])
    };
    for sk in 1..=3 {
        fixture.engine.run(put("T", item(sk))).unwrap();
    }
    let query = Query {
        table_name: "T".into(),
        index_name: Some("l".into()),
        key_condition_expression: Some("pk = :p".into()),
        expression_attribute_values: Some(Item::from([(":p", s("p"))])),
        ..Query::default()
    };
    let shown = |query: Query| fixture.engine.run(query).unwrap().items.unwrap().to_vec();
    let mut keys = item(3);
    keys.remove("note");
    assert_eq!(shown(query.clone())[0], keys);
    let whole = Query {
        select: Some(Select::AllAttributes),
        ..query
    };
    assert_eq!(shown(whole.clone()), [item(3), item(2), item(1)]);
    let filtered = Query {
        filter_expression: Some("sk = :f".into()),
        expression_attribute_values: Some(Item::from([(":p", s("p")), (":f", n(2))])),
        ..whole.clone()
    };
    assert_eq!(shown(filtered.clone()), [item(2)]);
    let filtered_in_table = Query {
        index_name: None,
        filter_expression: Some("place = :f".into()),
        expression_attribute_values: Some(Item::from([(":p", s("p")), (":f", n(-2))])),
        ..filtered
    };
    assert_eq!(shown(filtered_in_table), [item(2)]);
    let projected = Query {
        projection_expression: Some("note".into()),
        select: None,
        ..whole
    };
    assert_eq!(shown(projected)[2], Item::from([("note", s("note 1"))]));
}
