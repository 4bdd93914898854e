//! Databases that models can be applied to.

use trestle_api::Database;
use trestle_embedded::{Embedded, Models};
#[cfg(feature = "remote")]
use trestle_gateway::Gateway;

/// A database that derives keys and carries out effects itself: one in this process, or an endpoint behind a `Gateway` (with the
/// feature `remote`). `apply_to` and `migrate_to` of generated clients take any.
pub trait WithModels: Database + Clone + 'static {
    /// The models that are stored with the data.
    fn models(&self) -> &Models;
}

impl WithModels for Embedded {
    fn models(&self) -> &Models {
        Embedded::models(self)
    }
}

#[cfg(feature = "remote")]
impl WithModels for Gateway {
    fn models(&self) -> &Models {
        Gateway::models(self)
    }
}
