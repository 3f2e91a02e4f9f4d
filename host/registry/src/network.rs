//! The networks of addresses: which of them are part of the internet. Start at [`Network::from_url`].
//!
//! Those are listed that are known to be: whatever IANA's registries of special addresses have, or have not given to anybody yet, is none.
//! IPv6 addresses that stand for an IPv4 address are taken for that one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// The network of an address, as far as it is written as an IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    Loopback,
    /// Where cloud providers have metadata of the machine.
    LinkLocal,
    Private,
    /// Between customers and their provider: overlays between machines use it too.
    Shared,
    /// For one protocol, for documents, for many receivers, or for nobody.
    Special,
    Public,
}

impl Network {
    pub(crate) fn from_url(url: &Url) -> Self {
        let host = host_of(url);
        match host.parse() {
            Ok(IpAddr::V4(ip)) => Self::from_v4(ip),
            Ok(IpAddr::V6(ip)) => Self::from_v6(ip),
            Err(_) if host == "localhost" || host.ends_with(".localhost") => Self::Loopback,
            Err(_) => Self::Public,
        }
    }

    fn from_v4(ip: Ipv4Addr) -> Self {
        match ip.octets() {
            [127, ..] | [0, 0, 0, 0] => Self::Loopback,
            [169, 254, ..] => Self::LinkLocal,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Self::Private,
            [100, 64..=127, ..] => Self::Shared,
            // This network, protocols, documents, relays, benchmarks; from 224 on for many receivers, and reserved.
            [0 | 224.., ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _] => Self::Special,
            [1..=223, ..] => Self::Public,
        }
    }

    fn from_v6(ip: Ipv6Addr) -> Self {
        match ip.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Self::Loopback,
            // As IPv4 addresses are written for programs that know IPv6 alone, in two ways, and for translators.
            [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                Self::from_v4(v4(high, low))
            }
            // Through a tunnel to the machine with this IPv4 address.
            [0x2002, high, low, ..] => Self::from_v4(v4(high, low)),
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            [0xfc00..=0xfdff, ..] => Self::Private,
            // Protocols, tunnels and documents.
            [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Self::Special,
            // All that has been given to anybody.
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Special,
        }
    }
}

/// The host of an address, without what may stand around it: the brackets of IPv6, and the dot that ends a name from the root on.
pub(crate) fn host_of(url: &Url) -> &str {
    url.host_str().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.')
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn no_address_but_those_of_the_internet_is_taken_for_one_of_it() {
        for (network, hosts) in [
            (
                Network::Loopback,
                &["127.0.0.1", "127.1", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "localhost"]
                    [..],
            ),
            (Network::Loopback, &["localhost.", "LOCALHOST.", "a.localhost.", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"]),
            (
                Network::LinkLocal,
                &["169.254.169.254", "[fe80::1]", "[febf::1]", "[64:ff9b::a9fe:a9fe]", "[::a9fe:a9fe]"],
            ),
            (Network::Private, &["10.0.0.1", "172.31.0.1", "192.168.0.1", "[fd00::1]", "[fc00::1]", "[2002:a00:1::1]"]),
            (Network::Shared, &["100.64.0.1", "100.127.255.255", "[::ffff:100.64.0.1]"]),
            (
                Network::Special,
                &["0.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.0.1", "198.51.100.1"],
            ),
            (Network::Special, &["203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "[fec0::1]", "[ff02::1]"]),
            (
                Network::Special,
                &["[2001::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[64:ff9b:1::a9fe:a9fe]", "[4000::1]"],
            ),
            (
                Network::Public,
                &["1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.0.1.1"],
            ),
            (
                Network::Public,
                &["223.255.255.255", "[2606:4700::1111]", "[2a00::1]", "[::ffff:1.1.1.1]", "[64:ff9b::101:101]"],
            ),
            (Network::Public, &["r.example.com", "localhost.example.com", "notlocalhost"]),
        ] {
            for host in hosts {
                assert_eq!(Network::from_url(&Url::parse(&format!("https://{host}:1/")).unwrap()), network, "{host}");
            }
        }
    }
}
