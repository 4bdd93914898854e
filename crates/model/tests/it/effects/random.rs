//! Whatever is written, in whatever order: after every step, derived rows agree with their rows. Small
//! alphabets, so that conflicts occur.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use trestle_item::{AttributeValue, Item};
use trestle_model::Role;
use trestle_model::audit::{AuditOptions, Finding, FindingKind};

use crate::database::{self, Database};
use crate::rows::text;

/// Every effect, and heads in both forms: groups that one query finds, and groups that are spread.
const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "expires"
[table.rows.index.by_person]
key = ["personKey", "sk"]

[entity.doc]
table = "rows"
key = { pk = "doc#{name}", sk = "v#{version:02}" }
attributes = { name = "string", version = "integer", rank = { type = "integer", optional = true }, body = { type = "string", optional = true }, state = { type = "string", optional = true }, words = { type = "list", optional = true } }
[entity.doc.head]
key.sk = "head"
newest_by = "rank"
omit = ["state"]
previous = { before = "version" }
promote = { set = { state = "live" } }
demote = { set = { state = "old" }, expire_after = "1h" }
[entity.doc.unique.body]
key = { pk = "body#{body}", sk = "body" }
[entity.doc.entries.words]
of = "words"
member = "word"
key = { pk = "word#{word}", sk = "{rank}#{name}#{version:02}" }
project = ["state"]

[entity.part]
table = "rows"
key = { pk = "part#{name}#{version}", sk = "part" }
attributes = { name = "string", version = "integer", rank = { type = "integer", optional = true }, state = { type = "string", optional = true } }
[entity.part.head]
key = { pk = "parts#{name}", sk = "head" }
newest_by = "rank"
omit = ["state"]
previous = { before = "version" }
promote = { set = { state = "live" } }
demote = { set = { state = "old" }, expire_after = "1h" }

[entity.order]
table = "rows"
key = { pk = "order", sk = "{id}" }
attributes = { id = "string", shop = { type = "string", optional = true }, event = { type = "string", optional = true } }
[entity.order.counter.count]
entity = "shop"
attribute = "count"
[entity.order.counter.events]
entity = "shop"
attribute = "events"
once_by = ["event"]
seen = "seen"
[entity.shop]
table = "rows"
key = { pk = "shop", sk = "{shop}" }
attributes = { shop = "string", count = { type = "integer", default = 0 }, events = { type = "integer", default = 0 }, seen = { type = "string-set", optional = true } }

[entity.person]
table = "rows"
key = { pk = "person", sk = "{person}" }
attributes = { person = "string", name = { type = "string", optional = true }, clubs = { type = "string-set", optional = true } }
[entity.person.inverse.members]
entity = "club"
of = "clubs"
set = "members"
[entity.club]
table = "rows"
key = { pk = "club", sk = "{club}" }
attributes = { club = "string", members = { type = "string-set", optional = true } }
[entity.club.entries.members]
of = "members"
member = "member"
key = { pk = "member#{member}", sk = "{club}" }

[entity.node]
table = "rows"
key = { pk = "node", sk = "{node}" }
attributes = { node = "string", up = { type = "string", optional = true }, down = { type = "string-set", optional = true } }
[entity.node.inverse.down]
entity = "node"
of = "up"
set = "down"

[entity.follows]
table = "rows"
key = { pk = "from#{from}", sk = "to#{to}" }
attributes = { from = "string", to = "string", since = { type = "string", optional = true } }
[entity.follows.inverse.follower]
entity = "follower"
with = { whom = "to", who = "from", since = "since" }
[entity.follower]
table = "rows"
key = { pk = "whom#{whom}", sk = "who#{who}" }
attributes = { whom = "string", who = "string", since = { type = "string", optional = true } }

