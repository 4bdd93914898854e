//! Ranges of network addresses: `10.0.0.0/24`.

use std::net::IpAddr;

/// An address of which only the leading bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Cidr {
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "must be an address and a number of bits: `10.0.0.0/24` or `2001:db8::/32`";
        let (address, bits) = text.split_once('/').ok_or(FORM)?;
        let address: IpAddr = address.parse().map_err(|_| FORM)?;
        let bits: u8 = bits.parse().map_err(|_| FORM)?;
        if bits > width(address) {
            return Err("an address has no more than 32 bits, or 128 in IPv6");
        }
        Ok(Cidr { address, bits })
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        let Ok(address) = text.parse::<IpAddr>() else {
            return false;
        };
        let ignored = u32::from(width(self.address) - self.bits);
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                (ours.to_bits() ^ theirs.to_bits())
                    .checked_shr(ignored)
                    .unwrap_or(0)
                    == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                (ours.to_bits() ^ theirs.to_bits())
                    .checked_shr(ignored)
                    .unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }
}

fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(range: &str, address: &str) -> bool {
        Cidr::parse(range).unwrap().contains(address)
    }

    #[test]
    fn the_leading_bits_decide() {
        assert!(contains("10.0.0.0/24", "10.0.0.255"));
        assert!(!contains("10.0.0.0/24", "10.0.1.0"));
        assert!(contains("0.0.0.0/0", "203.0.113.9"));
        assert!(contains("192.0.2.7/32", "192.0.2.7"));
        assert!(contains("2001:db8::/32", "2001:DB8:0:1::5"));
        assert!(!contains("2001:db8::/32", "2001:db9::"));
        assert!(contains("::/0", "::1"));
    }

    #[test]
    fn other_families_and_other_text_are_outside() {
        assert!(!contains("0.0.0.0/0", "::1"));
        assert!(!contains("0.0.0.0/0", "example.com"));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "10.0.0.0",
            "10.0.0/8",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "/8",
            "10.0.0.0/-1",
        ] {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }
}
