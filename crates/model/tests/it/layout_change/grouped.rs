//! A grouped layout: the objects of a run move from one place for each kind of object to one place for each run.

use trestle_item::Item;
use trestle_model::LayoutChange;

use super::layout_change;
use crate::rows::row;

const ENTITIES: [(&str, &str, &str, &[&str]); 5] = [
    (
        "step",
        "{tenant}/5/3/{run}/{thread}/{position}",
        "{tenant}/5/wrg/{run}/5/3/{thread}/{position}",
        &["tenant", "run", "thread", "position"],
    ),
    (
        "task",
        "{tenant}/5/1/{run}",
        "{tenant}/5/wrg/{run}/5/1",
        &["tenant", "run"],
    ),
    (
        "run",
        "{tenant}/0/3/{run}",
        "{tenant}/0/wrg/{run}/0/3/",
        &["tenant", "run"],
    ),
    (
        "node",
        "{tenant}/0/4/{run}/{thread}/{position}",
        "{tenant}/0/wrg/{run}/0/4/{thread}/{position}",
        &["tenant", "run", "thread", "position"],
    ),
    (
        "inventory",
        "{tenant}/9/3/{run}",
        "{tenant}/9/wrg/{run}/9/3/",
        &["tenant", "run"],
    ),
];

/// Keys of the grouped layout, and the same of the layout before.
const VECTORS: [(&str, &str); 9] = [
    ("tenant1/5/wrg/wf-run-123/5/3/0/1", "tenant1/5/3/wf-run-123/0/1"),
    ("tenant2/5/wrg/wf-run-456/5/1", "tenant2/5/1/wf-run-456"),
    ("default/0/wrg/asdf/0/3/", "default/0/3/asdf"),
    ("default/0/wrg/asdf/0/4/0/1", "default/0/4/asdf/0/1"),
    ("default/9/wrg/asdf/9/3/", "default/9/3/asdf"),
    ("tenant1/0/wrg/wf/0/4/12/3", "tenant1/0/4/wf/12/3"),
    ("tenant1/0/wrg/wf-2/0/4/12/3", "tenant1/0/4/wf-2/12/3"),
    ("tenant1/0/wrg/parent_child/0/3/", "tenant1/0/3/parent_child"),
    ("wrg/5/wrg/wrg/5/1", "wrg/5/1/wrg"),
];

fn version(grouped: bool) -> String {
    let mut text = "model = \"runs\"\n[table.runs]\nkey = [\"pk\"]\n".to_owned();
    for (name, before, now, fields) in ENTITIES {
        let template = if grouped { now } else { before };
        let declared = |field: &&str| match *field {
            "tenant" | "run" => format!("{field} = {{ type = \"string\", chars = \"A-Za-z0-9_-\" }}"),
            _ => format!("{field} = \"integer\""),
        };
        let attributes: Vec<String> = fields.iter().map(declared).collect();
        text.push_str(&format!(
            "[entity.{name}]\ntable = \"runs\"\nkey.pk = \"{template}\"\nattributes = {{ {} }}\n",
            attributes.join(", ")
        ));
    }
    text
}

fn grouping() -> LayoutChange {
    layout_change(&version(false), &version(true))
}

fn pk(text: &str) -> Item {
    row(&[("pk", text)])
}

#[test]
fn keys_of_both_layouts_are_made_from_each_other() {
    let out = grouping();
    let back = out.reversed().unwrap();
    for (now, before) in VECTORS {
        assert_eq!(out.former_place("runs", &pk(now)), Some(pk(before)), "{now}");
        assert_eq!(out.renew_key("runs", &pk(before)), Ok(pk(now)), "{before}");
        assert_eq!(back.former_place("runs", &pk(before)), Some(pk(now)), "{before}");
        assert_eq!(back.renew_key("runs", &pk(now)), Ok(pk(before)), "{now}");
    }
}

#[test]
fn a_key_is_of_one_layout_and_never_of_both() {
    let out = grouping();
    let back = out.reversed().unwrap();
    for (now, before) in VECTORS {
        assert!(
            out.is_former("runs", &pk(before)) && !out.is_former("runs", &pk(now)),
            "{now}"
        );
        assert!(
            back.is_former("runs", &pk(now)) && !back.is_former("runs", &pk(before)),
            "{now}"
        );
    }
    for neither in [
        "tenant1/5/3/",
        "tenant1/5/wrg//5/1",
        "tenant1",
        "tenant1/7/1/wf",
        "a/b/5/1/c",
    ] {
        assert!(!out.is_former("runs", &pk(neither)), "{neither}");
        assert_eq!(out.former_place("runs", &pk(neither)), None, "{neither}");
    }
}

#[test]
fn a_row_moves_there_and_back_as_it_is() {
    let out = grouping();
    let back = out.reversed().unwrap();
    for (now, before) in VECTORS {
        let key = pk(before);
        let mut stored = out.renew("runs", &key).unwrap();
        stored.insert("note", "kept");
        assert_eq!(stored.get("pk"), Some(&now.into()));
        let former = back.renew("runs", &stored).unwrap();
        assert_eq!(former.get("pk"), Some(&before.into()));
        assert_eq!(former.get("note"), Some(&"kept".into()));
        assert_eq!(out.renew("runs", &former).unwrap(), stored);
    }
}
