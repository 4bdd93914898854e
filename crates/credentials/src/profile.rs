//! Profiles: keys, programs and roles in `~/.aws/credentials` and `~/.aws/config`.

mod file;

use crate::credentials::Credentials;
use crate::source_error::SourceError;
use crate::sts::{Role, Sts};
use crate::variables::Variables;
use crate::{container, environment, instance, process, web_identity};
use file::{Profiles, Section};
use std::path::PathBuf;
use trestle_env::Timestamp;
use trestle_sigv4::AccessKey;

/// The credentials with which a profile's roles are assumed.
#[derive(Debug, PartialEq, Eq)]
enum Base {
    Keys(AccessKey, Option<String>),
    Process(String),
    WebIdentity(Role, PathBuf),
    Environment,
    Container,
    Instance,
}

/// The content of a profile: start with these credentials, and assume these roles, one after the other.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    base: Base,
    roles: Vec<Role>,
}

/// The name of the profile, and whether it was given explicitly.
pub(crate) fn name<'a>(told: Option<&'a str>, variables: &'a Variables) -> (&'a str, bool) {
    let named = told
        .or_else(|| variables.get("AWS_PROFILE"))
        .or_else(|| variables.get("AWS_DEFAULT_PROFILE"));
    (named.unwrap_or("default"), named.is_some())
}

/// The region of a profile.
pub(crate) fn region(name: &str, variables: &Variables) -> Option<String> {
    let profiles = Profiles::read(variables).ok()?;
    profiles.get(name)?.get("region").map(str::to_owned)
}

pub(crate) async fn credentials(
    (name, is_named): (&str, bool),
    variables: &Variables,
    sts: Sts<'_>,
    now: Timestamp,
) -> Result<Credentials, SourceError> {
    let profiles = Profiles::read(variables).map_err(SourceError::Failed)?;
    if profiles.get(name).is_none() {
        let why = format!("there is none in {}", profiles.places());
        return Err(match is_named {
            true => SourceError::Failed(why),
            false => SourceError::NotSetUp(why),
        });
    }
    let plan = plan(name, &profiles, variables)?;
    let mut found = match plan.base {
        Base::Keys(key, session_token) => Ok(Credentials {
            session_token,
            ..Credentials::from(key)
        }),
        Base::Process(line) => process::credentials(&line).await.map_err(SourceError::Failed),
        Base::WebIdentity(role, file) => {
            let taken = web_identity::assume(&role, &file, sts, now).await;
            taken.map_err(SourceError::Failed)
        }
        Base::Environment => environment::credentials(variables),
        Base::Container => container::credentials(variables, now).await,
        Base::Instance => instance::credentials(variables, now).await,
    }
    // The sources named in a profile are required.
    .map_err(|error| SourceError::failed(error.to_string()))?;
    for role in &plan.roles {
        found = sts.assume(role, &found, now).await.map_err(SourceError::Failed)?;
    }
    Ok(found)
}

/// Follows `source_profile` to the first credentials.
fn plan(name: &str, profiles: &Profiles, variables: &Variables) -> Result<Plan, SourceError> {
    let mut roles = Vec::new();
    let mut passed: Vec<&str> = Vec::new();
    let mut name = name;
    let base = loop {
        let Some(section) = profiles.get(name) else {
            let by = passed.last().copied().unwrap_or_default();
            return Err(SourceError::failed(format!(
                "its source_profile {name} (of {by}) is not in {}",
                profiles.places()
            )));
        };
        let own = |why: String| match passed.is_empty() {
            true => SourceError::failed(why),
            false => SourceError::failed(format!("its source_profile {name}: {why}")),
        };
        let Some(arn) = section.get("role_arn") else {
            let found = without_role(name, section);
            break found.map_err(|error| match (error, passed.is_empty()) {
                (SourceError::NotSetUp(why), true) => SourceError::NotSetUp(why),
                (error, _) => own(error.to_string()),
            })?;
        };
        let role = role(arn, section).map_err(own)?;
        let source = (section.get("source_profile"), section.get("credential_source"));
        if let (Some(file), (None, None)) = (section.get("web_identity_token_file"), source) {
            break Base::WebIdentity(role, variables.expand(file));
        }
        roles.push(role);
        match source {
            // It is its own source: the keys are beside the role.
            (Some(source), None) if source == name => {
                break keys(section).map_err(|error| own(error.to_string()))?;
            }
            (Some(source), None) if passed.contains(&source) => {
                return Err(own(format!("source_profile {source} leads back to it")));
            }
            (Some(source), None) => {
                passed.push(name);
                name = source;
            }
            (None, Some(source)) => break named_source(source).map_err(own)?,
            (None, None) => {
                return Err(own(
                    "role_arn needs source_profile or credential_source".to_owned()
                ));
            }
            (Some(_), Some(_)) => {
                return Err(own(
                    "has both source_profile and credential_source: leave one out".to_owned(),
                ));
            }
        }
    };
    roles.reverse();
    Ok(Plan { base, roles })
}

