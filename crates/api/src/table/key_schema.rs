//! The attributes that make up a key.

use serde::{Deserialize, Serialize};
use trestle_item::ScalarType;

/// The type of an attribute that some key uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct AttributeDefinition {
    /// The attribute.
    pub attribute_name: String,
    /// Its type.
    pub attribute_type: ScalarType,
}

/// One attribute of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct KeySchemaElement {
    /// The attribute.
    pub attribute_name: String,
    /// Its part in the key.
    pub key_type: KeyType,
}

wire_enum! {
    /// The part an attribute plays in a key.
    pub enum KeyType {
        /// Partition key.
        Hash = "HASH",
        /// Sort key.
        Range = "RANGE",
    }
}
