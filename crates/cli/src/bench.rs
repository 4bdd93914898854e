//! `trestle bench`: measures this database, the servers it is compared with, and the limits of the machine.

use crate::exit::Failure;
use clap::Args;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trestle_bench::{Alone, Places, Progress, Settings, Target, Workload};

pub(crate) const BENCH_HELP: &str = "Every server is started on a fresh directory and gets the same rows; then each workload \
is sent to one after the other, and in the end all are killed. Servers that are not found are left out. Trestle runs with its defaults: on \
disk, with fsync before each answer. docs/operate/benchmarks.md describes the method.

Workloads: put, get, query, gsi-query, update, transaction, batch, delete-collection, model-put (a put whose keys and times a model derives).
Alone: embedded (GetItem without a socket), model (what derived keys and heads cost), queues (messages, also at moto's server), routes (from a write to its delivery), migrations (reads and writes during a migration), reindex (puts during a reindex), tables (writes with many tables), blocks (reads with blocks of several sizes), start (memory, and start with many \
rows), scale (reads from many rows).

An earlier build: `trestle bench --before FILE --rounds 5` starts the server from that binary, too, and measures both in turn. The \
report shows operations per second and processor time per operation of this build relative to the earlier one: the median of the rounds, with \
the lowest and the highest.";

/// Flags of `trestle bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchFlags {
    /// Workloads to run, comma-separated [default: all]
    #[arg(long, value_name = "WORKLOADS", value_delimiter = ',')]
    only: Vec<Workload>,
    /// Servers to measure, comma-separated: trestle, before, dynamodb-local, dynoxide, dynalite [default: all that are found]
    #[arg(long, value_name = "TARGETS", value_delimiter = ',')]
    targets: Vec<Target>,
    /// Compare with an earlier build, whose trestle binary this is, in the same rounds; and with nothing else unless --targets is given
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// Numbers of connections, comma-separated, such as 1,16,64
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "16",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    connections: Vec<u16>,
    /// Seconds per workload
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    seconds: Duration,
    /// Number of rounds; for each workload, the round with the least other load on the machine counts
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=100))]
    rounds: u8,
    /// Rows in the table before measuring
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    rows: u64,
    /// Seconds that loading the rows may take; a slower server is measured with fewer rows
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    load_seconds: Duration,
    /// Leave out the two limits: the constant answer over HTTP, and the bare storage engine
    #[arg(long)]
    no_limits: bool,
    /// Measure Trestle alone, and nothing else unless --targets is given: embedded, model, queues, routes, migrations, reindex, tables, blocks, start, scale, or all
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = alone)]
    alone: Vec<AloneChoice>,
    /// Tables for `--alone tables`
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    tables: usize,
    /// Rows for `--alone start`
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    start_rows: u64,
    /// Rows for `--alone migrations`
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    migration_rows: u64,
    /// Rows for `--alone reindex`
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    reindex_rows: u64,
    /// Rows for `--alone scale`
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    scale_rows: u64,
    /// Directory of DynamoDBLocal.jar
    #[arg(long, value_name = "DIR", env = "DYNAMODB_LOCAL_HOME")]
    dynamodb_local: Option<PathBuf>,
    /// The dynoxide binary [default: the one in PATH]
    #[arg(long, value_name = "FILE")]
    dynoxide: Option<PathBuf>,
    /// The dynalite command [default: the one in PATH]
    #[arg(long, value_name = "FILE")]
    dynalite: Option<PathBuf>,
    /// The moto_server command, for `--alone queues` [default: the one in PATH]
    #[arg(long, value_name = "FILE")]
    moto_server: Option<PathBuf>,
    /// Where data directories are made [default: /var/tmp, which is on disk where /tmp may be memory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Write all figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a chart to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Flags of the server that always answers the same, which `trestle bench` starts as a limit.
#[derive(Debug, Args)]
pub(crate) struct ConstantFlags {
    #[arg(long)]
    port: u16,
    #[arg(long)]
    bytes: usize,
}

/// One measurement, or all of them.
#[derive(Clone, Copy, Debug)]
enum AloneChoice {
    One(Alone),
    All,
}

fn alone(text: &str) -> Result<AloneChoice, String> {
    match text {
        "all" => Ok(AloneChoice::All),
        one => one.parse().map(AloneChoice::One),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if (0.1..=3_600.0).contains(&seconds) => Ok(time),
        _ => Err("must be between 0.1 and 3600".to_owned()),
    }
}

/// Runs the benchmark and prints its tables.
pub(crate) fn bench(flags: BenchFlags) -> Result<(), Failure> {
    let (json, svg) = (flags.json.clone(), flags.svg.clone());
    let mut terminal = Terminal::new();
    let report = trestle_bench::run(&settings(flags)?, &mut terminal);
    terminal.clear();
    let report = report.map_err(Failure::failed)?;
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&report).map_err(Failure::failed)?;
        write(&path, &text)?;
    }
    if let Some(path) = svg {
        write(&path, &report.svg())?;
    }
    // A closed standard output is the reader's choice; the files are written.
    let _ = writeln!(std::io::stdout(), "{}", report.text());
    Ok(())
}

/// Answers the same until it is killed.
pub(crate) fn constant(flags: &ConstantFlags) -> Result<(), Failure> {
    trestle_bench::serve_constant_answer(flags.port, flags.bytes).map_err(Failure::failed)
}

