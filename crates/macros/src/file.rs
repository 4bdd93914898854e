//! The model file: relative to the package that uses it, or to the file that names it.

use std::path::PathBuf;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::Fault;
use crate::input::Path;

pub(crate) fn read(path: &Path) -> Result<String, Fault> {
    let full = base(path)?.join(&path.text);
    std::fs::read_to_string(&full).map_err(|error| {
        let message = format!(
            "there is no model file at {}: {error}\n  help: {}",
            full.display(),
            if is_beside(path) {
                "a path that begins with `./` is relative to this file"
            } else {
                "the path is relative to the package's Cargo.toml; with `./` before it, to this file"
            }
        );
        Fault::new(path.span, message)
    })
}

/// The file's text as an expression. It makes the compiler track the file, and build again when it changes.
pub(crate) fn text(path: &Path) -> TokenStream {
    let text = &path.text;
    if is_beside(path) {
        // With the span of the path, so that it is looked for beside the file that names it.
        let span = path.span;
        quote_spanned!(span=> ::core::include_str!(#text))
    } else {
        quote!(::core::include_str!(
            ::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", #text)
        ))
    }
}

/// Whether the path is relative as in `include_str!`.
fn is_beside(path: &Path) -> bool {
    path.text.starts_with("./")
}

fn base(path: &Path) -> Result<PathBuf, Fault> {
    if is_beside(path) {
        let file = path.span.unwrap().local_file();
        let directory = file.and_then(|file| Some(file.parent()?.to_owned()));
        return directory.ok_or_else(|| {
            let message = "the compiler does not say where this file is\n  help: without `./` the path is relative to the \
                           package's Cargo.toml";
            Fault::new(path.span, message)
        });
    }
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    package.ok_or_else(|| {
        let message = "CARGO_MANIFEST_DIR is not set: build with Cargo, or begin the path with `./`";
        Fault::new(path.span, message)
    })
}
