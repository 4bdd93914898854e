//! The parts with former rows that a read may need.

use trestle_expr::{KeyOp, KeySelection};
use trestle_hook::{FormerRange, Sources};
use trestle_model::{LayoutChange, Refusal};

use super::{exactly, layout_change, select};

/// A grouped layout with a sort key: objects of a run by kind, then by run.
fn version(grouped: bool) -> String {
    let (node, run) = if grouped {
        ("wrg/{run}/4/{at:03}", "wrg/{run}/3")
    } else {
        ("4/{run}/{at:03}", "3/{run}")
    };
    let id = "{ type = \"string\", chars = \"a-z0-9-\" }";
    format!(
        "model = \"m\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\n\
         [entity.node]\ntable = \"rows\"\nkey = {{ pk = \"t/{{tenant}}\", sk = \"{node}\" }}\n\
         attributes = {{ tenant = {id}, run = {id}, at = \"integer\" }}\n\
         [entity.run]\ntable = \"rows\"\nkey = {{ pk = \"t/{{tenant}}\", sk = \"{run}\" }}\n\
         attributes = {{ tenant = {id}, run = {id} }}\n\
         [entity.still]\ntable = \"rows\"\nkey = {{ pk = \"t/{{tenant}}\", sk = \"still/{{run}}\" }}\n\
         attributes = {{ tenant = {id}, run = {id} }}\n"
    )
}

fn grouping() -> LayoutChange {
    layout_change(&version(false), &version(true))
}

fn begins(text: &str) -> Option<KeyOp> {
    Some(KeyOp::BeginsWith(text.into()))
}

fn ranges(mut ranges: Vec<(KeySelection, bool)>) -> Sources {
    ranges.sort_by_key(|(selection, _)| format!("{selection:?}"));
    Sources {
        ranges: ranges
            .into_iter()
            .map(|(selection, ordered)| FormerRange { selection, ordered })
            .collect(),
        ..Sources::default()
    }
}

fn sources(out: &LayoutChange, selection: &KeySelection) -> Sources {
    let mut sources = out.sources("rows", None, Some(selection));
    sources
        .ranges
        .sort_by_key(|range| format!("{:?}", range.selection));
    sources
}

#[test]
fn a_run_is_looked_for_by_kind_and_no_other_run_with_it() {
    let wanted = sources(&grouping(), &select("t/acme", begins("wrg/wf/")));
    let node = (select("t/acme", begins("4/wf/")), true);
    assert_eq!(wanted, ranges(vec![node, (exactly("t/acme", "3/wf"), true)]));
    // Without the separator, `wf-2` matches, too.
    let wider = sources(&grouping(), &select("t/acme", begins("wrg/wf")));
    let node = (select("t/acme", begins("4/")), false);
    assert_eq!(wider, ranges(vec![node, (select("t/acme", begins("3/")), false)]));
}

#[test]
fn what_a_condition_says_is_used_and_what_it_excludes_is_left_out() {
    let out = grouping();
    assert_eq!(
        sources(&out, &exactly("t/acme", "wrg/wf/4/007")),
        ranges(vec![(exactly("t/acme", "4/wf/007"), true)])
    );
    let between = KeyOp::Between("wrg/wf/4/003".into(), "wrg/wf/4/009".into());
    assert_eq!(
        sources(&out, &select("t/acme", Some(between))),
        ranges(vec![(select("t/acme", begins("4/wf/")), true)])
    );
    assert_eq!(
        sources(&out, &select("t/acme", begins("still/"))),
        Sources::default()
    );
    assert_eq!(sources(&out, &select("u/acme", None)), Sources::default());
    assert_eq!(
        sources(&out, &exactly("t/acme", "wrg/wf/4/7")),
        Sources::default()
    );
    // All of a partition: two parts that never overlap.
    let all = [
        (select("t/acme", begins("3/")), false),
        (select("t/acme", begins("4/")), false),
    ];
    assert_eq!(sources(&out, &select("t/acme", None)), ranges(all.to_vec()));
    assert_eq!(
        sources(&out, &select("t/acme", Some(KeyOp::Gt("wrg/wf/4/003".into())))),
        ranges(all.to_vec())
    );
}

