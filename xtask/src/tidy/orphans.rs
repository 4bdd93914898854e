//! Every Rust file is reached from a crate's root, so that no file is left uncompiled.

use crate::repository::Repository;
use std::collections::BTreeSet;

pub(crate) fn faults(repository: &Repository) -> Vec<String> {
    let all: BTreeSet<&str> = repository.with_extension("rs").map(|(path, _)| path).collect();
    let mut reached = BTreeSet::new();
    let mut open: Vec<(String, bool)> = all
        .iter()
        .filter(|path| is_root(repository, path))
        .map(|path| ((*path).to_owned(), true))
        .collect();
    while let Some((path, root)) = open.pop() {
        let Some(text) = repository.text(&path) else {
            continue;
        };
        if reached.insert(path.clone()) {
            open.extend(
                children(text, &path, root)
                    .into_iter()
                    .map(|child| (child, false)),
            );
        }
    }
    let orphans = all.iter().filter(|path| !reached.contains(**path));
    orphans
        .map(|path| format!("{path} belongs to no crate: no `mod` leads to it."))
        .collect()
}

/// Cargo finds these by their place, or a manifest names them. Files in `tests/fail` are code that must not
/// compile.
fn is_root(repository: &Repository, path: &str) -> bool {
    let parts: Vec<_> = path.rsplit('/').collect();
    let by_place = matches!(
        parts.as_slice(),
        ["lib.rs" | "main.rs", "src", ..]
            | ["build.rs", ..]
            | [_, "bin", "src", ..]
            | [_, "tests" | "benches" | "examples" | "fuzz_targets", ..]
            | ["main.rs", _, "tests" | "benches" | "examples", ..]
            | [_, "fail", "tests", ..]
    );
    by_place || is_named_by_manifest(repository, path)
}

fn is_named_by_manifest(repository: &Repository, path: &str) -> bool {
    let mut manifests = repository
        .files()
        .filter_map(|(file, text)| Some((file.strip_suffix("Cargo.toml")?, text)));
    manifests.any(|(folder, text)| {
        path.strip_prefix(folder).is_some_and(|inner| {
            text.lines()
                .any(|line| line.trim() == format!("path = \"{inner}\""))
        })
    })
}

/// The files that `mod` declarations in this one may mean.
fn children(text: &str, path: &str, root: bool) -> Vec<String> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let owns_folder = root || file == "mod.rs";
    let base = if owns_folder {
        folder.to_owned()
    } else {
        path.trim_end_matches(".rs").to_owned()
    };
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = declared(line) {
            found.extend([format!("{base}/{name}.rs"), format!("{base}/{name}/mod.rs")]);
        } else if let Some(named) = quoted(line, "#[path = \"").or_else(|| quoted(line, "include!(\"")) {
            found.push(format!("{folder}/{named}"));
        }
    }
    found
}

/// The name in `mod name;`, whatever its visibility.
fn declared(line: &str) -> Option<&str> {
    let declaration = line.split("//").next()?.trim().strip_suffix(';')?;
    let (before, name) = declaration.rsplit_once("mod ")?;
    let visible =
        before.is_empty() || before.trim_end().ends_with([')', ']']) || before.trim_end().ends_with("pub");
    (visible && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
}

fn quoted<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.split_once(start)?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_reached_by_mod_pass() {
        let repository = Repository::of(&[
            (
                "crates/a/src/lib.rs",
                "mod one;\npub(crate) mod two;\n#[cfg(test)] mod three;",
            ),
            ("crates/a/src/one.rs", "mod inner;"),
            ("crates/a/src/one/inner.rs", ""),
            ("crates/a/src/two/mod.rs", "mod deep;"),
            ("crates/a/src/two/deep.rs", ""),
            ("crates/a/src/three.rs", ""),
            ("crates/a/tests/it/main.rs", "mod case;"),
            ("crates/a/tests/it/case.rs", ""),
        ]);
        assert_eq!(faults(&repository), Vec::<String>::new());
    }

    #[test]
    fn a_file_nobody_declares_is_named() {
        let repository = Repository::of(&[
            ("crates/a/src/lib.rs", "// mod lost;\nmod found;"),
            ("crates/a/src/found.rs", ""),
            ("crates/a/src/lost.rs", ""),
        ]);
        assert_eq!(
            faults(&repository),
            ["crates/a/src/lost.rs belongs to no crate: no `mod` leads to it."]
        );
    }
}
