//! Each type of Cassandra, as written by each tool.

use crate::fixture::{Folder, line_of, rows};
use trestle_cassandra::ImportSettings;
use trestle_item::{AttributeValue, Item, Number};

const SCHEMA: &str = r#"
CREATE TYPE shop.address (street text, number int, tags frozen<set<text>>);
CREATE TABLE shop.things (
    id text PRIMARY KEY, u uuid, t timeuuid, at timestamp, day date, tod time, d duration, ip inet,
    n varint, m decimal, f double, ok boolean, b blob,
    tags set<text>, nums set<int>, ids set<uuid>, l list<frozen<list<int>>>, kv map<text, text>, by_time map<timestamp, int>,
    pair tuple<int, text>, home frozen<address>, doc text, huge varint
);
"#;

const MODEL: &str = r#"
model = "shop"

[table.shop]
key = ["pk"]

[entity.thing]
table = "shop"
key.pk = "thing#{id}"

[entity.thing.attributes]
id = "string"
at = { type = "timestamp", optional = true }
born = { type = "timestamp", precision = "ns", optional = true }
doc = { type = "map", optional = true }
"#;

const COLUMNS: &str = r#"
[import.columns]
id = "id"
u = "u"
t = "born"
at = "at"
day = "day"
tod = "tod"
d = "d"
ip = "ip"
n = "n"
m = "m"
f = "f"
ok = "ok"
b = "b"
tags = "tags"
nums = "nums"
ids = "ids"
l = "l"
kv = "kv"
by_time = "by_time"
pair = "pair"
home = "home"
doc = { attribute = "doc", as = "json" }
huge = { attribute = "huge", as = "text" }
"#;

const HEADER: &str = "id,u,t,at,day,tod,d,ip,n,m,f,ok,b,tags,nums,ids,l,kv,by_time,pair,home,doc,huge\n";

fn folder(format: &str, file: &str) -> Folder {
    let mapping = format!(
        "model = \"shop\"\nschema = \"schema.cql\"\n[[import]]\ntable = \"things\"\nentity = \"thing\"\nfiles = [\"things\"]\n\
         format = \"{format}\"\n{COLUMNS}"
    );
    Folder::new(
        MODEL,
        &[
            ("schema.cql", SCHEMA),
            ("mapping.toml", &mapping),
            ("things", file),
        ],
    )
}

fn imported(format: &str, file: &str) -> Vec<Item> {
    let folder = folder(format, file);
    let db = folder.database();
    let (totals, heard) = folder.run(&db, ImportSettings::default());
    let totals = totals.unwrap_or_else(|error| panic!("{error}: {:?}", heard.misfits));
    assert_eq!(totals.imports[0].inserted, totals.imports[0].rows);
    assert!(folder.verify(&db)[0].holds());
    let mut found = rows(&db, "shop");
    found.sort_by_key(|row| format!("{:?}", row.get("id")));
    found
}

fn number(text: &str) -> AttributeValue {
    AttributeValue::N(Number::parse(text).unwrap())
}