#[test]
fn a_scan_looks_everywhere() {
    let everywhere = Sources {
        everywhere: true,
        ..Sources::default()
    };
    assert_eq!(grouping().sources("rows", None, None), everywhere);
    assert_eq!(grouping().sources("rows", Some("nobody_knows"), None), everywhere);
}

/// Two entities in one partition; `one` and `two` are their sort keys.
fn collection(pk: &str, one: &str, two: &str) -> String {
    format!(
        "model = \"m\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\n\
         [entity.one]\ntable = \"rows\"\nkey = {{ pk = \"{pk}\", sk = \"{one}\" }}\n\
         attributes = {{ id = \"string\", n = \"integer\" }}\n\
         [entity.two]\ntable = \"rows\"\nkey = {{ pk = \"{pk}\", sk = \"{two}\" }}\n\
         attributes = {{ id = \"string\", n = \"integer\" }}\n"
    )
}

#[test]
fn a_collection_that_moves_as_it_is_stays_one_ordered_range() {
    let from = collection("p.{id}", "a#{n:04}", "b#{n:04}");
    let out = layout_change(&from, &collection("q.{id}", "a#{n:04}", "b#{n:04}"));
    for op in [None, begins("a#"), Some(KeyOp::Ge("a#0005".into()))] {
        let expected = ranges(vec![(select("p.i", op.clone()), true)]);
        assert_eq!(sources(&out, &select("q.i", op)), expected);
    }
    // Where the order among them changes, each keeps its own part.
    let out = layout_change(&from, &collection("q.{id}", "z#{n:04}", "b#{n:04}"));
    assert_eq!(
        sources(&out, &select("q.i", None)),
        ranges(vec![(select("p.i", None), false)])
    );
    assert_eq!(
        sources(&out, &select("q.i", begins("z#"))),
        ranges(vec![(select("p.i", begins("a#")), true)])
    );
}

#[test]
fn unpadded_numbers_are_in_another_order_than_padded_ones() {
    let out = layout_change(
        &collection("p.{id}", "a#{n}", "b"),
        &collection("p.{id}", "a#{n:04}", "b"),
    );
    assert_eq!(
        sources(&out, &select("p.i", begins("a#"))),
        ranges(vec![(select("p.i", begins("a#")), false)])
    );
    assert_eq!(
        sources(&out, &exactly("p.i", "a#0007")),
        ranges(vec![(exactly("p.i", "a#7"), true)])
    );
}

#[test]
fn what_rows_get_may_differ_in_those_that_have_it_and_then_orders_them() {
    let from = collection("p.{id}", "a#{n:04}", "b");
    let to = collection("q.{id}", "a#{c}#{n:04}", "b").replacen(
        "n = \"integer\"",
        "n = \"integer\", c = \"string\"",
        1,
    );
    let out = layout_change(&from, &(to + "[entity.one.migrate]\nset = { c = \"k\" }\n"));
    assert_eq!(
        sources(&out, &select("q.i", begins("a#"))),
        ranges(vec![(select("p.i", begins("a#")), false)])
    );
    assert_eq!(
        sources(&out, &select("q.i", begins("a#k#"))),
        ranges(vec![(select("p.i", begins("a#")), true)]),
        "of those that are wanted, it is the same"
    );
}

#[test]
fn a_partition_that_cannot_be_told_is_looked_for_everywhere() {
    // The number was in the partition key; now it is in the sort key.
    let before = collection("p.{id}.{n}", "a", "b");
    let out = layout_change(&before, &collection("q.{id}", "a#{n:04}", "b#{n:04}"));
    assert!(sources(&out, &select("q.i", None)).everywhere);
    assert!(sources(&out, &select("q.i", begins("a#00"))).everywhere);
    assert_eq!(
        sources(&out, &exactly("q.i", "a#0007")),
        ranges(vec![(exactly("p.i.7", "a"), true)])
    );
    assert_eq!(
        sources(&out, &select("q.i", begins("a#0007"))),
        ranges(vec![(exactly("p.i.7", "a"), true)]),
        "the number ends where its digits do"
    );
}

