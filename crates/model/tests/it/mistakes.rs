//! Mistakes in a model file: each is reported at its place, with its name and advice.

mod entries;

use trestle_model::{Problem, Severity, load, load_new};

/// A sound model, on which each case makes one mistake.
const SOUND: &str = r##"model = "shop"
[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "expires"
[table.shop.index.by_status]
key = ["status", "placed"]
project = ["total", "kind"]
[entity.order]
table = "shop"
key = { pk = "order#{customer}", sk = "v#{version:06}" }
[entity.order.attributes]
customer = "string"
version = "integer"
status = { type = "string", optional = true }
placed = { type = "timestamp", optional = true }
total = { type = "integer", optional = true }
tags = { type = "string-set", optional = true }
[entity.order.head]
key.sk = "head"
newest_by = "version"
[entity.customer]
table = "shop"
key = { pk = "customer#{name}", sk = "customer" }
[entity.customer.attributes]
name = "string"
orders = { type = "string-set", optional = true }
count = { type = "integer", default = 0 }
seen = { type = "string-set", optional = true }
email = { type = "string", optional = true }
[access.order]
get = "order"
where = { customer = "{customer}", version = "{version}" }
[access.open]
query = "by_status"
where = { status = "open" }
returns = "order"
"##;

fn problems(text: &str) -> Vec<Problem> {
    load(text).problems
}

/// Makes one change, and expects one error at `line`, saying `message`, with `help`.
fn check(from: &str, to: &str, line: usize, message: &str, help: &str) {
    assert!(SOUND.contains(from), "{from}");
    let text = SOUND.replacen(from, to, 1);
    let found = problems(&text);
    let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
    let shown = shown.join("\n");
    let hit = found
        .iter()
        .find(|problem| problem.severity == Severity::Error && problem.message.contains(message));
    let hit = hit.unwrap_or_else(|| panic!("{to}: no error says {message:?} in:\n{shown}"));
    assert!(hit.help.contains(help), "{to}: no help {help:?} in:\n{shown}");
    assert_eq!(hit.line, line, "{shown}");
    assert!(load(&text).model.is_none());
}

#[test]
fn the_model_without_a_mistake_has_no_problem() {
    assert_eq!(problems(SOUND), []);
}

#[test]
fn names_of_indexes_that_no_request_can_give_are_refused_in_a_file_and_not_in_a_stored_model() {
    assert!(load_new(SOUND).model.is_some());
    for name in ["ab", "\"a b\"", "\"by/status\""] {
        let index = format!("[table.shop.index.{name}]\nkey = [\"status\"]\n[entity.order]\n");
        let text = SOUND.replacen("[entity.order]\n", &index, 1);
        let loaded = load_new(&text);
        assert!(loaded.model.is_none());
        let [problem] = &loaded.problems[..] else {
            panic!("{:?}", loaded.problems)
        };
        let name = name.trim_matches('"');
        let message = format!("table `shop`: index `{name}` has a name with which no request can query it");
        assert_eq!((problem.line, &problem.message), (9, &message));
        let help = "an index's name has 3 to 255 letters, digits, `_`, `-` and `.`";
        assert_eq!(problem.help, help);
        assert!(load(&text).model.is_some());
    }
}

#[test]
fn migrations_that_name_what_is_not_there() {
    let order = "[entity.order.head]";
    let with = |lines: &str| format!("[entity.order.migrate]\n{lines}\n{order}");
    check(
        order,
        &with("set = { colour = \"red\" }"),
        20,
        "entity `order`: migrate names `colour`, which is no attribute of `order`",
        "there is",
    );
    check(
        order,
        &with("set = { version = \"one\" }"),
        20,
        "entity `order`: migrate: `version` must be of type integer",
        "write a value of type integer",
    );
    check(
        order,
        &with("from = \"customer\""),
        20,
        "entity `order`: migrate: `from` is `customer`, which is an entity of this version, too",
        "name an entity of the version before",
    );
    check(
        order,
        &with("form = \"purchase\""),
        20,
        "entity `order`: `migrate` has an unknown field `form`",
        "did you mean `from`?",
    );
    check(order, &with("set = [1]"), 20, "`set` is a list", "a table");
    check(
        order,
        &with("from = 1"),
        20,
        "`from` is a number",
        "a text in quotes",
    );
}

#[test]
fn what_is_no_toml_is_placed() {
    let found = problems("model = \"a\"\nkey = = 1\n");
    assert_eq!((found[0].line, found[0].column), (2, 7), "{found:?}");
    assert!(found[0].message.starts_with("not TOML"));
}

#[test]
fn a_file_without_anything_is_called_empty() {
    for text in ["", "\n", "# Later.\n"] {
        let found = problems(text);
        let messages: Vec<&str> = found.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(messages, ["the file is empty, or has only comments"], "{text:?}");
    }
}

#[test]
fn the_file_is_named_only_where_it_is_at_fault() {
    let found = problems("colour = 1\n[table.shop]\n");
    let messages: Vec<&str> = found.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "the file has an unknown field `colour`",
            "the file has no `model`",
            "table `shop` has no `key`"
        ]
    );
}

