//! The model file, relative to the package that uses it.

use std::path::PathBuf;

use crate::Fault;
use crate::input::Path;

pub(crate) fn read(path: &Path) -> Result<String, Fault> {
    let base = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    let full = base.join(&path.text);
    std::fs::read_to_string(&full).map_err(|error| {
        let message = format!(
            "there is no model file at {}: {error}\n  help: the path is relative to the package's Cargo.toml",
            full.display()
        );
        Fault::new(path.span, message)
    })
}
