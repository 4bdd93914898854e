//! How tables are copied, and what prevents it.

use trestle_api::{
    AttributeDefinition, DescribeTable, DescribeTimeToLive, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    ListTagsOfResource, Projection, ProjectionType, StreamViewType, Tag, TimeToLiveSpecification,
    TimeToLiveStatus, UpdateTimeToLive,
};
use trestle_copy::{CopyError, SideKind};
use trestle_embedded::Embedded;
use trestle_item::ScalarType;

use crate::support::{Pair, put, put_into, row, rows, table, with_stream};

#[test]
fn a_table_is_there_with_indexes_tags_expiry_and_stream_and_its_rows() {
    let pair = Pair::new(SideKind::Directory);
    let mut create = with_stream(table("t"), StreamViewType::NewImage);
    create.attribute_definitions.push(AttributeDefinition {
        attribute_name: "version".to_owned(),
        attribute_type: ScalarType::N,
    });
    create.global_secondary_indexes = Some(vec![GlobalSecondaryIndex {
        index_name: "by-version".to_owned(),
        key_schema: vec![KeySchemaElement {
            attribute_name: "version".to_owned(),
            key_type: KeyType::Hash,
        }],
        projection: Projection {
            projection_type: Some(ProjectionType::KeysOnly),
            non_key_attributes: None,
        },
        ..GlobalSecondaryIndex::default()
    }]);
    let tag = Tag {
        key: "team".to_owned(),
        value: "shop".to_owned(),
    };
    create.tags = Some(vec![tag.clone()]);
    pair.from.run(create).unwrap();
    pair.from
        .run(UpdateTimeToLive {
            table_name: "t".to_owned(),
            time_to_live_specification: TimeToLiveSpecification {
                enabled: true,
                attribute_name: "expires".to_owned(),
            },
        })
        .unwrap();
    for number in 0..100 {
        put(&pair.from, row(number, 1));
    }
    let report = pair.copy().unwrap();
    assert_eq!((report.rows, report.paused_ms), (100, None));
    assert_eq!(report.verified[0].rows, 100);
    assert_eq!(rows(&pair.to, "t"), rows(&pair.from, "t"));
    let described = |db: &Embedded| {
        let request = DescribeTable {
            table_name: "t".to_owned(),
        };
        *db.run(request).unwrap().table
    };
    let (from, to) = (described(&pair.from), described(&pair.to));
    assert_eq!(to.key_schema, from.key_schema);
    assert_eq!(to.stream_specification, from.stream_specification);
    let (from_index, to_index) = (
        from.global_secondary_indexes.unwrap(),
        to.global_secondary_indexes.unwrap(),
    );
    assert_eq!(to_index[0].key_schema, from_index[0].key_schema);
    assert_eq!(to_index[0].item_count, 100);
    let tags = pair.to.run(ListTagsOfResource {
        resource_arn: to.table_arn,
        next_token: None,
    });
    assert_eq!(tags.unwrap().tags, [tag]);
    let expiry = pair.to.run(DescribeTimeToLive {
        table_name: "t".to_owned(),
    });
    let expiry = expiry.unwrap().time_to_live_description;
    assert_eq!(expiry.time_to_live_status, TimeToLiveStatus::Enabled);
    assert_eq!(expiry.attribute_name.as_deref(), Some("expires"));
}

#[test]
fn only_the_tables_that_were_asked_for_are_copied() {
    let mut pair = Pair::new(SideKind::Directory);
    for name in ["t", "u"] {
        pair.from.run(table(name)).unwrap();
        put_into(&pair.from, name, row(1, 1));
    }
    pair.settings.tables = vec!["u".to_owned()];
    assert_eq!(pair.copy().unwrap().rows, 1);
    let there = pair.to.run(trestle_api::ListTables::default()).unwrap();
    assert_eq!(there.table_names, ["u"]);
    pair.settings.tables = vec!["w".to_owned()];
    assert!(refusal(pair.job().plan(None)).contains("there is t, u"));
}

#[test]
fn a_table_with_rows_or_another_key_is_in_the_way() {
    let pair = Pair::new(SideKind::Directory);
    pair.from.run(table("t")).unwrap();
    put(&pair.from, row(1, 1));
    pair.to.run(table("t")).unwrap();
    put(&pair.to, row(2, 2));
    assert!(refusal(pair.job().plan(None)).contains("has rows"));
    let pair = Pair::new(SideKind::Directory);
    pair.from.run(table("t")).unwrap();
    let mut other = table("t");
    other.key_schema[0].attribute_name = "id".to_owned();
    other.attribute_definitions[0].attribute_name = "id".to_owned();
    pair.to.run(other).unwrap();
    assert!(refusal(pair.job().plan(None)).contains("another key"));
}

fn refusal<T>(plan: impl Future<Output = Result<T, CopyError>>) -> String {
    match crate::support::runtime().block_on(plan) {
        Err(CopyError::Refused(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was not refused"),
    }
}
