//! Commands on a server with TLS that requires signatures.

use crate::running::{Running, start, trestle};
use std::path::Path;
use std::process::Output;

const MODEL: &str = r#"
model = "shop"
[table.things]
key = ["pk"]
stream = "new-and-old-images"
[entity.user]
table = "things"
key = { pk = "USER#{id}" }
attributes = { id = "string" }
"#;

fn secured(directory: &Path) -> Running {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    for (file, text) in [
        ("cert.pem", made.cert.pem()),
        ("key.pem", made.signing_key.serialize_pem()),
        ("shop.toml", MODEL.to_owned()),
    ] {
        std::fs::write(directory.join(file), text).unwrap();
    }
    let args =
        "serve --in-memory --port 0 --tls-cert cert.pem --tls-key key.pem --access-key ada --secret-key hush";
    start(directory, &args.split(' ').collect::<Vec<_>>())
}

/// Runs a command on the server with a key.
fn asked(server: &Running, directory: &Path, scheme: &str, who: &str, command: &str) -> Output {
    let endpoint = format!("{scheme}://localhost:{}", server.port());
    let args = command.split(' ').chain(["--endpoint", &endpoint]);
    let mut command = trestle(directory);
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CA_BUNDLE"] {
        command.env_remove(name);
    }
    command.args(args).args(who.split_whitespace()).output().unwrap()
}

const ADA: &str = "--access-key ada --secret-key hush --ca-file cert.pem";

#[test]
fn every_command_speaks_tls_and_signs() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    let server = secured(directory);
    let said = |command: &str| {
        let output = asked(&server, directory, "https", ADA, command);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{command}: {text}");
        text
    };
    said("model apply shop.toml");
    assert!(said("model list").contains("shop"));
    said("model infer things --out proposed.toml");
    assert!(said("routes status").starts_with("no routes; "));
    assert!(said("tail things --since trim-horizon --for 1").contains("reading the changes of things"));
    assert!(said("backup --to all.backup").contains("all.backup: "));
}

#[test]
fn whoever_is_not_believed_or_not_known_is_told_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    let server = secured(directory);
    let said = |scheme: &str, who: &str, command: &str| {
        let output = asked(&server, directory, scheme, who, command);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    for command in ["routes status", "model infer things", "backup --to b"] {
        let stranger = said("https", "--access-key ada --secret-key hush", command);
        assert!(stranger.contains("is not trusted"), "{stranger}");
        assert!(stranger.contains("AWS_CA_BUNDLE"), "{stranger}");
        let plain = said("http", ADA, command);
        assert!(plain.contains("does not speak HTTP"), "{plain}");
        assert!(plain.contains("should the URL begin with https://?"), "{plain}");
    }
    for command in ["routes status", "model infer things"] {
        let nobody = said("https", "--ca-file cert.pem", command);
        assert!(nobody.contains("the server wants signed requests"), "{nobody}");
        let liar = said(
            "https",
            "--access-key ada --secret-key loud --ca-file cert.pem",
            command,
        );
        assert!(liar.contains("check the access key ada and its secret"), "{liar}");
    }
}

#[test]
fn a_profile_signs_what_flags_and_environment_do_not() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path();
    let server = secured(directory);
    let keys = "[default]\naws_access_key_id = ada\naws_secret_access_key = hush\n\
                [liar]\naws_access_key_id = ada\naws_secret_access_key = loud\n";
    std::fs::write(directory.join("keys"), keys).unwrap();
    let endpoint = format!("https://localhost:{}", server.port());
    let said = |command: &[&str], code: i32| {
        let output = trestle(directory)
            .env("AWS_SHARED_CREDENTIALS_FILE", "keys")
            .args(command)
            .args(["--endpoint", &endpoint, "--ca-file", "cert.pem"])
            .output()
            .unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{command:?}: {text}");
        text
    };
    // The administration and DynamoDB's own operations.
    said(&["model", "apply", "shop.toml"], 0);
    assert!(said(&["model", "list", "--profile", "default"], 0).contains("shop"));
    said(&["model", "infer", "things", "--out", "proposed.toml"], 0);
    said(&["backup", "--to", "all.backup"], 0);
    let liar = said(&["model", "list", "--profile", "liar"], 1);
    assert!(liar.contains("check the access key ada and its secret"), "{liar}");
    let nobody = said(&["model", "infer", "things", "--profile", "nobody"], 1);
    assert!(nobody.contains("profile nobody: there is none in "), "{nobody}");
}
