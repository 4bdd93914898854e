//! Tables and indexes: each kind of step, each kind of obstacle, and no step when repeated.

use crate::models::support::{DRY, PLAIN, SHOP, TestDb, create, empty, string, table};
use trestle_api::{
    CreateTable, DescribeTable, DescribeTimeToLive, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    LocalSecondaryIndex, Projection, ProjectionType, StreamSpecification, StreamViewType, TableDescription,
    TimeToLiveSpecification, UpdateTimeToLive,
};
use trestle_binding::{BindError, Outcome, Report, Step};
use trestle_embedded::{ApplyOptions, Unwatched};

fn steps(report: &Report) -> Vec<String> {
    report.steps.iter().map(Step::to_string).collect()
}

fn described(models: &TestDb, name: &str) -> TableDescription {
    let asked = DescribeTable {
        table_name: name.to_owned(),
    };
    *models.run(asked).unwrap().table
}

/// The one obstacle of a model that must be refused, as text.
fn obstacle(models: &TestDb, text: &str) -> String {
    let report = models.try_apply(text, PLAIN);
    assert_eq!(report.outcome, Outcome::Refused, "{report}");
    assert_eq!(report.obstacles.len(), 1, "{report}");
    assert!(models.db().models().list().is_empty(), "nothing is stored");
    report.obstacles[0].to_string()
}

fn shop_with(change: impl FnOnce(&mut CreateTable)) -> TestDb {
    let models = empty();
    let mut request = table("shop", &["pk", "sk"]);
    change(&mut request);
    models.run(request).unwrap();
    models
}

fn by_status(key: &[&str], kind: ProjectionType) -> GlobalSecondaryIndex {
    let kinds = [KeyType::Hash, KeyType::Range];
    GlobalSecondaryIndex {
        index_name: "by_status".to_owned(),
        key_schema: key
            .iter()
            .zip(kinds)
            .map(|(name, key_type)| KeySchemaElement {
                attribute_name: (*name).to_owned(),
                key_type,
            })
            .collect(),
        projection: Projection {
            projection_type: Some(kind),
            non_key_attributes: None,
        },
        ..GlobalSecondaryIndex::default()
    }
}

#[test]
fn an_empty_database_becomes_what_the_model_says() {
    let models = empty();
    let report = models.apply(SHOP);
    assert_eq!(
        steps(&report),
        [
            "create table shop",
            "table shop: turn on time to live by until",
            "store the model as version 1 and enforce it"
        ]
    );
    assert_eq!(report.version, Some(1));
    let there = described(&models, "shop");
    assert_eq!(there.key_schema.len(), 2);
    assert_eq!(there.global_secondary_indexes.unwrap()[0].index_name, "by_status");
    assert_eq!(
        there.stream_specification.unwrap().stream_view_type,
        Some(StreamViewType::NewAndOldImages)
    );
    let ttl = DescribeTimeToLive {
        table_name: "shop".to_owned(),
    };
    let ttl = models.run(ttl).unwrap().time_to_live_description;
    assert_eq!(ttl.attribute_name.as_deref(), Some("until"));
}

#[test]
fn a_second_run_has_nothing_to_do_and_stores_nothing() {
    let models = empty();
    models.apply(SHOP);
    let stored = models.documents();
    let again = models.try_apply(SHOP, PLAIN);
    assert_eq!(again.outcome, Outcome::NothingToDo, "{again}");
    assert!(
        again.to_string().starts_with("nothing to do: model shop"),
        "{again}"
    );
    assert_eq!(models.documents(), stored);
}

#[test]
fn a_dry_run_changes_nothing() {
    let models = empty();
    let report = models.try_apply(SHOP, DRY);
    assert_eq!(report.outcome, Outcome::Planned);
    assert_eq!(report.steps.len(), 3);
    assert!(models.documents().is_empty());
    let asked = DescribeTable {
        table_name: "shop".to_owned(),
    };
    assert!(models.run(asked).is_err());
}

