//! Tables, their settings and their tags.

use super::common::{KEY_NAME, NAME, NAME_OR_ARN, TABLE, TABLE_NAME};
use crate::shape::{
    FREE, List, Member, Presence, Range, Rule, Shape, Structure, Text, Voice, free_text, list, member,
    required, structure, text,
};

const DEMANDED: Presence =
    Presence::Demanded("The parameter 'TableName' is required but was not present in the request");

/// An existing table.
const EXISTING: Member = required("TableName", Shape::Text(&TABLE_NAME))
    .said(Voice::Alone)
    .when_missing(DEMANDED);

/// `DescribeTable`, `DeleteTable` and the other operations that take a table and nothing else.
pub(crate) static TABLE_ONLY: Structure = structure("DescribeTableInput", &[EXISTING]);

/// Operations without parameters.
pub(crate) static EMPTY: Structure = structure("DescribeLimitsInput", &[]);

pub(crate) static LIST_TABLES: Structure = structure(
    "ListTablesInput",
    &[
        member("ExclusiveStartTableName", Shape::Text(&NAME)),
        member("Limit", Shape::Integer(Range::between(1, 100))),
    ],
);

pub(crate) static CREATE_TABLE: Structure = structure(
    "CreateTableInput",
    &[
        required("TableName", Shape::Text(&NAME_OR_ARN))
            .said(Voice::Alone)
            .when_missing(DEMANDED),
        BILLING,
        THROUGHPUT,
        required("KeySchema", Shape::List(&KEY_SCHEMA)),
        required("AttributeDefinitions", Shape::List(&DEFINITIONS)),
        member("GlobalSecondaryIndexes", Shape::List(&GLOBAL_INDEXES)),
        member("LocalSecondaryIndexes", Shape::List(&LOCAL_INDEXES)),
        STREAM,
        ENCRYPTION,
        CLASS,
        member("Tags", Shape::List(&TAGS)),
        PROTECTION,
        ON_DEMAND,
        WARM,
        free_text("ResourcePolicy"),
        member("GlobalTableSourceArn", Shape::Anything),
        member("GlobalTableSettingsReplicationMode", Shape::Anything),
        member("VectorIndexes", Shape::Anything),
    ],
);

pub(crate) static UPDATE_TABLE: Structure = structure(
    "UpdateTableInput",
    &[
        EXISTING,
        BILLING,
        THROUGHPUT,
        member("AttributeDefinitions", Shape::List(&DEFINITIONS)),
        member("GlobalSecondaryIndexUpdates", Shape::List(&INDEX_UPDATES)),
        STREAM,
        ENCRYPTION,
        CLASS,
        PROTECTION,
        ON_DEMAND,
        WARM,
        member("ReplicaUpdates", Shape::Anything),
        member("MultiRegionConsistency", Shape::Anything),
        member("GlobalTableWitnessUpdates", Shape::Anything),
        member("GlobalTableSettingsReplicationMode", Shape::Anything),
        member("DisassociationProtectionEnabled", Shape::Anything),
        member("VectorIndexUpdates", Shape::Anything),
    ],
);

const BILLING: Member = member("BillingMode", Shape::Text(&BILLING_MODE));
const THROUGHPUT: Member = member("ProvisionedThroughput", Shape::Structure(&PROVISIONED_THROUGHPUT));
const STREAM: Member = member("StreamSpecification", Shape::Structure(&STREAM_SPECIFICATION));
const ENCRYPTION: Member = member("SSESpecification", Shape::Structure(&SSE_SPECIFICATION));
const CLASS: Member = member("TableClass", Shape::Text(&TABLE_CLASS));
const PROTECTION: Member = member("DeletionProtectionEnabled", Shape::Boolean);
const ON_DEMAND: Member = member("OnDemandThroughput", Shape::Structure(&ON_DEMAND_THROUGHPUT));
const WARM: Member = member("WarmThroughput", Shape::Structure(&WARM_THROUGHPUT));
const INDEX_NAME: Member = required("IndexName", Shape::Text(&NAME));
const PROJECTED: Member = required("Projection", Shape::Structure(&PROJECTION));

static BILLING_MODE: Text = text(&[Rule::OneOf(&["PROVISIONED", "PAY_PER_REQUEST"])]);
static TABLE_CLASS: Text = text(&[Rule::OneOf(&["STANDARD", "STANDARD_INFREQUENT_ACCESS"])]);
static ATTRIBUTE_TYPE: Text = text(&[Rule::OneOf(&["B", "N", "S"])]);
static KEY_TYPE: Text = text(&[Rule::OneOf(&["HASH", "RANGE"])]);
static PROJECTION_TYPE: Text = text(&[Rule::OneOf(&["ALL", "INCLUDE", "KEYS_ONLY"])]);
static SSE_TYPE: Text = text(&[Rule::OneOf(&["AES256", "KMS"])]);
static VIEW_TYPE: Text = text(&[Rule::OneOf(&[
    "KEYS_ONLY",
    "NEW_IMAGE",
    "OLD_IMAGE",
    "NEW_AND_OLD_IMAGES",
])]);

static PROVISIONED_THROUGHPUT: Structure = structure(
    "ProvisionedThroughput",
    &[
        required("WriteCapacityUnits", Shape::Long(Range::at_least(1))),
        required("ReadCapacityUnits", Shape::Long(Range::at_least(1))),
    ],
);

static ON_DEMAND_THROUGHPUT: Structure = structure(
    "OnDemandThroughput",
    &[
        member("MaxReadRequestUnits", Shape::Long(Range::ANY)),
        member("MaxWriteRequestUnits", Shape::Long(Range::ANY)),
    ],
);

