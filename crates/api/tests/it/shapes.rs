//! Compares every name with the list in `shapes.txt`, so that no member is misspelt, missing or invented.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::value::{Error as ValueError, MapDeserializer};
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use trestle_api::*;
use trestle_item::ScalarType;

const LIST: &str = include_str!("shapes.txt");

/// The rest of each line of one kind, by the name it starts with.
fn lines(kind: &str) -> BTreeMap<&'static str, Vec<&'static str>> {
    let words = LIST.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    words
        .filter(|words| words[0] == kind)
        .map(|words| (words[1], words[2..].to_vec()))
        .collect()
}

/// Finds a struct's members by deserialising an empty map.
struct Members<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Members<'_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_map(MapDeserializer::new(std::iter::empty::<(&str, &str)>()))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Members that only Trestle has: COMPAT.md names them.
const OWN_MEMBERS: [(&str, &str); 1] = [("CancellationReason", "Taken")];

/// Removes shapes from the list as they are compared; the rest has no type in this crate.
struct Check {
    left: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Check {
    /// Compares names; `without` are the members that Trestle leaves out.
    fn members<T: for<'de> Deserialize<'de>>(
        &mut self,
        shape: &str,
        without: &[&str],
    ) -> Result<T, ValueError> {
        let theirs = self
            .left
            .remove(shape)
            .unwrap_or_else(|| panic!("{shape} is listed once"));
        let theirs: BTreeSet<_> = theirs.iter().map(|name| name.trim_end_matches('!')).collect();
        assert!(
            without.iter().all(|name| theirs.contains(name)),
            "{shape} has what is left out"
        );
        let mut ours: &'static [&'static str] = &[];
        let empty = T::deserialize(Members(&mut ours));
        let ours = ours.iter().chain(without).copied();
        let ours: BTreeSet<_> = ours
            .filter(|name| !OWN_MEMBERS.contains(&(shape, name)))
            .collect();
        assert_eq!(ours, theirs, "members of {shape}");
        empty
    }

    /// A shape of requests: required members must be present.
    fn request<T: for<'de> Deserialize<'de>>(&mut self, shape: &str) {
        let required: Vec<_> = self
            .left
            .get(shape)
            .into_iter()
            .flatten()
            .filter_map(|n| n.strip_suffix('!'))
            .collect();
        match self.members::<T>(shape, &[]) {
            Ok(_) => assert!(required.is_empty(), "{shape} does without {required:?}"),
            Err(error) => {
                let error = error.to_string();
                assert!(
                    required
                        .iter()
                        .any(|name| error == format!("missing field `{name}`")),
                    "{shape}: {error}"
                );
            }
        }
    }

    /// A shape that occurs only in responses: missing members are accepted.
    fn answer<T: for<'de> Deserialize<'de>>(&mut self, shape: &str) {
        self.answer_without::<T>(shape, &[]);
    }

    fn answer_without<T: for<'de> Deserialize<'de>>(&mut self, shape: &str, without: &[&str]) {
        self.members::<T>(shape, without)
            .unwrap_or_else(|error| panic!("{shape}: {error}"));
    }
}

macro_rules! shapes {
    ($check:ident.$method:ident: $($shape:ident $type:ty),* $(,)?) => {
        $($check.$method::<$type>(stringify!($shape));)*
    };
}