[entity.seat]
table = "rows"
key = { pk = "seat", sk = "{seat}", personKey = "{person}" }
attributes = { seat = "string", person = { type = "string", optional = true }, personName = { type = "string", optional = true } }
[entity.seat.copy.name]
from = "person"
attributes = { name = "personName" }
in_step = "seats_of_person"

[access.seats_of_person]
query = "by_person"
where = { person = "{person}" }
returns = "seat"
"##;

#[derive(Clone, Debug)]
enum Write {
    Put {
        row: String,
    },
    Update {
        key: String,
        set: String,
        remove: Option<&'static str>,
    },
    Delete {
        key: String,
    },
    Expire {
        key: String,
    },
}

impl Write {
    /// The same in a transaction, where nothing is removed from a row, and nothing expires.
    fn in_transaction(&self) -> database::Write<'_> {
        match self {
            Write::Put { row } => database::Write::Put("rows", row),
            Write::Update { key, set, .. } => database::Write::Update("rows", key, set),
            Write::Delete { key } | Write::Expire { key } => database::Write::Delete("rows", key),
        }
    }
}

/// Lists with members that are there twice, or are of several types.
const WORDS_A: &str = r#"words*={"L":[{"S":"a"},{"S":"a"}]}"#;
const WORDS_AB: &str = r#"words*={"L":[{"S":"a"},{"S":"b"}]}"#;
const WORDS_BC: &str = r#"words*={"L":[{"S":"b"},{"N":"7"},{"BOOL":true}]}"#;

/// The identity of a row that clients write, the words that may be set, and the attributes that may be
/// removed.
fn rows() -> impl Strategy<Value = (String, Vec<String>, &'static [&'static str])> {
    let versioned = |kind: &'static str, words: &'static [&'static str]| {
        ("[ab]", 1..5_u8, some_of(words)).prop_map(move |(name, version, set)| {
            let key = format!("kind={kind} name={name} version:={version}");
            (key, set, &["rank", "body", "state", "words"][..])
        })
    };
    let named = |kind: &'static str, words: &'static [&'static str], remove: &'static [&'static str]| {
        ("[xyz]", some_of(words)).prop_map(move |(id, set)| {
            let name = if kind == "order" { "id" } else { kind };
            (format!("kind={kind} {name}={id}"), set, remove)
        })
    };
    prop_oneof![
        6 => versioned("doc", &["rank:=1", "rank:=2", "rank:=3", "rank:=4", "body=s", "body=t", "state=live", "state=old", WORDS_A, WORDS_AB, WORDS_BC]),
        3 => versioned("part", &["rank:=1", "rank:=2", "rank:=3", "rank:=4", "state=live"]),
        3 => named("order", &["shop=s", "shop=t", "event=e", "event=f", "event=g"], &["shop", "event"]),
        3 => named("person", &["clubs@=x", "clubs@=x,y", "clubs@=y,z", "name=n", "name=o"], &["clubs", "name"]),
        2 => named("club", &["members@=x", "members@=y,z"], &["members"]),
        4 => named("node", &["up=x", "up=y", "down@=x", "down@=y,z", "down@=x,z"], &["up", "down"]),
        3 => named("seat", &["person=x", "person=y", "personName=other"], &["person", "personName"]),
        1 => ("[xy]", "[xy]", some_of(&["since=1", "since=2"])).prop_map(|(from, to, set)| {
            (format!("kind=follows from={from} to={to}"), set, &["since"][..])
        }),
        1 => ("[xy]", "[xy]", some_of(&["since=1", "since=2"])).prop_map(|(who, whom, set)| {
            (format!("kind=follower who={who} whom={whom}"), set, &["since"][..])
        }),
    ]
}

fn some_of(words: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(words), 0..4)
        .prop_map(|words| words.into_iter().map(str::to_owned).collect())
}

