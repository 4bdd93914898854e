//! Invalid command lines, and help.

use crate::running::run;
use std::path::{Path, PathBuf};

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
fn the_page_of_exit_codes_has_those_of_help() {
    let help = String::from_utf8(run(Path::new("."), &["--help"]).stdout).unwrap();
    let listed = help.split("Exit codes:\n").nth(1).unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let listed = words(listed);
    let page = std::fs::read_to_string(repository().join("docs/reference/errors.md")).unwrap();
    let rows = table_of_exit_codes(&page);
    assert_eq!(rows.len(), 9, "{rows:?}");
    let documented: Vec<_> = rows
        .iter()
        .map(|(code, means)| format!("{code} {means}"))
        .collect();
    assert_eq!(listed, documented.join(" "));
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

/// Without these codes in the unit, systemd would restart a server repeatedly that ends for a reason only a
/// person can remove.
#[test]
fn the_systemd_unit_starts_no_server_again_whose_exit_code_asks_for_a_person() {
    let unit = std::fs::read_to_string(repository().join("packaging/trestle.service")).unwrap();
    let setting = unit
        .lines()
        .find_map(|line| line.strip_prefix("RestartPreventExitStatus="));
    let prevented: Vec<_> = setting.unwrap_or_default().split(' ').collect();
    let page = std::fs::read_to_string(repository().join("docs/operate/running.md")).unwrap();
    let codes: Vec<_> = table_of_exit_codes(&page)
        .into_iter()
        .map(|(code, _)| code)
        .collect();
    // 0 is a stop, and the reason for 1 may be gone at the next start.
    assert_eq!(codes[..2], ["0", "1"]);
    assert_eq!(prevented, codes[2..]);
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Code and meaning of each row in the section "Exit codes" of a page.
fn table_of_exit_codes(page: &str) -> Vec<(&str, &str)> {
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with("Exit codes"));
    let rows = section.unwrap_or_default().lines();
    rows.filter_map(|row| row.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
        .filter(|(code, _)| code.parse::<u8>().is_ok())
        .collect()
}
