//! Assumes a role with a token in a file, as in pods of Kubernetes.

use crate::credentials::Credentials;
use crate::source_error::SourceError;
use crate::sts::{Role, Sts};
use crate::variables::Variables;
use std::path::Path;
use trestle_env::Timestamp;

const TOKEN_FILE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";
const ROLE: &str = "AWS_ROLE_ARN";

pub(crate) async fn credentials(
    variables: &Variables,
    sts: Sts<'_>,
    now: Timestamp,
) -> Result<Credentials, SourceError> {
    let Some(file) = variables.get(TOKEN_FILE) else {
        return Err(SourceError::not_set_up(format!("{TOKEN_FILE} is not set")));
    };
    let Some(arn) = variables.get(ROLE) else {
        return Err(SourceError::failed(format!(
            "{TOKEN_FILE} is set, and {ROLE} is not"
        )));
    };
    let role = Role {
        arn: arn.to_owned(),
        session_name: variables.get("AWS_ROLE_SESSION_NAME").map(str::to_owned),
        ..Role::default()
    };
    let taken = assume(&role, &variables.expand(file), sts, now).await;
    taken.map_err(SourceError::Failed)
}

/// The token is read each time, because the content of the file changes.
pub(crate) async fn assume(
    role: &Role,
    file: &Path,
    sts: Sts<'_>,
    now: Timestamp,
) -> Result<Credentials, String> {
    let token = std::fs::read_to_string(file);
    let token = token.map_err(|error| format!("cannot read the token in {}: {error}", file.display()))?;
    sts.assume_with_web_identity(role, token.trim(), now).await
}