/// Rows that only the database may write, and heads that may be pointed elsewhere.
fn kept() -> impl Strategy<Value = Write> {
    let heads = prop::sample::select(&["pk=doc#a sk=head", "pk=doc#b sk=head", "pk=parts#a sk=head"][..]);
    let set = prop::sample::select(&["version:=1", "version:=2", "version:=3", "rank:=2", "body=x", ""][..]);
    let update = |(key, set): (&str, &str)| Write::Update {
        key: key.to_owned(),
        set: set.to_owned(),
        remove: None,
    };
    let delete = |key: &str| Write::Delete { key: key.to_owned() };
    prop_oneof![
        4 => (heads.clone(), set).prop_map(update),
        1 => heads.prop_map(delete),
        1 => Just(delete("pk=body#s sk=body")),
        1 => prop::sample::select(&["pk=word#a sk=1#a#01", "pk=member#x sk=y"][..]).prop_map(delete),
    ]
}

fn writes() -> impl Strategy<Value = Write> {
    let client =
        (rows(), 0..8_u8, any::<prop::sample::Index>()).prop_map(|((key, set, remove), what, at)| {
            let set = set.join(" ");
            match what {
                0..3 => Write::Put {
                    row: format!("{key} {set}"),
                },
                3..6 => Write::Update {
                    key,
                    set,
                    remove: (what == 5).then(|| *at.get(remove)),
                },
                6 => Write::Delete { key },
                _ => Write::Expire { key },
            }
        });
    prop_oneof![9 => client, 1 => kept()]
}

fn requests() -> impl Strategy<Value = Vec<Write>> {
    prop_oneof![
        2 => writes().prop_map(|write| vec![write]),
        1 => prop::collection::vec(writes(), 2..5),
    ]
}

/// A database, and facts that cannot be computed from its rows.
struct Run {
    database: Database,
    /// Groups whose head is or was set back.
    set_back: BTreeSet<String>,
    /// Events that were delivered, by shop.
    delivered: BTreeMap<String, BTreeSet<String>>,
}

impl Run {
    /// One request: a write, or a transaction of several.
    fn take(&mut self, writes: &[Write]) {
        self.database.now_ms += 1000;
        let taken = match writes {
            [write] => self.take_one(write),
            several => self.take_all(several),
        };
        if taken.is_ok() {
            self.note(writes);
        }
    }

    /// A transaction, which must have the same result in either order.
    fn take_all(&mut self, writes: &[Write]) -> Result<(), String> {
        let one: Vec<_> = writes.iter().map(Write::in_transaction).collect();
        let other: Vec<_> = one.iter().rev().copied().collect();
        let mut reversed = self.database.clone();
        let taken = self.database.transact(&one);
        assert_eq!(taken.is_ok(), reversed.transact(&other).is_ok(), "{taken:?}");
        assert_eq!(self.database.rows, reversed.rows);
        taken
    }

    fn take_one(&mut self, write: &Write) -> Result<(), String> {
        let database = &mut self.database;
        match write {
            Write::Put { row } => database.put("rows", row),
            Write::Update { key, set, remove } => database.update("rows", key, set, remove.as_slice()),
            Write::Delete { key } => database.delete("rows", key),
            Write::Expire { key } => {
                database.expire("rows", key);
                Ok(())
            }
        }
    }

    /// Remembers facts that do not follow from the rows.
    fn note(&mut self, writes: &[Write]) {
        for write in writes {
            if let Write::Update { key, .. } = write
                && let Some(group) = key
                    .strip_prefix("pk=")
                    .and_then(|key| key.strip_suffix(" sk=head"))
            {
                self.set_back.insert(group.to_owned());
            }
        }
        for order in of_kind(&self.database, "order") {
            if let (Some(shop), Some(event)) = (text(order, "shop"), text(order, "event")) {
                let delivered = self.delivered.entry(shop.to_owned()).or_default();
                delivered.insert(event.to_owned());
            }
        }
    }

    fn check(&mut self) {
        self.check_docs();
        check_heads(&self.database, "part");
        check_unique(&self.database);
        check_entries(&self.database);
        self.check_counters();
        check_inverses(&self.database);
        check_copies(&self.database);
    }

