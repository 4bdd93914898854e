//! Layers as files.

use std::collections::BTreeSet;
use std::thread;

use klayers::{Directory, LayerArn, LayerStore as _};

#[test]
fn a_number_is_given_once_also_after_its_layer_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let layers = Directory::new(place.path());
    let publish = || {
        layers
            .publish("eu-west-1", "Klayers-p312-idna", b"idna==3.10")
            .unwrap()
    };
    let (first, second) = (publish(), publish());
    assert_eq!((first.version, second.version), (1, 2));
    let file = place.path().join("eu-west-1/Klayers-p312-idna/2/layer.zip");
    assert_eq!(std::fs::read(&file).unwrap(), b"idna==3.10");
    assert!(layers.delete(&second).unwrap());
    assert!(!layers.delete(&second).unwrap(), "it is gone already");
    assert!(!file.exists());
    assert_eq!(layers.list("eu-west-1").unwrap(), [first]);
    assert_eq!(publish().version, 3);
    assert_eq!(layers.list("nowhere").unwrap(), []);
}

#[test]
fn layers_that_are_published_at_once_have_different_numbers() {
    let place = tempfile::tempdir().unwrap();
    let layers = Directory::new(place.path());
    let publish = || layers.publish("eu-west-1", "layer", b"").unwrap().version;
    let versions: BTreeSet<i64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(publish)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(versions.len(), 8);
}

#[test]
fn the_name_of_a_layer_is_read_back_and_never_leads_elsewhere() {
    let text = "arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p312-psycopg-binary-pool-:7";
    let arn: LayerArn = text.parse().unwrap();
    assert_eq!(arn.layer, LayerArn::layer_name("psycopg[binary,pool]", "p3.12"));
    assert_eq!(arn.to_string(), text);
    for wrong in [
        "arn:aws:lambda:..:1:layer:x:1",
        "arn:aws:lambda:eu:1:layer:../x:1",
        "arn:aws:lambda:eu:1:layer:x",
        "arn:aws:lambda:eu:1:layer:x:one",
    ] {
        assert!(wrong.parse::<LayerArn>().is_err(), "{wrong}");
    }
}
