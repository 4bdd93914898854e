//! Which addresses a client may connect to.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::net::{TcpStream, lookup_host};

/// Which addresses a client may connect to. The addresses of a name are checked for every connection, because
/// they may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// All of them.
    #[default]
    Anywhere,
    /// Those of the public internet: no loopback, link-local, private or otherwise special address.
    Public,
}

impl Reach {
    /// Whether an address may be connected to.
    #[must_use]
    pub fn has(self, address: IpAddr) -> bool {
        self == Reach::Anywhere || is_public(address)
    }

    pub(crate) async fn connect(self, host: &str, port: u16) -> io::Result<TcpStream> {
        if self == Reach::Anywhere {
            return TcpStream::connect((host, port)).await;
        }
        let found: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
        let public: Vec<SocketAddr> = found
            .iter()
            .copied()
            .filter(|found| self.has(found.ip()))
            .collect();
        match found.first() {
            Some(first) if public.is_empty() => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{} is no address of the public internet", first.ip()),
            )),
            _ => TcpStream::connect(public.as_slice()).await,
        }
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(address) => is_public_v4(address),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_shared = first == 100 && second & 0xc0 == 64;
    let is_of_protocols = (first, second, third) == (192, 0, 0);
    let is_for_benchmarks = first == 198 && second & 0xfe == 18;
    !(first == 0
        || first >= 240
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || is_shared
        || is_of_protocols
        || is_for_benchmarks)
}

/// The block of the public internet, without the one for documentation.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    first & 0xe000 == 0x2000 && (first, second) != (0x2001, 0x0db8)
}

/// The IPv4 address embedded in an IPv6 address: mapped, translated (NAT64) or tunnelled (6to4).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(parts(high, low)),
        [0x2002, high, low, ..] => Some(parts(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        for address in [
            "1.1.1.1",
            "203.0.112.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert!(Reach::Public.has(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.5.4",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
        ] {
            assert!(!Reach::Public.has(address.parse().unwrap()), "{address}");
            assert!(Reach::Anywhere.has(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_name_that_stands_for_a_private_address_is_not_connected_to() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let refused = runtime
            .block_on(Reach::Public.connect("localhost", port))
            .unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(
            runtime
                .block_on(Reach::Anywhere.connect("localhost", port))
                .is_ok()
        );
    }
}
