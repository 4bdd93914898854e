//! Connections through a proxy, for endpoints with https: a tunnel, with TLS to the endpoint itself.

use crate::endpoint::Endpoint;
use crate::failure::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::net::IpAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Larger than the head of any proxy's response.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// The proxy in the environment, and the hosts that are called without it.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// May contain a password.
    url: String,
    exceptions: String,
}

/// A proxy that a client uses.
#[derive(Clone)]
pub(crate) struct Tunnel {
    host: String,
    port: u16,
    /// The value of `Proxy-Authorization`.
    authorization: Option<String>,
}

impl Proxy {
    /// A proxy by its URL, `http://proxy.example:3128`, and a list of exceptions as in `NO_PROXY`.
    #[must_use]
    pub fn new(url: impl Into<String>, exceptions: impl Into<String>) -> Self {
        Proxy {
            url: url.into(),
            exceptions: exceptions.into(),
        }
    }

    /// The proxy of `HTTPS_PROXY` with the exceptions of `NO_PROXY`, in upper or lower case.
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let either = |name: &str| {
            let small = variable(&name.to_ascii_lowercase()).filter(|value| !value.is_empty());
            small.or_else(|| variable(name).filter(|value| !value.is_empty()))
        };
        let url = either("HTTPS_PROXY")?;
        Some(Proxy::new(url, either("NO_PROXY").unwrap_or_default()))
    }

    /// The tunnel to an endpoint, if the proxy is used for it. An error says what the URL of the proxy must
    /// be.
    pub(crate) fn tunnel_to(&self, endpoint: &Endpoint) -> Result<Option<Tunnel>, String> {
        if !endpoint.is_https || self.excepts(&endpoint.host, endpoint.port) {
            return Ok(None);
        }
        let tunnel = Tunnel::parse(&self.url);
        tunnel.map(Some).ok_or_else(|| {
            "HTTPS_PROXY must be a URL that begins with http://, as in http://proxy.example:3128".to_owned()
        })
    }

    /// Whether a host is called without the proxy, as this machine always is.
    fn excepts(&self, host: &str, port: u16) -> bool {
        let address: Option<IpAddr> = host.parse().ok();
        if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
            return true;
        }
        let mut entries = self
            .exceptions
            .split([',', ' '])
            .filter(|entry| !entry.is_empty());
        entries.any(|entry| is_excepted(entry, host, address, port))
    }
}

/// Whether an entry of `NO_PROXY` matches a host: `*`, a name with its subdomains, an address, or a block of
/// addresses.
fn is_excepted(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some((network, bits)) = entry.split_once('/') {
        let network: Option<IpAddr> = network.parse().ok();
        return match (address, network, bits.parse().ok()) {
            (Some(address), Some(network), Some(bits)) => is_within(address, network, bits),
            _ => false,
        };
    }
    if let (Some(address), Ok(entry)) = (address, entry.trim_matches(['[', ']']).parse::<IpAddr>()) {
        return address == entry;
    }
    let (name, is_port) = match entry.rsplit_once(':') {
        Some((name, told)) if !name.contains(':') => (name, told.parse() == Ok(port)),
        _ => (entry, true),
    };
    let name = name
        .trim_start_matches("*.")
        .trim_start_matches('.')
        .to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    let is_below = host.strip_suffix(&name).is_some_and(|rest| rest.ends_with('.'));
    is_port && !name.is_empty() && (host == name || is_below)
}

/// Whether the first bits are equal.
fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) if bits <= 32 => {
            let shift = 32 - bits;
            address.to_bits().checked_shr(shift) == network.to_bits().checked_shr(shift)
        }
        (IpAddr::V6(address), IpAddr::V6(network)) if bits <= 128 => {
            let shift = 128 - bits;
            address.to_bits().checked_shr(shift) == network.to_bits().checked_shr(shift)
        }
        _ => false,
    }
}