    /// The head of a group is its newest row, unless it was set back.
    fn check_docs(&mut self) {
        check_heads(&self.database, "doc");
        for name in ["a", "b"] {
            let group = format!("doc#{name}");
            let ranks = of_kind(&self.database, "doc").filter(|doc| text(doc, "name") == Some(name));
            let newest = ranks.filter_map(|doc| doc.get("rank")?.as_n()).max();
            let head = self.database.row("rows", &format!("pk={group} sk=head"));
            let rank = head.as_ref().and_then(|head| head.get("rank")?.as_n());
            assert_eq!(
                rank.is_some(),
                newest.is_some(),
                "{group} has a head as long as it has rows"
            );
            if rank == newest {
                self.set_back.remove(&group);
            } else {
                assert!(
                    self.set_back.contains(&group),
                    "{group}: {rank:?} instead of {newest:?}"
                );
            }
        }
    }

    fn check_counters(&self) {
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        for shop in of_kind(&self.database, "order").filter_map(|order| text(order, "shop")) {
            *counted.entry(shop).or_default() += 1;
        }
        for name in ["s", "t"] {
            let shop = self.database.row("rows", &format!("kind=shop shop={name}"));
            let number = |attribute| shop.as_ref().and_then(|shop| shop.get(attribute)).cloned();
            let seen = set(shop.as_ref(), "seen");
            let delivered = self.delivered.get(name).cloned().unwrap_or_default();
            assert_eq!(seen, delivered, "each event of {name} is seen");
            if shop.is_none() {
                assert_eq!(counted.get(name), None);
                continue;
            }
            let rows = counted.get(name).copied().unwrap_or_default();
            assert_eq!(number("count"), Some(rows.into()), "rows of {name}");
            assert_eq!(
                number("events"),
                Some((delivered.len() as u64).into()),
                "events of {name}"
            );
        }
    }
}

fn of_kind<'d>(database: &'d Database, kind: &'static str) -> impl Iterator<Item = &'d Item> {
    database
        .all("rows")
        .filter(move |row| text(row, "kind") == Some(kind))
}

fn set(row: Option<&Item>, name: &str) -> BTreeSet<String> {
    match row.and_then(|row| row.get(name)) {
        Some(AttributeValue::Ss(members)) => members.iter().cloned().collect(),
        Some(AttributeValue::S(one)) => BTreeSet::from([one.clone()]),
        _ => BTreeSet::new(),
    }
}

/// Exactly one row of each group is live, the one its head stands for, and the head is as that row is.
fn check_heads(database: &Database, kind: &'static str) {
    let head_kind = if kind == "doc" { "doc.head" } else { "part.head" };
    let identity = |row: &Item| (text(row, "name").map(str::to_owned), row.get("version").cloned());
    let live = of_kind(database, kind).filter(|row| text(row, "state") == Some("live"));
    let live: Vec<&Item> = live.collect();
    let heads: Vec<&Item> = of_kind(database, head_kind).collect();
    assert_eq!(
        live.iter().map(|row| identity(row)).collect::<Vec<_>>(),
        heads.iter().map(|row| identity(row)).collect::<Vec<_>>(),
    );
    for (row, head) in live.into_iter().zip(heads) {
        assert_eq!(row.get("expires"), None, "what is live does not expire");
        for name in ["name", "version", "rank", "body"] {
            assert_eq!(row.get(name), head.get(name), "{name} of a head");
        }
    }
}

/// Each value has one row that keeps it, and that row names the value's owner.
fn check_unique(database: &Database) {
    let claim = |row: &Item| {
        let body = text(row, "body")?.to_owned();
        Some((
            body,
            text(row, "name")?.to_owned(),
            row.get("version").cloned().map(|n| format!("{n:?}")),
        ))
    };
    let had: Vec<_> = of_kind(database, "doc").filter_map(claim).collect();
    let kept: BTreeSet<_> = of_kind(database, "doc.unique.body").filter_map(claim).collect();
    assert_eq!(had.len(), kept.len());
    assert_eq!(BTreeSet::from_iter(had), kept);
}

