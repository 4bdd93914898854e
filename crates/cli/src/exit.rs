//! How the program ends after an error: a message with the next step, and an exit code for scripts.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// The exit codes, for `--help`; `docs/reference/errors.md` has the same texts. Zero is success; clap itself ends with 2 when it does not understand.
pub(crate) const EXIT_CODES: &str = "Exit codes:
  0  success; nothing to do is a success too
  1  failure: the message says why. Also: a replay or a deletion left something
  2  the command line or the configuration is wrong, or a file cannot be read
  3  another process has the data directory open
  4  the server cannot listen on the address: port in use, not allowed, or not protected
  5  the data does not agree: `verify` found disagreements, `model repair` left some, `copy` found rows that differ, or a step of `endpoint check` failed
  6  the backup is damaged, incomplete or of another version; nothing was restored
  7  a model file, a route file or a file to import has errors
  8  a model, a migration or a copy was refused: something in the database prevents it, or rows do not fit";

/// A class of failure that a script can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    Failed = 1,
    Usage = 2,
    DataInUse = 3,
    CannotListen = 4,
    Disagreements = 5,
    BadBackup = 6,
    BadModel = 7,
    ModelRefused = 8,
}

/// Why the binary ends early.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Display) -> Self {
        Failure {
            code,
            message: message.to_string(),
        }
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Failure::new(Code::Usage, message)
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Failure::new(Code::Failed, message)
    }

    /// Prints the message and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        // A closed standard error is not reported.
        let _ = writeln!(std::io::stderr(), "trestle: {}", self.message);
        ExitCode::from(self.code as u8)
    }
}
