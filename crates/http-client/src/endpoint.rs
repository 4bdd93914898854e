//! The destination of requests.

use http::Uri;

/// A server, and a path on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether it uses TLS.
    pub is_https: bool,
    /// The host, without the brackets of an IPv6 address.
    pub host: String,
    /// The port, given or default.
    pub port: u16,
    /// The value of the `Host` header.
    pub authority: String,
    /// The path with the query.
    pub path: String,
}

impl Endpoint {
    /// Parses a URL; an error says what it must be.
    pub fn parse(url: &str) -> Result<Endpoint, &'static str> {
        const FORM: &str = "must be a URL that begins with http:// or https://";
        let uri: Uri = url.parse().map_err(|_| FORM)?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(FORM),
        };
        let authority = uri.authority().ok_or(FORM)?;
        if authority.as_str().contains('@') {
            return Err("must not hold a password; use a secret or a header");
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(FORM);
        }
        let after_host = authority
            .as_str()
            .strip_prefix(authority.host())
            .unwrap_or_default();
        if !after_host.is_empty() && authority.port_u16().is_none() {
            return Err("must have a port between 1 and 65535, or none");
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Endpoint {
            is_https,
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(if is_https { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            path: if path.is_empty() { "/" } else { path }.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_server_and_a_path() {
        let endpoint = Endpoint::parse("https://example.com/a/b?c=d").unwrap();
        assert!(endpoint.is_https);
        assert_eq!((endpoint.host.as_str(), endpoint.port), ("example.com", 443));
        assert_eq!(endpoint.path, "/a/b?c=d");
        let endpoint = Endpoint::parse("http://[::1]:9000").unwrap();
        assert_eq!((endpoint.host.as_str(), endpoint.port), ("::1", 9000));
        assert_eq!(
            (endpoint.authority.as_str(), endpoint.path.as_str()),
            ("[::1]:9000", "/")
        );
    }

    #[test]
    fn what_cannot_be_called_is_refused() {
        for url in [
            "",
            "example.com",
            "/hook",
            "ftp://a/",
            "http://",
            "http://user:word@a/",
            "http://a:x/",
        ] {
            assert!(Endpoint::parse(url).is_err(), "{url}");
        }
    }
}
