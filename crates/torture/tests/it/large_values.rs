//! SIGKILL at random moments while large values are written, replaced and read: a row always has one complete
//! value, everything acknowledged exists, and no parts are left over.

use crate::{Sets, rounds, seed};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::copier::{Copier, url};
use trestle_torture::http::Client;
use trestle_torture::server::{Server, serve};

const MODEL: &str = r#"
model = "files"
[table.files]
key = ["pk"]
[entity.file]
table = "files"
key = { pk = "file#{name}" }
attributes = { name = "string", number = "integer", body = "large" }
"#;
const PARTS: &str = "_trestle.value_parts";
/// Each replaces the value of its own row.
const WRITERS: u64 = 4;
const PATIENCE: Duration = Duration::from_secs(60);

/// The writers' knowledge of their rows.
#[derive(Debug, Default)]
struct Rows {
    /// The last acknowledged number.
    acknowledged: BTreeMap<u64, u64>,
    /// The last sent number.
    attempted: BTreeMap<u64, u64>,
}

#[test]
fn a_row_has_all_of_one_value_and_nothing_is_left_whenever_the_server_is_killed() {
    let (rounds, mut random) = (rounds("VALUE_ROUNDS", 3), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    let model = dir.path().join("files.toml");
    std::fs::write(&model, MODEL).unwrap();
    let data = dir.path().join("data");
    let start = || Server::start(serve(&data).arg("--virtual-clock").arg("--model").arg(&model));
    let rows = Mutex::new(Rows::default());
    for round in 1..=rounds {
        let server = start();
        let address = server.address.clone();
        let moment = Instant::now() + Duration::from_millis(random.u64(100..1500));
        let killed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                server.kill();
                killed.store(true, Ordering::SeqCst);
            });
            scope.spawn(|| read_on(&address, &killed));
            for writer in 0..WRITERS {
                let (address, rows) = (&address, &rows);
                scope.spawn(move || write_on(address, writer, rows));
            }
        });
        audit::verify(&data).unwrap();
        let server = start();
        let rows = rows.lock().unwrap();
        let parts = check(&mut server.connect(), &rows);
        println!("killed: round {round}, {:?}", rows.acknowledged);
        if round == rounds {
            collected(&mut server.connect(), parts);
        }
        server.kill();
        audit::verify(&data).unwrap();
    }
}

/// A server whose rows have large values is copied while they are replaced: the rows of the copy have
/// complete values.
#[test]
fn values_are_whole_where_rows_were_copied_to() {
    let dir = TempDir::new().unwrap();
    let model = dir.path().join("files.toml");
    std::fs::write(&model, MODEL).unwrap();
    let place = |name: &str| dir.path().join(name);
    let source = Server::start(serve(&place("source")).arg("--model").arg(&model));
    let target = Server::on(&place("target"));
    let (rows, is_over) = (Mutex::new(Rows::default()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (address, rows, is_over) = (&source.address, &rows, &is_over);
            scope.spawn(move || write_until(address, writer, rows, is_over));
        }
        let _stop = Sets(&is_over);
        std::thread::sleep(Duration::from_secs(1));
        let mut copier = Copier::start(&url(&source), &url(&target), &place("state.json"));
        copier.wait_until(|copier| copier.phase() == "following");
        std::thread::sleep(Duration::from_millis(500));
        copier.cut_over();
    });
    let mut client = target.connect();
    check(&mut client, &rows.lock().unwrap());
    assert_eq!(write(&mut client, 0, 1_000_000), Some(()));
    assert_eq!(
        read(&mut client, 0).unwrap().map(|(number, _)| number),
        Some(1_000_000)
    );
    drop((source, target));
    audit::verify(&place("target")).unwrap();
}

