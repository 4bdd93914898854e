//! Rules for the repository as a whole. Each check returns one sentence per fault.

mod arrows;
mod blocks;
mod book;
mod commands;
mod glossary;
mod heads;
pub(crate) mod links;
mod manifests;
mod metrics;
mod operations;
mod orphans;
mod places;
mod sizes;

use crate::repository::Repository;

/// All faults, in the order of the checks.
pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let checks = [
        arrows::faults,
        blocks::faults,
        book::faults,
        commands::faults,
        glossary::faults,
        heads::faults,
        links::faults,
        manifests::faults,
        metrics::faults,
        places::missing_paths,
        places::machine_names,
        operations::faults,
        orphans::faults,
        sizes::faults,
    ];
    checks.iter().flat_map(|check| check(repository)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let repository = Repository::open(&Repository::own_root()).unwrap();
        let faults = faults(&repository);
        assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    }
}
