//! Mistakes in `entries`.

use super::{SOUND, check, problems};

/// Entries come before this line.
const NEXT: &str = "[entity.customer]\n";

const LINES: [&str; 3] = [
    "of = \"tags\"",
    "member = \"tag\"",
    "key = { pk = \"tag#{tag}\", sk = \"{customer}#{version:06}\" }",
];

/// The entries with another line for the field of that name; without the field, or with an additional line.
fn entries(field: &str, line: &str) -> String {
    let mut lines: Vec<&str> = LINES.to_vec();
    match lines
        .iter_mut()
        .find(|known| known.split(' ').next() == Some(field))
    {
        Some(known) => *known = line,
        None => lines.push(line),
    }
    format!("[entity.order.entries.by_tag]\n{}\n{NEXT}", lines.join("\n"))
}

/// Expects one error about the entries, at one of their lines.
fn refused(field: &str, line: &str, at: usize, message: &str, help: &str) {
    let message = format!("entity `order`: entries `by_tag`{message}");
    check(NEXT, &entries(field, line), 22 + at, &message, help);
}

#[test]
fn entries_without_a_mistake_have_no_problem() {
    for (field, line) in [
        ("more", ""),
        ("member", "member.tag = \"string\""),
        (
            "member",
            "member = { tag = { type = \"string\", chars = \"a-z\" } }",
        ),
        ("project", "project = [\"status\", \"placed\"]"),
    ] {
        let text = SOUND.replacen(NEXT, &entries(field, line), 1);
        assert_eq!(problems(&text), [], "{line}");
    }
}

#[test]
fn the_attribute_has_members() {
    refused("of", "", 0, " has no `of`", "add `of = …`");
    refused(
        "of",
        "of = \"total\"",
        1,
        ": `total` is of type integer",
        "name a list, a string-set",
    );
    refused(
        "of",
        "of = \"tag\"",
        1,
        " names `tag`, which is no attribute of `order`",
        "`tags`",
    );
}

#[test]
fn a_member_has_a_name_of_its_own_and_a_type() {
    refused(
        "member",
        "",
        0,
        " has no `member`",
        "what an entry calls a member of `tags`",
    );
    refused(
        "member",
        "name = \"tag\"",
        2,
        " says `name`, and `tags` is no map",
        "`name` and `value` are for maps",
    );
    refused(
        "member",
        "member = \"total\"",
        2,
        " calls a member `total`, which `order` has",
        "a name of its own",
    );
    refused(
        "member",
        "member = \"kind\"",
        2,
        " calls a member `kind`, which `order` has",
        "a name of its own",
    );
    refused(
        "member",
        "member.tag = \"integer\"",
        2,
        ": `tag` is of type integer, which a member of a string-set is not",
        "make it a string",
    );
    refused(
        "member",
        "member = { tag = \"string\", b = \"string\" }",
        2,
        ": `member` does not name one",
        "with a type",
    );
    refused(
        "member",
        "member.tag = { type = \"string\", default = \"x\" }",
        2,
        ": `member` says `default`, and every entry has its member",
        "leave out `default`",
    );
    refused(
        "member",
        "member = 1",
        2,
        ": `member` is a number",
        "write a table",
    );
    refused(
        "member",
        "member = \"\"",
        2,
        ": `member` is empty",
        "write a text",
    );
}

#[test]
fn a_pair_of_a_map_has_a_name_and_may_have_a_value() {
    let tags = "tags = { type = \"string-set\", optional = true }";
    let with = |lines: &str| {
        let text = SOUND.replacen(tags, "tags = { type = \"map\", optional = true }", 1);
        let key = "key = { pk = \"tag#{tag}\", sk = \"{customer}#{version:06}\" }";
        let section = format!("[entity.order.entries.by_tag]\nof = \"tags\"\n{lines}\n{key}\n{NEXT}");
        problems(&text.replacen(NEXT, &section, 1))
    };
    assert_eq!(with("name = \"tag\""), []);
    assert_eq!(with("name = \"tag\"\nvalue.amount = \"number\""), []);
    for (lines, message) in [
        ("value = \"tag\"", "has no `name`"),
        (
            "name = \"tag\"\nmember = \"m\"",
            "says `member`, and `tags` is a map",
        ),
        (
            "name.tag = \"integer\"",
            "`tag` is of type integer, which the name of a pair is not",
        ),
        (
            "name = \"tag\"\nvalue.v = \"list\"",
            "`v` is of type list, which a member of a map is not",
        ),
        (
            "name = \"tag\"\nvalue = \"tag\"",
            "calls the name and the value of a pair `tag`",
        ),
    ] {
        let found = with(lines);
        assert!(
            found.iter().any(|problem| problem.message.contains(message)),
            "{lines}: {found:?}"
        );
    }
}

