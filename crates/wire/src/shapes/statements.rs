//! PartiQL.

use super::common::{ATTRIBUTE_VALUE, CONSISTENT_READ, REQUEST_TOKEN, RETURN_CAPACITY, RETURN_ON_FAILURE};
use crate::shape::{
    List, Member, Range, Rule, Shape, Structure, Text, list, member, required, structure, text,
};

static STATEMENT_TEXT: Text = text(&[Rule::LengthMin(1), Rule::LengthMax(8192)]);
static NEXT_TOKEN: Text = text(&[Rule::LengthMin(1), Rule::LengthMax(32_768)]);
static PARAMETER_LIST: List = list(Shape::Structure(&ATTRIBUTE_VALUE)).of_length(1, usize::MAX);

const STATEMENT: Member = required("Statement", Shape::Text(&STATEMENT_TEXT));
const PARAMETERS: Member = member("Parameters", Shape::List(&PARAMETER_LIST));

pub(crate) static EXECUTE_STATEMENT: Structure = structure(
    "ExecuteStatementInput",
    &[
        STATEMENT,
        PARAMETERS,
        CONSISTENT_READ,
        member("NextToken", Shape::Text(&NEXT_TOKEN)),
        member("Limit", Shape::Integer(Range::at_least(1))),
        RETURN_ON_FAILURE,
        RETURN_CAPACITY,
    ],
);

pub(crate) static BATCH_EXECUTE_STATEMENT: Structure = structure(
    "BatchExecuteStatementInput",
    &[RETURN_CAPACITY, required("Statements", Shape::List(&BATCH))],
);

static BATCH: List = list(Shape::Structure(&BATCH_STATEMENT)).of_length(1, 25);

static BATCH_STATEMENT: Structure = structure(
    "BatchStatementRequest",
    &[STATEMENT, PARAMETERS, CONSISTENT_READ, RETURN_ON_FAILURE],
);

pub(crate) static EXECUTE_TRANSACTION: Structure = structure(
    "ExecuteTransactionInput",
    &[
        required("TransactStatements", Shape::List(&TRANSACTION)),
        REQUEST_TOKEN,
        RETURN_CAPACITY,
    ],
);

static TRANSACTION: List = list(Shape::Structure(&PARAMETERIZED_STATEMENT)).of_length(1, 100);

static PARAMETERIZED_STATEMENT: Structure = structure(
    "ParameterizedStatement",
    &[STATEMENT, PARAMETERS, RETURN_ON_FAILURE],
);
