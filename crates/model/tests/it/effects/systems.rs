//! The models of the repository at work.

use crate::database::{Database, line};
use crate::rows::text;
use trestle_item::AttributeValue;

const NUMPY: &str = "rgn=eu pckg=numpy pyVrsn=p3.8";

fn publish(database: &mut Database, version: u32) {
    database.now_ms += 1_000;
    let layer = format!("{NUMPY} lyrVrsn:={version} arn=arn-{version} pckgVrsn=1.{version}");
    database.put("kl.db-ver2", &layer).unwrap();
}

fn published(versions: u32) -> Database {
    let mut database = Database::system("klayers");
    for version in 1..=versions {
        publish(&mut database, version);
    }
    database
}

fn layer(version: u32) -> String {
    format!("{NUMPY} lyrVrsn:={version}")
}

/// The versions that are latest, and the ARN of the head.
fn latest(database: &Database) -> (Vec<String>, Option<String>) {
    let marked = database
        .all("kl.db-ver2")
        .filter(|row| text(row, "dplySts") == Some("latest"));
    let marked = marked.map(|row| text(row, "arn").unwrap().to_owned()).collect();
    let head = database.row("kl.db-ver2", NUMPY);
    (marked, head.map(|head| text(&head, "arn").unwrap().to_owned()))
}

fn only(arn: &str) -> (Vec<String>, Option<String>) {
    (vec![arn.to_owned()], Some(arn.to_owned()))
}

#[test]
fn klayers_publishes_three_versions_and_one_is_latest() {
    let database = published(3);
    assert_eq!(latest(&database), only("arn-3"));
    let head = database.row("kl.db-ver2", NUMPY).unwrap();
    assert_eq!(
        line(&head, &[]),
        "arn=arn-3 lyrVrsn:=3 pckg=numpy pckgVrsn=1.3 pk=lyr#eu:numpy:p3.8 pyVrsn=p3.8 rgn=eu sk=lyrVrsn0#"
    );
    let second = database.row("kl.db-ver2", &layer(2)).unwrap();
    assert_eq!(text(&second, "dplySts"), Some("deprecated"));
    let expires = 1_577_734_334 + 3 + 365 * 86_400_u64;
    assert_eq!(second.get("exDt"), Some(&AttributeValue::from(expires)));
    assert_eq!(text(&second, "rgn#PyVrsn"), Some("eu:p3.8"));
    let third = database.row("kl.db-ver2", &layer(3)).unwrap();
    assert_eq!(third.get("exDt"), None);
}

#[test]
fn klayers_rolls_back_by_removing_the_latest_version() {
    let mut database = published(3);
    database.delete("kl.db-ver2", &layer(3)).unwrap();
    assert_eq!(latest(&database), only("arn-2"));
    let second = database.row("kl.db-ver2", &layer(2)).unwrap();
    assert_eq!(second.get("exDt"), None, "it is to stay again");
    database.delete("kl.db-ver2", &layer(1)).unwrap();
    assert_eq!(latest(&database), only("arn-2"));
    database.delete("kl.db-ver2", &layer(2)).unwrap();
    assert_eq!(latest(&database), (vec![], None));
    assert!(database.rows.is_empty());
}

#[test]
fn klayers_rolls_back_by_pointing_the_head_at_an_older_version_and_goes_on() {
    let mut database = published(3);
    let head = "pk=lyr#eu:numpy:p3.8 sk=lyrVrsn0#";
    database.update("kl.db-ver2", head, "lyrVrsn:=1", &[]).unwrap();
    assert_eq!(latest(&database), only("arn-1"));
    let third = database.row("kl.db-ver2", &layer(3)).unwrap();
    assert_eq!(text(&third, "dplySts"), Some("deprecated"));
    // Only a new version, or a write of the head, moves it forward.
    database
        .update("kl.db-ver2", &layer(3), "rqrmntsTxt=numpy", &[])
        .unwrap();
    assert_eq!(latest(&database), only("arn-1"));
    database.put("kl.db-ver2", &format!("{head} lyrVrsn:=2")).unwrap();
    assert_eq!(latest(&database), only("arn-2"));
    publish(&mut database, 4);
    assert_eq!(latest(&database), only("arn-4"));
}

#[test]
fn klayers_versions_that_arrive_late_do_not_become_latest() {
    let mut database = published(3);
    database.delete("kl.db-ver2", &layer(2)).unwrap();
    publish(&mut database, 2);
    assert_eq!(latest(&database), only("arn-3"));
    let late = database.row("kl.db-ver2", &layer(2)).unwrap();
    assert_eq!((late.get("dplySts"), late.get("exDt")), (None, None));
    // Version 10 follows 9, although its key does not.
    publish(&mut database, 9);
    publish(&mut database, 10);
    assert_eq!(latest(&database), only("arn-10"));
    database.delete("kl.db-ver2", &layer(10)).unwrap();
    assert_eq!(latest(&database), only("arn-9"));
}

