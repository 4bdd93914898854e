//! Errors for a bad write: they name the entity, the attribute, the conflicting row, and what to do.

use crate::database::Database;

const MODEL: &str = r##"
model = "shop"
[table.shop]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "gone"
[table.shop.index.by_status]
key = ["status_key", "placed"]
[table.shop.index.by_author]
key = ["author_key", "sk"]

[entity.customer]
table = "shop"
key = { pk = "customer#{id}", sk = "customer" }
created = "since"
attributes = { id = { type = "string", chars = "0-9a-z-" }, email = "string", name = "string", since = "timestamp", country = { type = "string", immutable = true, optional = true }, orders = { type = "integer", default = 0 }, groups = { type = "string-set", optional = true } }
[entity.customer.unique.email]
key = { pk = "email#{email|lower}", sk = "email" }
[entity.customer.inverse.groups]
entity = "group"
of = "groups"
set = "members"

[entity.group]
table = "shop"
key = { pk = "group#{group}", sk = "group" }
attributes = { group = "string", title = "string", members = { type = "string-set", optional = true } }

[entity.order]
table = "shop"
closed = true
key = { pk = "customer#{customer}", sk = "order#{number:04}", status_key = "{status}", author_key = "{customer}" }
attributes = { customer = "string", number = "integer", status = { type = "string", one_of = ["open", "paid"], default = "open" }, placed = { type = "timestamp", optional = true }, customer_name = { type = "string", length = "1..20" }, code = { type = "string", optional = true } }
[entity.order.counter.orders]
entity = "customer"
attribute = "orders"
with = { id = "customer" }
[entity.order.copy.name]
from = "customer"
with = { id = "customer" }
attributes = { name = "customer_name" }
in_step = "orders_of"
[entity.order.unique.code]
key = { pk = "code#{code}", sk = "code" }

[entity.note]
table = "shop"
key = { pk = "customer#{customer}", sk = "note#{id}" }
attributes = { customer = "string", id = "string", email = { type = "string", optional = true } }
[entity.note.counter.notes]
entity = "journal"
attribute = "notes"
with = { id = "customer" }

[entity.journal]
table = "shop"
key = { pk = "journal#{id}", sk = "journal" }
attributes = { id = { type = "string", length = "1..3" }, notes = { type = "integer", one_of = [0, 1], default = 0 } }

[entity.page]
table = "shop"
key = { pk = "page#{page}", sk = "v#{version:04}" }
attributes = { page = "string", version = "integer", text = { type = "string", optional = true } }
[entity.page.head]
key.sk = "head"
newest_by = "version"

[access.orders_of]
query = "by_author"
where = { customer = "{id}" }
returns = "order"
"##;

fn database() -> Database {
    let mut database = Database::new(MODEL);
    for row in [
        "kind=customer id=a email=a@x name=Ann country=de",
        "kind=customer id=b email=b@x name=Bob",
        "kind=order customer=a number:=1 code=c1",
        "kind=note customer=a id=1",
        "kind=page page=p version:=1",
        "kind=page page=p version:=2",
    ] {
        database.put("shop", row).unwrap();
    }
    database
}