/// Indexes of every kind over one entity.
fn indexed(pk: &str, more: &str, migrate: &str) -> String {
    format!(
        "model = \"m\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\n\
         [table.rows.index.plain]\nkey = [\"owner\", \"at\"]\n\
         [table.rows.index.derived]\nkey = [\"gpk\"]\n\
         [table.rows.index.local]\nkey = [\"pk\", \"at\"]\nlocal = true\n\
         [table.rows.index.inverted]\nkey = [\"sk\", \"pk\"]\n\
         [table.rows.index.by_sort]\nkey = [\"sk\"]\n\
         [entity.e]\ntable = \"rows\"\nkey = {{ pk = \"{pk}\", sk = \"e\", gpk = \"g#{{owner}}\" }}\n\
         attributes = {{ id = {{ type = \"string\", chars = \"a-z\" }}, owner = {{ type = \"string\", optional = true }}, at = {{ type = \"string\", \
         optional = true }}{more} }}\n{migrate}"
    )
}

#[test]
fn an_index_whose_keys_stay_is_read_where_it_is() {
    let out = layout_change(&indexed("p.{id}", "", ""), &indexed("q.{id}", "", ""));
    let same = Sources {
        same: true,
        ..Sources::default()
    };
    for index in ["plain", "derived", "by_sort"] {
        assert_eq!(out.sources("rows", Some(index), None), same, "{index}");
        assert_eq!(
            out.sources("rows", Some(index), Some(&select("x", None))),
            same,
            "{index}"
        );
    }
    assert!(
        out.sources("rows", Some("inverted"), Some(&select("e", None)))
            .everywhere
    );
    assert!(out.sources("rows", Some("local"), None).everywhere);
    let local = out.sources("rows", Some("local"), Some(&select("q.i", begins("2026"))));
    assert_eq!(local, ranges(vec![(select("p.i", begins("2026")), true)]));
    assert_eq!(
        out.sources("rows", Some("local"), Some(&select("x", None))),
        Sources::default()
    );
}

#[test]
fn an_index_whose_keys_change_with_the_row_is_no_guide_to_it() {
    let from = indexed("p.{id}", "", "");
    let set = "[entity.e.migrate]\nset = { owner = \"nobody\" }\n";
    for (to, plain, derived) in [
        (
            indexed("q.{id}", "", "").replace("g#{owner}", "h#{owner}"),
            true,
            false,
        ),
        (indexed("q.{id}", "", set), false, false),
        (
            indexed("q.{id}", "", "").replace(
                "owner = { type = \"string\", optional = true }",
                "owner = { type = \"string\", default = \"x\" }",
            ),
            false,
            false,
        ),
    ] {
        let out = layout_change(&from, &to);
        assert_eq!(out.sources("rows", Some("plain"), None).same, plain, "{to}");
        assert_eq!(
            out.sources("rows", Some("plain"), None).everywhere,
            !plain,
            "{to}"
        );
        assert_eq!(out.sources("rows", Some("derived"), None).same, derived, "{to}");
        assert_eq!(
            out.sources("rows", Some("derived"), None).everywhere,
            !derived,
            "{to}"
        );
    }
    // On the way back, what `set` gave is removed.
    let undeclared = from
        .replace("owner = { type = \"string\", optional = true }, ", "")
        .replace(", gpk = \"g#{owner}\"", "");
    let back = layout_change(&undeclared, &indexed("q.{id}", "", set))
        .reversed()
        .unwrap();
    assert!(back.sources("rows", Some("plain"), None).everywhere);
}

#[test]
fn a_local_index_whose_sort_key_changes_is_no_guide_either() {
    let local = |pk: &str, gpk: &str| {
        let text = indexed(pk, "", "").replace("key = [\"pk\", \"at\"]", "key = [\"pk\", \"gpk\"]");
        text.replace("g#{owner}", gpk)
    };
    let from = local("p.{id}", "g#{owner}");
    let by_owner = |to: &str| {
        layout_change(&from, to).sources("rows", Some("local"), Some(&select("q.i", begins("g#"))))
    };
    assert_eq!(
        by_owner(&local("q.{id}", "g#{owner}")),
        ranges(vec![(select("p.i", begins("g#")), true)])
    );
    assert!(by_owner(&local("q.{id}", "h#{owner}")).everywhere);
}

