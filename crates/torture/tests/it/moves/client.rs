//! A client that alone writes its rows, so that it knows what every read of them must find.

use super::rows::{CLIENTS, Content, Layout, TABLE, TASKS, identity, item, number, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use trestle_torture::http::{Client, RawResponse};

const BATCH: usize = 25;

/// A client's knowledge of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// The row after the last answered write, or the last read.
    is: Option<Content>,
    /// The row after an unanswered write, which may have happened.
    perhaps: Option<Option<Content>>,
}

/// A client and its rows.
pub(super) struct Owner {
    number: u64,
    rows: BTreeMap<u64, Known>,
    random: fastrand::Rng,
    version: u64,
    pub(super) latencies: Latencies,
}

/// How long operations took, in microseconds, by kind.
#[derive(Default)]
pub(super) struct Latencies(BTreeMap<&'static str, Vec<u32>>);

impl Latencies {
    fn note(&mut self, kind: &'static str, began: Instant) {
        let micros = u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX);
        self.0.entry(kind).or_default().push(micros);
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (kind, micros) in &other.0 {
            self.0.entry(kind).or_default().extend(micros);
        }
    }

    pub(super) fn print(&mut self, seconds: f64) {
        for (kind, micros) in &mut self.0 {
            micros.sort_unstable();
            let at = |share: f64| micros[((micros.len() - 1) as f64 * share) as usize];
            let per_second = micros.len() as f64 / seconds;
            println!(
                "{kind}: {per_second:.0}/s, p50 {} µs, p99 {} µs, slowest {} µs",
                at(0.5),
                at(0.99),
                at(1.0)
            );
        }
    }
}

impl Owner {
    pub(super) fn new(number: u64, rows: u64, random: fastrand::Rng) -> Self {
        let first = Known {
            is: Some(Content {
                version: 0,
                is_done: false,
            }),
            perhaps: None,
        };
        let own = (0..rows).filter(|row| super::rows::owner(*row) == number);
        Owner {
            number,
            rows: own.map(|row| (row, first)).collect(),
            random,
            version: 0,
            latencies: Latencies::default(),
        }
    }

    pub(super) fn load(&mut self, client: &mut Client) {
        let rows: Vec<(u64, Content)> = self
            .rows
            .iter()
            .filter_map(|(row, known)| Some((*row, known.is?)))
            .collect();
        for rows in rows.chunks(BATCH) {
            let puts: Vec<Value> = rows
                .iter()
                .map(|(row, content)| json!({"PutRequest": {"Item": item(*row, *content)}}))
                .collect();
            let answer = client
                .call("BatchWriteItem", &json!({"RequestItems": {TABLE: puts}}))
                .unwrap();
            assert_eq!(
                (answer.status, &answer.body["UnprocessedItems"]),
                (200, &json!({})),
                "{}",
                answer.body
            );
        }
    }

    /// Reads and writes until the end; a server that is gone ends it, too.
    pub(super) fn live(&mut self, address: &str, is_over: &AtomicBool) {
        let Ok(mut client) = Client::connect(address) else {
            return;
        };
        while !is_over.load(Ordering::SeqCst) {
            let row = self.a_row();
            let done = match self.random.u8(..10) {
                0..=2 => self.put(&mut client, row),
                3 => self.update(&mut client, row),
                4 => self.delete(&mut client, row),
                5 | 6 => self.get(&mut client, row),
                7 | 8 => self.query(&mut client, row),
                _ => self.query_index(&mut client, row),
            };
            if done.is_err() {
                return;
            }
        }
    }

    fn a_row(&mut self) -> u64 {
        let runs = self.rows.len() as u64 / TASKS;
        let run = self.random.u64(..runs.max(1)) * CLIENTS + self.number;
        run * TASKS + self.random.u64(..TASKS)
    }

    fn new_content(&mut self) -> Content {
        self.version += 1;
        Content {
            version: self.version,
            is_done: self.random.bool(),
        }
    }

    /// A write with this result. If it is not answered, it may have happened.
    fn write(
        &mut self,
        client: &mut Client,
        row: u64,
        becomes: Option<Content>,
        operation: &'static str,
        body: &Value,
    ) -> io::Result<()> {
        let known = self.rows.get_mut(&row).unwrap();
        // A doubtful row is first read.
        if known.perhaps.is_some() {
            return self.get(client, row);
        }
        known.perhaps = Some(becomes);
        let answer = self.timed(client, operation, body)?;
        assert_eq!(answer.status, 200, "{operation} of row {row}: {}", answer.body);
        let known = self.rows.get_mut(&row).unwrap();
        (known.is, known.perhaps) = (becomes, None);
        Ok(())
    }

