//! `credential_process`.

use crate::support::{AT_AWS, NOW, key, later, refusal, source, written};
use std::path::Path;

/// A home whose profile runs a script.
fn home(script: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".aws");
    std::fs::create_dir(&folder).unwrap();
    let program = folder.join("program.sh");
    std::fs::write(&program, script).unwrap();
    let line = format!(
        "[default]\ncredential_process = sh \"{}\" one 'two three'\n",
        program.display()
    );
    std::fs::write(folder.join("config"), line).unwrap();
    home
}

fn runs(home: &Path) -> usize {
    std::fs::read_to_string(home.join("runs"))
        .unwrap_or_default()
        .lines()
        .count()
}

#[tokio::test]
async fn a_program_is_run_once_and_again_before_its_credentials_end() {
    let script = format!(
        "echo run >> \"$(dirname \"$0\")/../runs\"\n\
         echo '{{\"Version\": 1, \"AccessKeyId\": \"'\"$#\"'\", \"SecretAccessKey\": \"hush\", \"SessionToken\": \"t\", \
         \"Expiration\": \"{}\"}}'\n",
        written(later(60)).replace('Z', "+00:00")
    );
    let home = home(&script);
    let source = source(AT_AWS, home.path(), &[]);
    assert_eq!(key(&source, NOW).await.unwrap(), "2", "words in quotes are one");
    assert_eq!(key(&source, later(50)).await.unwrap(), "2");
    assert_eq!(runs(home.path()), 1);
    assert_eq!(key(&source, later(56)).await.unwrap(), "2");
    assert_eq!(runs(home.path()), 2);
}

#[tokio::test]
async fn a_program_that_fails_is_named_with_its_last_words_and_without_its_secrets() {
    for (script, why) in [
        (
            "echo hush; echo sorry >&2; exit 3",
            "ended with exit status: 3: sorry",
        ),
        ("echo hush", "gave no JSON with credentials (line 1, column 1)"),
        (
            r#"echo '{"AccessKeyId": "id", "SecretAccessKey": "hush"}'"#,
            "gave no `\"Version\": 1`",
        ),
        (
            r#"echo '{"Version": 1, "SecretAccessKey": "hush"}'"#,
            "gave no AccessKeyId",
        ),
    ] {
        let home = home(script);
        let said = refusal(&source(AT_AWS, home.path(), &[])).await;
        assert!(
            said.contains("profile default: credential_process `sh "),
            "{said}"
        );
        assert!(said.ends_with(why), "{said}");
        assert!(!said.contains("hush"), "{said}");
    }
}

#[tokio::test]
async fn credentials_that_are_over_when_they_come_are_refused() {
    let script = format!(
        r#"echo '{{"Version": 1, "AccessKeyId": "id", "SecretAccessKey": "s", "Expiration": "{}"}}'"#,
        written(NOW)
    );
    let home = home(&script);
    let said = refusal(&source(AT_AWS, home.path(), &[])).await;
    assert!(
        said.contains("the access key id are over already; check this machine's clock"),
        "{said}"
    );
}