/// Replaces the value of a row until it is time to stop, or writing is paused.
fn write_until(address: &str, writer: u64, rows: &Mutex<Rows>, is_over: &AtomicBool) {
    let mut client = Client::connect(address).unwrap();
    for number in 1.. {
        rows.lock().unwrap().attempted.insert(writer, number);
        if is_over.load(Ordering::SeqCst) || write(&mut client, writer, number).is_none() {
            return;
        }
        rows.lock().unwrap().acknowledged.insert(writer, number);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The bytes of a value, determined by its writer and number, in parts.
fn parts_of(writer: u64, number: u64) -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(writer << 32 | number);
    let count = random.usize(1..7);
    let part = |_| {
        let size = random.usize(0..40_000);
        (0..size).map(|_| random.u8(..)).collect()
    };
    (0..count).map(part).collect()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// Replaces the value of a row until the server is gone.
fn write_on(address: &str, writer: u64, rows: &Mutex<Rows>) {
    let Ok(mut client) = Client::connect(address) else {
        return;
    };
    loop {
        let number = {
            let mut rows = rows.lock().unwrap();
            let next = rows.attempted.entry(writer).or_default();
            *next += 1;
            *next
        };
        if write(&mut client, writer, number).is_none() {
            return;
        }
        rows.lock().unwrap().acknowledged.insert(writer, number);
    }
}

/// Writes a value and the row that refers to it; `None` when the server is gone.
fn write(client: &mut Client, writer: u64, number: u64) -> Option<()> {
    let id = format!("value-{writer:04}-{number:08}");
    let parts = parts_of(writer, number);
    for (at, part) in parts.iter().enumerate() {
        let item = json!({
            "id": {"S": id}, "part": {"N": (at + 1).to_string()}, "bytes": {"B": STANDARD.encode(part)}
        });
        put(client, &json!({"TableName": PARTS, "Item": item}))?;
    }
    let whole = parts.concat();
    let body = json!({"M": {
        "id": {"S": id}, "size": {"N": whole.len().to_string()},
        "parts": {"N": parts.len().to_string()}, "sha256": {"S": sha256(&whole)}
    }});
    let item = json!({
        "name": {"S": writer.to_string()}, "number": {"N": number.to_string()}, "body": body
    });
    put(client, &json!({"TableName": "files", "Item": item}))
}

fn put(client: &mut Client, request: &Value) -> Option<()> {
    let answer = client.call("PutItem", request).ok()?;
    if answer.message().contains("is read-only") {
        return None;
    }
    assert_eq!(answer.status, 200, "{}", answer.body);
    Some(())
}

/// Reads values while they are replaced: each is complete.
fn read_on(address: &str, killed: &AtomicBool) {
    let Ok(mut client) = Client::connect(address) else {
        return;
    };
    while !killed.load(Ordering::SeqCst) {
        for writer in 0..WRITERS {
            if read(&mut client, writer).is_err() {
                return;
            }
        }
    }
}

/// A row: its number, and how many parts its value has. The error means that the server is gone.
fn read(client: &mut Client, writer: u64) -> std::io::Result<Option<(u64, u64)>> {
    let key = json!({"pk": {"S": format!("file#{writer}")}});
    let get = json!({"TableName": "files", "Key": key, "ConsistentRead": true});
    let row = client.call("GetItem", &get)?;
    assert_eq!(row.status, 200, "{}", row.body);
    if row.body["Item"].is_null() {
        return Ok(None);
    }
    let number = |value: &Value| -> u64 { value["N"].as_str().unwrap().parse().unwrap() };
    let (row, body) = (&row.body["Item"], &row.body["Item"]["body"]["M"]);
    let mut whole = Vec::new();
    for part in 1..=number(&body["parts"]) {
        let key = json!({"id": body["id"], "part": {"N": part.to_string()}});
        let get = json!({"TableName": PARTS, "Key": key, "ConsistentRead": true});
        let part = client.call("GetItem", &get)?;
        let bytes = part.body["Item"]["bytes"]["B"].as_str();
        let bytes = bytes.unwrap_or_else(|| panic!("a part is missing: {row} {}", part.body));
        whole.extend(STANDARD.decode(bytes).unwrap());
    }
    let written = parts_of(writer, number(&row["number"])).concat();
    assert!(whole == written, "not the bytes that were written: {row}");
    Ok(Some((number(&row["number"]), number(&body["parts"]))))
}

/// Compares every row with the writers' knowledge, and counts the parts of all.
fn check(client: &mut Client, rows: &Rows) -> u64 {
    let mut parts = 0;
    for writer in 0..WRITERS {
        let found = read(client, writer).unwrap();
        let acknowledged = rows.acknowledged.get(&writer).copied().unwrap_or_default();
        let attempted = rows.attempted.get(&writer).copied().unwrap_or_default();
        let (number, of_row) = found.unwrap_or_default();
        assert!(
            (acknowledged..=attempted).contains(&number),
            "row {writer} has {number}, {acknowledged} to {attempted} were written"
        );
        parts += of_row;
    }
    parts
}

/// A value without a row is removed when its time has come.
fn collected(client: &mut Client, parts: u64) {
    assert_eq!(client.advance_clock(2 * 60 * 60).unwrap().status, 200);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = audit::all(
            client,
            "Scan",
            &json!({"TableName": PARTS, "ConsistentRead": true}),
        );
        if found.len() as u64 == parts {
            return;
        }
        assert!(Instant::now() < deadline, "{} parts, wanted {parts}", found.len());
        std::thread::sleep(Duration::from_millis(50));
    }
}
