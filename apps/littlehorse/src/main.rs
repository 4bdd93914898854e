//! The `littlehorse` binary: the present version, which moves rows of the legacy layout while it serves.

use littlehorse::model::Littlehorse;
use trestle::migrate::StartOptions;

fn main() -> std::process::ExitCode {
    // Begins or continues a migration from the legacy layout, or has nothing to move.
    littlehorse::run(|database| Ok(Littlehorse::migrate_to(database, StartOptions::default())?.0))
}