#[test]
fn klayers_configuration_brings_nothing_about() {
    let mut database = Database::system("klayers");
    database.put("kl.db-ver2", "kind=rgns scope=all").unwrap();
    database.put("kl.db-ver2", "pk=cnfg#rgns sk=all").unwrap();
    assert_eq!((database.followed, database.rows.len()), (0, 1));
    let refused = database.put("kl.db-ver2", "kind=rgns").unwrap_err();
    assert!(refused.starts_with("The item is no entity"), "{refused}");
}

#[test]
fn klayers_builds_have_their_head_in_another_partition() {
    let mut database = Database::system("klayers");
    for version in [1, 2] {
        let build = format!("pk=bld#v{version}:p3.8 sk=pckg#numpy rqrmntsTxt=numpy=={version}");
        database.put("kl.db-ver2", &build).unwrap();
    }
    let head = "pk=bldVrsn0#p3.8 sk=pckg#numpy";
    let stored = database.row("kl.db-ver2", head).unwrap();
    assert_eq!(stored.get("bltVrsn"), Some(&AttributeValue::from(2_i64)));
    let newest = "pk=bld#v2:p3.8 sk=pckg#numpy";
    let refused = database.delete("kl.db-ver2", newest).unwrap_err();
    assert!(
        refused.contains("point entity build.head at another row first, or remove it"),
        "{refused}"
    );
    database.update("kl.db-ver2", head, "bltVrsn:=1", &[]).unwrap();
    database.delete("kl.db-ver2", newest).unwrap();
    let stored = database.row("kl.db-ver2", head).unwrap();
    assert_eq!(text(&stored, "rqrmntsTxt"), Some("numpy==1"));
    // The last one is removed after its head.
    database.delete("kl.db-ver2", head).unwrap();
    database
        .delete("kl.db-ver2", "pk=bld#v1:p3.8 sk=pckg#numpy")
        .unwrap();
    assert!(database.rows.is_empty());
}

fn build(database: &mut Database, version: &str) {
    let build = format!("name=cart env=prod version={version} locale=de buildId=cart!{version}");
    database.put("WrhsBuild", &build).unwrap();
}

fn promote(database: &mut Database, version: &str) {
    database.now_ms += 60_000;
    let at = trestle_model::timestamp_text(database.now_ms);
    let key = format!("name=cart env=prod version={version} locale=de");
    database
        .update("WrhsBuild", &key, &format!("promotedAt={at}"), &[])
        .unwrap();
}

fn current(database: &Database) -> String {
    let head = database.row("WrhsBuildHead", "name=cart env=prod locale=de");
    head.map_or("nothing".to_owned(), |head| {
        let previous = text(&head, "previousBuildId").unwrap_or("nothing");
        format!("{} after {previous}", text(&head, "buildId").unwrap())
    })
}

#[test]
fn warehouse_promotes_and_rolls_back() {
    let mut database = Database::system("warehouse");
    build(&mut database, "1");
    build(&mut database, "2");
    assert_eq!(
        current(&database),
        "nothing",
        "what is not promoted takes no part"
    );
    promote(&mut database, "1");
    assert_eq!(current(&database), "cart!1 after nothing");
    promote(&mut database, "2");
    assert_eq!(current(&database), "cart!2 after cart!1");
    promote(&mut database, "1");
    assert_eq!(current(&database), "cart!1 after cart!2");
    let head = "name=cart env=prod locale=de";
    database.update("WrhsBuildHead", head, "version=2", &[]).unwrap();
    assert_eq!(current(&database), "cart!2 after cart!1");
    let refused = database
        .update("WrhsBuildHead", head, "version=7", &[])
        .unwrap_err();
    assert!(refused.contains("version is the string \"7\""), "{refused}");
}

#[test]
fn warehouse_heads_have_the_times_of_their_rows() {
    let mut database = Database::system("warehouse");
    for version in ["1", "2"] {
        database.now_ms += 60_000;
        database
            .put("WrhsStatus", &format!("pkg=cart env=prod version={version}"))
            .unwrap();
    }
    database.now_ms += 60_000;
    let second = "pkg=cart env=prod version=2";
    database
        .update("WrhsStatus", second, "complete?=true", &[])
        .unwrap();
    let row = database.row("WrhsStatus", second).unwrap();
    let head = database.row("WrhsStatusHead", "pkg=cart env=prod").unwrap();
    assert_eq!(text(&row, "updatedAt"), Some("2019-12-30T19:35:14.000Z"));
    for time in ["createdAt", "updatedAt"] {
        assert_eq!(text(&head, time), text(&row, time), "{time}");
    }
    assert_eq!(head.get("complete"), None);
    // The first one is not newer after it is written again.
    database.now_ms += 60_000;
    database.put("WrhsStatus", "pkg=cart env=prod version=1").unwrap();
    let head = database.row("WrhsStatusHead", "pkg=cart env=prod").unwrap();
    assert_eq!(text(&head, "version"), Some("2"));
}

