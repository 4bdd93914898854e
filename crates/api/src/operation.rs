//! The list of operations, and what is generated from it.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::*;

/// Passes the list of operations to a macro: family, request, output and method name of each.
///
/// This is the one place where an operation is declared; requests, responses, dispatch and typed methods are
/// generated from it, here and in the crates that need a `match` over all operations.
#[macro_export]
macro_rules! for_each_operation {
    ($callback:ident) => {
        $callback! {
            DynamoDb CreateTable CreateTableOutput create_table,
            DynamoDb UpdateTable UpdateTableOutput update_table,
            DynamoDb DeleteTable DeleteTableOutput delete_table,
            DynamoDb DescribeTable DescribeTableOutput describe_table,
            DynamoDb ListTables ListTablesOutput list_tables,
            DynamoDb PutItem PutItemOutput put_item,
            DynamoDb GetItem GetItemOutput get_item,
            DynamoDb UpdateItem UpdateItemOutput update_item,
            DynamoDb DeleteItem DeleteItemOutput delete_item,
            DynamoDb Query QueryOutput query,
            DynamoDb Scan ScanOutput scan,
            DynamoDb BatchGetItem BatchGetItemOutput batch_get_item,
            DynamoDb BatchWriteItem BatchWriteItemOutput batch_write_item,
            DynamoDb TransactGetItems TransactGetItemsOutput transact_get_items,
            DynamoDb TransactWriteItems TransactWriteItemsOutput transact_write_items,
            DynamoDb UpdateTimeToLive UpdateTimeToLiveOutput update_time_to_live,
            DynamoDb DescribeTimeToLive DescribeTimeToLiveOutput describe_time_to_live,
            DynamoDb TagResource TagResourceOutput tag_resource,
            DynamoDb UntagResource UntagResourceOutput untag_resource,
            DynamoDb ListTagsOfResource ListTagsOfResourceOutput list_tags_of_resource,
            DynamoDb DescribeLimits DescribeLimitsOutput describe_limits,
            DynamoDb DescribeEndpoints DescribeEndpointsOutput describe_endpoints,
            DynamoDb DescribeContinuousBackups DescribeContinuousBackupsOutput describe_continuous_backups,
            DynamoDb ExecuteStatement ExecuteStatementOutput execute_statement,
            DynamoDb BatchExecuteStatement BatchExecuteStatementOutput batch_execute_statement,
            DynamoDb ExecuteTransaction ExecuteTransactionOutput execute_transaction,
            Streams ListStreams ListStreamsOutput list_streams,
            Streams DescribeStream DescribeStreamOutput describe_stream,
            Streams GetShardIterator GetShardIteratorOutput get_shard_iterator,
            Streams GetRecords GetRecordsOutput get_records,
        }
    };
}

/// Operations of the API that Trestle does not support. They are distinguished from names that do not exist.
pub const UNSUPPORTED: &[&str] = &[
    "CancelBulkOperation",
    "CreateBackup",
    "CreateGlobalTable",
    "DeleteBackup",
    "DeleteResourcePolicy",
    "DescribeBackup",
    "DescribeBulkOperation",
    "DescribeContributorInsights",
    "DescribeExport",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "DescribeImport",
    "DescribeKinesisStreamingDestination",
    "DescribeTableReplicaAutoScaling",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ExportTableToPointInTime",
    "GetResourcePolicy",
    "ImportTable",
    "ListBackups",
    "ListBulkOperations",
    "ListContributorInsights",
    "ListExports",
    "ListGlobalTables",
    "ListImports",
    "PutResourcePolicy",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "SearchVectors",
    "StartBulkPutItems",
    "UpdateContinuousBackups",
    "UpdateContributorInsights",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
    "UpdateKinesisStreamingDestination",
    "UpdateTableReplicaAutoScaling",
];

/// The two services that share the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Tables and items.
    DynamoDb,
    /// Streams of their changes.
    Streams,
}

