//! Programs started by the benchmark. None of them outlives it: they end with their handle, or on a signal.

use crate::error::{BenchError, Doing};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take to stop.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// The programs to end when a signal ends the benchmark.
static RUNNING: Mutex<Vec<Arc<Mutex<Child>>>> = Mutex::new(Vec::new());
static DIRECTORIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A running program; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Arc<Mutex<Child>>,
    id: u32,
    log: PathBuf,
}

impl Process {
    /// Starts a program with its output in `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self, BenchError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let out = File::create(log).doing(format!("cannot write {}", log.display()))?;
        let err = out.try_clone().doing("cannot write a log")?;
        // Held while starting: a signal either finds the program in the list, or prevents its start.
        let mut running = lock(&RUNNING);
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .doing(format!("cannot start {name}"))?;
        let id = child.id();
        let child = Arc::new(Mutex::new(child));
        running.push(Arc::clone(&child));
        Ok(Process {
            child,
            id,
            log: log.to_owned(),
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(lock(&self.child).try_wait(), Ok(None))
    }

    /// The end of its output, for error messages.
    pub(crate) fn last_words(&self) -> String {
        let said = std::fs::read(&self.log).unwrap_or_default();
        let tail = said.get(said.len().saturating_sub(600)..).unwrap_or_default();
        String::from_utf8_lossy(tail).trim().to_owned()
    }

    /// Requests it to stop and waits until it has.
    pub(crate) fn stop(self) -> Result<(), BenchError> {
        let pid = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid
            && self.is_running()
        {
            kill_process(pid, Signal::TERM).doing("cannot stop a program")?;
        }
        let asked = Instant::now();
        while self.is_running() {
            if asked.elapsed() > STOP_WITHIN {
                return Err(BenchError::new("a program did not stop when asked"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&self.child);
        lock(&RUNNING).retain(|child| !Arc::ptr_eq(child, &self.child));
    }
}

fn end(child: &Mutex<Child>) {
    let mut child = lock(child);
    // Both fail only if it has already ended.
    let _ = child.kill();
    let _ = child.wait();
}

/// Ignores a panic elsewhere, so that no program is left running.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a directory, unless a signal is just removing everything.
pub(crate) fn make_directory(directory: &Path) -> Result<(), BenchError> {
    let _running = lock(&RUNNING);
    std::fs::create_dir_all(directory).doing(format!("cannot make {}", directory.display()))
}

/// Removes this directory when a signal ends the benchmark.
pub(crate) fn remove_on_signal(directory: &Path) {
    lock(&DIRECTORIES).push(directory.to_owned());
}

/// From now on, a signal that ends the benchmark also ends its programs.
pub(crate) fn clean_up_on_signal() -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.doing("cannot watch for signals")?;
    let wait = move || {
        runtime.block_on(termination());
        // Held until the end: a thread that tries to start something now waits, and ends with the process.
        let running = lock(&RUNNING);
        running.iter().for_each(|child| end(child));
        for directory in lock(&DIRECTORIES).iter() {
            // An error cannot be handled any more.
            let _ = std::fs::remove_dir_all(directory);
        }
        std::process::exit(130);
    };
    thread::Builder::new()
        .name("bench-signals".into())
        .spawn(wait)
        .doing("cannot watch for signals")?;
    Ok(())
}

async fn termination() {
    let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(signal) => signal,
        Err(_) => return std::future::pending().await,
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
