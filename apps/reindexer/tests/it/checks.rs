//! The checks of the script before it starts anything.

use reindexer::Parameters as Mode;
use reindexer::{Error, Source, check_id, jobs};

use crate::support::{World, reindex};

#[tokio::test]
async fn point_9_a_destination_that_nothing_listens_to_is_refused_and_force_goes_on_with_a_warning() {
    let world = World::new().await;
    world.load(Source::Sierra, 3).await;
    let mut asked = reindex("sierra", Mode::Complete);
    let refused = world.app().start_reindex(&asked).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict(_)), "{refused}");
    let said = refused.to_string();
    assert!(
        said.contains("nothing listens to catalogue") && said.contains("--force"),
        "{said}"
    );
    assert!(world.app().db.runs().collect().await.unwrap().is_empty());

    asked.force = true;
    let started = world.app().start_reindex(&asked).await.unwrap();
    assert!(
        started.warnings[0].contains("nothing listens to catalogue"),
        "{started:?}"
    );
    world.settle().await;
    assert_eq!(world.counts(&started.runs[0]).await.done, 3);

    world.add_pipeline("one").await;
    let started = world
        .app()
        .start_reindex(&reindex("sierra", Mode::Complete))
        .await
        .unwrap();
    assert_eq!(started.warnings, Vec::<String>::new());
    asked.destination = "reporting".to_owned();
    asked.force = false;
    let refused = world.app().start_reindex(&asked).await.unwrap_err();
    assert!(
        refused.to_string().contains("nothing listens to reporting"),
        "{refused}"
    );
}

#[tokio::test]
async fn sierra_ids_have_seven_digits() {
    for id in ["123456", "12345678", "b1234567", "123456x", ""] {
        assert!(check_id(Source::Sierra, id).is_err(), "{id}");
    }
    assert!(check_id(Source::Sierra, "1234567").is_ok());
    assert!(check_id(Source::Miro, "V0000123").is_ok());
    let world = World::new().await;
    world.add_pipeline("one").await;
    let ids = vec!["1234567".to_owned(), "b1234567".to_owned()];
    let refused = world
        .app()
        .start_reindex(&reindex("sierra", Mode::Specific { ids }))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("\"b1234567\" is no Sierra id"),
        "{refused}"
    );
    assert_eq!(world.waiting("reindex-worker-jobs").await, 0);
}

#[tokio::test]
async fn miro_is_always_last() {
    assert_eq!(Source::ALL.last(), Some(&Source::Miro));
    let world = World::new().await;
    world.add_pipeline("one").await;
    let all = world
        .app()
        .start_reindex(&reindex("all", Mode::Complete))
        .await
        .unwrap();
    let of = |run: &String| run.split("--").next().unwrap().to_owned();
    assert_eq!(
        all.runs.iter().map(of).collect::<Vec<_>>(),
        ["sierra", "mets", "calm", "tei", "miro"]
    );
    let others = world
        .app()
        .start_reindex(&reindex("notmiro", Mode::Complete))
        .await
        .unwrap();
    assert_eq!(
        others.runs.iter().map(of).collect::<Vec<_>>(),
        ["sierra", "mets", "calm", "tei"]
    );
}

#[tokio::test]
async fn an_unknown_job_names_those_that_there_are() {
    let world = World::new().await;
    let mut asked = reindex("tei", Mode::Complete);
    asked.destination = "reporting".to_owned();
    let refused = world.app().start_reindex(&asked).await.unwrap_err().to_string();
    assert!(refused.contains("\"tei--reporting\""), "{refused}");
    assert!(
        jobs().all(|job| refused.contains(&job.job_config_id)),
        "{refused}"
    );
    let refused = world
        .app()
        .start_reindex(&reindex("opac", Mode::Complete))
        .await
        .unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused}");
    let ids = vec!["1234567".to_owned()];
    let refused = world
        .app()
        .start_reindex(&reindex("all", Mode::Specific { ids }))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("one source"), "{refused}");
}
