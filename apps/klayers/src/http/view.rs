//! Rows as clients see them: long names, lists for lines, and readable times.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};
use trestle::typed::Timestamp;

/// The names of rows' attributes in answers, in their order.
const NAMES: [(&str, &str); 10] = [
    ("pckg", "package"),
    ("pckgVrsn", "packageVersion"),
    ("rgn", "region"),
    ("arn", "arn"),
    ("dplySts", "deployStatus"),
    ("rqrmntsTxt", "dependencies"),
    ("exDt", "expiryDate"),
    ("crtdDt", "createdDateTime"),
    ("lcns", "license"),
    ("cdSz", "codeSize"),
];
/// The length of times: to the second, without a zone.
const SECONDS: usize = 19;

/// The shown attributes of a layer or a build, in order.
pub(super) type View = IndexMap<&'static str, Value>;

/// A row with those of these attributes that it has, by their long names, separated by spaces.
pub(super) fn view(row: &impl Serialize, shown: &str) -> View {
    let row = json!(row);
    let is_shown = |name: &str| shown.split(' ').any(|one| one == name);
    let shown = NAMES.iter().filter(|(_, name)| is_shown(name));
    let shown = shown.filter_map(|(stored, name)| Some((*name, value(name, &row[stored])?)));
    shown.collect()
}

fn value(name: &str, stored: &Value) -> Option<Value> {
    let until_seconds = |at: &str| json!(at.chars().take(SECONDS).collect::<String>());
    Some(match (name, stored) {
        ("dependencies", stored) => stored.as_str().unwrap_or_default().lines().collect(),
        (_, Value::Null) => return None,
        ("createdDateTime", stored) => until_seconds(stored.as_str()?),
        ("expiryDate", stored) => {
            let at = Timestamp::from_millis(stored.as_u64()?.saturating_mul(1_000));
            until_seconds(at.as_str())
        }
        (_, stored) => stored.clone(),
    })
}