#[test]
fn warehouse_counts_a_locale_once_however_often_it_is_reported() {
    let mut database = Database::system("warehouse");
    let mut event = |id: &str, kind: &str, locale: &str| {
        let event = format!("pkg=cart env=prod version=1 eventId={id} eventType={kind} {locale}");
        database.put("WrhsStatusEvent", &event).unwrap();
        let counter = database.row("WrhsStatusCounter", "pkg=cart env=prod version=1");
        counter.map_or(String::new(), |counter| {
            line(&counter, &["pkg", "env", "version", "key"])
        })
    };
    assert_eq!(event("a", "queued", "locale=de"), "");
    assert_eq!(event("b", "complete", "locale=de"), "count:=1 locales@=de");
    assert_eq!(event("b", "complete", "locale=de"), "count:=1 locales@=de");
    assert_eq!(event("c", "complete", "locale=de"), "count:=1 locales@=de");
    assert_eq!(event("d", "complete", "locale=fr"), "count:=2 locales@=de,fr");
    assert_eq!(event("e", "complete", ""), "count:=2 locales@=de,fr");
    assert_eq!(event("a", "complete", "locale=it"), "count:=3 locales@=de,fr,it");
}

#[test]
fn warehouse_knows_dependents_both_ways() {
    let mut database = Database::system("warehouse");
    let dependents = |database: &Database, name: &str| {
        let row = database.row("WrhsDependent", &format!("name={name}"));
        row.map(|row| line(&row, &["name"]))
    };
    database
        .put("WrhsDependentOf", "pkg=button dependentOf@=cart,page")
        .unwrap();
    database
        .put("WrhsDependentOf", "pkg=icon dependentOf@=cart")
        .unwrap();
    assert_eq!(dependents(&database, "cart").unwrap(), "dependents@=button,icon");
    assert_eq!(dependents(&database, "page").unwrap(), "dependents@=button");
    database
        .put("WrhsDependentOf", "pkg=button dependentOf@=cart,shop")
        .unwrap();
    assert_eq!(dependents(&database, "page"), None);
    assert_eq!(dependents(&database, "shop").unwrap(), "dependents@=button");
    assert_eq!(database.followed, 2, "cart stays as it was");
    database.delete("WrhsDependentOf", "pkg=button").unwrap();
    assert_eq!(dependents(&database, "cart").unwrap(), "dependents@=icon");
    database
        .update("WrhsDependentOf", "pkg=icon", "", &["dependentOf"])
        .unwrap();
    assert_eq!(database.all("WrhsDependent").count(), 0);
}

#[test]
fn manhunt_tries_a_method_as_it_was() {
    let mut database = Database::system("manhunt");
    let method = "entityType=contactMethod contactId=c1 methodId=a1 domainId=d1 type=text destination=+49";
    let attempt = "entityType=searchAttempt searchId=e1 attemptId=f1 contactId=c1 domainId=d1 methodId=a1 \
                   attemptedAt=2019-12-30T19:33:00Z";
    database.put("manhunt", method).unwrap();
    database.put("manhunt", attempt).unwrap();
    let tried = |database: &Database| {
        let row = database.row("manhunt", "searchId=e1 attemptId=f1").unwrap();
        format!("{:?}", row.get("destination").and_then(AttributeValue::as_s))
    };
    assert_eq!(tried(&database), "Some(\"+49\")");
    database
        .update("manhunt", "contactId=c1 methodId=a1", "destination=+1", &[])
        .unwrap();
    database
        .update("manhunt", "searchId=e1 attemptId=f1", "responded?=true", &[])
        .unwrap();
    assert_eq!(tried(&database), "Some(\"+49\")");
}

#[test]
fn reindexer_and_littlehorse_bring_nothing_about() {
    let mut database = Database::system("reindexer");
    database
        .put(
            "source-data",
            "id=s1 sourceName=miro version:=1 reindexShard=miro/1 reindexVersion:=1",
        )
        .unwrap();
    database.put("reindex-shard-tracker", "shardId=miro/1").unwrap();
    let shard = database.row("reindex-shard-tracker", "shardId=miro/1").unwrap();
    assert_eq!(
        line(&shard, &[]),
        "currentVersion:=0 desiredVersion:=0 shardId=miro/1"
    );
    let mut runs = Database::system("littlehorse");
    runs.put(
        "littlehorse-core",
        "pk=t1/WF_RUN_GROUPED_OBJECT/r1 sk=WF_RUN status=RUNNING createdAt=2019-12-30T19:32:14Z",
    )
    .unwrap();
    assert_eq!((runs.followed, runs.rows.len()), (0, 1));
}
