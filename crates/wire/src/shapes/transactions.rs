//! Transactions.

use super::common::{
    EXPRESSION_VALUES, ITEM, KEY, NAMES, REQUEST_TOKEN, RETURN_CAPACITY, RETURN_METRICS, RETURN_ON_FAILURE,
    TABLE,
};
use crate::shape::{FREE, List, Shape, Structure, free_text, list, member, required, structure};

pub(crate) static TRANSACT_WRITE_ITEMS: Structure = structure(
    "TransactWriteItemsInput",
    &[
        required("TransactItems", Shape::List(&WRITES)),
        REQUEST_TOKEN,
        RETURN_CAPACITY,
        RETURN_METRICS,
    ],
);

static WRITES: List = list(Shape::Structure(&TRANSACT_WRITE_ITEM)).of_length(1, 100);

static TRANSACT_WRITE_ITEM: Structure = structure(
    "TransactWriteItem",
    &[
        member("ConditionCheck", Shape::Structure(&CONDITION_CHECK)),
        member("Put", Shape::Structure(&PUT)),
        member("Delete", Shape::Structure(&DELETE)),
        member("Update", Shape::Structure(&UPDATE)),
    ],
);

static CONDITION_CHECK: Structure = structure(
    "ConditionCheck",
    &[
        KEY,
        TABLE,
        required("ConditionExpression", Shape::Text(&FREE)),
        NAMES,
        EXPRESSION_VALUES,
        RETURN_ON_FAILURE,
    ],
);

static PUT: Structure = structure(
    "Put",
    &[
        required("Item", Shape::Map(&ITEM)),
        TABLE,
        free_text("ConditionExpression"),
        NAMES,
        EXPRESSION_VALUES,
        RETURN_ON_FAILURE,
    ],
);

static DELETE: Structure = structure(
    "Delete",
    &[
        KEY,
        TABLE,
        free_text("ConditionExpression"),
        NAMES,
        EXPRESSION_VALUES,
        RETURN_ON_FAILURE,
    ],
);

static UPDATE: Structure = structure(
    "Update",
    &[
        KEY,
        required("UpdateExpression", Shape::Text(&FREE)),
        TABLE,
        free_text("ConditionExpression"),
        NAMES,
        EXPRESSION_VALUES,
        RETURN_ON_FAILURE,
    ],
);

pub(crate) static TRANSACT_GET_ITEMS: Structure = structure(
    "TransactGetItemsInput",
    &[required("TransactItems", Shape::List(&GETS)), RETURN_CAPACITY],
);

static GETS: List = list(Shape::Structure(&TRANSACT_GET_ITEM)).of_length(1, 100);

static TRANSACT_GET_ITEM: Structure =
    structure("TransactGetItem", &[required("Get", Shape::Structure(&GET))]);

static GET: Structure = structure("Get", &[KEY, TABLE, free_text("ProjectionExpression"), NAMES]);