enum Write {
    Put(&'static str),
    Update(&'static str, &'static str),
    Delete(&'static str),
}
use Write::{Delete, Put, Update};

fn refused(write: &Write) -> String {
    let mut database = database();
    let before = database.rows.clone();
    let answer = match write {
        Put(row) => database.put("shop", row),
        Update(key, line) => database.update("shop", key, line, &[]),
        Delete(key) => database.delete("shop", key),
    };
    assert_eq!(database.rows, before, "a refusal leaves nothing behind");
    answer.unwrap_err()
}

#[test]
fn every_refusal_names_its_cause() {
    for (write, text) in [
        (
            Put("kind=customer id=c name=C"),
            "Entity customer needs the attribute email, which is missing",
        ),
        (
            Put("kind=customer email=c@x name=C"),
            "Entity customer needs the attribute id, of which its key pk is made and which is missing",
        ),
        (
            Put("kind=customer id=c email:=1 name=C"),
            "Entity customer: attribute email must be of type string, but is the number 1",
        ),
        (
            Put("kind=customer id=C! email=c@x name=C"),
            "Entity customer: attribute id may only contain the characters 0-9a-z-, but \"C!\" contains 'C'",
        ),
        (
            Put("kind=order customer=a number:=2 status=lost"),
            "Entity order: attribute status must be one of `open` and `paid`, but is the string \"lost\"",
        ),
        (
            Put("kind=order customer=a number:=12345"),
            "Entity order: attribute number is 12345, which is wider than the 4 digits of the key",
        ),
        (
            Put("kind=order customer=a number:=2 colour=red"),
            "Entity order is closed and has no attribute colour; leave it out, or declare it",
        ),
        (
            Put("kind=order customer=a number:=2 placed=2020-01-01T00:00:00Z"),
            "Entity order: attribute placed has the precision \"ms\", so that its texts sort by time, but is the \
             string \"2020-01-01T00:00:00Z\"; write \"2020-01-01T00:00:00.000Z\", or declare the attribute with \
             precision = \"s\"",
        ),
        (
            Put("kind=order customer=a number:=2 placed=yesterday"),
            "Entity order: attribute placed must be a timestamp in UTC, which ends with Z, such as \
             \"2020-01-31T23:59:59.000Z\", but is the string \"yesterday\"",
        ),
        (
            Put("kind=order customer=a number:=2 placed=2020-02-30T00:00:00.000Z"),
            "Entity order: attribute placed must be a timestamp in UTC, which ends with Z, such as \
             \"2020-01-31T23:59:59.000Z\", but is the string \"2020-02-30T00:00:00.000Z\"",
        ),
        (
            Put("kind=order customer=a number:=2 placed=2020-01-01T00:00:00.000+01:00"),
            "Entity order: attribute placed must be a timestamp in UTC, which ends with Z, such as \
             \"2020-01-31T23:59:59.000Z\", but is the string \"2020-01-01T00:00:00.000+01:00\"",
        ),
        (
            Put("kind=robot id=c"),
            "kind is \"robot\", which is no entity of table shop; there is `customer`, `group`, `order`, `note`, \
             `journal`, `page` and `page.head`",
        ),
        (
            Put("colour=red"),
            "The item is no entity of table shop, which holds `customer`, `group`, `order`, `note`, `journal`, \
             `page` and `page.head`; say which with kind",
        ),
        (
            Put("pk=customer#z sk=customer kind=customer id=c email=c@x name=C"),
            "Entity customer: key pk was given as the string \"customer#z\", but its attributes give the string \
             \"customer#c\"; leave the key out, or give the one that fits",
        ),
        (
            Put("kind=order customer=a number:=2 status_key=paid"),
            "Entity order: key status_key was given as the string \"paid\", but its attributes give the string \
             \"open\"; leave the key out, or give the one that fits",
        ),
        (
            Put("pk=customer#a sk=customer kind=note customer=a id=1"),
            "The key belongs to a row of entity customer, which a row of entity note may not replace; remove that \
             row first, or give other identifying attributes",
        ),
        (
            Put("kind=customer id=c email=A@x name=C"),
            "Entity customer: email \"A@x\" is taken by the row with id \"a\"; give another value, or change that \
             row first",
        ),
        (
            Update("kind=customer id=b", "email=a@x"),
            "Entity customer: email \"a@x\" is taken by the row with id \"a\"; give another value, or change that \
             row first",
        ),
        (
            Put("kind=order customer=b number:=1 code=c1"),
            "Entity order: code \"c1\" is taken by the row with customer \"a\", number \"1\"; give another value, \
             or change that row first",
        ),
        (
            Put("kind=order customer=z number:=1"),
            "Entity order: copy name finds no row of entity customer with id \"z\"; write that row first, or in \
             the same transaction",
        ),
        (
            Put("kind=order customer=z number:=1 customer_name=Z"),
            "Entity order: copy name finds no row of entity customer with id \"z\"; write that row first, or in \
             the same transaction",
        ),
        (
            Put("kind=order customer=a number:=1 customer_name=Eve"),
            "Entity order: attribute customer_name is copied from attribute name of the row of entity customer \
             with id \"a\"; it is the string \"Ann\", and was given as the string \"Eve\"; leave it out, or \
             change it there",
        ),
        (
            Update("kind=customer id=a", "orders:=7"),
            "Entity customer: attribute orders is kept by the counter orders of entity order; it is the number 1, \
             and was given as the number 7; leave it out",
        ),
        (
            Update("kind=customer id=a", "country=fr"),
            "Entity customer: attribute country may not change; it is the string \"de\", and was given as the \
             string \"fr\"; leave it as it is",
        ),
        (
            Put("kind=customer id=a email=a@x name=Ann"),
            "Entity customer: attribute country may not change; it is the string \"de\", and cannot be removed; leave \
             it as it is",
        ),
        (
            Update("kind=order customer=a number:=1", "number:=2"),
            "Entity order: attribute number identifies the row and cannot change; it is the number 1, and was given as \
             the number 2; delete the row and put another one",
        ),
        (
            Update("kind=customer id=a", "since=2001-01-01T00:00:00.000Z"),
            "Entity customer: attribute since is the time of the row's first write; it is the string \
             \"2019-12-30T19:32:14.000Z\", and was given as the string \"2001-01-01T00:00:00.000Z\"; leave it out",
        ),
        (
            Update("kind=customer id=a", "name=AnnWithAnExtremelyLongName"),
            "Entity customer: the write would change the row of entity order with customer \"a\", number \"1\": \
             Entity order: attribute customer_name must be 1 to 20 characters long, but \
             \"AnnWithAnExtremelyLongName\" is 26",
        ),
        (
            Put("kind=customer id=c email=c@x name=C groups@=g"),
            "Entity customer: the write would create the row of entity group with group \"g\": Entity group needs \
             the attribute title, which is missing; write that row first, or in the same transaction",
        ),
        (
            Put("kind=note customer=a id=2"),
            "Entity note: the write would change the row of entity journal with id \"a\": Entity journal: \
             attribute notes must be one of `0` and `1`, but is the number 2",
        ),
        (
            Put("kind=note customer=long id=2"),
            "Entity note: the write would need the row of entity journal with id \"long\": Entity journal: \
             attribute id must be 1 to 3 characters long, but \"long\" is 4",
        ),
        (
            Put("kind=page page=p version:=3 text:=1"),
            "Entity page: attribute text must be of type string, but is the number 1",
        ),
        (
            Put("pk=page#p sk=head kind=page.head page=p version:=7"),
            "Entity page.head can only be pointed at an existing row of entity page, and there is none such: \
             version is the number 7",
        ),
        (
            Put("pk=page#p sk=head kind=page.head page=p version:=2 text=mine"),
            "Rows of entity page.head are kept by the database: text is not what the row of entity page has; \
             write it there instead",
        ),
        (
            Delete("pk=page#p sk=head"),
            "Entity page.head goes with the last row of entity page; remove that one, or point the head at \
             another",
        ),
        (
            Put("pk=email#a@x sk=email kind=customer.unique.email email=a@x id=b"),
            "Rows of entity customer.unique.email are kept by the database; write those of entity customer \
             instead",
        ),
        (
            Delete("pk=email#a@x sk=email"),
            "Rows of entity customer.unique.email are kept by the database; write those of entity customer \
             instead",
        ),
        (
            Put("kind=customer id=c email=c@x name=C groups@=a,g"),
            "Entity customer: the write would create the row of entity group with group \"a\": Entity group needs \
             the attribute title, which is missing; write that row first, or in the same transaction",
        ),
        (
            Put("kind=note customer=b id=2 email:=1"),
            "Entity note: attribute email must be of type string, but is the number 1",
        ),
        (
            Update("kind=customer id=a", "groups@=g"),
            "Entity customer: the write would create the row of entity group with group \"g\": Entity group needs \
             the attribute title, which is missing; write that row first, or in the same transaction",
        ),
        (
            Put("kind=page page=p"),
            "Entity page needs the attribute version, of which its key sk is made and which is missing",
        ),
        (
            Put("kind=order customer=a number:=2 code=c1"),
            "Entity order: code \"c1\" is taken by the row with customer \"a\", number \"1\"; give another value, \
             or change that row first",
        ),
    ] {
        assert_eq!(refused(&write), text);
    }
}
