//! Where built files are: in a directory or in a bucket. Each file has a URL, and is there when a GET of it gives its bytes.

use std::io;
use std::time::Duration;

use reqwest::{Client, Url};
use trestle::app::Objects;

use crate::{Error, Result};

/// How long to wait before each look at a URL.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(200), Duration::from_secs(1)];
/// How long a server may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Stored files and their URLs.
#[derive(Clone, Debug)]
pub struct Assets {
    pub(crate) objects: Objects,
    client: Client,
    /// What URLs of files begin with.
    pub(crate) url: String,
}

impl Assets {
    /// Files in a directory or in `s3://BUCKET/PREFIX`, which are found at URLs that begin with `url`. What S3 is called with
    /// comes from the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION` and so on.
    pub fn open(place: &str, s3_endpoint: Option<&str>, url: &str) -> io::Result<Self> {
        Ok(Self {
            objects: Objects::open(place, s3_endpoint)?,
            client: client(TIMEOUT).map_err(io::Error::other)?,
            url: format!("{}/", url.trim_end_matches('/')),
        })
    }

    /// Stores a file, and looks whether a GET of its URL gives its bytes: three times, with pauses.
    pub async fn store(&self, path: String, content: Vec<u8>) -> Result<()> {
        self.objects.write(&path, content.clone()).await?;
        let url = url_of(&self.url, &path);
        let mut found = String::new();
        for pause in PAUSES {
            tokio::time::sleep(pause).await;
            let answer = async {
                self.client
                    .get(&url)
                    .send()
                    .await?
                    .error_for_status()?
                    .bytes()
                    .await
            };
            found = match answer.await {
                Ok(bytes) if bytes == content => return Ok(()),
                Ok(bytes) => format!("{} other bytes", bytes.len()),
                Err(error) => error.without_url().to_string(),
            };
        }
        let other = format!("{url} does not give the file that was stored: {found}");
        Err(Error::Invalid(other))
    }
}

/// A client for servers that may take so long.
pub(crate) fn client(timeout: Duration) -> reqwest::Result<Client> {
    // An error says that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().timeout(timeout).build()
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