#[test]
fn the_key_of_an_entry_tells_its_row_and_its_member() {
    let key = |key: &str| format!("key = {{ {key} }}");
    refused(
        "key",
        &key("pk = \"tag#{tag}\", sk = \"{customer}\""),
        0,
        " has a key that does not say `version`: two rows of `order` with the same member would share an entry",
        "use `version` in its key, too",
    );
    refused(
        "key",
        &key("pk = \"tags\", sk = \"{customer}#{version:06}\""),
        0,
        " has a key that does not say `tag`: two members of one row of `order` would share an entry",
        "use `tag` in its key, too",
    );
    refused(
        "key",
        &key("pk = \"tag#{tag|lower}\", sk = \"{customer}#{version:06}\""),
        3,
        ": key `pk`",
        "",
    );
    refused(
        "key",
        &key("pk = \"tag#{tag}{customer}\", sk = \"{version:06}\""),
        3,
        ": key `pk`",
        "",
    );
    refused(
        "key",
        &key("pk = \"tag#{tag}\""),
        0,
        " has no template for the key attribute `sk`",
        "add `key.sk",
    );
    refused(
        "table",
        "table = \"shops\"",
        4,
        " names the table `shops`",
        "`shop`",
    );
}

#[test]
fn what_an_entry_carries_is_there_and_does_not_expire() {
    refused(
        "project",
        "project = [\"colour\"]",
        4,
        " names `colour`, which is no attribute of `order`",
        "",
    );
    let expires = "total = { type = \"integer\", optional = true }\nexpires = { type = \"epoch-seconds\", optional = true }";
    let text = SOUND.replacen("total = { type = \"integer\", optional = true }", expires, 1);
    let found = problems(&text.replacen(NEXT, &entries("project", "project = [\"expires\"]"), 1));
    let message = "carries `expires`, the time to live of its table: an entry would expire before its row";
    assert!(
        found.iter().any(|problem| problem.message.ends_with(message)),
        "{found:?}"
    );
}

#[test]
fn entries_take_part_in_the_proofs() {
    let meets = entries(
        "key",
        "key = { pk = \"order#{tag}\", sk = \"v#{version:06}#{customer}\" }",
    );
    let text = SOUND.replacen(NEXT, &meets, 1);
    assert_eq!(problems(&text), [], "a longer sort key is another one");
    let meets = entries(
        "key",
        "key = { pk = \"customer#{tag}\", sk = \"{customer}#{version}\" }",
    );
    let text = SOUND
        .replacen(NEXT, &meets, 1)
        .replace("sk = \"customer\" }", "sk = \"{name}\" }");
    let found = problems(&text);
    let message = "entities `order.entries.by_tag` and `customer` can have the same key";
    assert!(
        found.iter().any(|problem| problem.message.contains(message)),
        "{found:?}"
    );
}

#[test]
fn no_effect_writes_to_entries() {
    let counter = "[entity.customer.counter.entries]\nentity = \"order.entries.by_tag\"\nattribute = \"version\"\nwith = { customer = \"name\" }\n[access.order]";
    let text = SOUND.replacen(NEXT, &entries("more", ""), 1);
    let text = text.replacen("[access.order]", counter, 1);
    let found = problems(&text);
    let message = "writes to `order.entries.by_tag`, whose rows follow those of `order`";
    assert!(
        found.iter().any(|problem| problem.message.contains(message)),
        "{found:?}"
    );
}

#[test]
fn an_access_pattern_of_broken_entries_brings_no_second_error() {
    let broken = entries("of", "of = \"total\"");
    let pattern = "[access.tagged]\nquery = \"shop\"\nwhere = { tag = \"{tag}\" }\nreturns = \"order.entries.by_tag\"\n";
    let text = format!("{}{pattern}", SOUND.replacen(NEXT, &broken, 1));
    let found = problems(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    let text = text.replace("\"order.entries.by_tag\"", "\"order.entries.by_tags\"");
    let found = problems(&text);
    assert!(
        found.iter().any(|problem| problem
            .message
            .contains("`order.entries.by_tags`, which does not exist")),
        "{found:?}"
    );
}
