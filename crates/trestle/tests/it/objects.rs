//! Objects that rows name by their location.

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
