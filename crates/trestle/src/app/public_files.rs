//! Files that clients fetch by URL: from this server, or from a CDN in front of the same bucket.

use std::io;
use std::time::Duration;

use reqwest::{Client, Url};

use super::{Error, Objects, Result};

/// The pauses before attempts to fetch a URL.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(200), Duration::from_secs(1)];
/// The time limit for a server's answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Stored files that have URLs. A file is available when a GET of its URL returns its bytes.
#[derive(Clone, Debug)]
pub struct PublicFiles {
    /// The place where they are stored. [`Objects::served`] serves them where there is no CDN.
    pub objects: Objects,
    /// The prefix of their URLs, which ends with a slash.
    pub url: String,
    client: Client,
}

impl PublicFiles {
    /// Files in a directory or a bucket, in the form of [`Objects::open`], at URLs that begin with `url`.
    pub fn open(place: &str, s3_endpoint: Option<&str>, url: &str) -> io::Result<Self> {
        Ok(Self {
            objects: Objects::open(place, s3_endpoint)?,
            url: format!("{}/", url.trim_end_matches('/')),
            client: client(TIMEOUT)?,
        })
    }

    /// Stores a file, and checks that a GET of its URL returns its bytes: up to three times, with pauses.
    /// When this returns, the file is durable and can be fetched; if it cannot, that is [`Error::Invalid`].
    pub async fn store(&self, path: String, content: Vec<u8>) -> Result<()> {
        self.objects.write(&path, content.clone()).await?;
        let url = url_below(&self.url, &path);
        let mut found = String::new();
        for pause in PAUSES {
            tokio::time::sleep(pause).await;
            let fetched = async {
                self.client
                    .get(&url)
                    .send()
                    .await?
                    .error_for_status()?
                    .bytes()
                    .await
            };
            found = match fetched.await {
                Ok(bytes) if bytes == content => return Ok(()),
                Ok(bytes) => format!("{} other bytes", bytes.len()),
                Err(error) => error.without_url().to_string(),
            };
        }
        let other = format!("{url} does not give the file that was stored: {found}");
        Err(Error::Invalid(other))
    }
}

/// The URL of a path below another URL. Names in the path may have any characters.
#[must_use]
pub fn url_below(base: &str, path: &str) -> String {
    let Ok(mut url) = Url::parse(base) else {
        return format!("{base}{path}");
    };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path.split('/'));
    }
    url.into()
}

/// A client for servers, with this time limit.
pub(super) fn client(timeout: Duration) -> io::Result<Client> {
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().timeout(timeout).build();
    client.map_err(io::Error::other)
}