#[test]
fn a_table_that_is_there_gets_what_it_lacks_one_step_at_a_time() {
    let models = empty();
    create(&models, "shop", &["pk", "sk"]);
    let report = models.apply(SHOP);
    assert_eq!(
        steps(&report),
        [
            "table shop: create index by_status",
            "table shop: open a stream of NEW_AND_OLD_IMAGES",
            "table shop: turn on time to live by until",
            "store the model as version 1 and enforce it"
        ]
    );
    assert_eq!(models.try_apply(SHOP, PLAIN).outcome, Outcome::NothingToDo);
    assert_eq!(
        described(&models, "shop").global_secondary_indexes.unwrap().len(),
        1
    );
}

#[test]
fn several_indexes_are_added_one_after_another_also_to_a_table_with_reserved_units() {
    let models = shop_with(|request| {
        request.billing_mode = None;
        request.provisioned_throughput = Some(trestle_api::ProvisionedThroughput {
            read_capacity_units: 5,
            write_capacity_units: 5,
        });
    });
    let text = SHOP.replace(
        "[entity.order]",
        "[table.shop.index.by_placed]\nkey = [\"placed\"]\nproject = [\"status\"]\n[entity.order]",
    );
    models.apply(&text);
    assert_eq!(
        described(&models, "shop").global_secondary_indexes.unwrap().len(),
        2
    );
}

#[test]
fn an_index_that_the_model_does_not_have_is_deleted_only_when_asked() {
    let models = empty();
    models.apply(SHOP);
    let without = SHOP
        .replace(
            "[table.shop.index.by_status]\nkey = [\"status_key\", \"placed\"]\n",
            "",
        )
        .replace(", status_key = \"{status}#{customer}\"", "");
    let report = models.try_apply(&without, DRY);
    assert!(
        report
            .to_string()
            .contains("index by_status is not in the model and stays"),
        "{report}"
    );
    let options = ApplyOptions {
        delete_indexes: true,
        ..PLAIN
    };
    let report = models.try_apply(&without, options);
    assert_eq!(report.outcome, Outcome::Applied, "{report}");
    assert!(
        steps(&report).contains(&"table shop: delete index by_status".to_owned()),
        "{report}"
    );
    assert_eq!(described(&models, "shop").global_secondary_indexes, None);
}

#[test]
fn another_key_is_an_obstacle() {
    let models = empty();
    create(&models, "shop", &["id"]);
    let text = obstacle(&models, SHOP);
    assert!(
        text.contains("there:  key id (S)\n  wanted: key pk (S), sk (S)"),
        "{text}"
    );
    assert!(text.contains("cannot change"), "{text}");
}

#[test]
fn a_key_of_another_type_is_an_obstacle() {
    let models = shop_with(|request| {
        request.attribute_definitions[1].attribute_type = trestle_item::ScalarType::N;
    });
    let text = obstacle(&models, SHOP);
    assert!(text.contains("there:  key pk (S), sk (N)"), "{text}");
}

#[test]
fn an_index_with_another_key_or_projection_is_an_obstacle_unless_it_may_be_deleted() {
    let cases = [
        by_status(&["status_key"], ProjectionType::All),
        by_status(&["status_key", "placed"], ProjectionType::KeysOnly),
    ];
    for index in cases {
        let models = shop_with(|request| {
            request.attribute_definitions.push(string("status_key"));
            if index.key_schema.len() == 2 {
                request.attribute_definitions.push(string("placed"));
            }
            request.global_secondary_indexes = Some(vec![index]);
        });
        let text = obstacle(&models, SHOP);
        assert!(text.contains("table shop: index by_status"), "{text}");
        assert!(text.contains("--delete-indexes"), "{text}");
        let options = ApplyOptions {
            delete_indexes: true,
            ..PLAIN
        };
        let report = models.try_apply(SHOP, options);
        assert_eq!(report.outcome, Outcome::Applied, "{report}");
        assert_eq!(
            steps(&report)[..2],
            [
                "table shop: delete index by_status",
                "table shop: create index by_status"
            ]
        );
    }
}

#[test]
fn an_attribute_that_is_a_key_of_another_type_elsewhere_is_an_obstacle() {
    let models = shop_with(|request| {
        let mut placed = string("placed");
        placed.attribute_type = trestle_item::ScalarType::N;
        request.attribute_definitions.push(placed);
        let mut index = by_status(&["placed"], ProjectionType::All);
        index.index_name = "by_time".to_owned();
        request.global_secondary_indexes = Some(vec![index]);
    });
    let text = obstacle(&models, SHOP);
    assert!(text.contains("key attribute placed of index by_status"), "{text}");
}

