//! The derived data that must follow from the rows of the table, computed without Trestle's own code.

use super::OWN_ROWS;
use super::version::Version;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

/// An effect, and the function that checks it against the rows.
type Check<'v> = (&'static str, fn(&Rows<'v>));

/// Rows by entity.
pub(super) struct Rows<'v> {
    version: &'v Version,
    by_kind: BTreeMap<String, Vec<Value>>,
}

fn text<'r>(row: &'r Value, name: &str) -> Option<&'r str> {
    row[name]["S"].as_str()
}

fn number(row: &Value, name: &str) -> Option<i64> {
    row[name]["N"].as_str().map(|number| number.parse().unwrap())
}

fn members<'r>(row: &'r Value, name: &str) -> BTreeSet<&'r str> {
    let members = row[name]["SS"].as_array();
    let members = members.into_iter().flatten();
    members.map(|member| member.as_str().unwrap()).collect()
}

/// The text of a member of a list.
fn member(member: &Value) -> String {
    let scalar = member["S"].as_str().or(member["N"].as_str());
    scalar.map_or_else(|| member["BOOL"].to_string(), str::to_owned)
}

impl<'v> Rows<'v> {
    pub(super) fn new(version: &'v Version, rows: Vec<Value>) -> Self {
        let mut by_kind: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for row in rows {
            let kind = text(&row, "kind").unwrap_or_else(|| panic!("a row without tag: {row}"));
            by_kind.entry(kind.to_owned()).or_default().push(row);
        }
        Rows { version, by_kind }
    }

    fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.by_kind.get(kind).into_iter().flatten()
    }

    /// Fails where a derived row or attribute does not follow from the rows.
    pub(super) fn check(&self) {
        let checks: [Check<'v>; 8] = [
            ("head", Self::heads),
            ("unique", Self::uniques),
            ("entries", Self::entries),
            ("counter", Self::counters),
            ("inverse", Self::clubs),
            ("mirror", Self::followers),
            ("copy", Self::seats),
            ("late", Self::badges),
        ];
        for (effect, check) in checks {
            if self.version.has(effect) {
                check(self);
            }
        }
        for (effect, kind) in OWN_ROWS {
            if !self.version.has(effect) {
                assert_eq!(self.of(kind).count(), 0, "rows of {effect}, which was dropped");
            }
        }
    }

    /// No client points a head back in these tests: it is the newest row.
    fn heads(&self) {
        let heads: BTreeMap<&str, i64> = self
            .of("doc.head")
            .map(|head| (text(head, "name").unwrap(), number(head, "rank").unwrap()))
            .collect();
        // An expired row does not become the newest, although it may still exist.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        for doc in self.of("doc") {
            let stays = number(doc, "expires").is_none_or(|expires| expires > now);
            if let (Some(rank), true) = (number(doc, "rank"), stays) {
                let head = heads.get(text(doc, "name").unwrap());
                assert!(
                    head.is_some_and(|head| *head >= rank),
                    "{doc} is newer than its head: {head:?}"
                );
            }
        }
        for head in self.of("doc.head") {
            let (name, version) = (text(head, "name"), number(head, "version"));
            let mut docs = self.of("doc");
            let doc = docs.find(|doc| text(doc, "name") == name && number(doc, "version") == version);
            let doc = doc.unwrap_or_else(|| panic!("a head of no row: {head}"));
            assert_eq!(head["body"], doc["body"], "{head} of {doc}");
            assert_eq!(text(doc, "state"), Some("live"), "{doc}");
        }
    }

    fn uniques(&self) {
        let docs = self.of("doc").filter(|doc| text(doc, "body").is_some());
        let owner = |row: &Value| {
            let identity = (
                text(row, "name").unwrap().to_owned(),
                number(row, "version").unwrap(),
            );
            (text(row, "body").unwrap().to_owned(), identity)
        };
        let wanted: Vec<_> = docs.map(owner).collect();
        let kept: BTreeMap<_, _> = self.of("doc.unique.body").map(owner).collect();
        let count = wanted.len();
        let wanted: BTreeMap<_, _> = wanted.into_iter().collect();
        assert_eq!(count, wanted.len(), "two rows share a value");
        assert_eq!(kept, wanted, "who has each value, and who says so");
    }

    /// One entry for each member of a document with a rank, with the right attributes of its document.
    fn entries(&self) {
        let entry = |row: &Value, word: String| {
            let mut of_row: Vec<String> = ["name", "version", "rank", "body", "state"]
                .map(|name| row[name].to_string())
                .to_vec();
            of_row.push(word);
            of_row.join(" ")
        };
        let mut wanted = BTreeSet::new();
        for doc in self.of("doc").filter(|doc| number(doc, "rank").is_some()) {
            let words = doc["words"]["L"].as_array().into_iter().flatten();
            wanted.extend(words.map(|word| entry(doc, member(word))));
        }
        let entries: Vec<String> = self
            .of("doc.entries.words")
            .map(|row| entry(row, text(row, "word").unwrap().to_owned()))
            .collect();
        let count = entries.len();
        let entries: BTreeSet<String> = entries.into_iter().collect();
        assert_eq!(count, entries.len(), "an entry that is there twice");
        assert_eq!(entries, wanted, "the members of documents");
        for row in self.of("doc.entries.words") {
            let (rank, version) = (number(row, "rank").unwrap(), number(row, "version").unwrap());
            let sort = format!("{rank:02}#{}#{version:02}", text(row, "name").unwrap());
            assert_eq!(text(row, "sk"), Some(sort.as_str()), "{row}");
        }
    }

    fn counters(&self) {
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        for order in self.of("order") {
            if let Some(shop) = text(order, "shop") {
                *counts.entry(shop).or_default() += 1;
            }
        }
        for shop in self.of("shop") {
            let name = text(shop, "shop").unwrap();
            let counted = counts.remove(name).unwrap_or_default();
            assert_eq!(number(shop, "count"), Some(counted), "{shop}");
            let seen = members(shop, "seen").len() as i64;
            assert_eq!(number(shop, "events"), Some(seen), "{shop}");
        }
    }

    fn clubs(&self) {
        let pairs = |kind: &str, own: &str, set: &str| -> BTreeSet<(String, String)> {
            let rows = self.by_kind.get(kind).into_iter().flatten();
            rows.flat_map(|row| {
                let own = text(row, own).unwrap();
                members(row, set)
                    .into_iter()
                    .map(|other| (own.to_owned(), other.to_owned()))
                    .collect::<Vec<_>>()
            })
            .collect()
        };
        let clubs = pairs("club", "club", "members").into_iter();
        let clubs: BTreeSet<_> = clubs.map(|(club, person)| (person, club)).collect();
        assert_eq!(pairs("person", "person", "clubs"), clubs);
    }

    fn followers(&self) {
        let row = |row: &Value, who: &str, whom: &str| {
            let name = |name: &str| text(row, name).map(str::to_owned);
            (name(who), name(whom), name("since"))
        };
        let follows: BTreeSet<_> = self
            .of("follows")
            .map(|follows| row(follows, "from", "to"))
            .collect();
        let followers: BTreeSet<_> = self
            .of("follower")
            .map(|follower| row(follower, "who", "whom"))
            .collect();
        assert_eq!(followers, follows);
    }

    fn seats(&self) {
        self.names("seat");
    }

    fn badges(&self) {
        self.names("badge");
    }

    /// A row that names a person has the person's name.
    fn names(&self, kind: &str) {
        let people = self.of("person");
        let people: BTreeMap<_, _> = people
            .map(|person| (text(person, "person").unwrap(), text(person, "name")))
            .collect();
        for row in self.of(kind) {
            let name = text(row, "person").and_then(|person| people.get(person));
            if let Some(name) = name {
                assert_eq!(text(row, "personName"), *name, "{row}");
            }
        }
    }
}
