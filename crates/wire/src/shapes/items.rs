//! Operations on items.

use super::common::{
    ATTRIBUTE_VALUE, ATTRIBUTES_TO_GET, CONDITIONAL_OPERATOR, CONDITIONS, CONSISTENT_READ, EXPECTED,
    EXPRESSION_VALUES, ITEM, KEY, NAME, NAMES, RETURN_CAPACITY, RETURN_METRICS, RETURN_ON_FAILURE,
    RETURN_VALUES, TABLE,
};
use crate::shape::{
    MapOf, Member, Range, Rule, Shape, Structure, Text, Voice, free_text, map, member, required, structure,
    text,
};

pub(crate) static PUT_ITEM: Structure = structure(
    "PutItemInput",
    &[
        TABLE,
        required("Item", Shape::Map(&ITEM)),
        RETURN_CAPACITY,
        RETURN_VALUES,
        RETURN_METRICS,
        RETURN_ON_FAILURE,
        CONDITIONAL_OPERATOR,
        EXPECTED,
        free_text("ConditionExpression"),
        NAMES,
        EXPRESSION_VALUES,
    ],
);

pub(crate) static GET_ITEM: Structure = structure(
    "GetItemInput",
    &[
        KEY,
        TABLE,
        RETURN_CAPACITY,
        ATTRIBUTES_TO_GET,
        CONSISTENT_READ,
        free_text("ProjectionExpression"),
        NAMES,
    ],
);

pub(crate) static UPDATE_ITEM: Structure = structure(
    "UpdateItemInput",
    &[
        RETURN_CAPACITY,
        TABLE.said(Voice::AloneIfComplete),
        RETURN_VALUES,
        RETURN_METRICS,
        RETURN_ON_FAILURE,
        CONDITIONAL_OPERATOR,
        KEY,
        EXPECTED,
        member("AttributeUpdates", Shape::Map(&UPDATES)),
        free_text("UpdateExpression"),
        free_text("ConditionExpression"),
        NAMES,
        EXPRESSION_VALUES,
    ],
);

static UPDATES: MapOf = map(Shape::Structure(&ATTRIBUTE_VALUE_UPDATE));
static ACTION: Text = text(&[Rule::OneOf(&["ADD", "DELETE", "PUT"])]);

static ATTRIBUTE_VALUE_UPDATE: Structure = structure(
    "AttributeValueUpdate",
    &[
        member("Action", Shape::Text(&ACTION)),
        member("Value", Shape::Structure(&ATTRIBUTE_VALUE)),
    ],
);

pub(crate) static DELETE_ITEM: Structure = structure(
    "DeleteItemInput",
    &[
        TABLE,
        KEY,
        RETURN_CAPACITY,
        RETURN_VALUES,
        RETURN_METRICS,
        RETURN_ON_FAILURE,
        CONDITIONAL_OPERATOR,
        EXPECTED,
        free_text("ConditionExpression"),
        NAMES,
        EXPRESSION_VALUES,
    ],
);

static SELECTION: Text = text(&[Rule::OneOf(&[
    "SPECIFIC_ATTRIBUTES",
    "COUNT",
    "ALL_ATTRIBUTES",
    "ALL_PROJECTED_ATTRIBUTES",
])]);

const SELECT: Member = member("Select", Shape::Text(&SELECTION));
const INDEX: Member = member("IndexName", Shape::Text(&NAME));
const START_KEY: Member = member("ExclusiveStartKey", Shape::Map(&ITEM));

pub(crate) static QUERY: Structure = structure(
    "QueryInput",
    &[
        SELECT,
        INDEX,
        RETURN_CAPACITY,
        member("QueryFilter", Shape::Map(&CONDITIONS)),
        TABLE,
        CONDITIONAL_OPERATOR,
        ATTRIBUTES_TO_GET,
        member("Limit", Shape::Integer(Range::at_least(1))).said(Voice::Terse),
        member("KeyConditions", Shape::Map(&CONDITIONS)),
        START_KEY,
        CONSISTENT_READ,
        member("ScanIndexForward", Shape::Boolean),
        free_text("KeyConditionExpression"),
        free_text("FilterExpression"),
        free_text("ProjectionExpression"),
        NAMES,
        EXPRESSION_VALUES,
    ],
);

pub(crate) static SCAN: Structure = structure(
    "ScanInput",
    &[
        SELECT,
        INDEX,
        member("TotalSegments", Shape::Integer(Range::between(1, 1_000_000))),
        RETURN_CAPACITY,
        TABLE,
        CONDITIONAL_OPERATOR,
        member("ScanFilter", Shape::Map(&CONDITIONS)),
        member("Segment", Shape::Integer(Range::between(0, 999_999))),
        member("Limit", Shape::Integer(Range::at_least(1))),
        ATTRIBUTES_TO_GET,
        START_KEY,
        CONSISTENT_READ,
        free_text("FilterExpression"),
        free_text("ProjectionExpression"),
        NAMES,
        EXPRESSION_VALUES,
    ],
);
