//! The resource usage of a process, read from `/proc`; not available on other systems.

use serde::Serialize;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Processor time is counted in ticks of this length on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// Processor time, user and system, that a process has used.
pub(crate) fn cpu(process: u32) -> Option<Duration> {
    cpu_in(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The same for this process.
pub(crate) fn own_cpu() -> Option<Duration> {
    cpu(std::process::id())
}

/// Processor time that all processes together have used, and that the host took from a virtual machine.
fn all_cpu() -> Option<Duration> {
    all_cpu_in(&fs::read_to_string("/proc/stat").ok()?)
}

/// `cpu user nice system idle iowait irq softirq steal …`: everything except idle and waiting.
fn all_cpu_in(stat: &str) -> Option<Duration> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks: Vec<u32> = fields.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let busy = ticks
        .iter()
        .enumerate()
        .filter(|(place, _)| !(3..=4).contains(place));
    Some(TICK * busy.map(|(_, ticks)| ticks).sum::<u32>())
}

/// Processor times at one moment, or between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clocks {
    pub(crate) server: Option<Duration>,
    pub(crate) generator: Option<Duration>,
    pub(crate) all: Option<Duration>,
}

impl Clocks {
    pub(crate) fn read(server: Option<u32>) -> Self {
        Clocks {
            server: server.and_then(cpu),
            generator: own_cpu(),
            all: all_cpu(),
        }
    }

    pub(crate) fn since(&self, earlier: &Clocks) -> Clocks {
        let used = |now: Option<Duration>, before: Option<Duration>| now?.checked_sub(before?);
        Clocks {
            server: used(self.server, earlier.server),
            generator: used(self.generator, earlier.generator),
            all: used(self.all, earlier.all),
        }
    }

    /// The time used by neither the server nor the load generator.
    pub(crate) fn others(&self) -> Option<Duration> {
        let known = self.server.unwrap_or_default() + self.generator?;
        Some(self.all?.saturating_sub(known))
    }
}

fn cpu_in(stat: &str) -> Option<Duration> {
    // The second field is the program's name in parentheses, and may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(TICK * user.saturating_add(system))
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Resident now.
    pub resident: u64,
    /// The maximum ever resident.
    pub peak: u64,
}

pub(crate) fn memory(process: u32) -> Option<Memory> {
    memory_in(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

fn memory_in(status: &str) -> Option<Memory> {
    let bytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    };
    Some(Memory {
        resident: bytes("VmRSS:")?,
        peak: bytes("VmHWM:")?,
    })
}

/// Bytes that a directory takes on disk. Files that are removed meanwhile are not counted.
pub(crate) fn disk(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => disk(&entry.path()),
            Ok(metadata) => metadata.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

/// The properties of the machine that matter for the figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// Processor model.
    pub processor: String,
    /// How many processors this process may use.
    pub processors: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel version.
    pub kernel: String,
    /// Runnable processes over the last minute before the run: above 0 the machine was not idle.
    pub load_before: f64,
}

/// Describes this machine.
pub(crate) fn machine() -> Machine {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (cpuinfo, meminfo) = (text("/proc/cpuinfo"), text("/proc/meminfo"));
    let field = |text: &str, name: &str| -> String {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map(|rest| rest.trim_start_matches([':', ' ', '\t']).to_owned())
            .unwrap_or_default()
    };
    let memory = field(&meminfo, "MemTotal");
    let load = text("/proc/loadavg");
    Machine {
        processor: field(&cpuinfo, "model name"),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: memory.trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024,
        kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
        load_before: load
            .split(' ')
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_any_program_name() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 2 3 4 150 25 0 0 20 0";
        assert_eq!(cpu_in(stat), Some(Duration::from_millis(1_750)));
        assert_eq!(cpu_in("nonsense"), None);
    }

    #[test]
    fn others_are_what_is_busy_and_not_ours() {
        let at = |text| Clocks {
            server: Some(Duration::from_millis(10)),
            generator: Some(Duration::from_millis(20)),
            all: all_cpu_in(text),
        };
        let busy = at("cpu  1 2 4 800 1600 8 16 32 0 0\ncpu0 1");
        assert_eq!(busy.all, Some(Duration::from_millis(630)));
        assert_eq!(busy.others(), Some(Duration::from_millis(600)));
        assert_eq!(busy.since(&busy).others(), Some(Duration::ZERO));
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let expected = Memory {
            resident: 1 << 20,
            peak: 2 << 20,
        };
        assert_eq!(memory_in(status), Some(expected));
    }

    #[test]
    fn a_directory_takes_what_its_files_take() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("inner")).unwrap();
        fs::write(directory.path().join("inner/file"), vec![1; 100_000]).unwrap();
        assert!((100_000..200_000).contains(&disk(directory.path())));
    }
}
