//! A program and all processes that it starts, ended together.

use std::io;
use std::process::ExitStatus;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// A running program. If dropped before the program ended, it ends the whole process group.
pub(super) struct Group {
    child: Child,
    is_running: bool,
}

impl Group {
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        command.process_group(0);
        let child = command.kill_on_drop(true).spawn()?;
        Ok(Group {
            child,
            is_running: true,
        })
    }

    pub(super) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (
            self.child.stdin.take(),
            self.child.stdout.take(),
            self.child.stderr.take(),
        )
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        self.is_running = false;
        status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.is_running {
            end_group(&self.child);
        }
    }
}

#[cfg(unix)]
fn end_group(child: &Child) {
    // The id is only known while the program was not waited for, so it cannot belong to another process.
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
        // A process that has already ended need not be ended.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Elsewhere there are no process groups; the program itself ends when its handle is dropped.
#[cfg(not(unix))]
fn end_group(_child: &Child) {}