fn expected() -> Item {
    let strings = |members: &[&str]| {
        AttributeValue::string_set(members.iter().map(|member| (*member).to_owned()).collect()).unwrap()
    };
    let numbers = |members: &[&str]| {
        AttributeValue::number_set(members.iter().map(|n| Number::parse(n).unwrap()).collect()).unwrap()
    };
    let inner = AttributeValue::L(vec![number("1"), number("2")]);
    let mut home = Item::from([("street", "Main \"St\" 1"), ("x", "")]);
    home.remove("x");
    home.insert("tags", strings(&["a", "b"]));
    let doc = Item::from([("a", AttributeValue::L(vec![number("1.5"), AttributeValue::Null]))]);
    let mut item = Item::from([
        ("pk", "thing#x"),
        ("id", "x"),
        ("u", "550e8400-e29b-41d4-a716-446655440000"),
        ("born", "2019-12-30T19:41:28.627302400Z"),
        ("at", "2019-12-30T19:32:14.500Z"),
        ("day", "2019-12-30"),
        ("tod", "19:32:14.000000001"),
        ("d", "1mo2d3ns"),
        ("ip", "127.0.0.1"),
        ("huge", "123456789012345678901234567890123456789012345"),
    ]);
    item.insert("n", number("12345678901234567890123456789012345678"));
    item.insert("m", number("1.5"));
    item.insert("f", number("0.1"));
    item.insert("ok", true);
    item.insert("b", vec![0_u8, 255]);
    item.insert("tags", strings(&["a,b", "it's"]));
    item.insert("nums", numbers(&["1", "2"]));
    item.insert("ids", strings(&["550e8400-e29b-41d4-a716-446655440000"]));
    item.insert("l", AttributeValue::L(vec![inner, AttributeValue::L(Vec::new())]));
    item.insert("kv", Item::from([("k", "v\nw"), ("k:", "\\")]));
    item.insert("by_time", Item::from([("2019-12-30T19:32:14.000Z", 1_i64)]));
    item.insert("pair", AttributeValue::L(vec![number("1"), AttributeValue::Null]));
    item.insert("home", home);
    item.insert("doc", doc);
    item
}

/// A field in the quotes of Python's writer.
fn quoted(field: &str) -> String {
    format!("\"{}\"", field.replace('\\', "\\\\").replace('"', "\\\""))
}

#[test]
fn every_type_comes_from_copy() {
    let fields = [
        "x",
        "550e8400-e29b-41d4-a716-446655440000",
        "5f5e5c00-2b3c-11ea-978f-2e728ce88125",
        "2019-12-30 19:32:14.500000+0000",
        "2019-12-30",
        "19:32:14.000000001",
        "1mo2d3ns",
        "127.0.0.1",
        "12345678901234567890123456789012345678",
        "1.50",
        "0.1",
        "True",
        "0x00ff",
        "{'a,b', 'it''s'}",
        "{1, 2}",
        "{550e8400-e29b-41d4-a716-446655440000}",
        "[[1, 2], []]",
        "{'k': 'v\\nw', 'k:': '\\\\'}",
        "{'2019-12-30 19:32:14.000000+0000': 1}",
        "(1, )",
        "{street: 'Main \"St\" 1', number: , tags: {'a', 'b'}}",
        "{\"a\": [1.5, null]}",
        "123456789012345678901234567890123456789012345",
    ];
    let line = fields.map(quoted).join(",");
    let found = imported("copy", &format!("{HEADER}{line}\r\nempty{}\r\n", ",".repeat(22)));
    assert_eq!(found[1], expected());
    assert_eq!(found[0], Item::from([("pk", "thing#empty"), ("id", "empty")]));
}

const JSON: &str = r#"{"id":"x","u":"550e8400-e29b-41d4-a716-446655440000","t":"5f5e5c00-2b3c-11ea-978f-2e728ce88125","at":"2019-12-30T19:32:14.5Z","day":"2019-12-30","tod":"19:32:14.000000001","d":"1mo2d3ns","ip":"127.0.0.1","n":12345678901234567890123456789012345678,"m":1.50,"f":0.1,"ok":true,"b":"AP8=","tags":["a,b","it's"],"nums":[1,2],"ids":["550e8400-e29b-41d4-a716-446655440000"],"l":[[1,2],[]],"kv":{"k":"v\nw","k:":"\\"},"by_time":{"2019-12-30T19:32:14Z":1},"pair":[1,null],"home":{"street":"Main \"St\" 1","number":null,"tags":["a","b"]},"doc":"{\"a\": [1.5, null]}","huge":123456789012345678901234567890123456789012345}"#;

#[test]
fn every_type_comes_from_dsbulk_json() {
    let found = imported("dsbulk-json", &format!("{JSON}\n{{\"id\":\"empty\"}}\n"));
    assert_eq!(found[1], expected());
    assert_eq!(found[0].len(), 2);
    let array = imported("dsbulk-json", &format!("[\n{JSON},\n{{\"id\":\"empty\"}}\n]\n"));
    assert_eq!(found, array);
}

