//! Entries: a search by tag is a list of typed rows, and each leads to its row.

use std::collections::BTreeSet;

use crate::models::runs::*;
use crate::support::embedded;
use trestle::typed::Error;
use trestle::{AttributeValue, Embedded, Map, Wait};

fn run(id: &str, started: i64, tags: &[&str]) -> Run {
    Run {
        tags: tags
            .iter()
            .map(|tag| (*tag).to_owned())
            .collect::<BTreeSet<String>>(),
        ..NewRun {
            tenant: "acme".into(),
            run_id: id.into(),
            started,
        }
        .into()
    }
}

fn runs() -> Runs<Embedded> {
    let db = Runs::apply_to(&embedded()).unwrap();
    for (id, started) in [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)] {
        let odd = if started % 2 == 1 { "odd" } else { "even" };
        db.put(&run(id, started, &["status_RUNNING", odd]))
            .wait()
            .unwrap();
    }
    db
}

fn key(id: &str) -> RunKey {
    RunKey {
        tenant: "acme".into(),
        run_id: id.into(),
    }
}

fn tagged(tag: &str) -> SearchWhere<'_> {
    SearchWhere { tenant: "acme", tag }
}

#[test]
fn a_search_by_tag_is_sorted_and_paged_and_leads_to_the_rows() {
    let db = runs();
    let first = db.search(tagged("status_RUNNING")).page().wait().unwrap();
    let ids: Vec<&str> = first.rows.iter().map(|entry| entry.run_id.as_str()).collect();
    assert_eq!(ids, ["e", "d"], "newest first, and two of a page");
    let next = db
        .search(tagged("status_RUNNING"))
        .after(first.next.unwrap())
        .page();
    let next = next.wait().unwrap();
    assert_eq!(next.rows[0].run_id, "c");
    let entry: &RunEntriesByTag = &next.rows[0];
    assert_eq!(
        (entry.tag.as_str(), entry.started, entry.status),
        ("status_RUNNING", 3, RunStatus::Running)
    );
    let whole = db.get(entry.run_key()).wait().unwrap().unwrap();
    assert_eq!(whole.tags.len(), 2);
    let between = SearchBetweenWhere {
        tenant: "acme",
        tag: "odd",
        from: 2,
        to: 5,
    };
    let between = db.search_between(between).collect().wait().unwrap();
    let ids: Vec<&str> = between.iter().map(|entry| entry.run_id.as_str()).collect();
    assert_eq!(ids, ["c", "e"]);
}

#[test]
fn entries_follow_updates_and_deletes() {
    let db = runs();
    db.update_run(key("c"))
        .set_tags(BTreeSet::from(["status_DONE".to_owned()]))
        .set_status(RunStatus::Done)
        .wait()
        .unwrap();
    db.delete(key("a")).wait().unwrap();
    let odd = db.search(tagged("odd")).collect().wait().unwrap();
    assert_eq!(odd.len(), 1);
    let done = db.search(tagged("status_DONE")).collect().wait().unwrap();
    assert_eq!((done.len(), done[0].status), (1, RunStatus::Done));
}

#[test]
fn members_of_a_list_and_pairs_of_a_map_are_typed() {
    let db = runs();
    let row = Run {
        levels: Some(vec![AttributeValue::from("high"), AttributeValue::from("high")]),
        variables: Some(Map::from([("order/id", "4#2"), ("who", "ann")])),
        ..run("f", 6, &[])
    };
    db.put(&row).wait().unwrap();
    let high = db.of_level("acme", RunEntriesByLevelLevel::High);
    let high = high.collect().wait().unwrap();
    assert_eq!((high.len(), high[0].level), (1, RunEntriesByLevelLevel::High));
    let with = WithVariableWhere {
        tenant: "acme",
        variable: "order/id",
        value: "4#2",
    };
    let with = db.with_variable(with).collect().wait().unwrap();
    assert_eq!((with.len(), with[0].run_key()), (1, key("f")));
    let refused = db.put(&Run {
        levels: Some(vec![AttributeValue::from("middle")]),
        ..run("g", 7, &[])
    });
    let refused = refused.wait().unwrap_err().to_string();
    assert!(
        refused.contains("attribute levels has a member of which no entry by_level can be made"),
        "{refused}"
    );
}

#[test]
fn an_entry_is_not_removed_in_a_transaction_and_the_refusal_leaves_everything() {
    let db = runs();
    let entry = db.search(tagged("odd")).first().wait().unwrap().unwrap();
    let mut both = db.transaction();
    both.remove(&RunsRow::RunEntriesByTag(entry));
    let refused = both.delete(key("a")).commit().wait();
    assert!(
        matches!(refused, Err(Error::Canceled(_) | Error::Invalid(_))),
        "{refused:?}"
    );
    assert_eq!(db.search(tagged("odd")).collect().wait().unwrap().len(), 3);
    assert!(db.get(key("a")).wait().unwrap().is_some());
}
