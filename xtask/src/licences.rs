//! Licences of the packages that are compiled into the program `trestle`: checked, and written for release
//! archives.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use crate::packages::{Folders, Package, tree};

/// Licences that allow distribution of the program under its own licence. MPL-2.0 concerns the files of its
/// packages, which are unchanged.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0+",
    "Unicode-3.0",
    "Zlib",
];

/// The prefixes of the names of files with a licence, in upper case.
const FILES: &[&str] = &[
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// The text of the file for release archives, or one sentence per fault.
pub(crate) fn page(arguments: &[&str]) -> Result<String, Vec<String>> {
    let with_program = [&["--package", "trestle-cli"], arguments].concat();
    let all = tree(&with_program).map_err(|error| vec![error])?;
    let packages: Vec<Package> = all.into_iter().filter(|package| !is_own(&package.name)).collect();
    let faults: Vec<String> = packages.iter().filter_map(fault).collect();
    match faults.is_empty() {
        true => written(&packages).map_err(|error| vec![error]),
        false => Err(faults),
    }
}

fn is_own(name: &str) -> bool {
    name == "trestle" || name.starts_with("trestle-")
}

fn fault(package: &Package) -> Option<String> {
    let Package {
        name,
        version,
        licence,
    } = package;
    (!is_allowed(licence))
        .then(|| format!("{name} {version} has the licence \"{licence}\", which is not allowed."))
}

/// Whether one of the alternatives consists of allowed licences. Old manifests write `/` for `OR`. The only
/// pair of parentheses that occurs contains alternatives that are joined to another licence with `AND`; each
/// of them is checked separately.
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace('/', " OR ");
    match plain.split_once(") AND ") {
        Some((first, second)) => is_allowed(first.trim_start_matches('(')) && is_allowed(second),
        None => plain
            .split(" OR ")
            .any(|way| way.split(" AND ").all(is_allowed_alone)),
    }
}

fn is_allowed_alone(licence: &str) -> bool {
    let licence = licence.trim();
    ALLOWED.contains(&licence.split(" WITH ").next().unwrap_or(licence))
}

fn written(packages: &[Package]) -> Result<String, String> {
    let folders = Folders::of_all_packages()?;
    let mut page =
        String::from("The program `trestle` contains these packages. Each follows with its licences.\n\n");
    for package in packages {
        page += &format!("{} {}: {}\n", package.name, package.version, package.licence);
    }
    for package in packages {
        let Package {
            name,
            version,
            licence,
        } = package;
        let _ = write!(page, "\n{}\n{name} {version}: {licence}\n", "=".repeat(80));
        let folder = folders.of(package);
        let folder = folder.ok_or_else(|| format!("{name} {version}: Cargo does not know its folder"))?;
        page += &texts_in(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(page)
}

fn texts_in(folder: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        if path.is_file() && FILES.iter().any(|start| name.starts_with(start)) {
            files.push(path);
        }
    }
    files.sort();
    let texts = files.iter().map(fs::read_to_string);
    texts
        .map(|text| Ok(format!("\n{}\n", text?.trim_end())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allowed_alternative_is_enough_and_of_joined_ones_all_are_needed() {
        for allowed in [
            "MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 OR GPL-2.0-only",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in [
            "GPL-3.0",
            "",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND GPL-3.0",
        ] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }

    #[test]
    fn everything_in_the_program_has_an_allowed_licence_and_its_text() {
        let page = page(&[]).unwrap_or_else(|faults| panic!("{}", faults.join("\n")));
        assert!(page.contains("\nfjall ") && page.contains("Permission is hereby granted"));
    }
}
