//! Heads that follow a row, and its history, through a typed client.

use crate::models::releases::*;
use crate::support::embedded;
use trestle::Wait;
use trestle::typed::Version;

#[test]
fn a_promotion_moves_all_heads_and_is_listed() {
    let embedded = embedded();
    let db = Releases::apply_to(&embedded).unwrap();
    let version = |minor: u64| Version::new(1, minor, 0);
    for minor in [9, 10] {
        for locale in ["de", "en"] {
            let build = NewBuild {
                name: "p".into(),
                version: version(minor),
                locale: locale.into(),
            };
            db.put(&Build::from(build)).wait().unwrap();
        }
    }
    for minor in [9, 10, 9] {
        let release = NewRelease {
            name: "p".into(),
            version: version(minor),
        };
        db.put(&Release::from(release)).wait().unwrap();
        let heads = db.heads_of("p").collect().wait().unwrap();
        assert_eq!(heads.len(), 2);
        assert!(
            heads.iter().all(|head| head.version == version(minor)),
            "{heads:?}"
        );
    }
    let moves = db.moves_of("p").collect().wait().unwrap();
    let moves: Vec<_> = moves.into_iter().map(|row| (row.from, row.version)).collect();
    let one = |from: Option<u64>, to: u64| (from.map(version), Some(version(to)));
    assert_eq!(moves, [one(Some(10), 9), one(Some(9), 10), one(None, 9)]);
}
