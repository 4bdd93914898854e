//! Where access keys come from: the same sources as in AWS's own tools, in the same order.
//!
//! | source | set up by |
//! |---|---|
//! | environment | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` |
//! | profile | `~/.aws/credentials` and `~/.aws/config`: keys, `credential_process`, roles with `source_profile`, `credential_source` or a web identity |
//! | web identity | `AWS_WEB_IDENTITY_TOKEN_FILE` and `AWS_ROLE_ARN` |
//! | container | `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `AWS_CONTAINER_CREDENTIALS_FULL_URI` |
//! | instance | a machine of EC2 with a role |
//!
//! A [`CredentialSource`] is asked before each request. It searches once, keeps the result, and searches
//! again before that expires. *Invariants*: a source that is set up and fails ends the search, so that no
//! request is made with another identity than the intended one. An error names every source that was tried,
//! with its message; no secret is in an error or in debug output.
//!
//! ```no_run
//! use trestle_credentials::{CredentialSource, SourceChain};
//! use trestle_env::{Clock, SystemClock};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let variable = |name: &str| std::env::var(name).ok();
//! let source = CredentialSource::searched(SourceChain::new("https://dynamodb.eu-west-1.amazonaws.com", &variable));
//! if let Some(credentials) = source.current(SystemClock::new().now()).await? {
//!     println!("requests are signed as {}", credentials.key.id);
//! }
//! # Ok(())
//! # }
//! ```

mod chain;
mod container;
mod credentials;
mod environment;
mod expiry;
mod fetch;
mod instance;
mod issued;
mod process;
mod profile;
mod source;
mod source_error;
mod sts;
mod variables;
mod web_identity;

pub use chain::SourceChain;
pub use credentials::Credentials;
pub use source::{CredentialSource, NoCredentials};