static WARM_THROUGHPUT: Structure = structure(
    "WarmThroughput",
    &[
        member("ReadUnitsPerSecond", Shape::Long(Range::ANY)),
        member("WriteUnitsPerSecond", Shape::Long(Range::ANY)),
    ],
);

static DEFINITIONS: List = list(Shape::Structure(&ATTRIBUTE_DEFINITION));

static ATTRIBUTE_DEFINITION: Structure = structure(
    "AttributeDefinition",
    &[
        required("AttributeName", Shape::Text(&KEY_NAME)),
        required("AttributeType", Shape::Text(&ATTRIBUTE_TYPE)),
    ],
);

/// A table's key, or a local index's.
static KEY_SCHEMA: List = list(Shape::Structure(&KEY_SCHEMA_ELEMENT)).of_length(1, 2);

/// A global index's key: up to four attributes of each kind.
static WIDE_KEY_SCHEMA: List = list(Shape::Structure(&KEY_SCHEMA_ELEMENT)).of_length(1, 8);

static KEY_SCHEMA_ELEMENT: Structure = structure(
    "KeySchemaElement",
    &[
        required("AttributeName", Shape::Text(&KEY_NAME)),
        required("KeyType", Shape::Text(&KEY_TYPE)),
    ],
);

static PROJECTION: Structure = structure(
    "Projection",
    &[
        member("ProjectionType", Shape::Text(&PROJECTION_TYPE)),
        member("NonKeyAttributes", Shape::List(&NON_KEY_ATTRIBUTES)),
    ],
);

static NON_KEY_ATTRIBUTES: List = list(Shape::Text(&KEY_NAME)).of_length(1, 20);
static LOCAL_INDEXES: List = list(Shape::Structure(&LOCAL_INDEX));
static GLOBAL_INDEXES: List = list(Shape::Structure(&GLOBAL_INDEX));

static LOCAL_INDEX: Structure = structure(
    "LocalSecondaryIndex",
    &[
        INDEX_NAME,
        required("KeySchema", Shape::List(&KEY_SCHEMA)),
        PROJECTED,
    ],
);

static GLOBAL_INDEX: Structure = structure(
    "GlobalSecondaryIndex",
    &[
        required("KeySchema", Shape::List(&WIDE_KEY_SCHEMA)),
        PROJECTED,
        INDEX_NAME,
        THROUGHPUT,
        ON_DEMAND,
        WARM,
    ],
);

static INDEX_UPDATES: List = list(Shape::Structure(&INDEX_UPDATE));

static INDEX_UPDATE: Structure = structure(
    "GlobalSecondaryIndexUpdate",
    &[
        member("Update", Shape::Structure(&UPDATE_INDEX)),
        member("Create", Shape::Structure(&CREATE_INDEX)),
        member("Delete", Shape::Structure(&DELETE_INDEX)),
    ],
);

static UPDATE_INDEX: Structure = structure(
    "UpdateGlobalSecondaryIndexAction",
    &[INDEX_NAME, THROUGHPUT, ON_DEMAND, WARM],
);

static CREATE_INDEX: Structure = structure(
    "CreateGlobalSecondaryIndexAction",
    &[
        required("KeySchema", Shape::List(&WIDE_KEY_SCHEMA)),
        PROJECTED,
        INDEX_NAME,
        THROUGHPUT,
        ON_DEMAND,
        WARM,
    ],
);

static DELETE_INDEX: Structure = structure("DeleteGlobalSecondaryIndexAction", &[INDEX_NAME]);

static STREAM_SPECIFICATION: Structure = structure(
    "StreamSpecification",
    &[
        required("StreamEnabled", Shape::Boolean),
        member("StreamViewType", Shape::Text(&VIEW_TYPE)),
    ],
);

static SSE_SPECIFICATION: Structure = structure(
    "SSESpecification",
    &[
        member("Enabled", Shape::Boolean),
        member("SSEType", Shape::Text(&SSE_TYPE)),
        free_text("KMSMasterKeyId"),
    ],
);

pub(crate) static UPDATE_TIME_TO_LIVE: Structure = structure(
    "UpdateTimeToLiveInput",
    &[
        TABLE,
        required("TimeToLiveSpecification", Shape::Structure(&TIME_TO_LIVE)),
    ],
);

static TIME_TO_LIVE: Structure = structure(
    "TimeToLiveSpecification",
    &[
        required("AttributeName", Shape::Text(&KEY_NAME)),
        required("Enabled", Shape::Boolean),
    ],
);

static TAGS: List = list(Shape::Structure(&TAG));
static TAG_KEYS: List = list(Shape::Text(&FREE));

/// A table by its ARN. The engine checks the ARN.
const RESOURCE: Member =
    required("ResourceArn", Shape::Text(&FREE)).when_missing(Presence::Demanded("Invalid TableArn"));

/// A tag. The engine checks its texts, because AWS has separate sentences for them.
static TAG: Structure = structure(
    "Tag",
    &[
        free_text("Key").when_missing(Presence::Demanded("The Tag Key provided is invalid, Key: null")),
        free_text("Value").when_missing(Presence::Demanded(
            "The Tag Value provided is invalid, Value: null",
        )),
    ],
);

pub(crate) static TAG_RESOURCE: Structure = structure(
    "TagResourceInput",
    &[RESOURCE, required("Tags", Shape::List(&TAGS))],
);

pub(crate) static UNTAG_RESOURCE: Structure = structure(
    "UntagResourceInput",
    &[RESOURCE, required("TagKeys", Shape::List(&TAG_KEYS))],
);

pub(crate) static LIST_TAGS_OF_RESOURCE: Structure = structure(
    "ListTagsOfResourceInput",
    &[RESOURCE, member("NextToken", Shape::Text(&FREE))],
);