#[test]
fn a_local_index_cannot_be_added_and_a_global_one_cannot_become_local() {
    let local = SHOP
        .replace(
            "key = [\"status_key\", \"placed\"]",
            "key = [\"pk\", \"placed\"]\nlocal = true",
        )
        .replace(", status_key = \"{status}#{customer}\"", "");
    let models = empty();
    create(&models, "shop", &["pk", "sk"]);
    let text = obstacle(&models, &local);
    assert!(
        text.contains("local index by_status\n  there:  no such index"),
        "{text}"
    );

    let models = shop_with(|request| {
        request
            .attribute_definitions
            .extend([string("status_key"), string("placed")]);
        let index = by_status(&["status_key", "placed"], ProjectionType::All);
        request.global_secondary_indexes = Some(vec![index]);
    });
    assert!(obstacle(&models, &local).contains("there:  a global index\n  wanted: a local index"));

    let models = shop_with(|request| {
        request.attribute_definitions.push(string("placed"));
        let index = by_status(&["pk", "placed"], ProjectionType::All);
        request.local_secondary_indexes = Some(vec![LocalSecondaryIndex {
            index_name: index.index_name,
            key_schema: index.key_schema,
            projection: index.projection,
        }]);
    });
    assert!(obstacle(&models, SHOP).contains("there:  a local index\n  wanted: a global index"));
    models.apply(&local);
}

#[test]
fn time_to_live_by_another_attribute_and_another_stream_are_obstacles() {
    let models = shop_with(|_| {});
    let ttl = UpdateTimeToLive {
        table_name: "shop".to_owned(),
        time_to_live_specification: TimeToLiveSpecification {
            enabled: true,
            attribute_name: "expires".to_owned(),
        },
    };
    models.run(ttl).unwrap();
    let text = obstacle(&models, SHOP);
    assert!(
        text.contains("there:  attribute expires\n  wanted: attribute until"),
        "{text}"
    );

    let models = shop_with(|request| {
        request.stream_specification = Some(StreamSpecification {
            stream_enabled: true,
            stream_view_type: Some(StreamViewType::KeysOnly),
        });
    });
    let text = obstacle(&models, SHOP);
    assert!(
        text.contains("there:  KEYS_ONLY\n  wanted: NEW_AND_OLD_IMAGES"),
        "{text}"
    );
}

#[test]
fn two_models_live_side_by_side_but_not_in_one_table() {
    let models = empty();
    models.apply(SHOP);
    models.apply(&SHOP.replace("model = \"shop\"", "model = \"test\"\ntable_prefix = \"test-\""));
    let names: Vec<String> = models
        .db()
        .models()
        .list()
        .into_iter()
        .map(|model| model.name)
        .collect();
    assert_eq!(names, ["shop", "test"]);

    let report = models.try_apply(&SHOP.replace("model = \"shop\"", "model = \"rival\""), PLAIN);
    assert_eq!(report.outcome, Outcome::Refused);
    let text = report.to_string();
    assert!(
        text.contains("there:  model shop\n  wanted: model rival"),
        "{text}"
    );
    assert_eq!(models.db().models().list().len(), 2);
}

#[test]
fn a_model_with_errors_changes_nothing_and_names_them() {
    let models = empty();
    let text = SHOP.replace("table = \"shop\"", "table = \"shob\"");
    let error = models
        .db()
        .models()
        .apply(&text, PLAIN, &mut Unwatched)
        .unwrap_err();
    assert!(matches!(error, BindError::Unsound(_)));
    assert!(error.to_string().contains("shob"), "{error}");
    assert!(models.documents().is_empty());
}

#[test]
fn a_report_says_the_same_to_programs() {
    let models = empty();
    create(&models, "shop", &["id"]);
    let report = models.try_apply(SHOP, PLAIN);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["outcome"], "refused");
    assert_eq!(json["obstacles"][0]["table"], "shop");
    assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
}
