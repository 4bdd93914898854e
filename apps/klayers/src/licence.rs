//! The licence of a package, from the METADATA in its layer. The reports of pip have it only since pip 25.

use std::io::{Cursor, Read as _};

use axum::body::Bytes;
use pep508_rs::PackageName;
use zip::ZipArchive;

/// Lambda accepts no longer text.
const CHARS_MAX: usize = 512;
/// METADATA also contains the description of the package; text beyond this is not read.
const BYTES_MAX: u64 = 1 << 20;
/// Separates the lines of a value that has several.
const FOLDED: &str = "\0";

/// The licence of a package in a layer, if the layer has the package and the package gives it: its
/// expression, its name or its classifier, whichever it has.
pub(crate) fn licence(package: &str, layer: &Bytes) -> Option<String> {
    let package = package.parse::<PackageName>();
    let mut zip = ZipArchive::new(Cursor::new(layer)).ok()?;
    let mut metadata = (0..zip.len()).filter_map(|at| {
        let (file, mut text) = (zip.by_index(at).ok()?, Vec::new());
        let name = file.name().ok()?;
        name.ends_with(".dist-info/METADATA").then_some(())?;
        file.take(BYTES_MAX).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).replace("\n ", FOLDED))
    });
    let own = metadata.find(|text| values(text, "Name").any(|name| name.parse::<PackageName>() == package));
    named(&own?)
}

/// In place of a name, some packages have the whole text.
fn named(metadata: &str) -> Option<String> {
    let named = values(metadata, "License-Expression").chain(values(metadata, "License"));
    let mut named = named.filter(|text| !text.is_empty() && *text != "UNKNOWN" && !text.contains(FOLDED));
    let classes = values(metadata, "Classifier").filter_map(|class| class.strip_prefix("License :: "));
    let class = classes.filter_map(|class| class.rsplit(" :: ").next()).last();
    let licence = named.next().or(class)?;
    Some(licence.chars().take(CHARS_MAX).collect())
}

/// All values of a header.
fn values<'m>(metadata: &'m str, header: &'m str) -> impl Iterator<Item = &'m str> {
    let headers = metadata.lines().take_while(|line| !line.is_empty());
    headers.filter_map(move |line| Some(line.strip_prefix(header)?.strip_prefix(':')?.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{File, zip};

    fn metadata(package: &str, headers: &str) -> File {
        let content = format!("Metadata-Version: 2.4\nName: {package}\n{headers}");
        (format!("python/{package}-1.0.dist-info/METADATA"), content.into())
    }

    #[test]
    fn it_is_the_expression_the_name_or_the_classifier_of_the_package_itself() {
        let class = "Classifier: License :: OSI Approved :: Apache Software License\n";
        let text = "License: Permission is granted\n        \n        to any person\n";
        for (headers, expected) in [
            (
                "License-Expression: MIT OR Apache-2.0\nLicense: MIT\n",
                "MIT OR Apache-2.0",
            ),
            (&format!("License: BSD-3-Clause\n{class}"), "BSD-3-Clause"),
            (&format!("{text}{class}"), "Apache Software License"),
            (&format!("License: UNKNOWN\n{class}"), "Apache Software License"),
            (text, ""),
            ("Summary: x\n\nLicense: of an example in the description\n", ""),
        ] {
            for headers in [headers.to_owned(), headers.replace('\n', "\r\n")] {
                let files = [
                    metadata("other", "License: GPL\n"),
                    metadata("Own_Package", &headers),
                ];
                let found = licence("own.package", &zip(&files).unwrap());
                assert_eq!(found.unwrap_or_default(), expected, "{headers:?}");
            }
        }
    }
}