    fn timed(
        &mut self,
        client: &mut Client,
        operation: &'static str,
        body: &Value,
    ) -> io::Result<RawResponse> {
        let began = Instant::now();
        let answer = client.call(operation, body)?;
        self.latencies.note(operation, began);
        Ok(answer)
    }

    fn put(&mut self, client: &mut Client, row: u64) -> io::Result<()> {
        let content = self.new_content();
        let body = json!({"TableName": TABLE, "Item": item(row, content)});
        self.write(client, row, Some(content), "PutItem", &body)
    }

    /// Only for an existing row: an update of a missing one would create it.
    fn update(&mut self, client: &mut Client, row: u64) -> io::Result<()> {
        if self.rows[&row].is.is_none() {
            return self.put(client, row);
        }
        let content = self.new_content();
        let body = json!({
            "TableName": TABLE,
            "Key": identity(row),
            "UpdateExpression": "SET version = :v, #s = :s",
            "ConditionExpression": "attribute_exists(version)",
            "ExpressionAttributeNames": {"#s": "state"},
            "ExpressionAttributeValues": {":v": {"N": content.version.to_string()}, ":s": {"S": content.state()}},
        });
        self.write(client, row, Some(content), "UpdateItem", &body)
    }

    fn delete(&mut self, client: &mut Client, row: u64) -> io::Result<()> {
        let body = json!({"TableName": TABLE, "Key": identity(row)});
        self.write(client, row, None, "DeleteItem", &body)
    }

    fn get(&mut self, client: &mut Client, row: u64) -> io::Result<()> {
        let body = json!({"TableName": TABLE, "Key": identity(row), "ConsistentRead": true});
        let answer = self.timed(client, "GetItem", &body)?;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.found(row, answer.body.get("Item"));
        Ok(())
    }

    /// A read found this of a row.
    fn found(&mut self, row: u64, item: Option<&Value>) {
        self.assert_is(row, item);
        let is = item.map(Content::of);
        self.rows.insert(row, Known { is, perhaps: None });
    }

    /// Fails unless a row is what it must be.
    pub(super) fn assert_is(&self, row: u64, item: Option<&Value>) {
        let known = self.rows[&row];
        let found = item.map(Content::of);
        assert!(
            found == known.is || Some(found) == known.perhaps,
            "row {row} is {found:?}, and its only writer knows {known:?}"
        );
    }

    /// All tasks of a run, each once.
    fn query(&mut self, client: &mut Client, row: u64) -> io::Result<()> {
        let partition = Layout::Present.partition(row);
        let body = json!({
            "TableName": TABLE,
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": partition}},
        });
        let answer = self.timed(client, "Query", &body)?;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.check_run(row, answer.body["Items"].as_array().unwrap());
        Ok(())
    }

    /// The same by the index, in two queries.
    fn query_index(&mut self, client: &mut Client, row: u64) -> io::Result<()> {
        let mut found = Vec::new();
        for state in ["open", "done"] {
            let body = json!({
                "TableName": TABLE,
                "IndexName": "by_state",
                "KeyConditionExpression": "state_key = :k",
                "ExpressionAttributeValues": {":k": {"S": format!("{}#{state}", run(row))}},
            });
            let began = Instant::now();
            let answer = client.call("Query", &body)?;
            self.latencies.note("Query of the index", began);
            assert_eq!(answer.status, 200, "{}", answer.body);
            found.extend_from_slice(answer.body["Items"].as_array().unwrap());
        }
        self.check_run(row, &found);
        Ok(())
    }

    fn check_run(&mut self, row: u64, found: &[Value]) {
        let mut items: BTreeMap<u64, &Value> = BTreeMap::new();
        for item in found {
            let is_twice = items.insert(number(item), item).is_some();
            assert!(!is_twice, "twice: {item}");
        }
        let first = row / TASKS * TASKS;
        let tasks: Vec<u64> = self
            .rows
            .range(first..first + TASKS)
            .map(|(row, _)| *row)
            .collect();
        assert!(
            items.keys().all(|row| tasks.contains(row)),
            "of another run: {found:?}"
        );
        for row in tasks {
            self.found(row, items.get(&row).copied());
        }
    }
}
