//! A program that prints credentials: `credential_process`.

use crate::credentials::Credentials;
use crate::issued::Issued;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// A program may ask the user for a code.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The maximum length shown of a program's messages.
const SHOWN_MAX: usize = 300;

/// Runs a command line as the shell does.
pub(crate) async fn credentials(line: &str) -> Result<Credentials, String> {
    let about = |why: String| format!("credential_process `{line}` {why}");
    let mut command = shell(line);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // Real time: a program does not follow our clock.
    let ended = tokio::time::timeout(TIMEOUT, command.output()).await;
    let ended = ended.map_err(|_| about(format!("was not done within {} s", TIMEOUT.as_secs())))?;
    let ended = ended.map_err(|error| about(format!("could not run: {error}")))?;
    if !ended.status.success() {
        return Err(about(format!(
            "ended with {}{}",
            ended.status,
            last_line(&ended.stderr)
        )));
    }
    let issued = Issued::parse(&ended.stdout).map_err(about)?;
    if issued.version != Some(1) {
        return Err(about("gave no `\"Version\": 1`".to_owned()));
    }
    issued.credentials().map_err(about)
}

#[cfg(not(windows))]
fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]);
    command
}

#[cfg(windows)]
fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd.exe");
    command.args(["/C", line]);
    command
}

/// Standard error is for the user; standard output, which has the secrets, is never shown.
fn last_line(errors: &[u8]) -> String {
    let text = String::from_utf8_lossy(errors);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.map_or_else(String::new, |line| {
        format!(": {}", line.chars().take(SHOWN_MAX).collect::<String>())
    })
}