#[test]
fn every_type_comes_from_dsbulk_csv_and_empty_is_told_from_null() {
    let fields = [
        "x",
        "550e8400-e29b-41d4-a716-446655440000",
        "5f5e5c00-2b3c-11ea-978f-2e728ce88125",
        "2019-12-30T19:32:14.5Z",
        "2019-12-30",
        "19:32:14.000000001",
        "1mo2d3ns",
        "127.0.0.1",
        "12345678901234567890123456789012345678",
        "1.5",
        "0.1",
        "1",
        "AP8=",
        r#"["a,b","it's"]"#,
        "[1,2]",
        r#"["550e8400-e29b-41d4-a716-446655440000"]"#,
        "[[1,2],[]]",
        r#"{"k":"v\nw","k:":"\\"}"#,
        r#"{"2019-12-30T19:32:14Z":1}"#,
        "[1,null]",
        r#"{"street":"Main \"St\" 1","number":null,"tags":["a","b"]}"#,
        r#"{"a": [1.5, null]}"#,
        "123456789012345678901234567890123456789012345",
    ];
    let line = fields.map(quoted).join(",");
    assert_eq!(
        imported("dsbulk-csv", &format!("{HEADER}{line}\n"))[0],
        expected()
    );
    let schema = "CREATE TABLE t (id text PRIMARY KEY, a text, b text);";
    let mapping = "model = \"shop\"\nschema = \"schema.cql\"\n[[import]]\ntable = \"t\"\nentity = \"thing\"\nfiles = [\"t\"]\n\
                   format = \"dsbulk-csv\"\ncolumns = { id = \"id\", a = \"a\", b = \"b\" }";
    let folder = Folder::new(
        MODEL,
        &[
            ("schema.cql", schema),
            ("mapping.toml", mapping),
            ("t", "id,a,b\nx,\"\",\n"),
        ],
    );
    let db = folder.database();
    folder.run(&db, ImportSettings::default()).0.unwrap();
    assert_eq!(
        rows(&db, "shop"),
        [Item::from([("pk", "thing#x"), ("id", "x"), ("a", "")])]
    );
}

#[test]
fn what_no_attribute_holds_is_reported_with_its_place_and_the_way_out() {
    let lines = [
        ("n", "123456789012345678901234567890123456789", "38 digits"),
        ("m", "1E+126", "9.9E+125"),
        ("f", "NaN", "as = \"text\""),
        ("at", "soon", "no timestamp"),
        ("by_time", "{'soon': 1}", "no timestamp"),
        ("kv", "{'': 'x'}", "empty key"),
        ("l", "[[1", "neither"),
        ("doc", "{", "JSON"),
        ("ip", "host", "address"),
        ("u", "1", "uuid"),
    ];
    let names: Vec<&str> = HEADER.trim().split(',').collect();
    let mut file = HEADER.to_owned();
    for (column, value, _) in lines {
        let field = |name: &&str| match *name {
            "id" => column.to_owned(),
            name if name == column => quoted(value),
            _ => String::new(),
        };
        file += &(names.iter().map(field).collect::<Vec<_>>().join(",") + "\n");
    }
    file += &format!("{}\n", ",".repeat(22));
    file += "short,1\n";
    let folder = folder("copy", &file);
    let db = folder.database();
    let (refused, heard) = folder.run(&db, ImportSettings::default());
    assert!(refused.unwrap_err().to_string().contains("12 rows do not fit"));
    assert!(rows(&db, "shop").is_empty());
    for (at, (column, value, told)) in lines.iter().enumerate() {
        let misfit = &heard.misfits[at];
        assert_eq!(line_of(&misfit.place), at as u64 + 2);
        assert_eq!(misfit.column.as_deref(), Some(*column));
        assert_eq!(misfit.value.as_deref(), Some(*value));
        assert!(misfit.reason.contains(told), "{misfit}");
        assert!(misfit.place.to_string().contains("things:"));
    }
    let key = &heard.misfits[10];
    assert_eq!(key.column.as_deref(), Some("id"), "{key}");
    assert!(key.to_string().contains("help:"), "{key}");
    assert!(
        heard.misfits[11].reason.contains("2 fields"),
        "{}",
        heard.misfits[11]
    );
}

