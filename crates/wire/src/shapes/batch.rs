//! Batches.

use super::common::{ATTRIBUTES_TO_GET, CONSISTENT_READ, ITEM, KEY, NAMES, RETURN_CAPACITY, RETURN_METRICS};
use crate::shape::{
    Length, List, MapOf, Presence, Rule, Shape, Structure, Voice, free_text, list, member, required,
    structure,
};

const TABLE_KEYS: &[Rule] = &[Rule::LengthMax(255), Rule::LengthMin(3), Rule::NamePattern];

pub(crate) static BATCH_GET_ITEM: Structure = structure(
    "BatchGetItemInput",
    &[
        RETURN_CAPACITY,
        required("RequestItems", Shape::Map(&GETS_BY_TABLE)).when_missing(Presence::NotEmpty(
            "The requestItems parameter is required for BatchGetItem",
        )),
    ],
);

static GETS_BY_TABLE: MapOf = MapOf {
    of: Shape::Structure(&KEYS_AND_ATTRIBUTES),
    key_rules: TABLE_KEYS,
    arn_keys: true,
    value_length: None,
};

static KEYS_AND_ATTRIBUTES: Structure = structure(
    "KeysAndAttributes",
    &[
        required("Keys", Shape::List(&KEYS)).said(Voice::Terse),
        ATTRIBUTES_TO_GET,
        CONSISTENT_READ,
        free_text("ProjectionExpression"),
        NAMES,
    ],
);

static KEYS: List = list(Shape::Map(&ITEM)).of_length(1, 100);

pub(crate) static BATCH_WRITE_ITEM: Structure = structure(
    "BatchWriteItemInput",
    &[
        RETURN_CAPACITY,
        RETURN_METRICS,
        required("RequestItems", Shape::Map(&WRITES_BY_TABLE)).when_missing(Presence::NotEmpty(
            "The requestItems parameter is required for BatchWriteItem",
        )),
    ],
);

static WRITES_BY_TABLE: MapOf = MapOf {
    of: Shape::List(&WRITES),
    key_rules: TABLE_KEYS,
    arn_keys: true,
    value_length: Some(Length { min: 1, max: 25 }),
};

static WRITES: List = list(Shape::Structure(&WRITE_REQUEST));

static WRITE_REQUEST: Structure = structure(
    "WriteRequest",
    &[
        member("PutRequest", Shape::Structure(&PUT_REQUEST)),
        member("DeleteRequest", Shape::Structure(&DELETE_REQUEST)),
    ],
);

static PUT_REQUEST: Structure =
    structure("PutRequest", &[required("Item", Shape::Map(&ITEM))]).echoed(&["Item", "WorkloadProfileName"]);

static DELETE_REQUEST: Structure = structure("DeleteRequest", &[KEY]).echoed(&["Key", "WorkloadProfileName"]);
