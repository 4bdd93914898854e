//! The `littlehorse-v1` binary: the version before, on the legacy layout. It does not start on data that was migrated.

use std::process::ExitCode;

use littlehorse_v1::model::Littlehorse;

#[tokio::main]
async fn main() -> ExitCode {
    littlehorse_v1::main(|database| Ok(Littlehorse::apply_to(database)?)).await
}
