//! The workloads: each as the requests of one operation.

use crate::dataset::{self, BATCH, COLLECTION, Field, INDEX, MODEL_TABLE, TABLE};
use crate::http::{Builder, Template};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A kind of operation that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// PutItem over an existing item: the change record has both images.
    Put,
    /// GetItem.
    Get,
    /// Query of one partition with 20 items.
    Query,
    /// The same on the index; its items lie in 20 partitions of the table.
    GsiQuery,
    /// UpdateItem with a condition that holds.
    Update,
    /// TransactWriteItems: a put and an update with a condition.
    Transaction,
    /// BatchWriteItem with 25 puts.
    Batch,
    /// Query for the keys of a partition, then BatchWriteItem that deletes its 20 items.
    DeleteCollection,
    /// PutItem over an existing item whose keys and times a model derives. Only Trestle has models.
    ModelPut,
}

impl Workload {
    /// Every workload, in the order in which they are run.
    pub const ALL: [Workload; 9] = [
        Workload::Put,
        Workload::Get,
        Workload::Query,
        Workload::GsiQuery,
        Workload::Update,
        Workload::Transaction,
        Workload::Batch,
        Workload::DeleteCollection,
        Workload::ModelPut,
    ];

    /// The name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Put => "put",
            Workload::Get => "get",
            Workload::Query => "query",
            Workload::GsiQuery => "gsi-query",
            Workload::Update => "update",
            Workload::Transaction => "transaction",
            Workload::Batch => "batch",
            Workload::DeleteCollection => "delete-collection",
            Workload::ModelPut => "model-put",
        }
    }

    /// Whether it writes nothing.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Workload::Get | Workload::Query | Workload::GsiQuery)
    }

    /// Its table.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Workload::ModelPut => MODEL_TABLE,
            _ => TABLE,
        }
    }

    /// How many rows one operation writes or reads.
    pub(crate) fn rows(self) -> u64 {
        match self {
            Workload::Transaction => 2,
            Workload::Batch => BATCH,
            _ => 1,
        }
    }

    pub(crate) fn script(self, table: &str) -> Script {
        let one = |step| Script { steps: vec![step] };
        match self {
            Workload::Put => one(Step::varied(|variant| put(table, &Field::KEYS, variant), "{")),
            Workload::ModelPut => one(Step::varied(|variant| put(table, &Field::PARTS, variant), "{")),
            Workload::Get => one(Step::single(get(table), r#""Item":"#)),
            Workload::Query => one(Step::single(query(table, ""), r#""Count":20"#)),
            Workload::GsiQuery => one(Step::single(index_query(table), r#""Count":20"#)),
            Workload::Update => one(Step::single(update(table), "{")),
            Workload::Transaction => one(Step::varied(|variant| transaction(table, variant), "{")),
            Workload::Batch => one(batch_step(table, &Field::KEYS)),
            Workload::DeleteCollection => Script {
                steps: vec![
                    Step::single(
                        query(table, r#","ProjectionExpression":"pk,sk""#),
                        r#""Count":20"#,
                    ),
                    Step::single(delete_batch(table), r#""UnprocessedItems":{}"#),
                ],
            },
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Workload::ALL.into_iter().find(|workload| workload.name() == text);
        found.ok_or_else(|| {
            let names: Vec<_> = Workload::ALL.iter().map(|workload| workload.name()).collect();
            format!("there is no workload `{text}`; there are {}", names.join(", "))
        })
    }
}

/// The requests of one operation, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
}

/// One request, in variants that differ in what they write.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) variants: Vec<Template>,
    /// A part of every correct response.
    pub(crate) expects: &'static str,
}

/// Enough that neighbouring rows differ, few enough to stay in the processor's cache.
const VARIANTS: u64 = 8;

impl Step {
    fn single(template: Template, expects: &'static str) -> Self {
        Step {
            variants: vec![template],
            expects,
        }
    }

    fn varied(template: impl Fn(u64) -> Template, expects: &'static str) -> Self {
        Step {
            variants: (0..VARIANTS).map(template).collect(),
            expects,
        }
    }
}

/// A batch that puts 25 of the rows of every target.
pub(crate) fn rows_step() -> Step {
    batch_step(TABLE, &Field::KEYS)
}

/// A batch that puts 25 rows with these fields.
fn batch_step(table: &str, fields: &[Field]) -> Step {
    Step::varied(
        |variant| batch(table, fields, variant),
        r#""UnprocessedItems":{}"#,
    )
}

/// The same for rows whose keys the model derives.
pub(crate) fn model_rows_step() -> Step {
    batch_step(MODEL_TABLE, &Field::PARTS)
}

fn key(builder: Builder, nth: u64) -> Builder {
    builder
        .text("{")
        .key(Field::Partition, nth)
        .text(",")
        .key(Field::Sort, nth)
        .text("}")
}

fn item(builder: Builder, fields: &[Field], nth: u64, variant: u64) -> Builder {
    let told = fields.iter().fold(builder.text("{"), |builder, field| {
        builder.key(*field, nth).text(",")
    });
    told.text(&dataset::attributes(variant)).text("}")
}

/// `{"TableName":"…",` and the rest.
fn on(table: &str) -> Builder {
    Builder::default().text(&format!(r#"{{"TableName":"{table}","#))
}

fn put(table: &str, fields: &[Field], variant: u64) -> Template {
    let opened = on(table).text(r#""Item":"#);
    item(opened, fields, 0, variant).text("}").finish("PutItem")
}

fn get(table: &str) -> Template {
    let opened = on(table).text(r#""Key":"#);
    key(opened, 0).text("}").finish("GetItem")
}

fn query(table: &str, more: &str) -> Template {
    let opened = on(table).text(r#""KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":"#);
    let closed = opened.value(Field::Partition, 0).text("},").text(&limit());
    closed.text(more).text("}").finish("Query")
}

fn index_query(table: &str) -> Template {
    let index = format!(r#""IndexName":"{INDEX}","KeyConditionExpression":"#);
    let condition =
        r##""#d = :d","ExpressionAttributeNames":{"#d":"day"},"ExpressionAttributeValues":{":d":"##;
    let opened = on(table).text(&index).text(condition);
    let closed = opened.value(Field::IndexPartition, 0).text("},").text(&limit());
    closed.text("}").finish("Query")
}

fn limit() -> String {
    format!(r#""Limit":{COLLECTION}"#)
}

/// The members of an update that counts a visit of an open order.
const VISIT: &str = r##","ConditionExpression":"attribute_exists(pk) AND #s = :open","UpdateExpression":"SET hits = hits + :one, seen = :now","ExpressionAttributeNames":{"#s":"status"},"ExpressionAttributeValues":{":open":{"S":"OPEN"},":one":{"N":"1"},":now":{"S":"2026-11-15T10:11:12Z"}}}"##;

fn update(table: &str) -> Template {
    let opened = on(table).text(r#""Key":"#);
    key(opened, 0).text(VISIT).finish("UpdateItem")
}

fn transaction(table: &str, variant: u64) -> Template {
    let name = format!(r#"{{"TableName":"{table}","#);
    let opened = Builder::default()
        .text(r#"{"TransactItems":[{"Put":"#)
        .text(&name)
        .text(r#""Item":"#);
    let second = item(opened, &Field::KEYS, 0, variant)
        .text(r#"}},{"Update":"#)
        .text(&name)
        .text(r#""Key":"#);
    key(second, 1)
        .text(VISIT)
        .text("}]}")
        .finish("TransactWriteItems")
}

fn batch(table: &str, fields: &[Field], variant: u64) -> Template {
    batch_of(table, BATCH, |builder, nth| {
        let opened = builder.text(r#"{"PutRequest":{"Item":"#);
        item(opened, fields, nth, variant * BATCH + nth).text("}}")
    })
}

fn delete_batch(table: &str) -> Template {
    batch_of(table, COLLECTION, |builder, nth| {
        key(builder.text(r#"{"DeleteRequest":{"Key":"#), nth).text("}}")
    })
}

fn batch_of(table: &str, count: u64, request: impl Fn(Builder, u64) -> Builder) -> Template {
    let mut builder = Builder::default().text(&format!(r#"{{"RequestItems":{{"{table}":["#));
    for nth in 0..count {
        builder = request(builder.text(if nth == 0 { "" } else { "," }), nth);
    }
    builder.text("]}}").finish("BatchWriteItem")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn body(template: &mut Template, first: u64, stride: u64) -> Value {
        template.aim(first, stride);
        let text = String::from_utf8(template.bytes().to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
        serde_json::from_str(body).unwrap()
    }

    #[test]
    fn every_request_is_json_of_the_length_it_claims() {
        for workload in Workload::ALL {
            for step in &mut workload.script("t").steps {
                for variant in &mut step.variants {
                    assert!(body(variant, 123, 7).is_object(), "{workload}");
                }
            }
        }
    }

    #[test]
    fn a_put_is_the_item_of_its_row() {
        let put = body(&mut put("t", &Field::KEYS, 3), 4_321, 1);
        let item: Value = serde_json::from_str(&dataset::item_json(4_321, 3)).unwrap();
        assert_eq!(put["Item"], item);
    }

    #[test]
    fn a_batch_spreads_over_its_rows() {
        let batch = body(&mut batch("t", &Field::KEYS, 0), 5, 400);
        let placed: Vec<_> = batch["RequestItems"]["t"]
            .as_array()
            .unwrap()
            .iter()
            .map(|request| request["PutRequest"]["Item"]["placed"]["S"].as_str().unwrap())
            .collect();
        assert_eq!(
            (placed.len(), placed[0], placed[24]),
            (25, "ORDER#0000000005", "ORDER#0000009605")
        );
    }

    #[test]
    fn names_are_read_back() {
        for workload in Workload::ALL {
            assert_eq!(workload.name().parse(), Ok(workload));
        }
        assert!("gets".parse::<Workload>().unwrap_err().contains("gsi-query"));
    }
}
