//! Assuming roles at the Security Token Service.

use crate::service::{Asked, Service};
use crate::support::{AT_AWS, NOW, key, later, metadata, refusal, service_clock, source, written};

/// A service that issues credentials for every role except one.
async fn sts() -> Service {
    Service::start(|asked: &Asked| {
        if asked.body.contains("forbidden") {
            let error = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>\
                         <Message>User: arn &quot;a&quot; is not authorized</Message></Error></ErrorResponse>";
            return (403, error.to_owned());
        }
        let action = asked.body.split('&').next().unwrap_or_default();
        let session = asked.body.split("RoleArn=").nth(1).and_then(|rest| rest.split('&').next());
        let xml = format!(
            "<AnyResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AnyResult><Credentials>\
             <AccessKeyId>{action} {}</AccessKeyId><SecretAccessKey>a/b+c=</SecretAccessKey>\
             <SessionToken>session&amp;</SessionToken><Expiration>{}</Expiration></Credentials></AnyResult></AnyResponse>",
            session.unwrap_or_default(),
            written(later(60))
        );
        (200, xml)
    })
    .await
}

#[tokio::test]
async fn a_pod_takes_on_its_role_with_the_token_in_its_file() {
    let home = tempfile::tempdir().unwrap();
    let sts = sts().await;
    let (url, token) = (sts.url(), home.path().join("token"));
    std::fs::write(&token, "first.token\n").unwrap();
    let token_text = token.display().to_string();
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token_text.as_str()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/shop"),
        ("AWS_ROLE_SESSION_NAME", "pod-7"),
        ("AWS_ENDPOINT_URL_STS", url.as_str()),
    ];
    let source_of_pod = source(AT_AWS, home.path(), &variables);
    let found = source_of_pod.current(NOW).await.unwrap().unwrap();
    assert_eq!(
        found.key.id,
        "Action=AssumeRoleWithWebIdentity arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fshop"
    );
    assert_eq!(found.session_token.as_deref(), Some("session&"));
    assert_eq!(found.expires, Some(later(60)));
    let asked = sts.asked();
    assert!(
        asked[0].body.contains("WebIdentityToken=first.token"),
        "{}",
        asked[0].body
    );
    assert!(
        asked[0].body.contains("RoleSessionName=pod-7"),
        "{}",
        asked[0].body
    );
    assert_eq!(asked[0].header("authorization"), "", "the token is the proof");
    // The file is read again with each renewal: Kubernetes exchanges the token.
    std::fs::write(&token, "second.token\n").unwrap();
    key(&source_of_pod, later(56)).await.unwrap();
    assert!(sts.asked()[1].body.contains("WebIdentityToken=second.token"));

    let without_role = source(AT_AWS, home.path(), &variables[..1]);
    let said = refusal(&without_role).await;
    assert!(
        said.ends_with("web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not"),
        "{said}"
    );
}

#[tokio::test]
async fn a_profile_takes_on_one_role_after_the_other() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".aws")).unwrap();
    let config = "
[profile shop]
role_arn = leaf
source_profile = between
external_id = for us
region = eu-central-1
[profile between]
role_arn = branch
source_profile = root
duration_seconds = 900
[profile root]
aws_access_key_id = root
aws_secret_access_key = hush
[profile closed]
role_arn = forbidden
source_profile = root
[profile machine]
role_arn = on-machine
credential_source = Ec2InstanceMetadata
";
    std::fs::write(home.path().join(".aws/config"), config).unwrap();
    let sts = sts().await;
    let url = sts.url();
    let variables = [("AWS_PROFILE", "shop"), ("AWS_ENDPOINT_URL_STS", url.as_str())];
    let found = key(&source(AT_AWS, home.path(), &variables), NOW).await.unwrap();
    assert_eq!(found, "Action=AssumeRole leaf");
    let asked = sts.asked();
    let by = |at: usize| asked[at].header("authorization").to_owned();
    assert!(
        by(0).contains("Credential=root/20270115/eu-central-1/sts/aws4_request"),
        "{}",
        by(0)
    );
    assert!(asked[0].body.contains("DurationSeconds=900"), "{}", asked[0].body);
    assert!(
        by(1).contains("Credential=Action=AssumeRole branch/"),
        "{}",
        by(1)
    );
    assert_eq!(asked[1].header("x-amz-security-token"), "session&");
    assert!(asked[1].body.contains("ExternalId=for+us"), "{}", asked[1].body);

    let closed = [("AWS_PROFILE", "closed"), ("AWS_ENDPOINT_URL_STS", url.as_str())];
    let said = refusal(&source(AT_AWS, home.path(), &closed)).await;
    assert!(
        said.ends_with(&format!(
            "profile closed: the role forbidden: {url} answered 403 Forbidden: AccessDenied: User: arn \"a\" is not authorized"
        )),
        "{said}"
    );

    let instance = metadata(service_clock(NOW)).await;
    let instance_url = instance.url();
    let machine = [
        ("AWS_PROFILE", "machine"),
        ("AWS_ENDPOINT_URL_STS", url.as_str()),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", instance_url.as_str()),
    ];
    key(&source(AT_AWS, home.path(), &machine), NOW).await.unwrap();
    let last = sts.asked().pop().unwrap();
    assert!(
        last.header("authorization").contains("Credential=key 1/"),
        "{last:?}"
    );
}
