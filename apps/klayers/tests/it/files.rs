//! Layers as files, and as objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Bytes;
use klayers::{LayerArn, LayerStore as _};
use tokio::task::JoinSet;

use crate::support::directory;

const LAYER: &str = "Klayers-p312-idna";

#[tokio::test]
async fn a_number_is_given_once_also_after_its_layer_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let layers = directory(place.path());
    let publish = async || {
        layers
            .publish("eu-west-1", LAYER, 0, "idna==3.10".into())
            .await
            .unwrap()
    };
    let (first, second) = (publish().await, publish().await);
    assert_eq!((first.version, second.version), (1, 2));
    let file = place.path().join("eu-west-1/Klayers-p312-idna/2.zip");
    assert_eq!(std::fs::read(&file).unwrap(), b"idna==3.10");
    assert!(layers.delete(&second).await.unwrap());
    assert!(!layers.delete(&second).await.unwrap(), "it is gone already");
    assert!(!file.exists());
    assert_eq!(layers.list().await.unwrap(), [first]);
    assert_eq!(publish().await.version, 3);
}

#[tokio::test]
async fn a_number_that_was_taken_and_not_used_is_not_given_again() {
    let place = tempfile::tempdir().unwrap();
    let layers = directory(place.path());
    layers.publish("eu-west-1", LAYER, 0, Bytes::new()).await.unwrap();
    // The state that a process leaves if it dies between the two.
    let folder = place.path().join("eu-west-1").join(LAYER);
    std::fs::write(folder.join("2.taken"), "").unwrap();
    assert_eq!(
        layers
            .publish("eu-west-1", LAYER, 0, Bytes::new())
            .await
            .unwrap()
            .version,
        3
    );
    assert_eq!(layers.list().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn layers_that_are_published_at_once_have_different_numbers() {
    let place = tempfile::tempdir().unwrap();
    let layers = Arc::new(directory(place.path()));
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let layers = layers.clone();
        tasks.spawn(async move {
            layers
                .publish("eu-west-1", LAYER, 0, Bytes::new())
                .await
                .unwrap()
                .version
        });
    }
    let versions: BTreeSet<i64> = tasks.join_all().await.into_iter().collect();
    assert_eq!(versions.len(), 8);
}

#[tokio::test]
async fn the_name_of_a_layer_never_leads_elsewhere() {
    let name = LayerArn::layer_name("ruamel.yaml", "p3.12-arm64");
    assert_eq!(name, "Klayers-p312-arm64-ruamel-yaml");
    let place = tempfile::tempdir().unwrap();
    let layers = directory(&place.path().join("layers"));
    let arn = layers.publish("..", "../..", 0, Bytes::new()).await.unwrap();
    let outside: Vec<_> = std::fs::read_dir(place.path()).unwrap().collect();
    assert_eq!(outside.len(), 1, "only the directory itself");
    assert!(layers.delete(&arn).await.unwrap());
}

#[tokio::test]
async fn a_layer_of_another_account_is_not_here() {
    let place = tempfile::tempdir().unwrap();
    let layers = directory(place.path());
    let own = layers.publish("eu-west-1", LAYER, 6, "zip".into()).await.unwrap();
    assert_eq!(own.version, 7, "numbers go on after those of the table");
    let foreign = LayerArn {
        account: "770693421928".into(),
        ..own.clone()
    };
    assert!(!layers.delete(&foreign).await.unwrap());
    assert_eq!(layers.read(&foreign).await.unwrap(), None);
    assert_eq!(layers.read(&own).await.unwrap(), Some("zip".into()));
    assert_eq!(layers.list().await.unwrap(), [own]);
}

#[test]
fn an_arn_is_read_as_it_is_written_and_nothing_else_is_one() {
    let text = "arn:aws:lambda:eu-west-1:770693421928:layer:Klayers-p38-requests:3";
    let arn = LayerArn::parse(text).unwrap();
    assert_eq!((arn.to_string().as_str(), arn.version), (text, 3));
    for other in [
        "",
        "...",
        "arn:aws:lambda:eu-west-1:770693421928:layer:name",
        "arn:aws:s3:a:b:layer:c:1",
        "arn:aws:lambda:a:b:layer:c:x",
        "arn:aws:lambda:a:b:layer:c%d:1",
        "arn:aws:lambda::b:layer:c:1",
        "arn:aws:lambda:..:b:layer:c:1",
        &format!("arn:aws:lambda:a:b:layer:{}:1", "c".repeat(141)),
    ] {
        assert_eq!(LayerArn::parse(other), None, "{other}");
    }
}
