//! The parts of a request, each measured alone: stored form, JSON, expressions, keys, commits.
//!
//! `cargo bench -p trestle-bench` runs all of them; with an additional word, those whose names contain it.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use trestle_expr::{Condition, KeyCondition, Kind, Placeholders, Projection, Update};
use trestle_item::{AttributeValue, Item, Number, codec, key};
use trestle_store::{Batch, Durability, FjallStore, MemoryStore, Settings, Space, Store};

/// An item of about 1 KB with the types that applications use.
fn item() -> Item {
    let json = format!(
        r#"{{"pk":{{"S":"CUSTOMER#0000000042"}},"sk":{{"S":"ORDER#0000000007"}},"day":{{"S":"DAY#0000000007"}},
            "placed":{{"S":"ORDER#0000000847"}},"status":{{"S":"OPEN"}},"hits":{{"N":"0"}},"total":{{"N":"129.95"}},
            "tags":{{"SS":["fragile","gift","heavy"]}},"paid":{{"BOOL":true}},
            "address":{{"M":{{"street":{{"S":"12 Long Lane"}},"city":{{"S":"Anytown"}},"zip":{{"S":"01234"}}}}}},
            "lines":{{"L":[{{"M":{{"sku":{{"S":"A-1"}},"n":{{"N":"3"}}}}}},{{"M":{{"sku":{{"S":"B-2"}},"n":{{"N":"1"}}}}}}]}},
            "note":{{"S":"{}"}}}}"#,
        "a note of some length ".repeat(30)
    );
    serde_json::from_str(&json).unwrap_or_default()
}

fn values(json: &str) -> Item {
    serde_json::from_str(json).unwrap_or_default()
}

fn stored_form(c: &mut Criterion) {
    let item = item();
    let bytes = codec::encode(&item);
    let mut group = c.benchmark_group("codec");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("encode 1 KB", |b| b.iter(|| codec::encode(black_box(&item))));
    group.bench_function("decode 1 KB", |b| b.iter(|| codec::decode(black_box(&bytes))));
    group.finish();
}

fn json(c: &mut Criterion) {
    let item = item();
    let text = serde_json::to_vec(&item).unwrap_or_default();
    let mut group = c.benchmark_group("json");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("write 1 KB", |b| b.iter(|| serde_json::to_vec(black_box(&item))));
    group.bench_function("read 1 KB", |b| {
        b.iter(|| serde_json::from_slice::<Item>(black_box(&text)));
    });
    group.finish();
}

fn expressions(c: &mut Criterion) {
    let item = item();
    let values =
        values(r#"{":open":{"S":"OPEN"},":one":{"N":"1"},":p":{"S":"CUSTOMER#1"},":s":{"S":"ORDER#"}}"#);
    let condition = "attribute_exists(pk) AND hits >= :one OR begins_with(sk, :s) AND #s = :open";
    let update = "SET hits = hits + :one, seen = :open REMOVE note";
    let names = [("#s".to_owned(), "status".to_owned())].into();
    let placeholders = || Placeholders::new(Some(&names), Some(&values));
    let mut group = c.benchmark_group("expressions");
    group.bench_function("parse condition", |b| {
        b.iter(|| Condition::parse(Kind::Condition, black_box(condition), &mut placeholders()));
    });
    group.bench_function("parse update", |b| {
        b.iter(|| Update::parse(black_box(update), &mut placeholders()));
    });
    group.bench_function("parse key condition", |b| {
        let text = "pk = :p AND begins_with(sk, :s)";
        b.iter(|| KeyCondition::parse(black_box(text), &mut placeholders()));
    });
    group.bench_function("parse projection", |b| {
        b.iter(|| {
            Projection::parse(
                black_box("pk, sk, #s, address.city, lines[0].sku"),
                &mut placeholders(),
            )
        });
    });
    if let Ok(parsed) = Condition::parse(Kind::Condition, condition, &mut placeholders()) {
        group.bench_function("evaluate condition", |b| {
            b.iter(|| parsed.holds(black_box(&item)))
        });
    }
    if let Ok(parsed) = Update::parse(update, &mut placeholders()) {
        group.bench_function("apply update", |b| {
            b.iter_batched_ref(|| item.clone(), |item| parsed.apply(item), BatchSize::SmallInput);
        });
    }
    group.finish();
}

fn keys(c: &mut Criterion) {
    let text = AttributeValue::S("CUSTOMER#0000000042".to_owned());
    let number = AttributeValue::N(Number::from(-1_234_567_i64));
    let mut group = c.benchmark_group("keys");
    let mut room = Vec::with_capacity(64);
    for (name, value) in [("encode text", &text), ("encode number", &number)] {
        group.bench_function(name, |b| {
            b.iter(|| {
                room.clear();
                key::encode_component(black_box(value), &mut room)
            });
        });
    }
    group.bench_function("hash 19 bytes", |b| {
        b.iter(|| key::hash(black_box(b"CUSTOMER#0000000042")))
    });
    group.finish();
}

/// The rows of `puts` PutItems: item, index row, change record with both images.
fn batch(puts: u64, turn: u64) -> Batch {
    let value = codec::encode(&item());
    let mut batch = Batch::new();
    for put in 0..puts {
        let row = (turn * puts + put).wrapping_mul(0x9E37_79B9_7F4A_7C15) % 10_000;
        batch.put(Space::Items, row.to_be_bytes().repeat(5), value.as_slice());
        batch.put(Space::Index, row.to_be_bytes().repeat(10), value.as_slice());
        let sequence = (turn * puts + put).to_be_bytes();
        batch.put(Space::Changes, sequence.as_slice(), value.repeat(2));
    }
    batch
}

fn commits(c: &mut Criterion) {
    let mut group = c.benchmark_group("commit");
    for (name, durability) in [("fsync", Durability::Fsync), ("buffered", Durability::Buffered)] {
        let settings = Settings {
            durability,
            ..Settings::default()
        };
        let Ok(directory) = tempfile::tempdir_in("/var/tmp") else {
            continue;
        };
        let Ok(store) = FjallStore::open(directory.path(), settings) else {
            continue;
        };
        for puts in [1, 16] {
            measure_commits(&mut group, &format!("{name}, {puts} puts"), &store, puts);
        }
    }
    measure_commits(&mut group, "memory, 16 puts", &MemoryStore::new(), 16);
    group.finish();
}

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn measure_commits(group: &mut Group<'_>, name: &str, store: &dyn Store, puts: u64) {
    let mut turn = 0;
    group.throughput(Throughput::Elements(puts));
    group.bench_function(name, |b| {
        b.iter_batched(
            || {
                turn += 1;
                batch(puts, turn)
            },
            |batch| store.commit(batch),
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(micro, stored_form, json, expressions, keys, commits);
criterion_main!(micro);