#[test]
fn fields_that_are_unknown_missing_or_of_the_wrong_kind() {
    check(
        "ttl =",
        "tll =",
        5,
        "table `shop` has an unknown field `tll`",
        "did you mean `ttl`?",
    );
    check("model = \"shop\"", "", 1, "the file has no `model`", "add `model");
    check(
        "key = [\"pk\", \"sk\"]",
        "",
        2,
        "table `shop` has no `key`",
        "add `key",
    );
    check(
        "ttl = \"expires\"",
        "ttl = 5",
        5,
        "`ttl` is a number",
        "a text in quotes",
    );
    check(
        "project = [\"total\", \"kind\"]",
        "project = \"some\"",
        8,
        "`project` is \"some\"",
        "\"keys\"",
    );
    check(
        "key = [\"pk\", \"sk\"]",
        "key = []",
        3,
        "not one or two key attributes",
        "`key = [\"pk\"]`",
    );
    check(
        "key = [\"pk\", \"sk\"]",
        "key = [[\"pk\", \"p2\"], \"sk\"]",
        3,
        "a side of `key` has 2 attributes",
        "only an index",
    );
    check(
        "[\"status\", \"placed\"]",
        "[[\"status\", \"a\", \"b\", \"c\", \"d\"]]",
        7,
        "has 5 attributes",
        "one to 4",
    );
    check(
        "key = [\"pk\", \"sk\"]",
        "key = [\"pk\", \"pk\"]",
        3,
        "key attribute `pk` twice",
        "once",
    );
    check(
        "[\"pk\", \"sk\"]",
        "[\"pk\", { name = \"sk\", type = \"nummer\" }]",
        3,
        "`sk` has no key's type",
        "did you mean `number`?",
    );
    check(
        "customer = \"string\"",
        "customer = \"strin\"",
        13,
        "unknown type \"strin\"",
        "did you mean `string`?",
    );
    check(
        "{ type = \"integer\", default = 0 }",
        "{ type = \"integer\", default = 0, optional = true }",
        28,
        "a default and is optional",
        "remove",
    );
    check(
        "default = 0",
        "default = \"x\"",
        28,
        "`default` must be of type integer",
        "of type integer",
    );
    check(
        "[entity.customer]\ntable = \"shop\"",
        "[entity.customer]\ntable = \"shoop\"",
        23,
        "entity `customer` names the table `shoop`",
        "did you mean `shop`?",
    );
    check(
        "name = \"string\"",
        "name = { type = \"string\", chars = \"z-a\" }",
        26,
        "runs backwards",
        "ranges",
    );
    check(
        "name = \"string\"",
        "name = { type = \"string\", length = \"9..3\" }",
        26,
        "no length",
        "1..36",
    );
    check(
        "count = { type",
        "kind = \"string\"\ncount = { type",
        28,
        "declares `kind`, which holds the entity's tag",
        "leave it out",
    );
}

