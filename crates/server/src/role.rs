//! What the holder of an access key may do.

use crate::administration;
use serde::{Deserialize, Serialize};
use trestle_admin::{AdminError, AdminErrorCode};
use trestle_api::{Error, OperationName, Request};
use trestle_queue::sqs::QueueOperation;
use trestle_sigv4::AccessKey;

/// What the holder of an access key may do. Each role includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Read tables, items, streams, and the state of queues.
    ReadOnly,
    /// Read and write tables, items and queues.
    Data,
    /// Everything: also the administration, with models, migrations, routes and backups.
    Administration,
}

/// An access key, and what its holder may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyGrant {
    /// The key.
    pub key: AccessKey,
    /// The role of its holder.
    pub role: Role,
}

impl KeyGrant {
    /// A key for everything.
    #[must_use]
    pub fn everything(key: AccessKey) -> Self {
        KeyGrant {
            key,
            role: Role::Administration,
        }
    }
}

/// The sender of a request, as far as known.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The id of the access key; none where no request is signed.
    pub(crate) key_id: Option<String>,
    pub(crate) role: Role,
    /// Whether it may only read, whatever its role: a session of a read-only console.
    pub(crate) looks_only: bool,
}

impl Caller {
    /// Where no request is signed, all callers may do everything.
    pub(crate) const ANYONE: Caller = Caller {
        key_id: None,
        role: Role::Administration,
        looks_only: false,
    };

    /// Whether it may write tables, items and queues.
    fn may_write(&self) -> bool {
        self.role >= Role::Data && !self.looks_only
    }

    /// Refuses an operation that the caller may not do.
    pub(crate) fn check(&self, operation: OperationName, request: &Request) -> Result<(), Error> {
        if self.may_write() || !request.access().writes(trestle_partiql::is_write) {
            return Ok(());
        }
        Err(self.denied("dynamodb", operation.as_str()))
    }

    /// Refuses an operation on queues that the caller may not do.
    pub(crate) fn check_queue(&self, operation: QueueOperation) -> Result<(), Error> {
        if self.may_write() || operation.is_read() {
            return Ok(());
        }
        Err(self.denied("sqs", operation.as_str()))
    }

    /// Refuses a call of the administration to all but administrators. Calls that return what models say are
    /// open to all, and previews to all who may write.
    pub(crate) fn check_call(&self, name: &str) -> Result<(), AdminError> {
        if administration::tells_of_models(name) || administration::is_for_writers(name) && self.may_write() {
            return Ok(());
        }
        if self.looks_only && !administration::only_looks(name) {
            return Err(AdminError::new(
                AdminErrorCode::Forbidden,
                format!("the console of this server is read-only, and {name} may change something"),
            ));
        }
        if self.role == Role::Administration {
            return Ok(());
        }
        Err(AdminError::new(
            AdminErrorCode::Forbidden,
            format!(
                "the access key {} may not call {name}: give it the role \"administration\" in the server's [[auth.keys]]",
                self.name()
            ),
        ))
    }

    fn denied(&self, service: &str, operation: &str) -> Error {
        Error::access_denied(format!(
            "User: {} is not authorized to perform: {service}:{operation} because {} is read-only",
            self.name(),
            if self.looks_only {
                "the console"
            } else {
                "its role"
            }
        ))
    }

    /// The id of the access key, for messages.
    pub(crate) fn name(&self) -> &str {
        self.key_id.as_deref().unwrap_or("anonymous")
    }
}
