//! Command lines that are not understood, and help.

use crate::running::run;
use std::path::Path;

fn usage_error(args: &[&str]) -> String {
    let output = run(Path::new("."), args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_command_line_that_is_not_understood_ends_with_2() {
    assert!(usage_error(&["-inmemory"]).contains("unknown option -inmemory"));
    assert!(usage_error(&["serve", "--nothing"]).contains("--nothing"));
    assert!(usage_error(&["nothing"]).contains("nothing"));
    assert!(usage_error(&["serve", "--in-memory", "--data", "d"]).contains("cannot be used with"));
    assert!(usage_error(&["serve", "--in-memory", "--log-level", "a=b=c"]).contains("log level `a=b=c`"));
    assert!(
        usage_error(&[
            "serve",
            "--in-memory",
            "--tls-cert",
            "a.pem",
            "--tls-key",
            "b.pem"
        ])
        .contains("a.pem")
    );
}

#[test]
fn help_names_the_commands_and_the_exit_codes() {
    let help = String::from_utf8(run(Path::new("."), &["--help"]).stdout).unwrap();
    for text in ["serve", "healthcheck", "Exit codes", "data directory"] {
        assert!(help.contains(text), "{help}");
    }
}

#[test]
fn dynamodb_locals_help_is_the_servers() {
    let help = String::from_utf8(run(Path::new("."), &["-help"]).stdout).unwrap();
    for text in ["--data", "--durability", "TRESTLE__SERVER__PORT", "-inMemory"] {
        assert!(help.contains(text), "{help}");
    }
}

#[test]
fn the_reference_of_the_command_line_is_what_the_program_prints() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
    let documented = std::fs::read_to_string(path).unwrap();
    let printed = String::from_utf8(run(Path::new("."), &["print-reference"]).stdout).unwrap();
    assert!(
        documented == printed,
        "run `cargo run -p trestle-cli -- print-reference > docs/reference/cli.md`"
    );
}