#[test]
fn every_member_of_every_shape_is_named_as_in_the_service_model() {
    let mut check = Check {
        left: lines("struct"),
    };
    shapes!(check.request:
        AttributeDefinition AttributeDefinition, AttributeValueUpdate AttributeValueUpdate,
        BatchExecuteStatementInput BatchExecuteStatement, BatchGetItemInput BatchGetItem,
        BatchStatementRequest BatchStatementRequest, BatchWriteItemInput BatchWriteItem, Condition LegacyCondition,
        ConditionCheck ConditionCheck, CreateGlobalSecondaryIndexAction GlobalSecondaryIndex,
        CreateTableInput CreateTable, Delete Delete, DeleteItemInput DeleteItem, DeleteRequest DeleteRequest,
        DeleteGlobalSecondaryIndexAction DeleteGlobalSecondaryIndexAction, DeleteTableInput DeleteTable,
        DescribeContinuousBackupsInput DescribeContinuousBackups, DescribeEndpointsRequest DescribeEndpoints,
        DescribeLimitsInput DescribeLimits, DescribeStreamInput DescribeStream, DescribeTableInput DescribeTable,
        DescribeTimeToLiveInput DescribeTimeToLive, ExecuteStatementInput ExecuteStatement,
        ExecuteTransactionInput ExecuteTransaction, ExpectedAttributeValue ExpectedAttributeValue, Get Get,
        GetItemInput GetItem, GetRecordsInput GetRecords, GetShardIteratorInput GetShardIterator,
        GlobalSecondaryIndex GlobalSecondaryIndex, GlobalSecondaryIndexUpdate GlobalSecondaryIndexUpdate,
        KeySchemaElement KeySchemaElement, KeysAndAttributes KeysAndAttributes, ListStreamsInput ListStreams,
        ListTablesInput ListTables, ListTagsOfResourceInput ListTagsOfResource,
        LocalSecondaryIndex LocalSecondaryIndex, OnDemandThroughput OnDemandThroughput,
        ParameterizedStatement ParameterizedStatement, Projection Projection,
        ProvisionedThroughput ProvisionedThroughput, Put Put, PutItemInput PutItem, PutRequest PutRequest,
        QueryInput Query, SSESpecification SSESpecification, ScanInput Scan, ShardFilter ShardFilter,
        StreamSpecification StreamSpecification, Tag Tag, TagResourceInput TagResource,
        TimeToLiveSpecification TimeToLiveSpecification, TransactGetItem TransactGetItem,
        TransactGetItemsInput TransactGetItems, TransactWriteItem TransactWriteItem,
        TransactWriteItemsInput TransactWriteItems, UntagResourceInput UntagResource, Update Update,
        UpdateGlobalSecondaryIndexAction UpdateGlobalSecondaryIndexAction, UpdateItemInput UpdateItem,
        UpdateTableInput UpdateTable, UpdateTimeToLiveInput UpdateTimeToLive, WarmThroughput WarmThroughput,
        WriteRequest WriteRequest,
    );
    shapes!(check.answer:
        BatchExecuteStatementOutput BatchExecuteStatementOutput, BatchGetItemOutput BatchGetItemOutput,
        BatchStatementError BatchStatementError, BatchStatementResponse BatchStatementResponse,
        BatchWriteItemOutput BatchWriteItemOutput, BillingModeSummary BillingModeSummary,
        CancellationReason CancellationReason, Capacity Capacity,
        ContinuousBackupsDescription ContinuousBackupsDescription, CreateTableOutput CreateTableOutput,
        DeleteItemOutput DeleteItemOutput, DeleteTableOutput DeleteTableOutput,
        DescribeContinuousBackupsOutput DescribeContinuousBackupsOutput,
        DescribeEndpointsResponse DescribeEndpointsOutput, DescribeLimitsOutput DescribeLimitsOutput,
        DescribeStreamOutput DescribeStreamOutput, DescribeTableOutput DescribeTableOutput,
        DescribeTimeToLiveOutput DescribeTimeToLiveOutput, Endpoint Endpoint,
        ExecuteStatementOutput ExecuteStatementOutput, ExecuteTransactionOutput ExecuteTransactionOutput,
        GetItemOutput GetItemOutput, GetRecordsOutput GetRecordsOutput,
        GetShardIteratorOutput GetShardIteratorOutput,
        GlobalSecondaryIndexDescription GlobalSecondaryIndexDescription,
        GlobalSecondaryIndexWarmThroughputDescription GlobalSecondaryIndexWarmThroughputDescription,
        Identity Identity, ItemCollectionMetrics ItemCollectionMetrics, ItemResponse ItemResponse,
        ListStreamsOutput ListStreamsOutput, ListTablesOutput ListTablesOutput,
        ListTagsOfResourceOutput ListTagsOfResourceOutput,
        LocalSecondaryIndexDescription LocalSecondaryIndexDescription,
        PointInTimeRecoveryDescription PointInTimeRecoveryDescription,
        ProvisionedThroughputDescription ProvisionedThroughputDescription, PutItemOutput PutItemOutput,
        QueryOutput QueryOutput, Record Record, SSEDescription SSEDescription, ScanOutput ScanOutput,
        SequenceNumberRange SequenceNumberRange, Shard Shard, Stream Stream, StreamDescription StreamDescription,
        StreamRecord StreamRecord, TableClassSummary TableClassSummary,
        TableWarmThroughputDescription TableWarmThroughputDescription,
        TimeToLiveDescription TimeToLiveDescription, TransactGetItemsOutput TransactGetItemsOutput,
        TransactWriteItemsOutput TransactWriteItemsOutput, UpdateItemOutput UpdateItemOutput,
        UpdateTableOutput UpdateTableOutput, UpdateTimeToLiveOutput UpdateTimeToLiveOutput,
    );
    // Global tables, restores, archives and vectors never appear in an answer of Trestle's.
    check.answer_without::<ConsumedCapacity>("ConsumedCapacity", &["VectorIndexes"]);
    check.answer_without::<TableDescription>(
        "TableDescription",
        &[
            "ArchivalSummary",
            "DisassociationProtectionEnabled",
            "GlobalTableSettingsReplicationMode",
            "GlobalTableVersion",
            "GlobalTableWitnesses",
            "MultiRegionConsistency",
            "Replicas",
            "RestoreSummary",
            "VectorIndexes",
        ],
    );
    assert_eq!(
        check.left.keys().collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "shapes without a type"
    );
}

