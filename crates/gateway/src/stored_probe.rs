//! The result of the last probe of an endpoint: a row at the endpoint itself, with its date.

use serde::{Deserialize, Serialize};
use trestle_api::{Database, DatabaseExt, Error, ErrorKind, GetItem, PutItem};
use trestle_env::{Timestamp, iso_8601_millis};
use trestle_item::{AttributeValue, Item};

use crate::own_table::OwnTable;
use crate::probe::Capabilities;

const ENDPOINT: OwnTable = OwnTable {
    name: "_trestle.endpoint",
    key: NAME,
    range: None,
    ttl: None,
};
const NAME: &str = "name";
const PROBE: &str = "probe";
const FOUND: &str = "found";

/// The capabilities of an endpoint, and when they were probed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredProbe {
    /// For example `2026-11-18T08:00:00.000Z`.
    pub probed: String,
    /// The capabilities.
    #[serde(flatten)]
    pub capabilities: Capabilities,
}

impl StoredProbe {
    /// The result of a probe at a time.
    #[must_use]
    pub fn new(capabilities: Capabilities, at: Timestamp) -> Self {
        StoredProbe {
            probed: format!("{}Z", iso_8601_millis(at)),
            capabilities,
        }
    }

    /// The stored result; `None` if the endpoint was never probed.
    pub async fn read(database: &dyn Database) -> Result<Option<Self>, Error> {
        let asked = GetItem {
            table_name: ENDPOINT.name.to_owned(),
            key: Item::from([(NAME, PROBE)]),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        let row = match database.get_item(asked).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => None,
            answer => answer?.item,
        };
        let Some(row) = row else { return Ok(None) };
        let found = row.get(FOUND).and_then(AttributeValue::as_s).unwrap_or_default();
        serde_json::from_str(found).map(Some).map_err(|error| {
            Error::internal(format!(
                "what {} says of the endpoint cannot be read ({error}): run `trestle endpoint probe` again",
                ENDPOINT.name
            ))
        })
    }

    /// Stores the result at the endpoint, in place of the previous one.
    pub async fn store(&self, database: &dyn Database) -> Result<(), Error> {
        ENDPOINT.ensure(database).await?;
        let found = serde_json::to_string(self).map_err(|error| Error::internal(error.to_string()))?;
        let put = PutItem {
            table_name: ENDPOINT.name.to_owned(),
            item: Item::from([(NAME, PROBE), (FOUND, found.as_str())]),
            ..PutItem::default()
        };
        database.put_item(put).await.map(drop)
    }
}
