//! DynamoDB Local's flags, such as `-inMemory -port 8000`, so that scripts written for it start Trestle
//! unchanged.

use crate::exit::Failure;
use std::ffi::OsString;

/// DynamoDB Local's name of a flag, and Trestle's.
const TRANSLATIONS: [(&str, &str); 10] = [
    ("-port", "--port"),
    ("-inMemory", "--in-memory"),
    ("-dbPath", "--data"),
    ("-sharedDb", "--shared-db"),
    ("-cors", "--cors"),
    ("-delayTransientStatuses", "--delay-transient-statuses"),
    ("-optimizeDbBeforeStartup", "--optimize-db-before-startup"),
    ("-disableTelemetry", "--disable-telemetry"),
    ("-help", "--help"),
    ("-version", "--version"),
];

/// The arguments for clap: flags with Trestle's names, and `serve` in front if only flags were given.
pub(crate) fn translate(args: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>, Failure> {
    let mut translated: Vec<OsString> = Vec::new();
    let mut options_ended = false;
    for (position, arg) in args.into_iter().enumerate() {
        options_ended |= arg == "--";
        let ours = if position == 0 || options_ended {
            None
        } else {
            ours(&arg)?
        };
        match ours {
            None => translated.push(arg),
            Some(ours) => {
                if position == 1 && ours != "--version" {
                    translated.push("serve".into());
                }
                translated.push(ours.into());
            }
        }
    }
    Ok(translated)
}

/// Trestle's name of a flag of DynamoDB Local; `None` if the argument is not written in that form.
fn ours(arg: &OsString) -> Result<Option<&'static str>, Failure> {
    let Some(text) = arg.to_str() else { return Ok(None) };
    if !is_long_with_one_dash(text) {
        return Ok(None);
    }
    match TRANSLATIONS.iter().find(|(theirs, _)| *theirs == text) {
        Some((_, ours)) => Ok(Some(ours)),
        None => Err(Failure::usage(unknown(text))),
    }
}

/// `-port`, but not `-h`, `--port`, `-` or `-5`.
fn is_long_with_one_dash(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next() == Some('-')
        && characters.next().is_some_and(char::is_alphabetic)
        && characters.next().is_some()
}

fn unknown(flag: &str) -> String {
    let known: Vec<&str> = TRANSLATIONS.iter().map(|(theirs, _)| *theirs).collect();
    format!(
        "unknown option {flag}; Trestle's own options begin with two dashes (see `trestle serve --help`), and of \
         DynamoDB Local's it knows {}",
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, expected: &str) {
        let args = typed.split(' ').map(OsString::from);
        let translated = translate(args).unwrap();
        let translated: Vec<&str> = translated.iter().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(translated.join(" "), expected);
    }

    #[test]
    fn flags_alone_mean_serve() {
        check(
            "trestle -port 8000 -sharedDb -dbPath x -cors * -delayTransientStatuses",
            "trestle serve --port 8000 --shared-db --data x --cors * --delay-transient-statuses",
        );
        check("trestle -help", "trestle serve --help");
    }

    #[test]
    fn flags_after_serve_are_translated() {
        check(
            "trestle serve -inMemory --port 1",
            "trestle serve --in-memory --port 1",
        );
    }

    #[test]
    fn our_own_spelling_is_left_alone() {
        check("trestle serve --port 1 -h", "trestle serve --port 1 -h");
        check("trestle --version", "trestle --version");
        check("trestle -version", "trestle --version");
        check("trestle -V", "trestle -V");
        check("trestle serve -- -port", "trestle serve -- -port");
    }

    #[test]
    fn an_unknown_flag_is_explained() {
        let failure = translate(["trestle", "-inmemory"].map(OsString::from)).unwrap_err();
        assert!(failure.message.contains("unknown option -inmemory"));
        assert!(failure.message.contains("-inMemory"));
        assert!(failure.message.contains("trestle serve --help"));
    }
}
