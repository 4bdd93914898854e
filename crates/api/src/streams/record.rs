//! One record of a stream. Its outer members are in camel case on the wire, unlike all others of the API.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::Item;

use crate::{EpochSeconds, StreamViewType};

/// One change to one item.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// Identifies this record.
    #[serde(rename = "eventID")]
    pub event_id: String,
    /// What happened.
    pub event_name: OperationType,
    /// Version of this format.
    pub event_version: String,
    /// The service, `aws:dynamodb`.
    pub event_source: String,
    /// The region.
    pub aws_region: String,
    /// The change itself.
    pub dynamodb: StreamRecord,
    /// The origin of the change, if it was the service itself.
    pub user_identity: Option<Identity>,
}

/// The principal of changes that the expiry of a time to live made.
pub const TIME_TO_LIVE_PRINCIPAL: &str = "dynamodb.amazonaws.com";
/// The principal of changes that only moved a row to another key, without a change by the application.
pub const MIGRATION_PRINCIPAL: &str = "trestle.migration";
/// The principal of changes that only raised the version attribute of a row, and of their effects, without a
/// change by the application.
pub const TOUCH_PRINCIPAL: &str = "trestle.reindex";

wire_enum! {
    /// What happened to an item.
    pub enum OperationType {
        /// It was created.
        Insert = "INSERT",
        /// It changed.
        Modify = "MODIFY",
        /// It was deleted or expired.
        Remove = "REMOVE",
    }
}

/// The change to the item.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StreamRecord {
    /// When, in whole seconds.
    pub approximate_creation_date_time: Option<EpochSeconds>,
    /// The item's key.
    pub keys: Item,
    /// The item after the change, if the stream shows it.
    pub new_image: Option<Item>,
    /// The item before the change, if the stream shows it.
    pub old_image: Option<Item>,
    /// The record's position in the shard.
    pub sequence_number: String,
    /// Size of keys and images.
    pub size_bytes: u64,
    /// What this record shows.
    pub stream_view_type: StreamViewType,
}

/// The origin of a change.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Identity {
    /// The service's name.
    pub principal_id: Option<String>,
    /// `Service`.
    #[serde(rename = "Type")]
    pub identity_type: Option<String>,
}