/// The words of an enumeration, taken from the error for an unknown one.
fn words<T: for<'de> Deserialize<'de> + std::fmt::Debug>() -> BTreeSet<String> {
    let error = serde_json::from_str::<T>("\"NO_SUCH_WORD\"")
        .unwrap_err()
        .to_string();
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_word_of_every_enumeration_is_the_service_models() {
    let mut left = lines("enum");
    macro_rules! enums {
        ($($shape:ident $type:ident),* $(,)?) => {$(
            let theirs: BTreeSet<_> = left.remove(stringify!($shape)).unwrap().into_iter().map(str::to_owned).collect();
            assert_eq!(words::<$type>(), theirs, "words of {}", stringify!($shape));
            for word in &theirs {
                let value: $type = serde_json::from_value(word.as_str().into()).unwrap();
                assert_eq!(serde_json::to_value(value).unwrap(), word.as_str());
            }
        )*};
    }
    enums!(
        AttributeAction AttributeAction, BatchStatementErrorCodeEnum BatchStatementErrorCode,
        BillingMode BillingMode, ComparisonOperator ComparisonOperator, ConditionalOperator ConditionalOperator,
        ContinuousBackupsStatus ContinuousBackupsStatus, IndexStatus IndexStatus, KeyType KeyType,
        OperationType OperationType, PointInTimeRecoveryStatus PointInTimeRecoveryStatus,
        ProjectionType ProjectionType, ReturnConsumedCapacity ReturnConsumedCapacity,
        ReturnItemCollectionMetrics ReturnItemCollectionMetrics, ReturnValue ReturnValue,
        ReturnValuesOnConditionCheckFailure ReturnValuesOnConditionCheckFailure, SSEStatus SSEStatus,
        SSEType SSEType, ScalarAttributeType ScalarType, Select Select, ShardFilterType ShardFilterType,
        ShardIteratorType ShardIteratorType, StreamStatus StreamStatus, StreamViewType StreamViewType,
        TableClass TableClass, TableStatus TableStatus, TimeToLiveStatus TimeToLiveStatus,
    );
    assert_eq!(
        left.keys().collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "enumerations without a type"
    );
}

#[test]
fn every_operation_of_the_service_model_is_either_supported_or_known_not_to_be() {
    let theirs = lines("operations");
    let of = |family| {
        OperationName::ALL
            .iter()
            .filter(move |name| name.family() == family)
            .map(|name| name.as_str())
    };
    let tables: BTreeSet<_> = of(Family::DynamoDb).chain(UNSUPPORTED.iter().copied()).collect();
    assert_eq!(tables, theirs["DynamoDb"].iter().copied().collect());
    assert_eq!(
        of(Family::Streams).collect::<BTreeSet<_>>(),
        theirs["Streams"].iter().copied().collect()
    );
    assert_eq!(
        OperationName::ALL.len() + UNSUPPORTED.len(),
        tables.len() + theirs["Streams"].len(),
        "no name twice"
    );
}
