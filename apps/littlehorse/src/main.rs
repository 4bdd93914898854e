//! The `littlehorse` binary: the present version, which moves rows of the legacy layout while it serves.

use std::process::ExitCode;

use littlehorse::model::Littlehorse;
use trestle::migrate::StartOptions;

#[tokio::main]
async fn main() -> ExitCode {
    // Begins a migration from the legacy layout, goes on with one, or has nothing to move.
    littlehorse::main(|database| Ok(Littlehorse::migrate_to(database, StartOptions::default())?.0)).await
}
