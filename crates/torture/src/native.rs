//! The helpers in C, compiled when a test needs them: they do what Rust's `std` does not offer.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the program that runs a server and records what it does to its files. See `native/recorder.c`.
pub fn recorder(into: &Path) -> PathBuf {
    compile(
        "recorder",
        include_str!("../native/recorder.c"),
        &["-O1"],
        &into.join("recorder"),
    )
}

/// Compiles the library that makes a server's disk fail on command. See `native/failing_disk.c`.
pub fn failing_disk(into: &Path) -> PathBuf {
    let flags = ["-O1", "-fPIC", "-shared", "-ldl"];
    compile(
        "failing_disk",
        include_str!("../native/failing_disk.c"),
        &flags,
        &into.join("failing_disk.so"),
    )
}

/// Compiles the library that moves a server's clock. See `native/moved_clock.c`.
pub fn moved_clock(into: &Path) -> PathBuf {
    let flags = ["-O1", "-fPIC", "-shared", "-ldl"];
    compile(
        "moved_clock",
        include_str!("../native/moved_clock.c"),
        &flags,
        &into.join("moved_clock.so"),
    )
}

/// Compiles the program that cuts the power of a file system. See `native/cut_power.c`.
pub fn cut_power(into: &Path) -> PathBuf {
    compile(
        "cut_power",
        include_str!("../native/cut_power.c"),
        &["-O1"],
        &into.join("cut_power"),
    )
}

fn compile(name: &str, source: &str, flags: &[&str], output: &Path) -> PathBuf {
    let file = output.with_extension("c");
    std::fs::write(&file, source).unwrap();
    let compiled = Command::new("cc")
        .args(["-Wall", "-Werror", "-o"])
        .args([output, &file])
        .args(flags)
        .output();
    let compiled = compiled.unwrap_or_else(|error| panic!("cc is needed to build {name}: {error}"));
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{name} does not compile: {errors}");
    output.to_path_buf()
}
