//! All errors of a mapping are reported at once, with the next step.

use crate::fixture::Folder;
use trestle_cassandra::{ImportSettings, Mapping};

const SCHEMA: &str =
    "CREATE TABLE a.orders (customer text, number int, note text, PRIMARY KEY (customer, number));
CREATE TABLE b.orders (id text PRIMARY KEY);";

const MODEL: &str = r#"
model = "orders"

[table.orders]
key = ["pk", "sk"]
entity_attribute = "kind"

[entity.order]
table = "orders"
key = { pk = "{customer}", sk = "{number}" }
updated = "changed"
closed = true
attributes = { customer = "string", number = "integer", flags = { type = "string-set", optional = true }, lines = { type = "integer", default = 0 } }

[entity.line]
table = "orders"
key = { pk = "line#{id}", sk = "line" }
attributes = { id = "string", customer = "string", number = "integer" }

[entity.line.counter.lines]
entity = "order"
attribute = "lines"

[entity.line.unique.id]
key = { pk = "unique#{id}", sk = "unique" }
"#;

fn problems(import: &str) -> String {
    let mapping = format!("model = \"orders\"\nschema = \"schema.cql\"\n{import}");
    let folder = Folder::new(
        MODEL,
        &[
            ("schema.cql", SCHEMA),
            ("mapping.toml", &mapping),
            ("orders.csv", ""),
        ],
    );
    folder.plan().unwrap_err().to_string()
}

fn import(fields: &str) -> String {
    format!("[[import]]\n{fields}")
}

#[test]
fn each_mistake_has_its_message() {
    let orders = "table = \"a.orders\"\nentity = \"order\"\nfiles = [\"orders.csv\"]\n";
    for (text, told) in [
        (String::new(), "no [[import]]"),
        (
            import("table = \"orders\"\nentity = \"order\"\nfiles = []\ncolumns = {}"),
            "a.orders or b.orders",
        ),
        (
            import("table = \"x\"\nentity = \"order\"\nfiles = []\ncolumns = {}"),
            "no table x",
        ),
        (
            import("table = \"a.orders\"\nentity = \"x\"\nfiles = []\ncolumns = {}"),
            "no entity x; it has order, line",
        ),
        (
            import("table = \"a.orders\"\nentity = \"line.unique.id\"\nfiles = []\ncolumns = {}"),
            "import line alone",
        ),
        (
            import("table = \"a.orders\"\nentity = \"order\"\nfiles = [\"none.csv\"]\ncolumns = {}"),
            "none.csv",
        ),
        (import(&format!("{orders}columns = {{}}")), "`note = false`"),
        (
            import(&format!("{orders}columns = {{ x = \"y\" }}")),
            "no column x",
        ),
        (
            import(&format!("{orders}columns = {{ customer = \"pk\" }}")),
            "is a key",
        ),
        (
            import(&format!("{orders}columns = {{ customer = \"kind\" }}")),
            "entity of the row",
        ),
        (
            import(&format!("{orders}columns = {{ customer = \"changed\" }}")),
            "time of every write",
        ),
        (
            import(&format!("{orders}columns = {{ number = \"lines\" }}")),
            "counter lines of line",
        ),
        (
            import(&format!("{orders}columns = {{ customer = \"other\" }}")),
            "closed",
        ),
        (
            import(&format!("{orders}columns = {{ note = \"number\" }}")),
            "type text, which cannot be an attribute of type integer",
        ),
        (
            import(&format!("{orders}columns = {{ note = \"flags\" }}")),
            "string-set",
        ),
        (
            import(&format!(
                "{orders}columns = {{ customer = \"customer\", note = \"customer\" }}"
            )),
            "two columns",
        ),
        (
            import(&format!("{orders}delimiter = \"ab\"\ncolumns = {{}}")),
            "one ASCII sign",
        ),
        (
            import(&format!(
                "{orders}format = \"dsbulk-json\"\nnull = \"x\"\ncolumns = {{}}"
            )),
            "are for CSV",
        ),
        (
            import(&format!("{orders}expires = \"number\"\ncolumns = {{}}")),
            "`ttl`",
        ),
        (
            import(&format!("{orders}write_time = \"number\"\ncolumns = {{}}")),
            "is a string",
        ),
    ] {
        let found = problems(&text);
        assert!(found.contains(told), "{text}\n{found}");
    }
    let several = problems(&import(&format!(
        "{orders}columns = {{ customer = \"pk\", x = \"y\" }}"
    )));
    assert!(several.lines().count() >= 4, "{several}");
}

#[test]
fn a_field_that_is_not_known_is_told_with_its_line() {
    let error = Mapping::read("model = \"m\"\nschema = \"s\"\nkey = 1\n").unwrap_err();
    assert!(error.to_string().contains("line 3"), "{error}");
}

#[test]
fn a_file_with_other_columns_is_refused() {
    let fine = "model = \"orders\"\nschema = \"schema.cql\"\nleave_out = [\"b.orders\"]\n[[import]]\ntable = \"a.orders\"\nentity = \"order\"\n\
                files = [\"orders.csv\"]\ncolumns = { customer = \"customer\", number = \"number\", note = false }";
    for (file, mapping, told) in [
        ("ann,1,x\n", fine.to_owned(), "if the first line is no header"),
        ("customer,note\nann,x\n", fine.to_owned(), "no column number"),
        (
            "customer,number,writetime(note)\nann,1,2\n",
            fine.to_owned(),
            "write_time",
        ),
        ("customer,number,ttl(note)\nann,1,2\n", fine.to_owned(), "expires"),
        ("", fine.to_owned(), "empty"),
    ] {
        let files = [
            ("schema.cql", SCHEMA),
            ("mapping.toml", &mapping),
            ("orders.csv", file),
        ];
        let folder = Folder::new(MODEL, &files);
        let error = folder
            .run(&folder.database(), ImportSettings::default())
            .0
            .unwrap_err()
            .to_string();
        assert!(error.contains(told) && error.contains("orders.csv"), "{error}");
    }
    let given = fine.replace(
        "columns =",
        "header = [\"customer\", \"number\", \"note\"]\ncolumns =",
    );
    let files = [
        ("schema.cql", SCHEMA),
        ("mapping.toml", given.as_str()),
        ("orders.csv", "ann,1,x\n"),
    ];
    let folder = Folder::new(MODEL, &files);
    assert!(folder.plan().unwrap().notes.is_empty());
    let totals = folder
        .run(&folder.database(), ImportSettings::default())
        .0
        .unwrap();
    assert_eq!(totals.imports[0].inserted, 1);
}