#[test]
fn an_index_by_tags_is_read_where_it_is_while_tags_stay() {
    let tagged = |pk: &str, tag: &str, key: &str| {
        let tags = format!(
            "entity_attribute = \"{tag}\"\n[table.rows.index.tags]\nkey = [\"{key}\"]\n[table.rows.index.plain]"
        );
        indexed(pk, "", "").replace("[table.rows.index.plain]", &tags)
    };
    let tags = |tag: &str, key: &str| {
        let out = layout_change(&tagged("p.{id}", "kind", key), &tagged("q.{id}", tag, key));
        out.sources("rows", Some("tags"), None)
    };
    assert!(tags("kind", "kind").same);
    assert!(tags("sort", "kind").everywhere, "the tag that rows had goes");
    assert!(tags("sort", "sort").everywhere, "and another one comes in");
}

#[test]
fn an_entity_that_cannot_be_in_an_index_does_not_spoil_it() {
    let unique = "[entity.e.unique.owner]\nkey = { pk = \"O#{owner}\", sk = \"o\" }\n";
    let from = indexed("p.{id}", "", unique);
    let out = layout_change(&from, &indexed("p.{id}", "", unique).replace("O#", "owner#"));
    assert_eq!(
        out.moves().map(|moved| moved.entity).collect::<Vec<_>>(),
        ["e.unique.owner"]
    );
    assert_eq!(
        out.sources("rows", Some("plain"), None),
        Sources::default(),
        "it has no `at`"
    );
    assert!(
        !out.sources("rows", Some("derived"), None).everywhere,
        "it has no `gpk`"
    );
    assert!(
        out.sources("rows", Some("inverted"), None).everywhere,
        "every row is in this one"
    );
}

#[test]
fn conditions_of_the_layout_before_are_understood_where_they_still_mean_one_thing() {
    let out = grouping();
    let renewed = |selection: &KeySelection| out.renew_selection("rows", selection);
    let now = |hash: &str, op| Ok(Some(select(hash, op)));
    assert_eq!(
        renewed(&select("t/acme", begins("4/wf/"))),
        now("t/acme", begins("wrg/wf/4/"))
    );
    assert_eq!(
        renewed(&exactly("t/acme", "4/wf/007")),
        Ok(Some(exactly("t/acme", "wrg/wf/4/007")))
    );
    assert_eq!(
        renewed(&select("t/acme", begins("4/wf/00"))),
        now("t/acme", begins("wrg/wf/4/00"))
    );
    let between = |text: &str| {
        Some(KeyOp::Between(
            format!("{text}003").into(),
            format!("{text}009").into(),
        ))
    };
    assert_eq!(
        renewed(&select("t/acme", between("4/wf/"))),
        now("t/acme", between("wrg/wf/4/"))
    );
    // All nodes of all runs are no longer together.
    assert!(matches!(
        renewed(&select("t/acme", begins("4/"))),
        Err(Refusal::FormerCondition { .. })
    ));
    assert!(matches!(
        renewed(&select("t/acme", begins("4/w"))),
        Err(Refusal::FormerCondition { .. })
    ));
    // These belong to the present layout, or to none.
    for selection in [
        select("t/acme", None),
        select("t/acme", begins("wrg/wf/")),
        select("x", None),
    ] {
        assert_eq!(renewed(&selection), Ok(None), "{selection:?}");
    }
    let moved = layout_change(
        &collection("p.{id}", "a#{n:04}", "b"),
        &collection("q.{id}", "a#{n:04}", "b"),
    );
    let op = Some(KeyOp::Ge("a#0003".into()));
    assert_eq!(
        moved.renew_selection("rows", &select("p.i", op.clone())),
        now("q.i", op)
    );
    assert_eq!(moved.renew_selection("others", &select("p.i", None)), Ok(None));
}
