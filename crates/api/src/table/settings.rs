//! Settings of a table that do not concern its keys: stream, class, encryption.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::EpochSeconds;

/// Whether changes go to a stream, and what they show.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct StreamSpecification {
    /// Whether there is a stream.
    pub stream_enabled: bool,
    /// What a record shows; absent when there is none.
    pub stream_view_type: Option<StreamViewType>,
}

wire_enum! {
    /// What a stream record shows of the item.
    pub enum StreamViewType {
        /// The item after the change.
        NewImage = "NEW_IMAGE",
        /// The item before the change.
        OldImage = "OLD_IMAGE",
        /// Both.
        NewAndOldImages = "NEW_AND_OLD_IMAGES",
        /// Only its key.
        KeysOnly = "KEYS_ONLY",
    }
}

wire_enum! {
    /// The storage class. Trestle stores both alike.
    pub enum TableClass {
        /// For data in use.
        Standard = "STANDARD",
        /// For data seldom used.
        StandardInfrequentAccess = "STANDARD_INFREQUENT_ACCESS",
    }
}

/// The storage class of a table whose class was set.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TableClassSummary {
    /// The class.
    pub table_class: TableClass,
    /// When it last changed.
    pub last_update_date_time: Option<EpochSeconds>,
}

/// How to encrypt at rest. Stored and reported; Trestle leaves encryption to the disk.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SSESpecification {
    /// Whether to use a key of KMS.
    #[serde(rename = "Enabled")]
    pub enabled: Option<bool>,
    /// The kind of encryption.
    #[serde(rename = "SSEType")]
    pub sse_type: Option<SSEType>,
    /// Which key.
    #[serde(rename = "KMSMasterKeyId")]
    pub kms_master_key_id: Option<String>,
}

/// The encryption of a table, as reported.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SSEDescription {
    /// Whether it is on.
    #[serde(rename = "Status")]
    pub status: Option<SSEStatus>,
    /// The kind of encryption.
    #[serde(rename = "SSEType")]
    pub sse_type: Option<SSEType>,
    /// Which key.
    #[serde(rename = "KMSMasterKeyArn")]
    pub kms_master_key_arn: Option<String>,
    /// When the key became unusable.
    #[serde(rename = "InaccessibleEncryptionDateTime")]
    pub inaccessible_encryption_date_time: Option<EpochSeconds>,
}

wire_enum! {
    /// The kind of encryption.
    pub enum SSEType {
        /// With a key of KMS.
        Kms = "KMS",
        /// With a key of the service; not accepted in requests.
        Aes256 = "AES256",
    }
}

wire_enum! {
    /// Whether encryption with a key of KMS is on.
    pub enum SSEStatus {
        /// Off.
        Disabled = "DISABLED",
        /// Being turned on.
        Enabling = "ENABLING",
        /// On.
        Enabled = "ENABLED",
        /// Being turned off.
        Disabling = "DISABLING",
        /// Changing keys.
        Updating = "UPDATING",
    }
}
