//! AWS Signature Version 4: what a signature covers, how it is computed, and how outgoing requests are
//! signed.
//!
//! A verifier reads a request's claim, computes the same signature with [`string_to_sign`] and [`signature`],
//! and compares with [`equal_in_constant_time`].
//!
//! ```
//! use trestle_env::Timestamp;
//! use trestle_sigv4::{AccessKey, SignError, Signer};
//!
//! # fn main() -> Result<(), SignError> {
//! let key = AccessKey { id: "AKIDEXAMPLE".into(), secret: "secret".into() };
//! let signer = Signer::new(key, None, "eu-west-1", "dynamodb");
//! let headers = signer.sign(("POST", "/"), "localhost:8000", &[], b"{}", Timestamp::from_secs(1_800_000_000))?;
//! assert!(headers.iter().any(|(name, value)| *name == "authorization" && value.starts_with("AWS4-HMAC-SHA256")));
//! # Ok(())
//! # }
//! ```

mod canonical;
mod hash;
mod key;
mod moment;
mod region;
mod signer;

pub use canonical::{query_parameters, string_to_sign};
pub use hash::{equal_in_constant_time, hex, keyed_hash, sha256, signature};
pub use key::{AccessKey, Scope};
pub use moment::Moment;
pub use region::{is_aws_host, region_of_host};
pub use signer::{SignError, Signer};

/// The name of the algorithm, first in every signature.
pub const ALGORITHM: &str = "AWS4-HMAC-SHA256";
