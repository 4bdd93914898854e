//! How much memory a process occupies, as the system counts it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Resident memory of a process in bytes; 0 once it is gone.
pub fn resident_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    kilobytes.map_or(0, |text| text.parse::<u64>().unwrap() * 1024)
}

/// The most memory that a process occupied while `work` ran, looked at fifty times a second.
pub fn most_resident_while<T>(process: u32, work: impl FnOnce() -> T) -> (u64, T) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Ordering::SeqCst) {
                most = most.max(resident_bytes(process));
                std::thread::sleep(Duration::from_millis(20));
            }
            most
        });
        let result = work();
        is_over.store(true, Ordering::SeqCst);
        (sampler.join().unwrap(), result)
    })
}
