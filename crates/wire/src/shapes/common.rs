//! Members that many operations share.

use crate::shape::{
    FREE, List, MapOf, Member, Rule, Shape, Structure, Text, Voice, list, map, member, required, structure,
    text,
};

/// A table named by an item operation, or by its ARN.
pub(super) static TABLE_NAME: Text = Text {
    rules: &[
        Rule::LengthMin(1),
        Rule::LengthMin(3),
        Rule::LengthMax(255),
        Rule::NamePattern,
    ],
    first_only: true,
    arn: true,
};

const NAME_RULES: &[Rule] = &[Rule::NamePattern, Rule::LengthMin(3), Rule::LengthMax(255)];

/// A table's or an index's name.
pub(super) static NAME: Text = text(NAME_RULES);

/// The name or ARN of a table that is made, or whose streams are listed.
pub(super) static NAME_OR_ARN: Text = text(NAME_RULES).or_arn();

/// The name of a key attribute, or of one projected into an index.
pub(super) static KEY_NAME: Text = text(&[Rule::LengthMin(1), Rule::LengthMax(255)]);

static CAPACITY: Text = text(&[Rule::OneOf(&["INDEXES", "TOTAL", "NONE"])]);
static METRICS: Text = text(&[Rule::OneOf(&["SIZE", "NONE"])]);
static VALUES: Text = text(&[Rule::OneOf(&[
    "ALL_NEW",
    "UPDATED_OLD",
    "ALL_OLD",
    "NONE",
    "UPDATED_NEW",
])]);
static VALUES_ON_FAILURE: Text = text(&[Rule::OneOf(&["ALL_OLD", "NONE"])]);
static CONDITIONAL: Text = text(&[Rule::OneOf(&["OR", "AND"])]);
static TOKEN: Text = text(&[Rule::LengthMin(1), Rule::LengthMax(36)]);
static COMPARISON: Text = text(&[Rule::OneOf(&[
    "IN",
    "NULL",
    "BETWEEN",
    "LT",
    "NOT_CONTAINS",
    "EQ",
    "GT",
    "NOT_NULL",
    "NE",
    "LE",
    "BEGINS_WITH",
    "GE",
    "CONTAINS",
])]);

pub(super) const TABLE: Member = required("TableName", Shape::Text(&TABLE_NAME)).said(Voice::Alone);
pub(super) const RETURN_CAPACITY: Member = member("ReturnConsumedCapacity", Shape::Text(&CAPACITY));
pub(super) const RETURN_METRICS: Member = member("ReturnItemCollectionMetrics", Shape::Text(&METRICS));
pub(super) const RETURN_VALUES: Member = member("ReturnValues", Shape::Text(&VALUES));
pub(super) const RETURN_ON_FAILURE: Member = member(
    "ReturnValuesOnConditionCheckFailure",
    Shape::Text(&VALUES_ON_FAILURE),
);
pub(super) const CONDITIONAL_OPERATOR: Member = member("ConditionalOperator", Shape::Text(&CONDITIONAL));
pub(super) const EXPECTED: Member = member("Expected", Shape::Map(&EXPECTATIONS));
pub(super) const KEY: Member = required("Key", Shape::Map(&ITEM));
pub(super) const NAMES: Member = member("ExpressionAttributeNames", Shape::Map(&NAME_MAP));
pub(super) const EXPRESSION_VALUES: Member = member("ExpressionAttributeValues", Shape::Map(&ITEM));
pub(super) const ATTRIBUTES_TO_GET: Member = member("AttributesToGet", Shape::List(&ATTRIBUTE_NAMES));
pub(super) const CONSISTENT_READ: Member = member("ConsistentRead", Shape::Boolean);
pub(super) const REQUEST_TOKEN: Member = member("ClientRequestToken", Shape::Text(&TOKEN));

static ATTRIBUTE_NAMES: List = list(Shape::Text(&FREE)).of_length(1, 255);
static NAME_MAP: MapOf = map(Shape::Text(&FREE));
static EXPECTATIONS: MapOf = map(Shape::Structure(&EXPECTED_ATTRIBUTE_VALUE));

/// An item, a key, or values by name.
pub(super) static ITEM: MapOf = map(Shape::Structure(&ATTRIBUTE_VALUE));

/// Attribute values in order.
pub(super) static VALUE_LIST: List = list(Shape::Structure(&ATTRIBUTE_VALUE));

static TEXT_SET: List = list(Shape::Text(&FREE));
static BLOB_SET: List = list(Shape::Blob);

/// One attribute value. Its own rules (one type, numbers, sets) belong to the item crate.
pub(super) static ATTRIBUTE_VALUE: Structure = structure(
    "AttributeValue",
    &[
        member("S", Shape::Text(&FREE)),
        member("N", Shape::Text(&FREE)),
        member("B", Shape::Blob),
        member("SS", Shape::List(&TEXT_SET)),
        member("NS", Shape::List(&TEXT_SET)),
        member("BS", Shape::List(&BLOB_SET)),
        member("M", Shape::Map(&ITEM)),
        member("L", Shape::List(&VALUE_LIST)),
        member("NULL", Shape::Boolean),
        member("BOOL", Shape::Boolean),
    ],
)
.echoed(&[
    "S",
    "N",
    "B",
    "INT",
    "DECIMAL",
    "DOUBLE",
    "SS",
    "NS",
    "BS",
    "INTSET",
    "DECIMALSET",
    "DOUBLESET",
    "M",
    "L",
    "NULL",
    "BOOL",
]);

static EXPECTED_ATTRIBUTE_VALUE: Structure = structure(
    "ExpectedAttributeValue",
    &[
        member("AttributeValueList", Shape::List(&VALUE_LIST)),
        member("ComparisonOperator", Shape::Text(&COMPARISON)),
        member("Exists", Shape::Boolean),
        member("Value", Shape::Structure(&ATTRIBUTE_VALUE)),
    ],
);

/// Conditions by attribute name: `KeyConditions`, `QueryFilter`, `ScanFilter`.
pub(super) static CONDITIONS: MapOf = map(Shape::Structure(&CONDITION));

static CONDITION: Structure = structure(
    "Condition",
    &[
        member("AttributeValueList", Shape::List(&VALUE_LIST)),
        required("ComparisonOperator", Shape::Text(&COMPARISON)),
    ],
);
