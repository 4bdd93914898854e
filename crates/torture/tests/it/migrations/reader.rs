//! Readers of rows that are not written: single rows, and lists of small pages whose bookmarks outlive the
//! server.

use super::knowledge::{Knowledge, Understood};
use super::layout::{Id, Layout, TABLE, number, placed, text};
use super::stayers;
use super::writer::{Address, Rows, Shared, get};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trestle_torture::http::Client;

/// What a list is of.
#[derive(Clone, Debug)]
enum What {
    /// One customer's parcels in one depot.
    Parcels {
        depot: &'static str,
        customer: &'static str,
    },
    /// A partition of the layout by depot; the other layout has no such partition.
    Depot { depot: &'static str },
    /// One region's releases.
    Releases { region: &'static str },
    /// A partition whose rows move within it.
    Readings,
    /// Of the index whose keys differ in the two layouts.
    InState {
        depot: &'static str,
        state: &'static str,
    },
    /// Of the index whose keys do not.
    WithStatus {
        region: &'static str,
        status: &'static str,
    },
    /// All rows, by segments.
    Table { segment: u64, of: u64 },
    /// All rows of the first index.
    Index,
}

/// A list in progress.
#[derive(Debug)]
struct List {
    what: What,
    /// The layout of its condition.
    asked: Layout,
    turn: u64,
    backward: bool,
    limit: u64,
    bookmark: Option<Value>,
    seen: Vec<Value>,
}

/// One connection's reader.
#[derive(Debug)]
pub(super) struct Reader {
    random: fastrand::Rng,
    stayers: Rows,
    list: Option<List>,
    /// How many lists were read to their end.
    pub(super) lists: u64,
}

impl Reader {
    pub(super) fn new(random: fastrand::Rng) -> Self {
        Reader {
            random,
            stayers: stayers::all(),
            list: None,
            lists: 0,
        }
    }

    /// Reads until the server is gone.
    pub(super) fn read(&mut self, address: &str, shared: &Shared) {
        let Ok(mut client) = Client::connect(address) else {
            return;
        };
        loop {
            // Held until the answer arrives.
            let knowledge = shared.knowledge.read().unwrap();
            let is_there = match knowledge.in_effect {
                Some(layout) if self.random.u8(0..4) > 0 => self.page(&mut client, &knowledge, layout),
                _ => self.one(&mut client, &knowledge),
            };
            if is_there.is_none() {
                return;
            }
        }
    }

    /// A row that stays, or one that the database keeps beside it, by its key. `None` if the server is gone.
    fn one(&mut self, client: &mut Client, knowledge: &Knowledge) -> Option<()> {
        let (address, is_sure) = Address::random(&mut self.random, knowledge);
        let id = self
            .stayers
            .keys()
            .nth(self.random.usize(0..self.stayers.len()))?;
        let (id, expected) = match id {
            Id::Release { region, product, .. } if self.random.bool() => {
                let newest = Id::release(region, product, stayers::EACH);
                let head = Id::Head {
                    region: region.clone(),
                    product: product.clone(),
                };
                (head, self.stayers[&newest].clone())
            }
            id => (id.clone(), self.stayers[id].clone()),
        };
        let found = get(client, &address.of(&id))?;
        let is_right = found.as_ref().is_some_and(|row| is_like(row, &id, &expected));
        assert!(
            is_right || !is_sure,
            "{id:?} by {address:?}: {found:?}; {knowledge:?}"
        );
        Some(())
    }

    /// A page of a list.
    fn page(&mut self, client: &mut Client, knowledge: &Knowledge, layout: Layout) -> Option<()> {
        let mut list = match self.list.take() {
            Some(list) => list,
            None => self.begin(knowledge, layout),
        };
        let (operation, body) = list.request();
        let Ok(mut answer) = client.call(operation, &body) else {
            // The bookmark is still valid when the server is back.
            self.list = Some(list);
            return None;
        };
        let is_outdated = list.turn != knowledge.turn || knowledge.understands(list.asked) != Understood::Yes;
        let may_be_refused = is_outdated || (list.asked != layout && list.bookmark.is_none());
        if answer.status == 400 && answer.error() == "ValidationException" && may_be_refused {
            return Some(());
        }
        assert_eq!(answer.status, 200, "{operation} of {body}: {}", answer.body);
        if is_outdated {
            return Some(());
        }
        if let Value::Array(rows) = answer.body["Items"].take() {
            list.seen.extend(rows);
        }
        if list.go_on(answer.body["LastEvaluatedKey"].take()) {
            self.list = Some(list);
        } else {
            self.check(&list, layout);
        }
        Some(())
    }

    fn begin(&mut self, knowledge: &Knowledge, layout: Layout) -> List {
        let random = &mut self.random;
        let depot = *random.choice(stayers::DEPOTS).unwrap();
        let region = *random.choice(stayers::REGIONS).unwrap();
        let what = match random.u8(0..9) {
            0 | 1 => What::Parcels {
                depot,
                customer: random.choice(stayers::CUSTOMERS).unwrap(),
            },
            2 if knowledge.understands(Layout::ByDepot) == Understood::Yes => What::Depot { depot },
            3 => What::Releases { region },
            2 | 4 => What::Readings,
            5 => What::InState {
                depot,
                state: stayers::state(random.u64(..)),
            },
            6 => What::WithStatus {
                region,
                status: random.choice(["latest", "deprecated"]).unwrap(),
            },
            7 => What::Index,
            _ => What::Table {
                segment: 0,
                of: random.u64(1..4),
            },
        };
        let is_other_understood = knowledge.understands(layout.other()) == Understood::Yes;
        let asked = match what {
            What::Depot { .. } => Layout::ByDepot,
            What::Parcels { .. } | What::Releases { .. } if is_other_understood && random.bool() => {
                layout.other()
            }
            _ => layout,
        };
        let is_scan = matches!(what, What::Table { .. } | What::Index);
        List {
            asked,
            turn: knowledge.turn,
            backward: !is_scan && random.bool(),
            limit: random.u64(1..if is_scan { 40 } else { 6 }),
            bookmark: None,
            seen: Vec::new(),
            what,
        }
    }

    /// Every unwritten row that belongs there is found once, unchanged, in its order.
    fn check(&mut self, list: &List, layout: Layout) {
        self.lists += 1;
        let keys = list.seen.iter().map(|row| (text(row, "pk"), text(row, "sk")));
        let is_of_table = !matches!(
            list.what,
            What::InState { .. } | What::WithStatus { .. } | What::Index
        );
        if is_of_table {
            let once: BTreeSet<_> = keys.collect();
            assert_eq!(once.len(), list.seen.len(), "rows twice in {list:?}");
        }
        let seen = list.seen.iter().map(|row| (list.what.id_of(row), row));
        let seen: Vec<(Id, &Value)> = seen.filter(|(id, _)| self.stayers.contains_key(id)).collect();
        let belongs = |(id, content): &(&Id, &Value)| list.what.has(id, content);
        let mut expected: Vec<&Id> = self.stayers.iter().filter(belongs).map(|(id, _)| id).collect();
        if is_of_table && !matches!(list.what, What::Table { .. }) {
            expected.sort_by_key(|id| text(&id.key(layout), "sk").to_owned());
            if list.backward {
                expected.reverse();
            }
            let ids: Vec<&Id> = seen.iter().map(|(id, _)| id).collect();
            assert_eq!(ids, expected, "{:?}", list.what);
        } else {
            let ids: BTreeSet<&Id> = seen.iter().map(|(id, _)| id).collect();
            assert_eq!(ids.len(), seen.len(), "rows twice in {list:?}");
            assert_eq!(ids, BTreeSet::from_iter(expected), "{:?}", list.what);
        }
        for (id, row) in seen {
            if !matches!(list.what, What::WithStatus { .. }) {
                assert_eq!(*row, placed(&self.stayers[&id], layout), "{:?}", list.what);
            }
        }
    }
}

/// Whether a row has the written values; a head has those of its row, except those that it leaves out.
fn is_like(row: &Value, id: &Id, expected: &Value) -> bool {
    match id {
        Id::Head { .. } => ["region", "product", "version", "arn"]
            .iter()
            .all(|name| row[name] == expected[name]),
        _ => super::layout::content(row) == *expected,
    }
}

impl List {
    /// Whether there is another page.
    fn go_on(&mut self, bookmark: Value) -> bool {
        let has_more = !bookmark.is_null();
        self.bookmark = has_more.then_some(bookmark);
        match &mut self.what {
            What::Table { segment, of } if !has_more => {
                *segment += 1;
                segment < of
            }
            _ => has_more,
        }
    }

    fn request(&self) -> (&'static str, Value) {
        let mut body = json!({"TableName": TABLE, "Limit": self.limit});
        if let Some(bookmark) = &self.bookmark {
            body["ExclusiveStartKey"] = bookmark.clone();
        }
        match &self.what {
            What::Index => {
                body["IndexName"] = json!("by_state");
                return ("Scan", body);
            }
            What::Table { segment, of } => {
                body["Segment"] = json!(segment);
                body["TotalSegments"] = json!(of);
                return ("Scan", body);
            }
            _ => {}
        }
        body["ScanIndexForward"] = json!(!self.backward);
        let (condition, values) = self.what.condition(self.asked);
        body["KeyConditionExpression"] = json!(condition);
        body["ExpressionAttributeValues"] = values;
        match &self.what {
            What::InState { .. } => body["IndexName"] = json!("by_state"),
            What::WithStatus { .. } => {
                body["IndexName"] = json!("by_status");
                body["ExpressionAttributeNames"] = json!({"#r": "region", "#s": "status"});
            }
            _ => {}
        }
        ("Query", body)
    }
}

impl What {
    fn condition(&self, layout: Layout) -> (&'static str, Value) {
        const PARTITION: &str = "pk = :pk";
        const PART: &str = "pk = :pk AND begins_with(sk, :sk)";
        let by_depot = layout == Layout::ByDepot;
        let values = |pk: String, sk: String| json!({":pk": {"S": pk}, ":sk": {"S": sk}});
        match self {
            What::Parcels { depot, customer } if by_depot => (
                PART,
                values(format!("depot#{depot}"), format!("parcel#{customer}#")),
            ),
            What::Parcels { depot, customer } => {
                (PARTITION, json!({":pk": {"S": format!("p/{depot}/{customer}")}}))
            }
            What::Depot { depot } => (PARTITION, json!({":pk": {"S": format!("depot#{depot}")}})),
            What::Releases { region } if by_depot => (
                PART,
                values(format!("release#{region}:{}", stayers::PRODUCT), "v#".to_owned()),
            ),
            What::Releases { region } => (
                PART,
                values(format!("r/{}", stayers::PRODUCT), format!("{region}/v/")),
            ),
            What::InState { depot, state } => {
                let key = match layout {
                    Layout::ByDepot => format!("{state}#{depot}"),
                    Layout::ByCustomer => format!("{depot}/{state}"),
                };
                ("state_key = :k", json!({":k": {"S": key}}))
            }
            What::WithStatus { region, status } => (
                "#r = :r AND #s = :s",
                json!({":r": {"S": region}, ":s": {"S": status}}),
            ),
            What::Readings | What::Table { .. } | What::Index => (
                PARTITION,
                json!({":pk": {"S": format!("log#{}", stayers::DEVICE)}}),
            ),
        }
    }

    /// The owner of this row; one index does not have the kind.
    fn id_of(&self, row: &Value) -> Id {
        match self {
            What::WithStatus { .. } => {
                Id::release(text(row, "region"), text(row, "product"), number(row, "version"))
            }
            _ => Id::of(row),
        }
    }

    /// Whether a row that stays belongs into the list.
    fn has(&self, id: &Id, content: &Value) -> bool {
        match (self, id) {
            (
                What::Parcels { depot, customer },
                Id::Parcel {
                    depot: at,
                    customer: of,
                    ..
                },
            ) => depot == at && customer == of,
            (What::Depot { depot }, Id::Parcel { depot: at, .. }) => depot == at,
            (What::Releases { region }, Id::Release { region: at, .. }) => region == at,
            (What::Readings, Id::Reading { .. })
            | (What::Table { .. }, _)
            | (What::Index, Id::Parcel { .. }) => true,
            (What::InState { depot, state }, Id::Parcel { depot: at, .. }) => {
                depot == at && text(content, "state") == *state
            }
            (What::WithStatus { region, status }, Id::Release { region: at, .. }) => {
                region == at && text(content, "status") == *status
            }
            _ => false,
        }
    }
}