/// A request with the type of its response.
pub trait Operation: Serialize + DeserializeOwned + Sized {
    /// Which operation it is.
    const NAME: OperationName;
    /// The type of its response.
    type Output: Serialize + DeserializeOwned + Send;

    /// This request as one of all requests.
    fn into_request(self) -> Request;

    /// The output in a response; `None` if it belongs to another operation.
    fn from_response(response: Response) -> Option<Self::Output>;
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! define {
    ($($family:ident $operation:ident $output:ident $method:ident,)*) => {
        /// Any request.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each variant holds the documented request of its name")]
        pub enum Request {
            $($operation($operation),)*
        }

        /// Any answer.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each variant holds the documented answer of the operation of its name")]
        pub enum Response {
            $($operation($output),)*
        }

        /// Which operation: what `X-Amz-Target` names, parsed once.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each variant is the operation of its name")]
        pub enum OperationName {
            $($operation,)*
        }

        impl OperationName {
            /// Every operation that Trestle has.
            pub const ALL: &'static [Self] = &[$(Self::$operation,)*];

            /// The name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$operation => stringify!($operation),)*
                }
            }

            /// The service that the operation belongs to.
            #[must_use]
            pub const fn family(self) -> Family {
                match self {
                    $(Self::$operation => Family::$family,)*
                }
            }
        }

        impl FromStr for OperationName {
            type Err = Error;

            /// `UnknownOperationException`, with a message only if DynamoDB has the operation and Trestle does not.
            fn from_str(name: &str) -> Result<Self, Error> {
                match name {
                    $(stringify!($operation) => Ok(Self::$operation),)*
                    _ if UNSUPPORTED.contains(&name) => Err(Error::unsupported_operation(name)),
                    _ => Err(Error::unknown_operation()),
                }
            }
        }

        impl Request {
            /// The operation that is asked for.
            #[must_use]
            pub const fn operation(&self) -> OperationName {
                match self {
                    $(Self::$operation(_) => OperationName::$operation,)*
                }
            }

            /// Reads the request of an operation.
            ///
            /// # Errors
            ///
            /// Those of the deserializer.
            pub fn deserialize<'de, D: Deserializer<'de>>(
                operation: OperationName,
                deserializer: D,
            ) -> Result<Self, D::Error> {
                match operation {
                    $(OperationName::$operation => {
                        $operation::deserialize(deserializer).map(Self::$operation)
                    })*
                }
            }
        }

        impl Response {
            /// The operation that is answered.
            #[must_use]
            pub const fn operation(&self) -> OperationName {
                match self {
                    $(Self::$operation(_) => OperationName::$operation,)*
                }
            }

            /// Reads the answer of an operation.
            ///
            /// # Errors
            ///
            /// Those of the deserializer.
            pub fn deserialize<'de, D: Deserializer<'de>>(
                operation: OperationName,
                deserializer: D,
            ) -> Result<Self, D::Error> {
                match operation {
                    $(OperationName::$operation => {
                        $output::deserialize(deserializer).map(Self::$operation)
                    })*
                }
            }
        }

        impl Serialize for Request {
            /// The body alone; the name is sent separately.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$operation(request) => request.serialize(serializer),)*
                }
            }
        }

        impl Serialize for Response {
            /// The body alone.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$operation(output) => output.serialize(serializer),)*
                }
            }
        }

        $(
            impl Operation for $operation {
                const NAME: OperationName = OperationName::$operation;
                type Output = $output;

                fn into_request(self) -> Request {
                    Request::$operation(self)
                }

                fn from_response(response: Response) -> Option<$output> {
                    if let Response::$operation(output) = response { Some(output) } else { None }
                }
            }

            impl From<$operation> for Request {
                fn from(request: $operation) -> Self {
                    Self::$operation(request)
                }
            }

            impl From<$output> for Response {
                fn from(output: $output) -> Self {
                    Self::$operation(output)
                }
            }
        )*
    };
}

for_each_operation!(define);