impl Tunnel {
    fn parse(url: &str) -> Option<Tunnel> {
        let rest = match url.split_once("://") {
            Some(("http", rest)) => rest,
            Some(_) => return None,
            None => url,
        };
        let (user, authority) = match rest.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, rest),
        };
        let authority = Endpoint::parse(&format!("http://{authority}")).ok()?;
        let authorization = user.map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            let mut plain = unescaped(name);
            plain.push(b':');
            plain.extend(unescaped(password));
            format!("Basic {}", STANDARD.encode(plain))
        });
        Some(Tunnel {
            host: authority.host,
            port: authority.port,
            authorization,
        })
    }

    /// A connection to the endpoint, on which nothing has been sent yet.
    pub(crate) async fn open(&self, endpoint: &Endpoint) -> Result<TcpStream, Failure> {
        let opened = self.ask(endpoint).await;
        opened.map_err(|why| {
            let why = format!("the proxy {}:{} {why}", self.host, self.port);
            Failure::no_connection(endpoint, why)
        })
    }

    async fn ask(&self, endpoint: &Endpoint) -> Result<TcpStream, String> {
        let lost = |error: std::io::Error| format!("cannot be used: {error}");
        let mut stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(lost)?;
        let host = match endpoint.host.contains(':') {
            true => format!("[{}]:{}", endpoint.host, endpoint.port),
            false => format!("{}:{}", endpoint.host, endpoint.port),
        };
        let authorization = self.authorization.as_ref();
        let authorization =
            authorization.map_or_else(String::new, |said| format!("Proxy-Authorization: {said}\r\n"));
        let head = format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n{authorization}\r\n");
        stream.write_all(head.as_bytes()).await.map_err(lost)?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            // One by one: bytes after the head belong to the endpoint.
            let byte = stream.read_u8().await.map_err(lost)?;
            answer.push(byte);
            if answer.len() > HEAD_BYTES_MAX {
                return Err("answered with too long a head".to_owned());
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        let line = answer.lines().next().unwrap_or_default();
        let (protocol, status) = line.split_once(' ').unwrap_or_default();
        match (protocol.starts_with("HTTP/1."), status.starts_with('2')) {
            (true, true) => Ok(stream),
            (true, false) => Err(format!("answered {status}")),
            (false, _) => Err("does not speak HTTP".to_owned()),
        }
    }
}

/// Decodes a text of a URL, in which `%41` is a byte.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        let digits = escaped.get(..2);
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = escaped.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = escaped;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_proxy_names_is_called_without_one() {
        let excepts = |exceptions: &str, url: &str| {
            let endpoint = Endpoint::parse(url).unwrap();
            Proxy::new("http://p", exceptions)
                .tunnel_to(&endpoint)
                .unwrap()
                .is_none()
        };
        for (exceptions, url) in [
            ("", "http://dynamodb.example"),
            ("", "https://localhost:8000"),
            ("", "https://127.0.0.1:8000"),
            ("", "https://[::1]:8000"),
            ("*", "https://dynamodb.example"),
            ("a, dynamodb.example", "https://dynamodb.example"),
            ("example", "https://dynamodb.EXAMPLE"),
            (".example", "https://dynamodb.example"),
            ("*.example", "https://dynamodb.example"),
            ("dynamodb.example:443", "https://dynamodb.example"),
            ("10.0.0.0/8", "https://10.1.2.3"),
            ("10.1.2.3", "https://10.1.2.3"),
            ("0.0.0.0/0", "https://10.1.2.3"),
            ("fd00::/8", "https://[fd00:1::2]"),
            ("[fd00:1::2]", "https://[fd00:1::2]"),
        ] {
            assert!(excepts(exceptions, url), "{exceptions} {url}");
        }
        for (exceptions, url) in [
            ("", "https://dynamodb.example"),
            ("ynamodb.example", "https://dynamodb.example"),
            ("dynamodb.example:80", "https://dynamodb.example"),
            ("10.0.0.0/8", "https://11.1.2.3"),
            ("10.0.0.0/99", "https://10.1.2.3"),
            ("fd00::/8", "https://10.1.2.3"),
            (".", "https://dynamodb.example"),
        ] {
            assert!(!excepts(exceptions, url), "{exceptions} {url}");
        }
    }

    #[test]
    fn a_proxy_is_a_host_a_port_and_perhaps_a_password() {
        let tunnel = Tunnel::parse("http://ann:p%40ss@proxy.example:3128").unwrap();
        assert_eq!((tunnel.host.as_str(), tunnel.port), ("proxy.example", 3128));
        assert_eq!(tunnel.authorization.as_deref(), Some("Basic YW5uOnBAc3M="));
        let bare = Tunnel::parse("proxy.example:3128").unwrap();
        assert_eq!((bare.port, bare.authorization), (3128, None));
        let endpoint = Endpoint::parse("https://a.example").unwrap();
        let refused = Proxy::new("socks5://hush@p", "")
            .tunnel_to(&endpoint)
            .err()
            .unwrap();
        assert!(
            refused.contains("http://") && !refused.contains("hush"),
            "{refused}"
        );
        assert!(!format!("{:?}", Proxy::new("http://a:hush@p", "")).contains("hush"));
    }

    #[test]
    fn small_letters_win_and_what_is_empty_is_not_set() {
        let of = |variables: &[(&str, &str)]| {
            Proxy::from_variables(&|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[("HTTPS_PROXY", "")]), None);
        let both = [
            ("HTTPS_PROXY", "http://a"),
            ("https_proxy", "http://b"),
            ("NO_PROXY", "c"),
        ];
        assert_eq!(of(&both), Some(Proxy::new("http://b", "c")));
    }
}
