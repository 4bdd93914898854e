//! Layers as files, and as objects.

use std::collections::BTreeSet;
use std::sync::Arc;

use klayers::{Bucket, LayerArn, LayerStore as _};
use tokio::task::JoinSet;

const LAYER: &str = "Klayers-p312-idna";

#[tokio::test]
async fn a_number_is_given_once_also_after_its_layer_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let layers = Bucket::directory(place.path()).unwrap();
    let publish = async || layers.publish("eu-west-1", LAYER, "idna==3.10").await.unwrap();
    let (first, second) = (publish().await, publish().await);
    assert_eq!((first.version, second.version), (1, 2));
    let file = place.path().join("eu-west-1/Klayers-p312-idna/2.zip");
    assert_eq!(std::fs::read(&file).unwrap(), b"idna==3.10");
    assert!(layers.delete(&second).await.unwrap());
    assert!(!layers.delete(&second).await.unwrap(), "it is gone already");
    assert!(!file.exists());
    assert_eq!(layers.list("eu-west-1").await.unwrap(), [first]);
    assert_eq!(publish().await.version, 3);
    assert_eq!(layers.list("nowhere").await.unwrap(), []);
}

#[tokio::test]
async fn a_number_that_was_taken_and_not_used_is_not_given_again() {
    let place = tempfile::tempdir().unwrap();
    let layers = Bucket::directory(place.path()).unwrap();
    layers.publish("eu-west-1", LAYER, "").await.unwrap();
    // As a process leaves it that dies between the two.
    let folder = place.path().join("eu-west-1").join(LAYER);
    std::fs::write(folder.join("2.taken"), "").unwrap();
    assert_eq!(layers.publish("eu-west-1", LAYER, "").await.unwrap().version, 3);
    assert_eq!(layers.list("eu-west-1").await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn layers_that_are_published_at_once_have_different_numbers() {
    let place = tempfile::tempdir().unwrap();
    let layers = Arc::new(Bucket::directory(place.path()).unwrap());
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let layers = layers.clone();
        tasks.spawn(async move { layers.publish("eu-west-1", LAYER, "").await.unwrap().version });
    }
    let versions: BTreeSet<i64> = tasks.join_all().await.into_iter().collect();
    assert_eq!(versions.len(), 8);
}

#[tokio::test]
async fn the_name_of_a_layer_never_leads_elsewhere() {
    let name = LayerArn::layer_name("psycopg[binary,pool]", "p3.12");
    assert_eq!(name, "Klayers-p312-psycopg-binary-pool-");
    let place = tempfile::tempdir().unwrap();
    let layers = Bucket::directory(&place.path().join("layers")).unwrap();
    let arn = layers.publish("..", "../..", "").await.unwrap();
    let outside: Vec<_> = std::fs::read_dir(place.path()).unwrap().collect();
    assert_eq!(outside.len(), 1, "only the directory itself");
    assert!(layers.delete(&arn).await.unwrap());
}
