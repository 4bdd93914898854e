//! The figure that the grouped layout is about, at a size that a test can afford.

#[path = "../../examples/figures.rs"]
#[allow(dead_code, reason = "the command prints what the test does not look at")]
mod figures;

use figures::{Sizes, compare};

#[tokio::test]
#[ignore = "it fills two stores of 60 MB; run it by name"]
async fn point_12_a_delete_reads_at_least_three_times_fewer_blocks_in_the_grouped_layout() {
    let sizes = Sizes {
        runs: 1500,
        deletes: 300,
        cache_kib: 64,
        seconds: 0,
        rate: 200,
    };
    let [legacy, grouped] = compare(&sizes, 1).await.unwrap();
    let (legacy, grouped) = (legacy.deletes.blocks_from_disk, grouped.deletes.blocks_from_disk);
    assert!(grouped > 0, "the cache holds everything, or nothing is in tables");
    assert!(legacy >= 3 * grouped, "{legacy} blocks against {grouped}");
}
