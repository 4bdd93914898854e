//! The `littlehorse-v1` binary: the version before, on the legacy layout. It does not start on data that was migrated.

use littlehorse_v1::model::Littlehorse;

fn main() -> std::process::ExitCode {
    littlehorse_v1::run(|database| Ok(Littlehorse::apply_to(database)?))
}