/// The output of `COPY` on a real cluster: see `rows.cql` beside it.
#[test]
fn every_type_comes_from_a_recorded_copy() {
    let mapping = include_str!("../data/types/mapping.toml").replace("export/", "");
    let folder = Folder::new(
        include_str!("../data/types/model.toml"),
        &[
            ("schema.cql", include_str!("../data/types/schema.cql")),
            ("mapping.toml", &mapping),
            ("things.csv", include_str!("../data/types/export/things.csv")),
        ],
    );
    let db = folder.database();
    let (totals, heard) = folder.run(&db, ImportSettings::default());
    let totals = totals.unwrap_or_else(|error| panic!("{error}: {:?}", heard.misfits));
    assert_eq!(
        (totals.imports[0].inserted, totals.imports[0].without_row),
        (3, 1)
    );
    assert_eq!(totals.imports[1].inserted, 2);
    let found = rows(&db, "types");
    let row = |sk: &str| {
        let mut found = found.iter();
        found.find(|row| row.get("sk") == Some(&sk.into())).unwrap()
    };
    let first = row("thing#1");
    let home = Item::from([("street", AttributeValue::from("It's")), ("Number", number("7"))]);
    let mut owner = Item::from([("name", "Ann"), ("since", "2019-12-30T19:32:14.000Z")]);
    owner.insert("home", home);
    for (name, expected) in [
        ("m", number("-0.00000000000000000001234")),
        ("n", number("12345678901234567890123456789012345678")),
        ("span", "1y2mo3d4h5m6s7ms8us9ns".into()),
        ("tod", "19:32:14.000000001".into()),
        ("ip", "::ffff".into()),
        ("b", vec![0_u8, 255].into()),
        ("owner", owner.into()),
        (
            "pair",
            AttributeValue::L(vec![number("1"), AttributeValue::from("it's")]),
        ),
        ("by_name", Item::from([("k", "v\nw"), ("k:", "\\")]).into()),
        (
            "embedding",
            AttributeValue::L(vec![number("0.5"), number("-1"), number("3.25")]),
        ),
    ] {
        assert_eq!(first.get(name), Some(&expected), "{name}");
    }
    let far = row("thing#-3");
    assert_eq!(far.get("at"), Some(&"0001-01-01T00:00:00.000Z".into()));
    assert_eq!(far.get("day"), Some(&"-719529".into()));
    assert_eq!(far.get("m"), Some(&number("1E+20")));
    assert_eq!(row("thing#2").len(), 5);
}

#[test]
fn a_collection_can_be_taken_as_text() {
    let columns = COLUMNS.replace("l = \"l\"", "l = { attribute = \"l\", as = \"text\" }");
    let mapping = format!(
        "model = \"shop\"\nschema = \"schema.cql\"\n[[import]]\ntable = \"things\"\nentity = \"thing\"\nfiles = [\"things\"]\n{columns}"
    );
    let line = HEADER.trim().split(',').map(|name| match name {
        "id" => "x".to_owned(),
        "l" => quoted("[[1, 2], []]"),
        _ => String::new(),
    });
    let file = format!("{HEADER}{}\n", line.collect::<Vec<_>>().join(","));
    let folder = Folder::new(
        MODEL,
        &[
            ("schema.cql", SCHEMA),
            ("mapping.toml", &mapping),
            ("things", &file),
        ],
    );
    let db = folder.database();
    folder.run(&db, ImportSettings::default()).0.unwrap();
    assert_eq!(rows(&db, "shop")[0].get("l"), Some(&"[[1, 2], []]".into()));
}
