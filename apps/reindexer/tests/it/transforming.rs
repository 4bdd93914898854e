//! From payloads to works.

use reindexer::{Error, Kind, Source, SourcePayload, Work, transform};
use trestle::app::ObjectLocation;

fn record(source: Source) -> SourcePayload {
    let location = ObjectLocation {
        bucket: "b".into(),
        key: "k".into(),
    };
    let shape = serde_json::json!({ "id": "x", "sourceName": source, "version": 3, "location": location });
    serde_json::from_value(shape).unwrap()
}

/// The first sample of a source, by a version of the transformers.
fn sample(source: Source, transformer: i64) -> Work {
    let samples: serde_json::Value = serde_json::from_str(include_str!("../../sample.json")).unwrap();
    let payload = &samples[source.to_string()][0]["payload"];
    let text = payload
        .as_str()
        .map_or_else(|| payload.to_string(), str::to_owned);
    transform(transformer, &record(source), text.as_bytes()).unwrap()
}

#[test]
fn version_2_removes_punctuation_and_adds_subjects() {
    let old = sample(Source::Sierra, 1).text;
    assert_eq!(
        old.title,
        "A treatise on the management of fevers : volume {number} /"
    );
    assert_eq!(
        (old.contributors, old.subjects.len()),
        (vec!["Harwood, Agnes,".to_owned()], 0)
    );
    let new = sample(Source::Sierra, 2).text;
    assert_eq!(
        new.title,
        "A treatise on the management of fevers : volume {number}"
    );
    assert_eq!(
        (new.contributors, new.subjects),
        (vec!["Harwood, Agnes".to_owned()], vec!["Epidemiology".to_owned()])
    );
}

#[test]
fn every_source_has_a_transformer() {
    let mets = sample(Source::Mets, 2);
    assert_eq!(
        (mets.kind, mets.text.subjects),
        (Kind::Invisible, vec!["Epidemiology".to_owned()])
    );
    let tei = sample(Source::Tei, 2);
    assert_eq!(
        tei.text.description,
        "A treatise on medicinal plants, with recipes."
    );
    assert_eq!(
        (tei.kind, tei.text.subjects),
        (Kind::Visible, vec!["Medicinal plants".to_owned()])
    );
    let calm = sample(Source::Calm, 2);
    assert_eq!(
        (calm.kind, calm.text.contributors),
        (Kind::Visible, vec!["Harwood, Agnes".to_owned()])
    );
    let miro = sample(Source::Miro, 2);
    assert_eq!(
        (miro.kind, miro.text.subjects.len(), miro.version),
        (Kind::Visible, 2, 3)
    );
}

#[test]
fn what_is_withdrawn_or_not_cleared_is_not_shown() {
    let payload = br#"{"image_image_desc": "A plate. Etching."}"#;
    let mut image = record(Source::Miro);
    image.is_cleared = Some(false);
    let work = transform(2, &image, payload).unwrap();
    assert_eq!(
        (work.kind, work.text.title.as_str()),
        (Kind::Invisible, "A plate.")
    );
    image.is_deleted = true;
    assert_eq!(transform(2, &image, payload).unwrap().kind, Kind::Deleted);
}

#[test]
fn a_payload_that_cannot_be_read_is_named() {
    let sources = [
        Source::Sierra,
        Source::Miro,
        Source::Mets,
        Source::Calm,
        Source::Tei,
    ];
    for (source, payload) in sources
        .into_iter()
        .flat_map(|source| [(source, "{"), (source, "{}"), (source, "<a/>")])
    {
        let failed = transform(1, &record(source), payload.as_bytes()).unwrap_err();
        assert!(
            matches!(&failed, Error::Invalid(said) if said.starts_with("the payload of x cannot be")),
            "{source} {payload}: {failed}"
        );
    }
}