#[test]
fn templates_that_cannot_be_read_or_do_not_fit() {
    check(
        "order#{customer}",
        "order#{customer",
        11,
        "has a `{` that is not closed",
        "model-file.md",
    );
    check(
        "order#{customer}",
        "order#{custommer}",
        11,
        "names the attribute `custommer`, which is not declared",
        "did you mean `customer`?",
    );
    check(
        "order#{customer}",
        "order#{status}",
        11,
        "uses `status`, which is optional",
        "remove `optional`",
    );
    check(
        "order#{customer}",
        "order#{tags}",
        11,
        "uses `tags`, which is of type string-set",
        "strings, numbers",
    );
    check(
        "order#{customer}",
        "order#{customer:08}",
        11,
        "pads `customer`",
        "only integers",
    );
    check(
        "v#{version:06}",
        "v#{version|lower}",
        11,
        "escapes or folds `version`",
        "for strings",
    );
    check(
        "order#{customer}",
        "order#{customer|lower}",
        11,
        "\"A\" and \"a\" would be two identities with one key",
        "index keys",
    );
    check(
        "sk = \"v#{version:06}\" }",
        "xk = \"v#{version:06}\" }",
        11,
        "a template for `xk`, which is no key attribute",
        "did you mean",
    );
    check(
        ", sk = \"customer\" }",
        " }",
        22,
        "entity `customer` has no template for the key attribute `sk`",
        "add `key.sk",
    );
    check(
        "\"v#{version:06}\" }",
        "\"v#{version:06}\", status = \"x{customer}\" }",
        11,
        "`status` both as an attribute and as a derived key",
        "remove one",
    );
    check(
        "[\"pk\", \"sk\"]",
        "[\"pk\", { name = \"sk\", type = \"number\" }]",
        11,
        "is text, but the key attribute is of type number",
        "`{n}`",
    );
}

#[test]
fn templates_that_are_not_injective_come_with_two_that_collide() {
    check(
        "order#{customer}",
        "order#{customer}{version}",
        11,
        "customer=\"1\", version=\"23\" and customer=\"12\", version=\"3\" would both give \"123\"",
        "put a separator",
    );
    check(
        "v#{version:06}",
        "v{version}0",
        11,
        "ends `version` at '0', which a value of type integer may contain",
        "pad it",
    );
    check(
        "v#{version:06}",
        "v{version}-x",
        11,
        "ends `version` at '-'",
        "another separator",
    );
    check(
        "v#{version:06}",
        "v{version:06}{customer|escape}A{version:06}",
        11,
        "escapes are made of `%` and hexadecimal digits",
        "another separator",
    );
    let values = SOUND.replace(
        "customer = \"string\"",
        "customer = { type = \"string\", one_of = [\"a\", \"b#c\"] }",
    );
    let found = problems(&values.replace("order#{customer}", "order#{customer}#"));
    assert!(
        found[0]
            .message
            .contains("it may be \"b#c\", which contains that"),
        "{found:#?}"
    );
}

#[test]
fn entities_that_could_share_a_key_come_with_the_key() {
    check(
        "pk = \"customer#{name}\", sk = \"customer\"",
        "pk = \"order#{name}\", sk = \"head\"",
        24,
        "entities `order.head` and `customer` can have the same key (pk = \"order#x\", sk = \"head\"): `order.head` with \
         customer = \"x\" and `customer` with name = \"x\"",
        "same_shape = [[\"order.head\", \"customer\"]]",
    );
    check(
        "key.sk = \"head\"",
        "key.sk = \"v#000001\"",
        19,
        "entities `order` and `order.head` can have the same key",
        "a text of its own",
    );
    check(
        "[entity.customer.attributes]",
        "tag = \"order\"\n[entity.customer.attributes]",
        24,
        "have the same tag \"order\"",
        "another `tag`",
    );
    check(
        "ttl = \"expires\"",
        "same_shape = [[\"order\", \"ordre\"]]",
        5,
        "`same_shape` names `ordre`",
        "did you mean `order`?",
    );
    check(
        "entity_attribute = \"kind\"",
        "same_shape = [[\"order\", \"customer\"]]",
        4,
        "no tag to tell them apart",
        "entity_attribute",
    );
}

