//! Where tarballs and built files are: in a directory or in a bucket. Each file has a URL, and is there when a GET of it
//! gives its bytes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _};
use reqwest::{Client, Url};
use trestle::app::Objects;

/// How long to wait before each look at a URL.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(200), Duration::from_secs(1)];
/// How long a server may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Stored files and their URLs.
#[derive(Clone, Debug)]
pub struct Assets {
    objects: Arc<dyn ObjectStore>,
    client: Client,
    url: String,
}

impl Assets {
    /// Files in a directory or in `s3://BUCKET/PREFIX`, which are found at URLs that begin with `url`. What S3 is called with
    /// comes from the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION` and so on.
    pub fn open(place: &str, s3_endpoint: Option<&str>, url: impl Into<String>) -> io::Result<Self> {
        // An error says that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let objects = Objects::open(place, s3_endpoint)?.store;
        let client = Client::builder()
            .timeout(TIMEOUT)
            .build()
            .map_err(io::Error::other)?;
        let url = url.into();
        let url = format!("{}/", url.trim_end_matches('/'));
        Ok(Self { objects, client, url })
    }

    /// Stores a file. When this returns, it is durable.
    pub async fn put(&self, path: &str, content: Vec<u8>) -> io::Result<()> {
        self.objects.put(&path_of(path)?, content.into()).await?;
        Ok(())
    }

    /// A stored file.
    pub async fn get(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let Ok(path) = path_of(path) else {
            return Ok(None);
        };
        match self.objects.get(&path).await {
            Err(Error::NotFound { .. }) => Ok(None),
            found => Ok(Some(found?.bytes().await?.to_vec())),
        }
    }

    /// What URLs of files begin with.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Looks whether a GET of the file's URL gives its bytes: three times, with pauses.
    pub async fn verify(&self, path: &str, content: &[u8]) -> Result<(), String> {
        let url = url_of(&self.url, path);
        let mut found = String::new();
        for pause in PAUSES {
            tokio::time::sleep(pause).await;
            let answer = self
                .client
                .get(&url)
                .send()
                .await
                .and_then(|answer| answer.error_for_status());
            found = match answer {
                Err(error) => error.without_url().to_string(),
                Ok(answer) => match answer.bytes().await {
                    Ok(bytes) if bytes == content => return Ok(()),
                    Ok(bytes) => format!("{} other bytes", bytes.len()),
                    Err(error) => error.without_url().to_string(),
                },
            };
        }
        Err(format!("{url} does not give the file that was stored: {found}"))
    }
}

/// The URL of a file; names may have any characters.
pub(crate) fn url_of(base: &str, path: &str) -> String {
    let Ok(mut url) = Url::parse(base) else {
        return format!("{base}{path}");
    };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path.split('/'));
    }
    url.into()
}

/// Names of files come from packages and from URLs.
fn path_of(path: &str) -> io::Result<Path> {
    Path::parse(path).map_err(io::Error::other)
}