fn settings(flags: BenchFlags) -> Result<Settings, Failure> {
    let trestle = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("cannot find this program's own file: {error}")))?;
    let compares_all = flags.alone.is_empty() && flags.before.is_none();
    let limits = !flags.no_limits && (compares_all || !flags.targets.is_empty());
    let targets = targets(&flags);
    Ok(Settings {
        places: Places {
            trestle,
            before: flags.before,
            dynamodb_local: flags.dynamodb_local,
            dynoxide: flags.dynoxide,
            dynalite: flags.dynalite,
            moto: flags.moto_server,
        },
        targets,
        workloads: if flags.only.is_empty() {
            Workload::ALL.to_vec()
        } else {
            flags.only
        },
        connections: flags.connections.into_iter().map(usize::from).collect(),
        measured: flags.seconds,
        rounds: usize::from(flags.rounds),
        rows: flags.rows,
        load_within: flags.load_seconds,
        limits,
        alone: chosen(&flags.alone),
        start_rows: flags.start_rows,
        scale_rows: flags.scale_rows,
        migration_rows: flags.migration_rows,
        reindex_rows: flags.reindex_rows,
        tables: flags.tables,
        directory: flags.dir.unwrap_or_else(on_disk),
    })
}

/// The servers that are chosen, with the earlier build where its binary is given.
fn targets(flags: &BenchFlags) -> Vec<Target> {
    let mut targets = match (&*flags.targets, &flags.before) {
        ([], Some(_)) => vec![Target::Trestle],
        ([], None) if flags.alone.is_empty() => Target::USUAL.to_vec(),
        (chosen, _) => chosen.to_vec(),
    };
    if flags.before.is_some() && !targets.contains(&Target::Before) {
        targets.push(Target::Before);
    }
    targets
}

fn chosen(choices: &[AloneChoice]) -> Vec<Alone> {
    if choices.iter().any(|choice| matches!(choice, AloneChoice::All)) {
        return Alone::ALL.to_vec();
    }
    let one = |choice: &AloneChoice| match choice {
        AloneChoice::One(alone) => Some(*alone),
        AloneChoice::All => None,
    };
    choices.iter().filter_map(one).collect()
}

/// A place for large temporary files.
fn on_disk() -> PathBuf {
    let usual = PathBuf::from("/var/tmp");
    if usual.is_dir() {
        usual
    } else {
        std::env::temp_dir()
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))
}

/// Progress on standard error: results as lines, and on a terminal one line that says what is going on.
struct Terminal {
    interactive: bool,
}

impl Terminal {
    fn new() -> Self {
        Terminal {
            interactive: std::io::stderr().is_terminal(),
        }
    }

    fn clear(&self) {
        if self.interactive {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Progress for Terminal {
    fn doing(&mut self, what: &str) {
        if self.interactive {
            // A line of progress that cannot be shown is left out.
            let _ = write!(std::io::stderr(), "\r\x1b[K{what:.100}");
        }
    }

    fn done(&mut self, what: &str) {
        self.clear();
        let _ = writeln!(std::io::stderr(), "{what}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn parsed(args: &[&str]) -> Settings {
        let typed = ["trestle", "bench"].iter().chain(args);
        match Cli::try_parse_from(typed).unwrap().command {
            Command::Bench(flags) => settings(*flags).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_typed_means_everything() {
        let settings = parsed(&[]);
        assert_eq!(settings.targets, Target::USUAL);
        assert_eq!(settings.workloads, Workload::ALL);
        assert_eq!((settings.connections, settings.rows), (vec![16], 10_000));
        assert!(settings.limits && settings.alone.is_empty());
    }

    #[test]
    fn lists_choose() {
        let settings = parsed(&[
            "--only",
            "put,gsi-query",
            "--targets",
            "trestle,dynoxide",
            "--connections",
            "1,64",
        ]);
        assert_eq!(settings.workloads, [Workload::Put, Workload::GsiQuery]);
        assert_eq!(settings.targets, [Target::Trestle, Target::Dynoxide]);
        assert_eq!(settings.connections, [1, 64]);
    }

    #[test]
    fn alone_is_alone_unless_targets_are_named() {
        let settings = parsed(&["--alone", "embedded"]);
        assert!(settings.targets.is_empty() && !settings.limits);
        assert_eq!(parsed(&["--alone", "all"]).alone, Alone::ALL);
        assert_eq!(
            parsed(&["--alone", "start", "--targets", "trestle"]).targets,
            [Target::Trestle]
        );
    }

    #[test]
    fn an_earlier_build_is_compared_with_this_one_alone_unless_targets_are_named() {
        let settings = parsed(&["--before", "/old/trestle"]);
        assert_eq!(settings.targets, [Target::Trestle, Target::Before]);
        assert_eq!(settings.places.before.as_deref(), Some(Path::new("/old/trestle")));
        assert!(!settings.limits && settings.alone.is_empty());
        let settings = parsed(&["--before", "/old/trestle", "--targets", "trestle,dynalite"]);
        assert_eq!(
            settings.targets,
            [Target::Trestle, Target::Dynalite, Target::Before]
        );
        assert!(settings.limits);
        let settings = parsed(&["--before", "/old/trestle", "--alone", "model"]);
        assert_eq!(settings.targets, [Target::Trestle, Target::Before]);
        assert_eq!(settings.alone, [Alone::Model]);
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in [
            ["--seconds", "0"],
            ["--only", "puts"],
            ["--connections", "0"],
            ["--alone", "x"],
        ] {
            let typed = ["trestle", "bench"].iter().chain(&wrong);
            assert!(Cli::try_parse_from(typed).is_err(), "{wrong:?}");
        }
    }
}
