//! The console: the files of its page, compressed in the binary, and their content security policy. Also the pages of the book.
//!
//! The page consists of plain ES modules under `files/`, served unchanged; `main.js` is the first. Nothing is
//! built or bundled. The crate knows no HTTP: `trestle-server` looks up a file by its path and sends it.
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod book;

use flate2::read::GzDecoder;
use std::borrow::Cow;
use std::io::{self, Read};

pub use book::{book_page, book_paths};

/// What the page may load: its own files and its own server, nothing inline, and no frame around it. Scripts
/// are loaded from files; the one that runs as a worker, `follow.js`, has its own policy, which allows no
/// other.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types trestle-follow";

/// A file of the page.
#[derive(Clone, Debug)]
pub struct ConsoleFile {
    /// Its content type.
    pub content_type: &'static str,
    /// Differs whenever its content does.
    pub etag: Cow<'static, str>,
    /// Its content, compressed with gzip.
    pub gzip: Cow<'static, [u8]>,
}

impl ConsoleFile {
    /// The file at a path below `/console/`; the empty path is the page itself.
    #[must_use]
    pub fn find(path: &str) -> Option<Self> {
        let path = if path.is_empty() { "index.html" } else { path };
        let content_type = content_type(path)?;
        #[cfg(debug_assertions)]
        if let Some(folder) = std::env::var_os("TRESTLE_CONSOLE_FILES") {
            return from_folder(&folder, path, content_type);
        }
        let (_, etag, gzip) = FILES.iter().find(|(name, ..)| *name == path)?;
        Some(ConsoleFile {
            content_type,
            etag: Cow::Borrowed(etag),
            gzip: Cow::Borrowed(gzip),
        })
    }

    /// The content, for a client that does not accept gzip.
    pub fn plain(&self) -> io::Result<Vec<u8>> {
        unzip(&self.gzip)
    }
}

fn unzip(gzip: &[u8]) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    GzDecoder::new(gzip).read_to_end(&mut plain)?;
    Ok(plain)
}

/// Name, ETag and compressed content of each file.
static FILES: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

fn content_type(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    Some(match extension {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

/// The current file on disk, so that work on the page needs no build of the server. Only in debug builds.
#[cfg(debug_assertions)]
fn from_folder(folder: &std::ffi::OsStr, path: &str, content_type: &'static str) -> Option<ConsoleFile> {
    use std::io::Write;
    let is_plain = path
        .split('/')
        .all(|part| !part.is_empty() && !part.starts_with('.'));
    let content = std::fs::read(std::path::Path::new(folder).join(path))
        .ok()
        .filter(|_| is_plain)?;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&content).ok()?;
    let mut sum = flate2::Crc::new();
    sum.update(&content);
    Some(ConsoleFile {
        content_type,
        etag: Cow::Owned(format!("\"{:08x}-{:x}\"", sum.sum(), content.len())),
        gzip: Cow::Owned(encoder.finish().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_type_and_comes_back_as_it_was() {
        for (name, ..) in FILES {
            let file = ConsoleFile::find(name).unwrap();
            let on_disk = std::fs::read(std::path::Path::new("files").join(name)).unwrap();
            assert_eq!(file.plain().unwrap(), on_disk, "{name}");
        }
        assert!(
            ConsoleFile::find("")
                .unwrap()
                .content_type
                .starts_with("text/html")
        );
    }

    #[test]
    fn a_path_that_is_no_file_finds_nothing() {
        for path in [
            "nothing.js",
            "../Cargo.toml",
            "index",
            "libraries/",
            "/index.html",
        ] {
            assert!(ConsoleFile::find(path).is_none(), "{path}");
        }
    }

    /// The browser would refuse both, and the page would not work.
    #[test]
    fn the_page_has_nothing_inline_and_names_no_other_host() {
        for (name, ..) in FILES.iter().filter(|(name, ..)| !name.ends_with(".txt")) {
            let text = String::from_utf8(ConsoleFile::find(name).unwrap().plain().unwrap()).unwrap();
            let hosts = text
                .replace("http://www.w3.org/", "")
                .replace("https://preactjs.com", "");
            assert!(!hosts.contains("https://"), "{name} names another host");
            if name.ends_with(".html") {
                assert!(!text.contains("style=") && !text.contains("onclick"), "{name}");
                assert!(!text.contains("<script>"), "{name}");
            }
        }
    }

    /// The compressed size of what is loaded before the first useful view: all scripts and styles, needed or
    /// not.
    #[test]
    fn all_files_together_stay_small() {
        let sizes = FILES.iter().filter(|(name, ..)| !name.ends_with(".txt"));
        let bytes: usize = sizes.map(|(_, _, gzip)| gzip.len()).sum();
        assert!(bytes < 200_000, "{bytes}");
    }
}