#[test]
fn effects_that_name_what_is_not_there() {
    check(
        "newest_by = \"version\"",
        "newest_by = \"versoin\"",
        21,
        "names `versoin`, which is no attribute of `order`",
        "did you mean `version`?",
    );
    check(
        "newest_by = \"version\"",
        "newest_by = \"tags\"",
        21,
        "type string-set has no order",
        "a number",
    );
    check(
        "newest_by = \"version\"",
        "newest_by = \"version\"\nomit = [\"x\"]",
        22,
        "omits `x`",
        "there is",
    );
    check(
        "newest_by = \"version\"",
        "newest_by = \"version\"\nretired_by = \"customer\"",
        22,
        "`retired_by` is `customer`, which every row has",
        "an optional attribute",
    );
    check(
        "key.sk = \"head\"",
        "key.sk = \"head#{version:06}\"",
        19,
        "each row would be its own head",
        "leave out",
    );
    check(
        "newest_by = \"version\"",
        "newest_by = \"version\"\ndemote = { set = { customer = \"x\" } }",
        22,
        "changes `customer`, which identifies the row",
        "another",
    );
    check(
        "newest_by = \"version\"",
        "newest_by = \"version\"\ndemote = { expire_after = \"1y\" }",
        22,
        "no duration",
        "365d",
    );
    check(
        "newest_by = \"version\"",
        "newest_by = \"version\"\nomit = [\"version\"]",
        22,
        "omits `version`, without which it cannot tell which row it is",
        "leave it",
    );
    check(
        "newest_by = \"version\"",
        "newest_by = \"placed\"\nprevious = { placed = \"total\" }",
        22,
        "remembers something as `placed`, which says which row it is",
        "another name",
    );
    check(
        "newest_by = \"version\"",
        "newest_by = \"placed\"\ndemote = { remove = [\"placed\"] }",
        22,
        "changes `placed`, which decides which row is the newest",
        "another attribute",
    );
    let expiring = SOUND.replace(
        "newest_by = \"version\"",
        "newest_by = \"version\"\ndemote = { expire_after = \"1d\" }",
    );
    assert_eq!(problems(&expiring), []);
    let found = problems(&expiring.replace("ttl = \"expires\"", ""));
    assert!(
        found[0]
            .message
            .contains("expires rows, but their table has no `ttl`"),
        "{found:#?}"
    );
    check(
        "[access.order]",
        "[entity.order.inverse.x]\nentity = \"customer\"\nwith = { name = \"customer\" }\n[access.order]",
        31,
        "several rows of `order` would share one row of `customer`, which is not identified by `version`",
        "counter",
    );
    check(
        "[access.order]",
        "[entity.order.counter.x]\nentity = \"customer\"\nattribute = \"count\"\nwith = { name = \"customer\" }\n\
         once_by = \"tags\"\nseen = \"seen\"\n[access.order]",
        35,
        "type string-set cannot name an event",
        "a string",
    );
    check(
        "[access.order]",
        "[entity.order.copy.x]\nfrom = \"customer\"\nattributes = { count = \"total\" }\nwith = { name = \"customer\" }\n\
         in_step = \"all\"\n[access.all]\nquery = \"shop\"\nscan = true\nreturns = \"order\"\n[access.order]",
        35,
        "access pattern `all` reads everything on every change of an original",
        "a Query",
    );
    check(
        "[access.order]",
        "[entity.customer.inverse.x]\nentity = \"nobody\"\n[access.order]",
        32,
        "names the entity `nobody`",
        "there is",
    );
    check(
        "[access.order]",
        "[entity.customer.inverse.x]\nentity = \"order\"\nset = \"tags\"\n[access.order]",
        31,
        "only one of `of` and `set`",
        "both",
    );
    check(
        "[access.order]",
        "[entity.customer.inverse.x]\nentity = \"order\"\nof = \"orders\"\nset = \"tags\"\n[access.order]",
        34,
        "`order` is not identified by one string",
        "row form",
    );
    check(
        "[access.order]",
        "[entity.customer.counter.x]\nentity = \"order\"\nattribute = \"total\"\n[access.order]",
        31,
        "`customer` has no attribute `customer`",
        "with = { customer",
    );
    check(
        "[access.order]",
        "[entity.order.counter.x]\nentity = \"order.head\"\nattribute = \"total\"\n[access.order]",
        32,
        "writes to `order.head`, whose rows follow those of `order`",
        "an entity of its own",
    );
    check(
        "[access.order]",
        "[entity.order.counter.x]\nentity = \"order\"\nattribute = \"version\"\n[access.order]",
        33,
        "counts in `version`, which identifies a row of `order`",
        "another attribute",
    );
    check(
        "[access.order]",
        "[entity.order.counter.x]\nentity = \"customer\"\nattribute = \"email\"\nwith = { name = \"customer\" }\n[access.order]",
        33,
        "`email` of `customer` is of type string",
        "integer",
    );
    check(
        "[access.order]",
        "[entity.order.counter.x]\nentity = \"customer\"\nattribute = \"count\"\nonce_by = [\"version\"]\nwith = { name = \"customer\" }\n[access.order]",
        31,
        "nowhere to remember the events",
        "a string-set of `customer`",
    );
    check(
        "[access.order]",
        "[entity.customer.unique.email]\nkey = { pk = \"email\", sk = \"e\" }\n[access.order]",
        31,
        "a key without an attribute",
        "email#{email}",
    );
    check(
        "[access.order]",
        "[entity.customer.unique.email]\nkey = { pk = \"email#{email|lower}\" }\n[access.order]",
        31,
        "no template for the key attribute `sk`",
        "key.sk",
    );
    check(
        "[access.order]",
        "[entity.order.copy.x]\nfrom = \"customer\"\nattributes = { email = \"version\" }\nwith = { name = \"customer\" }\n[access.order]",
        33,
        "`email` of `customer` is of type string, but `version` of `order` is of type integer",
        "the same type",
    );
    check(
        "[access.order]",
        "[entity.order.copy.x]\nfrom = \"customer\"\nattributes = { email = \"status\" }\nwith = { name = \"customer\" }\nin_step = \"opn\"\n[access.order]",
        35,
        "no access pattern `opn`",
        "did you mean `open`?",
    );
    check(
        "[access.order]",
        "[entity.order.copy.x]\nfrom = \"customer\"\nattributes = { email = \"status\" }\nwith = { name = \"customer\" }\nin_step = \"order\"\n[access.order]",
        35,
        "parameter `customer`, which is no attribute of `customer`",
        "as the original's",
    );
    check(
        "[access.order]",
        "[entity.order.copy.x]\nfrom = \"customer\"\nattributes = { email = \"status\" }\nwith = { name = \"customer\" }\nbackground = true\n[access.order]",
        35,
        "nothing finds the copies",
        "in_step",
    );
    check(
        "[access.order]",
        "[entity.order.copy.x]\nfrom = \"customer\"\nattributes = { email = \"status\" }\nwith = { name = \"customer\" }\nin_step = \"by_mail\"\nbackground = true\n[access.by_mail]\nquery = \"by_status\"\nwhere = { status = \"{email}\" }\nreturns = \"order\"\n[access.order]",
        35,
        "finds the copies by `email`, which may change",
        "identifying attributes of `customer`",
    );
}