fn role(arn: &str, section: &Section) -> Result<Role, String> {
    if section.get("mfa_serial").is_some() {
        return Err("its role wants a code (mfa_serial), which is not asked for here".to_owned());
    }
    let text = |name: &str| section.get(name).map(str::to_owned);
    Ok(Role {
        arn: arn.to_owned(),
        session_name: text("role_session_name"),
        external_id: text("external_id"),
        duration_seconds: text("duration_seconds"),
    })
}

fn named_source(source: &str) -> Result<Base, String> {
    match source {
        "Environment" => Ok(Base::Environment),
        "EcsContainer" => Ok(Base::Container),
        "Ec2InstanceMetadata" => Ok(Base::Instance),
        other => Err(format!(
            "credential_source must be Environment, EcsContainer or Ec2InstanceMetadata, and is {other}"
        )),
    }
}

fn without_role(name: &str, section: &Section) -> Result<Base, SourceError> {
    if section.get("aws_access_key_id").is_some() {
        return keys(section);
    }
    if let Some(line) = section.get("credential_process") {
        return Ok(Base::Process(line.to_owned()));
    }
    if section.get("sso_session").is_some() || section.get("sso_start_url").is_some() {
        return Err(SourceError::failed(format!(
            "it signs in with IAM Identity Center (SSO), which is not done here; make another profile with \
             `credential_process = aws configure export-credentials --profile {name}`"
        )));
    }
    Err(SourceError::not_set_up(
        "it has neither aws_access_key_id nor credential_process nor role_arn",
    ))
}

fn keys(section: &Section) -> Result<Base, SourceError> {
    let needed = |name: &str| {
        let value = section.get(name).map(str::to_owned);
        value.ok_or_else(|| SourceError::failed(format!("it has no {name}")))
    };
    let key = AccessKey {
        id: needed("aws_access_key_id")?,
        secret: needed("aws_secret_access_key")?,
    };
    Ok(Base::Keys(
        key,
        section.get("aws_session_token").map(str::to_owned),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(name: &str, config: &str) -> Result<Plan, String> {
        let profiles = Profiles::of(config, "");
        plan(name, &profiles, &Variables::default()).map_err(|error| error.to_string())
    }

    const CHAIN: &str = "
        [profile leaf]
        role_arn = arn:leaf
        source_profile = branch
        external_id = x
        [profile branch]
        role_arn = arn:branch
        source_profile = root
        [profile root]
        aws_access_key_id = id
        aws_secret_access_key = secret
        [profile self]
        role_arn = arn:self
        source_profile = self
        aws_access_key_id = id
        aws_secret_access_key = secret
        [profile machine]
        role_arn = arn:machine
        credential_source = Ec2InstanceMetadata
        [profile pod]
        role_arn = arn:pod
        web_identity_token_file = /token
        [profile a]
        role_arn = arn:a
        source_profile = b
        [profile b]
        role_arn = arn:b
        source_profile = a
        [profile lost]
        role_arn = arn:lost
        source_profile = nowhere
        [profile sso]
        sso_session = work
        [profile mfa]
        role_arn = arn:mfa
        mfa_serial = arn:device
        source_profile = root
        [profile half]
        aws_access_key_id = id
        [profile both]
        role_arn = arn:both
        source_profile = root
        credential_source = Environment
        [profile empty]
        output = json
    ";

    #[test]
    fn roles_are_taken_on_from_the_root_to_the_leaf() {
        let plan = planned("leaf", CHAIN).unwrap();
        assert!(matches!(plan.base, Base::Keys(..)));
        let arns: Vec<&str> = plan.roles.iter().map(|role| role.arn.as_str()).collect();
        assert_eq!(arns, ["arn:branch", "arn:leaf"]);
        assert_eq!(plan.roles[1].external_id.as_deref(), Some("x"));
        assert!(matches!(planned("self", CHAIN).unwrap().base, Base::Keys(..)));
        assert_eq!(planned("machine", CHAIN).unwrap().base, Base::Instance);
        let pod = planned("pod", CHAIN).unwrap();
        assert!(matches!(pod.base, Base::WebIdentity(..)) && pod.roles.is_empty());
    }

    #[test]
    fn a_profile_that_cannot_work_says_why() {
        for (name, why) in [
            ("a", "source_profile a leads back to it"),
            ("lost", "its source_profile nowhere (of lost) is not in"),
            ("sso", "aws configure export-credentials --profile sso"),
            ("mfa", "mfa_serial"),
            ("half", "it has no aws_secret_access_key"),
            ("both", "leave one out"),
            ("empty", "neither aws_access_key_id nor credential_process"),
        ] {
            let said = planned(name, CHAIN).unwrap_err();
            assert!(said.contains(why), "{name}: {said}");
        }
    }
}