/// Each member of a row has one entry with the right attributes of its row, and there are no others.
fn check_entries(database: &Database) {
    let mut wanted = BTreeSet::new();
    for doc in of_kind(database, "doc").filter(|doc| doc.contains_key("rank")) {
        let Some(AttributeValue::L(words)) = doc.get("words") else {
            continue;
        };
        for word in words {
            let word = match word {
                AttributeValue::S(text) => text.clone(),
                AttributeValue::N(number) => number.to_string(),
                AttributeValue::Bool(truth) => truth.to_string(),
                other => panic!("{other:?}"),
            };
            wanted.insert(format!(
                "{word} {}",
                database::line(doc, &["pk", "sk", "kind", "words", "body", "expires"])
            ));
        }
    }
    let entries = of_kind(database, "doc.entries.words").map(|entry| {
        let rest = database::line(entry, &["pk", "sk", "kind", "word"]);
        format!("{} {rest}", text(entry, "word").unwrap())
    });
    assert_eq!(entries.collect::<BTreeSet<_>>(), wanted);
    let members = pairs(database, "club", "club", "members");
    assert_eq!(pairs(database, "club.entries.members", "club", "member"), members);
}

/// The pairs that rows of one kind name.
fn pairs(database: &Database, kind: &'static str, own: &str, others: &str) -> BTreeSet<(String, String)> {
    let mut pairs = BTreeSet::new();
    for row in of_kind(database, kind) {
        let own = text(row, own).unwrap().to_owned();
        pairs.extend(
            set(Some(row), others)
                .into_iter()
                .map(|other| (own.clone(), other)),
        );
    }
    pairs
}

fn check_inverses(database: &Database) {
    let turned = |pairs: BTreeSet<(String, String)>| -> BTreeSet<(String, String)> {
        pairs.into_iter().map(|(one, other)| (other, one)).collect()
    };
    let members = pairs(database, "club", "club", "members");
    assert_eq!(pairs(database, "person", "person", "clubs"), turned(members));
    let down = pairs(database, "node", "node", "down");
    assert_eq!(pairs(database, "node", "node", "up"), turned(down));
    let followers = pairs(database, "follower", "whom", "who");
    assert_eq!(pairs(database, "follows", "from", "to"), turned(followers));
    for follows in of_kind(database, "follows") {
        let (from, to) = (text(follows, "from").unwrap(), text(follows, "to").unwrap());
        let follower = database
            .row("rows", &format!("kind=follower who={from} whom={to}"))
            .unwrap();
        assert_eq!(follows.get("since"), follower.get("since"));
    }
}

