//! Where layers are kept.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The account that owns the layers, as part of their names.
const ACCOUNT: &str = "000000000000";

/// The name of one version of a layer in one region.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerArn {
    /// The region.
    pub region: String,
    /// The layer's name there.
    pub layer: String,
    /// The version.
    pub version: i64,
}

impl LayerArn {
    /// What the layer of a package is called: `Klayers-p312-requests`.
    #[must_use]
    pub fn layer_name(package: &str, python: &str) -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "-_".contains(c) {
                c
            } else {
                '-'
            }
        };
        let package: String = package.chars().map(plain).collect();
        format!("Klayers-{}-{package}", python.replace('.', ""))
    }
}

impl fmt::Display for LayerArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            region,
            layer,
            version,
        } = self;
        write!(f, "arn:aws:lambda:{region}:{ACCOUNT}:layer:{layer}:{version}")
    }
}

impl FromStr for LayerArn {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let wrong = || {
            io::Error::new(
                ErrorKind::InvalidInput,
                format!("{text:?} is not the ARN of a layer"),
            )
        };
        let parts: Vec<&str> = text.split(':').collect();
        let ["arn", "aws", "lambda", region, _, "layer", layer, version] = parts[..] else {
            return Err(wrong());
        };
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        };
        if !is_name(region) || !is_name(layer) {
            return Err(wrong());
        }
        Ok(Self {
            region: region.to_owned(),
            layer: layer.to_owned(),
            version: version.parse().map_err(|_| wrong())?,
        })
    }
}

/// Keeps layers, as Lambda does: it numbers the versions of a layer, and never gives a number twice.
pub trait LayerStore: Send + Sync {
    /// Stores the next version of a layer. When this returns, it is durable.
    fn publish(&self, region: &str, layer: &str, content: &[u8]) -> io::Result<LayerArn>;

    /// Removes a version; says whether it was there.
    fn delete(&self, layer: &LayerArn) -> io::Result<bool>;

    /// Everything that is stored in a region.
    fn list(&self, region: &str) -> io::Result<Vec<LayerArn>>;
}

/// Layers as files: `<region>/<layer>/<version>/layer.zip`. The folder of a version stays when its file goes, so that its
/// number is never given again.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
}

const FILE: &str = "layer.zip";
const UNFINISHED: &str = "layer.part";

impl Directory {
    /// Layers in this directory, which is made with the first of them.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn folder(&self, layer: &LayerArn) -> PathBuf {
        let LayerArn {
            region,
            layer,
            version,
        } = layer;
        self.root.join(region).join(layer).join(version.to_string())
    }

    /// Takes the next number by making its folder, which only one can.
    fn claim(&self, region: &str, layer: &str) -> io::Result<LayerArn> {
        let folder = self.root.join(region).join(layer);
        fs::create_dir_all(&folder)?;
        let newest = numbers(&folder)?.into_iter().max().unwrap_or(0);
        let mut claimed = LayerArn {
            region: region.to_owned(),
            layer: layer.to_owned(),
            version: newest,
        };
        loop {
            claimed.version += 1;
            match fs::create_dir(self.folder(&claimed)) {
                Ok(()) => return Ok(claimed),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl LayerStore for Directory {
    fn publish(&self, region: &str, layer: &str, content: &[u8]) -> io::Result<LayerArn> {
        let claimed = self.claim(region, layer)?;
        let folder = self.folder(&claimed);
        let mut file = File::create(folder.join(UNFINISHED))?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(folder.join(UNFINISHED), folder.join(FILE))?;
        // The file's name is in its folder, and the folder's in the one above.
        for folder in folder.ancestors().take(2) {
            File::open(folder)?.sync_all()?;
        }
        Ok(claimed)
    }

    fn delete(&self, layer: &LayerArn) -> io::Result<bool> {
        match fs::remove_file(self.folder(layer).join(FILE)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn list(&self, region: &str) -> io::Result<Vec<LayerArn>> {
        let mut found = Vec::new();
        for layer in names(&self.root.join(region))? {
            let folder = self.root.join(region).join(&layer);
            let versions = numbers(&folder)?.into_iter();
            let stored = versions.filter(|version| folder.join(version.to_string()).join(FILE).exists());
            found.extend(stored.map(|version| LayerArn {
                region: region.to_owned(),
                layer: layer.clone(),
                version,
            }));
        }
        Ok(found)
    }
}

/// What is in a folder; nothing if there is none.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

fn numbers(folder: &Path) -> io::Result<Vec<i64>> {
    let names = names(folder)?;
    Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
}
