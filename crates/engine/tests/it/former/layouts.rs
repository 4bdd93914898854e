//! Two layouts of one table, and rows that move from one to the other.
//!
//! | kind | former place | own place | |
//! |---|---|---|---|
//! | u | `old#A`, `N` | `new#A`, `NNNN` | the order changes |
//! | o | `bef#A`, `rNNNN` | `new#A`, `sNNNN` | the order stays; two former partitions become one |
//! | z | `oz#A`, `NNNN` | `zed#N`, `A` | one former partition becomes several |
//! | p | `plain#A`, `N` | the same | |

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_expr::{KeyOp, KeySelection};
use trestle_hook::{
    Belongs, Change, Edits, Former, FormerRange, Hook, Refused, Renewal, Rows, Sources, Verdict,
};
use trestle_item::{AttributeValue, Item, codec};

use crate::support::{n, s};

pub(super) const TABLE: &str = "T";
pub(super) const KINDS: [&str; 4] = ["u", "o", "z", "p"];

/// What identifies a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id {
    pub(super) kind: &'static str,
    pub(super) a: String,
    pub(super) n: i64,
}

impl Id {
    pub(super) fn new(kind: &'static str, a: &str, n: i64) -> Self {
        Self {
            kind,
            a: a.to_owned(),
            n,
        }
    }

    pub(super) fn own(&self) -> Item {
        let Self { kind, a, n } = self;
        match *kind {
            "u" => key(format!("new#{a}"), format!("{n:04}")),
            "o" => key(format!("new#{a}"), format!("s{n:04}")),
            "z" => key(format!("zed#{n}"), a.clone()),
            _ => key(format!("plain#{a}"), n.to_string()),
        }
    }

    pub(super) fn former(&self) -> Item {
        let Self { kind, a, n } = self;
        match *kind {
            "u" => key(format!("old#{a}"), n.to_string()),
            "o" => key(format!("bef#{a}"), format!("r{n:04}")),
            "z" => key(format!("oz#{a}"), format!("{n:04}")),
            _ => self.own(),
        }
    }

    /// The row in its own place.
    pub(super) fn row(&self, content: &Item) -> Item {
        with(self.own(), content)
    }

    /// The row in its former place, without the additions of the present layout.
    pub(super) fn former_row(&self, content: &Item) -> Item {
        let mut row = with(self.former(), content);
        if self.kind != "p" {
            row.remove("f");
        }
        row
    }

    pub(super) fn of_own(key: &Item) -> Option<Self> {
        let (pk, sk) = parts(key);
        let (before, rest) = pk.split_once('#')?;
        match before {
            "new" => match sk.strip_prefix('s') {
                Some(digits) => Some(Self::new("o", rest, digits.parse().ok()?)),
                None => Some(Self::new("u", rest, sk.parse().ok()?)),
            },
            "zed" => Some(Self::new("z", sk, rest.parse().ok()?)),
            "plain" => Some(Self::new("p", rest, sk.parse().ok()?)),
            _ => None,
        }
    }

    fn of_former(key: &Item) -> Option<Self> {
        let (pk, sk) = parts(key);
        let (before, rest) = pk.split_once('#')?;
        match before {
            "old" => Some(Self::new("u", rest, sk.parse().ok()?)),
            "bef" => Some(Self::new("o", rest, sk.strip_prefix('r')?.parse().ok()?)),
            "oz" => Some(Self::new("z", rest, sk.parse().ok()?)),
            _ => None,
        }
    }
}

fn key(pk: String, sk: String) -> Item {
    Item::from([("pk", s(pk)), ("sk", s(sk))])
}

fn with(mut row: Item, content: &Item) -> Item {
    for (name, value) in content.iter() {
        row.insert(name.clone(), value.clone());
    }
    row
}

fn parts(key: &Item) -> (&str, &str) {
    let part = |name| key.get(name).and_then(AttributeValue::as_s).unwrap_or_default();
    (part("pk"), part("sk"))
}

/// The content of a row besides its key: a value, a group, and attributes that rows of the former layout
/// lack.
pub(super) fn content(v: i64, group: i64) -> Item {
    Item::from([("v", n(v)), ("g", s(format!("g{group}"))), ("f", s("f"))])
}

/// Computes which places are former ones.
#[derive(Default)]
pub(super) struct Layouts {
    pub(super) is_over: AtomicBool,
    pub(super) looks: AtomicU64,
    /// Runs in the middle of the next read, when it has its snapshot and asks where rows are.
    pub(super) meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Layouts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layouts").finish_non_exhaustive()
    }
}

impl Layouts {
    fn in_the_middle_of_a_read(&self) {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        meanwhile.into_iter().for_each(|act| act());
    }

    pub(super) fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }
}