/// A copy equals its original while the original exists.
fn check_copies(database: &Database) {
    for seat in of_kind(database, "seat") {
        let Some(person) = text(seat, "person") else {
            continue;
        };
        let original = database.row("rows", &format!("kind=person person={person}"));
        if let Some(original) = original {
            assert_eq!(
                original.get("name"),
                seat.get("personName"),
                "the name of {person}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn after_every_request_what_follows_from_rows_agrees_with_them(requests in prop::collection::vec(requests(), 1..40)) {
        let mut run = Run {
            database: Database::new(MODEL),
            set_back: BTreeSet::new(),
            delivered: BTreeMap::new(),
        };
        for (at, writes) in requests.iter().enumerate() {
            run.take(writes);
            run.check();
            if at % 4 == 0 || at + 1 == requests.len() {
                assert_eq!(run.database.wrong(), Vec::<String>::new(), "after {writes:?}");
            }
        }
    }

    /// Rows and attributes are lost, and values are exchanged, without the model.
    #[test]
    fn whatever_is_damaged_is_found_and_mended(
        requests in prop::collection::vec(requests(), 10..40),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4_u8), 1..5),
    ) {
        let mut run = Run {
            database: Database::new(MODEL),
            set_back: BTreeSet::new(),
            delivered: BTreeMap::new(),
        };
        for writes in &requests {
            run.take(writes);
        }
        for (row, attribute, what) in &damages {
            damage(&mut run.database, row, attribute, *what);
        }
        let left = run.database.repair(&AuditOptions::default());
        let unmendable = |finding: &Finding| matches!(finding.kind, FindingKind::Unfit | FindingKind::SharedValue);
        assert!(left.iter().all(unmendable), "{}", shown(&left));
        if left.is_empty() {
            check_unique(&run.database);
            check_entries(&run.database);
            check_inverses(&run.database);
            check_copies(&run.database);
        }
    }

    /// Rows that are older than the model get everything that follows from them.
    #[test]
    fn rows_of_before_are_filled_in(rows in prop::collection::vec(rows(), 1..30)) {
        let mut database = Database::new(MODEL);
        for (key, set, _) in &rows {
            // Where there is no head, a mark that is older than the model stays.
            let ranked = set.iter().any(|word| word.starts_with("rank"));
            let set: Vec<&str> = set.iter().map(String::as_str).filter(|word| ranked || *word != "state=live").collect();
            database.put_raw("rows", &format!("{key} {}", set.join(" ")));
        }
        let options = AuditOptions { fill: true, ..AuditOptions::default() };
        let left = database.repair(&options);
        let shared = |finding: &Finding| finding.kind == FindingKind::SharedValue;
        // A row with another row's unique value cannot be written at all.
        assert!(left.is_empty() || left.iter().any(shared), "{}", shown(&left));
        let mut run = Run { database, set_back: BTreeSet::new(), delivered: BTreeMap::new() };
        run.take(&[]);
        if left.is_empty() {
            run.check();
        }
    }
}

/// Changes storage without the model.
fn damage(database: &mut Database, row: &prop::sample::Index, attribute: &prop::sample::Index, what: u8) {
    let places: Vec<_> = database.rows.keys().cloned().collect();
    if places.is_empty() {
        return;
    }
    let place = row.get(&places);
    let identity: Vec<String> = match database.model().recognise("rows", &database.rows[place]).unwrap() {
        Some(entity) if *entity.role() == Role::Declared => entity.identity().to_vec(),
        _ => Vec::new(),
    };
    let Some(item) = database.rows.get_mut(place) else {
        return;
    };
    let names: Vec<String> = item
        .keys()
        .filter(|name| !["pk", "sk", "kind"].contains(&name.as_str()))
        .cloned()
        .collect();
    if what == 0 || names.is_empty() {
        database.rows.remove(place);
        return;
    }
    let name = attribute.get(&names);
    let value = item.get(name).cloned();
    // A row whose identity contradicts its key does not belong to the model.
    let what = if identity.contains(name) { 3 } else { what };
    match (what, value) {
        (1, Some(AttributeValue::N(number))) => {
            item.insert(name.clone(), number.checked_add(&1_i64.into()).unwrap());
        }
        (1, Some(AttributeValue::Ss(mut members))) => {
            members.push("zz".to_owned());
            item.insert(name.clone(), AttributeValue::string_set(members).unwrap());
        }
        (2, Some(AttributeValue::S(text))) if text.len() > 1 => {
            item.insert(name.clone(), "u");
        }
        _ => {
            item.remove(name);
        }
    }
}

fn shown(findings: &[Finding]) -> String {
    let shown = |f: &Finding| {
        format!(
            "{} {} {:?}: {} instead of {}\n",
            f.kind.name(),
            f.entity,
            f.key,
            f.there,
            f.wanted
        )
    };
    findings.iter().map(shown).collect()
}
