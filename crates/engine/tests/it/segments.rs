//! Parallel scans: every row is in exactly one segment.

use trestle_api::Scan;
use trestle_item::Item;

use crate::support::{Fixture, n, put, rounds, s, scan, scan_all, sorted, table};

fn filled() -> Fixture {
    let fixture = Fixture::new();
    let create = table("T", "pk:N | sk:S", &[], &[("g", "g:N", "KEYS_ONLY")]);
    fixture.engine.run(create).unwrap();
    for pk in 0..100 {
        for sk in 0..1 + pk % 4 {
            let item = Item::from([("pk", n(pk)), ("sk", s(format!("{sk}"))), ("g", n(pk % 17))]);
            fixture.engine.run(put("T", item)).unwrap();
        }
    }
    fixture
}

#[test]
fn segments_are_disjoint_and_complete_for_any_number_of_them() {
    let fixture = filled();
    rounds(8, |rng| {
        let few = rng.bool();
        let total = if few { rng.u32(1..20) } else { rng.u32(20..400) };
        let limit = rng.bool().then(|| rng.u32(1..9));
        for index in [None, Some("g")] {
            let (whole, _) = scan_all(&fixture.engine, scan("T", index));
            let mut joined = Vec::new();
            for segment in 0..total {
                let part = Scan {
                    segment: Some(segment),
                    total_segments: Some(total),
                    limit,
                    ..scan("T", index)
                };
                joined.extend(scan_all(&fixture.engine, part).0);
            }
            assert_eq!(sorted(joined), sorted(whole), "{total} segments of {index:?}");
        }
    });
}

#[test]
fn the_largest_number_of_segments_has_no_seam() {
    let fixture = filled();
    let total = 1_000_000;
    // Every item must be in the segment of its hash: reading all segments would take too long, so the first
    // and last are read, and a key of another segment is refused as a start.
    for segment in [0, 1, total - 1] {
        let part = Scan {
            segment: Some(segment),
            total_segments: Some(total),
            ..scan("T", None)
        };
        scan_all(&fixture.engine, part);
    }
    let first = Scan {
        limit: Some(1),
        ..scan("T", None)
    };
    let start = fixture.engine.run(first).unwrap().last_evaluated_key;
    let holders = (0..10u32).filter(|segment| {
        let part = Scan {
            segment: Some(*segment),
            total_segments: Some(10),
            exclusive_start_key: start.clone(),
            ..scan("T", None)
        };
        fixture.engine.run(part).is_ok()
    });
    assert_eq!(holders.count(), 1, "a key belongs to exactly one segment");
}

#[test]
fn many_partitions_are_spread_evenly() {
    let fixture = filled();
    let sizes: Vec<usize> = (0..4)
        .map(|segment| {
            let part = Scan {
                segment: Some(segment),
                total_segments: Some(4),
                ..scan("T", None)
            };
            scan_all(&fixture.engine, part).0.len()
        })
        .collect();
    let total: usize = sizes.iter().sum();
    assert_eq!(total, 250);
    assert!(sizes.iter().all(|size| *size > total / 10), "{sizes:?}");
}
