//! `unique`: no two rows share a value.

use crate::database::{Database, line};

const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.user]
table = "rows"
key = { pk = "user#{id}", sk = "user" }
attributes = { id = "string", email = { type = "string", optional = true }, first = { type = "string", optional = true }, last = { type = "string", optional = true } }
[entity.user.unique.email]
key = { pk = "email#{email|lower}", sk = "email" }
[entity.user.unique.name]
key = { pk = "name#{first}#{last}", sk = "name" }
"##;

/// The values in use, with their owners.
fn taken(database: &Database) -> String {
    let kept = database
        .all("rows")
        .filter(|row| row.get("sk") != Some(&"user".into()));
    let kept: Vec<String> = kept.map(|row| line(row, &["pk", "sk", "kind"])).collect();
    kept.join(" | ")
}

#[test]
fn a_value_is_taken_released_and_refused() {
    let mut database = Database::new(MODEL);
    database.put("rows", "kind=user id=1 email=A@x").unwrap();
    assert_eq!(taken(&database), "email=A@x id=1");
    let before = database.rows.clone();
    let refused = database.put("rows", "kind=user id=2 email=a@X").unwrap_err();
    assert_eq!(
        refused,
        "Entity user: email \"a@X\" is taken by the row with id \"1\"; give another value, or change that row first"
    );
    assert_eq!(database.rows, before);
    database.put("rows", "kind=user id=1 email=a@x").unwrap();
    assert_eq!(
        taken(&database),
        "email=a@x id=1",
        "its owner may write it otherwise"
    );
    database
        .update("rows", "kind=user id=1", "email=b@x", &[])
        .unwrap();
    assert_eq!(taken(&database), "email=b@x id=1");
    database.put("rows", "kind=user id=2 email=a@x").unwrap();
    database.update("rows", "kind=user id=1", "", &["email"]).unwrap();
    assert_eq!(taken(&database), "email=a@x id=2");
    database.delete("rows", "kind=user id=2").unwrap();
    assert_eq!(taken(&database), "");
    database.put("rows", "kind=user id=1 email=a@x").unwrap();
    database.expire("rows", "kind=user id=1");
    assert!(database.rows.is_empty());
}

#[test]
fn attributes_that_are_unique_together() {
    let mut database = Database::new(MODEL);
    database.put("rows", "kind=user id=1 first=a last=b").unwrap();
    database.put("rows", "kind=user id=2 first=a last=c").unwrap();
    database.put("rows", "kind=user id=3 first=a").unwrap();
    let refused = database
        .update("rows", "kind=user id=3", "last=b", &[])
        .unwrap_err();
    assert_eq!(
        refused,
        "Entity user: first \"a\", last \"b\" is taken by the row with id \"1\"; give another value, or change that row first"
    );
    assert_eq!(taken(&database), "first=a id=1 last=b | first=a id=2 last=c");
}
