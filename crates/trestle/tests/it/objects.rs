//! Objects that rows refer to by their location.

use trestle::Map;
use trestle::app::{ObjectLocation, Objects};

#[tokio::test]
async fn an_object_is_found_where_a_row_says_and_not_in_another_place() {
    let folder = tempfile::tempdir().unwrap();
    let objects = Objects::directory(&folder.path().join("payloads")).unwrap();
    let location = objects.put("miro/V1/first", b"a plate".to_vec()).await.unwrap();
    assert_eq!((&*location.bucket, &*location.key), ("payloads", "miro/V1/first"));
    assert_eq!(objects.get(&location).await.unwrap(), b"a plate");
    let map = Map::from([("bucket", "payloads"), ("key", "miro/V1/first")]);
    assert_eq!(Map::from(&location), map);

    let elsewhere = ObjectLocation {
        bucket: "attic".to_owned(),
        ..location.clone()
    };
    let refused = objects.get(&elsewhere).await.unwrap_err().to_string();
    assert!(
        refused.contains("attic") && refused.contains("payloads"),
        "{refused}"
    );
    let missing = ObjectLocation {
        key: "miro/V1/second".to_owned(),
        ..location
    };
    assert!(objects.get(&missing).await.is_err());
}

#[tokio::test]
async fn a_place_belongs_to_one_owner_and_files_without_a_mark_to_none() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("layers");
    let open = || Objects::directory(&place).unwrap();
    let first = open().owned_by("table 1").await.unwrap();
    assert!(first.write_new("a", b"1".to_vec()).await.unwrap());
    assert!(!first.write_new("a", b"2".to_vec()).await.unwrap());
    assert_eq!(first.read("a").await.unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(first.read("b").await.unwrap(), None);
    open().owned_by("table 1").await.unwrap();
    let refused = open().owned_by("table 2").await.unwrap_err().to_string();
    assert!(
        refused.contains("belong to table 1, and not to table 2") && refused.contains("name another place"),
        "{refused}"
    );
    std::fs::remove_file(place.join("owner")).unwrap();
    let refused = open().owned_by("table 1").await.unwrap_err().to_string();
    assert!(
        refused.contains("no file `owner` says whose they are"),
        "{refused}"
    );
    // The remedy that the error names.
    std::fs::write(place.join("owner"), "table 2\n").unwrap();
    open().owned_by("table 2").await.unwrap();
}
