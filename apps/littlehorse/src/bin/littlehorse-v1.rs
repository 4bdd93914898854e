//! The `littlehorse-v1` binary: the previous version, on the legacy layout. It does not start on migrated
//! data.

use littlehorse_v1::model::Littlehorse;

fn main() -> std::process::ExitCode {
    littlehorse_v1::run(|database| Ok(Littlehorse::apply_to(database)?))
}
