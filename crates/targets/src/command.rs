//! Batches as lines on the standard input of a program.
//!
//! Each line is a record, `{"id": …, "attempt": …, "input": …}`. The environment has `TRESTLE_ROUTE`,
//! `TRESTLE_DELIVERY` (the name of the batch), `TRESTLE_RECORDS` (their number), the route's `environment`,
//! and of this process only variables with paths and locales: the others may be secrets. Status 0 accepts the
//! batch, except the records that the standard output reports as failed (see [`partial`]); 75, `EX_TEMPFAIL`,
//! means to try again later; any other refuses it, and the last line on standard error is the reason. A
//! program that does not end in time has failed, perhaps because of a record.

mod capture;
mod group;

use crate::batch::{self, Record};
use crate::partial;
use crate::secret::{self, Secret};
use crate::settings::Settings;
use crate::surroundings::Surroundings;
use crate::trust::NOT_TRUSTED;
use capture::{beginning, end, last_line};
use group::Group;
use serde_json::Value;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, Command};
use trestle_events::{Batch, Deliver, Outcome, Target};

const TIMEOUT: Duration = Duration::from_secs(60);

/// `EX_TEMPFAIL` of sysexits.h.
const TEMPORARY_FAILURE: i32 = 75;

/// Partial results of the largest batch fit.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The last line is within this many bytes.
const ERRORS_BYTES_MAX: usize = 4 * 1024;

/// The variables of this process that the program gets: paths and locales.
const KEPT: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    // Without these, programs do not start on Windows.
    "SystemRoot",
    "TEMP",
    "PATHEXT",
];

/// A program that receives batches.
#[derive(Debug)]
pub(crate) struct Program {
    program: String,
    arguments: Vec<String>,
    directory: Option<String>,
    environment: Vec<(String, Secret)>,
    timeout: Duration,
}

/// The result of a run of the program.
struct Ended {
    status: ExitStatus,
    output: Vec<u8>,
    errors: Vec<u8>,
}

pub(crate) fn open(settings: &mut Settings<'_>, surroundings: &Surroundings) -> Option<Program> {
    if !surroundings.trust.commands_and_secrets {
        settings.complain("command", NOT_TRUSTED);
    }
    let words = settings.take("command").and_then(words);
    let timeout = settings.duration("timeout", TIMEOUT);
    let directory = settings.optional_text("directory").map(str::to_owned);
    let environment = environment(settings, surroundings);
    let Some((program, arguments)) = words else {
        settings.complain(
            "command",
            "must be a program and its arguments, as in [\"sh\", \"-c\", \"cat >> changes.jsonl\"]",
        );
        return None;
    };
    Some(Program {
        program,
        arguments,
        directory,
        environment,
        timeout,
    })
}

/// Variables that the program gets: text, or a secret by name.
fn environment(settings: &mut Settings<'_>, surroundings: &Surroundings) -> Vec<(String, Secret)> {
    let Some(value) = settings.take("environment") else {
        return Vec::new();
    };
    let Value::Object(given) = value else {
        settings.complain("environment", "must be a table of names and their text");
        return Vec::new();
    };
    let mut variables = Vec::new();
    for (name, value) in given {
        match secret::text_or_secret(value, surroundings) {
            Ok(_) if name.is_empty() || name.contains(['=', '\0']) => {
                settings.complain(&format!("environment.{name}"), "is no name of a variable");
            }
            Ok(text) if text.contains('\0') => {
                settings.complain(
                    &format!("environment.{name}"),
                    "holds letters that a variable cannot",
                );
            }
            Ok(text) => variables.push((name.clone(), Secret(text))),
            Err(message) => settings.complain(&format!("environment.{name}"), message),
        }
    }
    variables
}

fn words(value: &Value) -> Option<(String, Vec<String>)> {
    let words = value
        .as_array()?
        .iter()
        .map(|word| word.as_str().map(str::to_owned));
    let mut words = words.collect::<Option<Vec<String>>>()?.into_iter();
    let program = words.next().filter(|program| !program.is_empty())?;
    Some((program, words.collect()))
}

impl Target for Program {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        Box::pin(async move {
            // It is real time: a program does not follow another clock.
            match tokio::time::timeout(self.timeout, self.run(batch)).await {
                Ok(Ok(ended)) => outcome(batch, &ended),
                Ok(Err(error)) => Outcome::Unavailable(format!("{} could not run: {error}", self.program)),
                Err(_) => Outcome::Failed(format!(
                    "{} was not done within {} s and was ended",
                    self.program,
                    self.timeout.as_secs_f64()
                )),
            }
        })
    }
}

impl Program {
    /// Runs the program. Dropping the future ends it, and all processes that it started.
    async fn run(&self, batch: &Batch) -> std::io::Result<Ended> {
        let lines = lines(batch)?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(
                KEPT.iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .envs(self.environment.iter().map(|(name, Secret(text))| (name, text)))
            .env("TRESTLE_ROUTE", &*batch.route)
            .env("TRESTLE_DELIVERY", batch::name(batch))
            .env("TRESTLE_RECORDS", batch.deliveries.len().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let mut group = Group::spawn(&mut command)?;
        let (input, output, errors) = group.pipes();
        // All at once: a program may write before it has read everything.
        let ((), output, errors, status) = tokio::join!(
            feed(input, &lines),
            beginning(output, OUTPUT_BYTES_MAX),
            end(errors, ERRORS_BYTES_MAX),
            group.wait(),
        );
        Ok(Ended {
            status: status?,
            output,
            errors,
        })
    }
}

fn lines(batch: &Batch) -> std::io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for delivery in &batch.deliveries {
        serde_json::to_writer(&mut lines, &Record::of(delivery))?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// A program need not read all of its input to succeed: its status decides.
async fn feed(input: Option<ChildStdin>, lines: &[u8]) {
    if let Some(mut input) = input {
        let _ = input.write_all(lines).await;
        let _ = input.shutdown().await;
    }
}

fn outcome(batch: &Batch, ended: &Ended) -> Outcome {
    let said = last_line(&ended.errors);
    let reason = |status: String| match &said {
        Some(said) => format!("{status}: {said}"),
        None => status,
    };
    match ended.status.code() {
        Some(0) => partial::outcome(batch, &ended.output),
        Some(TEMPORARY_FAILURE) => Outcome::Unavailable(reason("asked to come back later".to_owned())),
        Some(code) => Outcome::Refused(reason(format!("ended with status {code}"))),
        None => Outcome::Failed(reason(format!("was ended by a signal ({})", ended.status))),
    }
}
