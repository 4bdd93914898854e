//! The full-text index, and the switch from one pipeline to another.

use std::collections::BTreeSet;

use reindexer::{Error, Kind, SearchIndex, Source, Work, WorkText};

use crate::support::{World, sierra};

fn work(id: &str, version: i64, title: &str) -> Work {
    let text = WorkText {
        title: title.to_owned(),
        ..WorkText::default()
    };
    let (id, source) = (id.to_owned(), Source::Sierra);
    Work {
        id,
        source,
        version,
        transformer: 1,
        kind: Kind::Visible,
        text,
    }
}

#[test]
fn a_later_version_stays_whatever_comes_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let index = SearchIndex::open(folder.path()).unwrap();
    index.put(vec![work("1", 2, "second")]).unwrap();
    index.put(vec![work("1", 1, "first")]).unwrap();
    assert_eq!(index.version("1").unwrap(), Some(2));
    index
        .put(vec![work("1", 3, "third"), work("1", 2, "again")])
        .unwrap();
    assert_eq!(index.work("1").unwrap().unwrap().text.title, "third");
    assert_eq!(index.count(Source::Sierra).unwrap(), 1);
}

#[test]
fn works_are_found_by_words_in_any_form_and_only_if_they_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let index = SearchIndex::open(folder.path()).unwrap();
    let mut hidden = work("2", 1, "Fevers of the hidden kind");
    hidden.kind = Kind::Invisible;
    let mut image = work("3", 1, "A plate");
    image.source = Source::Miro;
    image.text.description = "A fever chart.".to_owned();
    index.put(vec![work("1", 1, "On fevers"), hidden, image]).unwrap();
    let found = |words: &str, source| -> Vec<String> {
        let found = index.search(words, source, 10, 0).unwrap();
        found.1.into_iter().map(|work| work.id).collect()
    };
    assert_eq!(found("fever", None), ["1", "3"]);
    assert_eq!(found("fever", Some(Source::Miro)), ["3"]);
    assert_eq!(found("fever chart", None), ["3"]);
    assert_eq!(found("", None).len(), 2);
    // No search text that a person types is an error.
    assert!(index.search("\"fever AND (", None, 10, 0).is_ok());
}

#[test]
fn an_index_in_a_directory_is_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let index = SearchIndex::open(folder.path()).unwrap();
    index.put(vec![work("1", 1, "On fevers")]).unwrap();
    drop(index);
    let again = SearchIndex::open(folder.path()).unwrap();
    assert_eq!(again.version("1").unwrap(), Some(1));
}

#[tokio::test]
async fn searches_are_answered_by_the_pipeline_that_serves() {
    let world = World::new().await;
    let app = world.app();
    let catalogue = || BTreeSet::from(["catalogue".to_owned()]);
    app.add_pipeline("old", 1, catalogue()).await.unwrap();
    world.load(Source::Sierra, 2).await;
    world.settle().await;
    assert!(matches!(app.serving("catalogue").await, Err(Error::NotFound(_))));
    app.serve_from("catalogue", "old", false).await.unwrap();
    let title = |work: Work| work.text.title;
    let old = app
        .serving("catalogue")
        .await
        .unwrap()
        .index
        .work(&sierra(0))
        .unwrap();
    assert!(old.map(title).unwrap().ends_with(" /"));
    app.add_pipeline("new", 2, catalogue()).await.unwrap();
    app.resend("new").await.unwrap();
    world.settle().await;
    app.serve_from("catalogue", "new", false).await.unwrap();
    let new = app
        .serving("catalogue")
        .await
        .unwrap()
        .index
        .work(&sierra(0))
        .unwrap();
    assert!(new.map(title).unwrap().ends_with("volume 0"));

    for (name, transformer, to) in [
        ("new", 2, "catalogue"),
        ("", 1, "catalogue"),
        ("x", 3, "catalogue"),
        ("x", 1, "attic"),
    ] {
        let refused = app
            .add_pipeline(name, transformer, BTreeSet::from([to.to_owned()]))
            .await;
        assert!(
            matches!(refused, Err(Error::Conflict(_) | Error::Invalid(_))),
            "{name} {transformer} {to}"
        );
    }
    app.add_pipeline("reports", 2, BTreeSet::from(["reporting".to_owned()]))
        .await
        .unwrap();
    assert!(app.serve_from("catalogue", "reports", true).await.is_err());
}

#[tokio::test]
async fn an_id_belongs_to_one_source() {
    let world = World::new().await;
    let payload = br#"{"image_title": "A plate"}"#.to_vec();
    let app = world.app();
    app.put_record(Source::Miro, "1000001", Default::default(), payload.clone())
        .await
        .unwrap();
    let refused = app
        .put_record(Source::Sierra, "1000001", Default::default(), payload)
        .await;
    assert!(refused.unwrap_err().to_string().contains("a record of miro"));
}
