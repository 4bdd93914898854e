//! Keys in environment variables.

use crate::credentials::Credentials;
use crate::source_error::SourceError;
use crate::variables::Variables;
use trestle_sigv4::AccessKey;

const ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";

pub(crate) fn credentials(variables: &Variables) -> Result<Credentials, SourceError> {
    match (variables.get(ID), variables.get(SECRET)) {
        (Some(id), Some(secret)) => Ok(Credentials {
            key: AccessKey {
                id: id.to_owned(),
                secret: secret.to_owned(),
            },
            session_token: variables.get("AWS_SESSION_TOKEN").map(str::to_owned),
            expires: None,
        }),
        (Some(_), None) => Err(SourceError::failed(format!(
            "{ID} is set, and {SECRET} is not: set both or none"
        ))),
        (None, _) => Err(SourceError::not_set_up(format!("{ID} is not set"))),
    }
}
