//! Rows that look like entries of the members of others.

use trestle_discover::{Proposal, infer};
use trestle_item::{AttributeValue, Item};

use crate::tables::facts;

fn row(texts: &[(&str, &str)]) -> Item {
    texts.iter().copied().collect()
}

/// Runs with their members, and a row for each member of one attribute.
fn runs(members: impl Fn(&[&str]) -> AttributeValue) -> Vec<Item> {
    let mut rows = Vec::new();
    for (at, tags) in [
        ["red", "blue"],
        ["blue", "green"],
        ["red", "green"],
        ["teal", "red"],
    ]
    .iter()
    .enumerate()
    {
        let (id, phase) = (format!("r{at}"), if at % 2 == 0 { "done" } else { "open" });
        let mut run = row(&[
            ("pk", &format!("RUN#{id}")),
            ("sk", "RUN"),
            ("kind", "run"),
            ("runId", &id),
            ("phase", phase),
        ]);
        run.insert("tags".to_owned(), members(tags));
        rows.push(run);
        rows.extend(tags.iter().map(|tag| {
            row(&[
                ("pk", &format!("TAG#{tag}")),
                ("sk", &format!("RUN#{id}")),
                ("kind", "runTag"),
                ("runId", &id),
                ("tag", tag),
                ("phase", phase),
            ])
        }));
    }
    rows
}

fn list(tags: &[&str]) -> AttributeValue {
    AttributeValue::L(tags.iter().map(|tag| (*tag).into()).collect())
}

fn set(tags: &[&str]) -> AttributeValue {
    AttributeValue::Ss(tags.iter().map(|tag| (*tag).to_owned()).collect())
}

fn map(tags: &[&str]) -> AttributeValue {
    AttributeValue::M(tags.iter().map(|tag| (*tag, "1")).collect())
}

const SUGGESTED: &str = "perhaps entries of `run`: 8 of 8 rows are of a row whose `tags` has the member";

/// The proposal with the suggested lines in place of the entity.
fn taken_over(proposal: &Proposal) -> String {
    let (before, rest) = proposal.text.split_once("[entity.runTag]").unwrap();
    let after = rest.find("[entity.run]").unwrap();
    let suggested: Vec<&str> = before
        .lines()
        .filter_map(|line| line.strip_prefix("#   "))
        .collect();
    let suggested = suggested.join("\n");
    format!("{before}\n{}\n{suggested}\n", &rest[after..])
}

#[test]
fn rows_of_members_are_suggested_as_entries_and_the_suggestion_loads() {
    for (members, line) in [
        (list as fn(&[&str]) -> AttributeValue, "member = \"tag\""),
        (set, "member = \"tag\""),
        (map, "name = \"tag\""),
    ] {
        let proposal = infer(&facts("runs", &[]), runs(members));
        let text = &proposal.text;
        assert!(
            proposal.notes.iter().any(|note| note.contains(SUGGESTED)),
            "{:?}\n{text}",
            proposal.notes
        );
        assert!(text.contains("#   [entity.run.entries.by_tag]"), "{text}");
        assert!(text.contains(&format!("#   {line}")), "{text}");
        assert!(text.contains("#   project = [\"phase\"]"), "{text}");
        let text = taken_over(&proposal);
        let loaded = trestle_model::load(&text);
        let model = loaded
            .model
            .unwrap_or_else(|| panic!("{:?}\n{text}", loaded.problems));
        assert!(model.entity("run.entries.by_tag").is_some(), "{text}");
    }
}

#[test]
fn rows_beside_one_without_their_member_are_no_entries() {
    let other = |_: &[&str]| list(&["none", "of", "them"]);
    let proposal = infer(&facts("runs", &[]), runs(other));
    assert!(!proposal.text.contains("perhaps entries"), "{}", proposal.text);
    // If there are many or long members, they are not kept, and prove nothing.
    let many: Vec<String> = (0..17).map(|at| format!("x{at}")).collect();
    let many = |tags: &[&str]| {
        list(
            &many
                .iter()
                .map(String::as_str)
                .chain(tags.iter().copied())
                .collect::<Vec<_>>(),
        )
    };
    let proposal = infer(&facts("runs", &[]), runs(many));
    assert!(!proposal.text.contains("perhaps entries"), "{}", proposal.text);
}