impl Former for Layouts {
    fn may_hold_rows(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    fn belongs(&self, key: &Item) -> Belongs {
        match Id::of_former(key) {
            None => Belongs::Here,
            // For some rows, the key is not enough.
            Some(id) if id.n % 3 == 0 => Belongs::Elsewhere,
            Some(id) => Belongs::At(id.own()),
        }
    }

    fn place(&self, key: &Item) -> Option<Item> {
        self.in_the_middle_of_a_read();
        let id = Id::of_own(key).filter(|id| id.kind != "p");
        id.map(|id| id.former())
    }

    fn renew(&self, row: Item) -> Result<Item, Error> {
        let Some(id) = Id::of_former(&row) else {
            return Ok(row);
        };
        if row.contains_key("stays") {
            return Err(Error::validation("it stays"));
        }
        let mut row = with(row, &id.own());
        if !row.contains_key("f") {
            row.insert("f", s("f"));
        }
        Ok(row)
    }

    fn renew_stored(&self, row: &[u8]) -> Renewal {
        let row = codec::decode(row).unwrap();
        let Some(id) = Id::of_former(&row) else {
            // For some rows, the stored form is not enough.
            let is_told = Id::of_own(&row).is_some_and(|id| id.n % 2 == 0);
            return if is_told { Renewal::Here } else { Renewal::Untold };
        };
        match self.renew(row) {
            Ok(row) if id.n % 4 != 1 => Renewal::Renewed(codec::encode(&row)),
            _ => Renewal::Untold,
        }
    }

    fn may_be_former(&self, hash: &[u8], _: &[u8]) -> bool {
        ["old", "bef", "oz"]
            .iter()
            .any(|former| hash.starts_with(former.as_bytes()))
    }

    fn renew_selection(&self, selection: &KeySelection) -> Result<Option<KeySelection>, Error> {
        let hash = selection.hash.first().and_then(AttributeValue::as_s);
        match hash.and_then(|hash| hash.split_once('#')) {
            Some(("bef", a)) if selection.range_last.is_none() && selection.range_equal.is_empty() => {
                let mut renewed = partition(format!("new#{a}"));
                renewed.range_last = Some(KeyOp::BeginsWith(s("s")));
                Ok(Some(renewed))
            }
            Some(("old" | "bef" | "oz", _)) => Err(Error::validation("the layout has changed")),
            _ => Ok(None),
        }
    }

    fn sources(&self, index: Option<&str>, selection: Option<&KeySelection>) -> Sources {
        self.in_the_middle_of_a_read();
        let everywhere = Sources {
            everywhere: true,
            ..Sources::default()
        };
        match (index, selection) {
            (Some("by-group"), _) => Sources {
                same: true,
                ..Sources::default()
            },
            (None | Some("local" | "local-keys"), Some(selection)) => {
                let hash = selection.hash.first().and_then(AttributeValue::as_s);
                match hash.and_then(|hash| hash.split_once('#')) {
                    Some(("new", a)) => {
                        let unordered = FormerRange {
                            selection: partition(format!("old#{a}")),
                            ordered: false,
                        };
                        let ordered = FormerRange {
                            selection: partition(format!("bef#{a}")),
                            ordered: index.is_none(),
                        };
                        let only_ordered = selection.range_last == Some(KeyOp::BeginsWith(s("s")));
                        let unordered = (!only_ordered).then_some(unordered);
                        Sources {
                            ranges: unordered.into_iter().chain([ordered]).collect(),
                            ..Sources::default()
                        }
                    }
                    Some(("zed", _)) => everywhere,
                    _ => Sources::default(),
                }
            }
            _ => everywhere,
        }
    }

    fn looked(&self) {
        self.looks.fetch_add(1, Ordering::Relaxed);
    }
}

fn partition(pk: String) -> KeySelection {
    KeySelection {
        hash: vec![s(pk)],
        range_equal: Vec::new(),
        range_last: None,
    }
}

/// The hook with these layouts.
#[derive(Debug)]
pub(super) struct Moving {
    pub(super) layouts: Arc<Layouts>,
    /// Whether keys of the former layout are accepted.
    pub(super) understands_former_keys: bool,
}

impl Hook for Moving {
    fn covers(&self, table: &str) -> bool {
        table == TABLE
    }

    fn former(&self, table: &str) -> Option<Arc<dyn Former>> {
        (table == TABLE).then(|| Arc::clone(&self.layouts) as _)
    }

    fn key(&self, _: &str, given: &Item) -> Result<Item, Error> {
        let former = Id::of_former(given).filter(|_| self.understands_former_keys);
        Ok(former.map_or_else(|| given.clone(), |id| id.own()))
    }

    fn place(&self, _: &str, item: &Item, _: Timestamp) -> Result<Edits, Error> {
        let own = Id::of_former(item).map(|id| id.own());
        Ok(Edits {
            set: own.into_iter().flatten().collect(),
            ..Edits::default()
        })
    }

    fn change(&self, _: &[Change<'_>], _: &dyn Rows) -> Result<Verdict, Refused> {
        Ok(Verdict::default())
    }
}
