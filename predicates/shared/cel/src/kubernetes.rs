//! Kubernetes' own types: semantic versions, IP addresses and networks, URLs.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A semantic version. Build metadata is checked and forgotten: it takes no part in comparisons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Semver {
    pub(crate) numbers: [u64; 3],
    prerelease: Vec<String>,
}

impl Semver {
    /// Reads a version in its full, minimal form.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (numbers, prerelease) = Self::parts(text)?;
        let prerelease = prerelease.map(|text| text.split('.').map(str::to_owned).collect()).unwrap_or_default();
        Some(Self { numbers, prerelease })
    }

    /// Whether [`Semver::parse`] can read a text.
    pub(crate) fn is_valid(text: &str) -> bool {
        Self::parts(text).is_some()
    }

    fn parts(text: &str) -> Option<([u64; 3], Option<&str>)> {
        let (text, build) = match text.split_once('+') {
            Some((text, build)) => (text, Some(build)),
            None => (text, None),
        };
        let (core, prerelease) = match text.split_once('-') {
            Some((core, prerelease)) => (core, Some(prerelease)),
            None => (text, None),
        };
        let is_good = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let mut identifiers = build.into_iter().chain(prerelease).flat_map(|text| text.split('.'));
        let has_zeros = |part: &str| is_numeric(part) && part.len() > 1 && part.starts_with('0');
        if !identifiers.all(is_good) || prerelease.is_some_and(|text| text.split('.').any(has_zeros)) {
            return None;
        }
        let mut numbers = core.split('.').map(number);
        let found = [numbers.next()??, numbers.next()??, numbers.next()??];
        numbers.next().is_none().then_some((found, prerelease))
    }

    /// Reads a version that may begin with `v`, be short, or have leading zeros.
    pub(crate) fn parse_loosely(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
        for part in &mut parts {
            if part.len() > 1 {
                let trimmed = part.trim_start_matches('0');
                let keeps = trimmed.starts_with(|c: char| c.is_ascii_digit());
                *part = if keeps { trimmed.to_owned() } else { format!("0{trimmed}") };
            }
        }
        if parts.len() < 3 && parts.last().is_some_and(|part| part.contains(['+', '-'])) {
            return None;
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }

    /// Compares by precedence, in which a prerelease comes before its release.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let pairs = self.prerelease.iter().zip(&other.prerelease);
                let first = pairs.map(|(a, b)| compare_identifiers(a, b)).find(|order| order.is_ne());
                first.unwrap_or(self.prerelease.len().cmp(&other.prerelease.len()))
            }
        })
    }
}

fn is_numeric(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit())
}

fn number(text: &str) -> Option<u64> {
    let minimal = !text.is_empty() && is_numeric(text) && (text.len() == 1 || !text.starts_with('0'));
    minimal.then(|| text.parse().ok()).flatten()
}

fn compare_identifiers(a: &str, b: &str) -> Ordering {
    match (is_numeric(a), is_numeric(b)) {
        // Without leading zeros the longer number is the larger one.
        (true, true) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.cmp(b),
    }
}

/// Reads an address; zones and IPv4 inside IPv6 are refused.
pub(crate) fn ip(text: &str) -> Option<IpAddr> {
    match text.parse::<IpAddr>().ok()? {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => None,
        address => Some(address),
    }
}

/// Parses a network in CIDR notation into its address and the length of the prefix in bits.
pub(crate) fn cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    let address = ip(address)?;
    if bits.len() > 1 && bits.starts_with('0') || !is_numeric(bits) {
        return None;
    }
    let bits: u8 = bits.parse().ok()?;
    (bits <= width(address)).then_some((address, bits))
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with everything behind the prefix zero.
pub(crate) fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

/// Whether a network contains an address.
pub(crate) fn contains_ip(network: (IpAddr, u8), address: IpAddr) -> bool {
    network.0.is_ipv4() == address.is_ipv4() && masked(network.0, network.1) == masked(address, network.1)
}

/// Whether a network contains another one.
pub(crate) fn contains_cidr(network: (IpAddr, u8), other: (IpAddr, u8)) -> bool {
    network.1 <= other.1 && contains_ip(network, masked(other.0, other.1))
}

/// Whether an address is global unicast in the sense of Go's `netip`: private ones are.
pub(crate) fn is_global_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    let local = address.is_loopback() || is_link_local_unicast(address);
    !(broadcast || local || address.is_unspecified() || address.is_multicast())
}

/// Whether an address is link-local unicast.
pub(crate) fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Whether an address is link-local multicast.
pub(crate) fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets().starts_with(&[224, 0, 0]),
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

/// The parts of an absolute URL or of an absolute path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    /// Host name and port.
    pub(crate) host: String,
    pub(crate) path: String,
    query: String,
}

impl Url {
    /// Parses a URL, or a path that begins with `/`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.chars().any(|c| c.is_ascii_control() || c == ' ') {
            return None;
        }
        let text = text.split('#').next().unwrap_or(text);
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
            _ if text.starts_with('/') => (String::new(), text),
            _ => return None,
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = match rest.strip_prefix("//") {
            Some(rest) if !scheme.is_empty() => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                (authority.rsplit('@').next().unwrap_or(authority), path)
            }
            _ => ("", rest),
        };
        let port = port_of(host);
        if !port.chars().all(|c| c.is_ascii_digit()) || !is_escaped(path) || !is_host(host) {
            return None;
        }
        Some(Self { scheme, host: host.to_owned(), path: path.to_owned(), query: query.to_owned() })
    }

    /// The port as a text; empty where there is none.
    pub(crate) fn port(&self) -> &str {
        port_of(&self.host)
    }

    /// The host without its port and without the brackets of an IPv6 address.
    pub(crate) fn hostname(&self) -> &str {
        if let Some(rest) = self.host.strip_prefix('[') {
            return rest.split(']').next().unwrap_or(rest);
        }
        self.host.rsplit_once(':').map_or(&self.host, |(name, _)| name)
    }

    /// The parameters of the query: by name, in order of their appearance.
    pub(crate) fn query(&self) -> Vec<(String, Vec<String>)> {
        let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for part in self.query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (unescaped(name), unescaped(value));
            let at = *known.entry(name.clone()).or_insert(parameters.len());
            match parameters.get_mut(at) {
                Some((_, values)) => values.push(value),
                None => parameters.push((name, vec![value])),
            }
        }
        parameters
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn port_of(host: &str) -> &str {
    let behind = host.rsplit(']').next().unwrap_or(host);
    behind.rsplit_once(':').map_or("", |(_, port)| port)
}

fn is_host(host: &str) -> bool {
    let bracketed = host.starts_with('[') == host.contains(']');
    bracketed && !host.chars().any(|c| matches!(c, '<' | '>' | '"' | '\\' | '^' | '`' | '{' | '|' | '}'))
}

/// Whether every `%` begins an escape.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|part| part.len() >= 2 && part.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()))
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let number = std::str::from_utf8(&digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
                bytes.push(number.unwrap_or(b'%'));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