#[test]
fn access_patterns_that_are_not_one_get_or_query() {
    check(
        ", version = \"{version}\" }",
        " }",
        31,
        "access `order` gets one `order`, but does not say what `version` is",
        "`query = \"shop\"`",
    );
    check(
        "where = { status = \"open\" }",
        "where = { total = 3 }",
        34,
        "would scan index `by_status` of table `shop`: it does not say what `status` is",
        "scan = true",
    );
    check(
        "query = \"by_status\"\nwhere = { status = \"open\" }",
        "query = \"by_status\"\nwhere = { customer = \"{c}\" }",
        34,
        "would scan",
        "write `query = \"shop\"`",
    );
    check(
        "query = \"by_status\"",
        "query = \"by_statsu\"",
        35,
        "no table and no index",
        "did you mean `by_status`?",
    );
    check(
        "get = \"order\"",
        "",
        31,
        "does not say what it reads",
        "`get = \"entity\"`",
    );
    check(
        "returns = \"order\"",
        "",
        34,
        "does not say what it returns",
        "`order`",
    );
    check(
        "returns = \"order\"",
        "returns = \"ordr\"",
        37,
        "names the entity `ordr`",
        "did you mean `order`?",
    );
    check(
        "returns = \"order\"",
        "returns = \"customer\"",
        36,
        "tests `status`, which is no attribute of `customer`",
        "there is",
    );
    check(
        "returns = \"order\"",
        "returns = \"order.head\"\nconsistent = true",
        38,
        "which a global index cannot",
        "remove `consistent`",
    );
    check(
        "status = \"open\"",
        "status = 5",
        36,
        "`status` must be of type string",
        "of type string",
    );
    check(
        "status = \"open\"",
        "pk = \"x\"",
        36,
        "tests `pk`, which is derived from \"order#{customer}\"",
        "`customer`",
    );
    check(
        "status = \"open\"",
        "status = \"open-{x}\"",
        36,
        "mixes text and parameters",
        "one parameter",
    );
    check(
        "status = \"open\"",
        "status = { less = 5 }",
        36,
        "unknown comparison `less`",
        "did you mean `le`?",
    );
    check(
        "status = \"open\"",
        "status = \"{x}\", total = \"{x}\"",
        36,
        "the parameter `x` as string and as integer",
        "two parameters",
    );
    check(
        "status = \"open\"",
        "status = \"open\", tags = { lt = \"x\" }",
        36,
        "type string-set has no order",
        "equality",
    );
    check(
        "status = \"open\"",
        "status = \"open\", version = 3",
        36,
        "does not project `version`",
        "add `version` to its `project`",
    );
    check(
        "version = \"{version}\"",
        "version = \"{version}\", total = 5",
        33,
        "a Get has no filter",
        "query",
    );
}

#[test]
fn all_problems_are_reported_at_once_in_the_order_of_the_file() {
    let text = SOUND
        .replace("\"integer\"", "\"integr\"")
        .replace("by_status\"\nwhere", "by_statuss\"\nwhere")
        .replace("ttl", "tll");
    let found = problems(&text);
    let lines: Vec<usize> = found.iter().map(|problem| problem.line).collect();
    assert!(lines.is_sorted(), "{lines:?}");
    for line in [5, 14, 17, 28, 35] {
        assert!(lines.contains(&line), "{line} of {found:#?}");
    }
    assert!(found.iter().all(|problem| !problem.help.is_empty()), "{found:#?}");
}

#[test]
fn a_column_points_at_the_value() {
    let found = problems(&SOUND.replace("ttl = \"expires\"", "ttl = 5"));
    assert_eq!((found[0].line, found[0].column), (5, 7));
}

#[test]
fn what_follows_from_a_mistake_is_not_reported_as_another_one() {
    let broken = SOUND.replacen("order#{customer}", "order#{customer}{version:06}", 1);
    let found = problems(&broken.replacen("get = \"order\"", "get = \"order.head\"", 1));
    let errors: Vec<&str> = found
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(errors.len(), 1, "{errors:#?}");
}
