//! The names in a client's certificate. TLS has verified the certificate before.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use tokio_rustls::server::TlsStream;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// The names by which a list can allow a client: DNS names and URIs (subject alternative names); where the certificate has no such name of
/// any kind, the common name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    names: Vec<Name>,
}

/// A name, and where it is in the certificate: an authority that verifies one kind may let anybody choose another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    kind: Kind,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Dns,
    Uri,
    CommonName,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Dns, Self::Uri, Self::CommonName];

    /// How a list says it.
    fn prefix(self) -> &'static str {
        match self {
            Self::Dns => "dns:",
            Self::Uri => "uri:",
            Self::CommonName => "cn:",
        }
    }
}

impl Identity {
    /// DNS names, and URIs where they look so: for tests of what lists allow.
    pub fn named(names: &[&str]) -> Self {
        let kind = |name: &str| if name.contains("://") { Kind::Uri } else { Kind::Dns };
        Self { names: names.iter().map(|name| Name { kind: kind(name), text: (*name).to_owned() }).collect() }
    }

    /// The names of the client of a TLS connection; none where it has shown no certificate.
    pub(crate) fn from_connection<I>(connection: &TlsStream<I>) -> Option<Arc<Self>> {
        let (_, session) = connection.get_ref();
        session.peer_certificates()?.first().map(|certificate| Arc::new(Self::from_certificate(certificate)))
    }

    /// Reads the names from a verified certificate. A certificate that does not decode has none, so no list allows it.
    fn from_certificate(certificate: &CertificateDer<'_>) -> Self {
        let nameless = Self { names: Vec::new() };
        let Ok((_, certificate)) = parse_x509_certificate(certificate) else { return nameless };
        // One that does not decode, or comes twice, is no reason to look at the common name.
        let Ok(alternatives) = certificate.subject_alternative_name() else { return nameless };
        if let Some(alternatives) = alternatives {
            let names = alternatives.value.general_names.iter().filter_map(|name| match name {
                GeneralName::DNSName(text) => Some(Name { kind: Kind::Dns, text: (*text).to_owned() }),
                GeneralName::URI(text) => Some(Name { kind: Kind::Uri, text: (*text).to_owned() }),
                _ => None,
            });
            return Self { names: names.collect() };
        }
        let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        Self { names: common.map(|text| Name { kind: Kind::CommonName, text: text.to_owned() }).collect() }
    }

    /// Whether one of the names is what a list says, letter by letter. `dns:`, `uri:` and `cn:` say where it is; without them, a text
    /// with `://` or `urn:` is a URI, and any other a DNS name or a common name.
    pub fn has(&self, listed: &str) -> bool {
        let kind = Kind::ALL.into_iter().find_map(|kind| Some((kind, listed.strip_prefix(kind.prefix())?)));
        let looks_like_uri = listed.contains("://") || listed.starts_with("urn:");
        self.names.iter().any(|own| match kind {
            Some((kind, text)) => own.kind == kind && own.text == text,
            None => own.text == listed && (own.kind == Kind::Uri) == looks_like_uri,
        })
    }
}

impl fmt::Display for Identity {
    /// Writes the names with their kinds, such as `dns:"core", uri:"spiffe://cluster/core"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.names.is_empty() {
            return f.write_str("without a name in its certificate");
        }
        for (at, Name { kind, text }) in self.names.iter().enumerate() {
            write!(f, "{}{}{text:?}", if at == 0 { "" } else { ", " }, kind.prefix())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};

    use super::*;

    /// Identity of a client whose certificate has these names.
    fn certified(alternatives: Vec<SanType>, common: Option<&str>) -> Identity {
        let mut params = CertificateParams::default();
        params.subject_alt_names = alternatives;
        params.distinguished_name = DistinguishedName::new();
        if let Some(name) = common {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        Identity::from_certificate(params.self_signed(&KeyPair::generate().unwrap()).unwrap().der())
    }

    #[test]
    fn a_name_counts_where_an_authority_has_verified_it() {
        let dns = |name: &str| SanType::DnsName(name.try_into().unwrap());
        let uri = |name: &str| SanType::URI(name.try_into().unwrap());
        let spiffe = "spiffe://cluster/core";
        for (identity, listed, others) in [
            (certified(vec![dns("core")], None), vec!["core", "dns:core"], vec!["cn:core", "uri:core"]),
            (
                certified(vec![uri(spiffe)], None),
                vec![spiffe, "uri:spiffe://cluster/core"],
                vec!["dns:spiffe://cluster/core"],
            ),
            (
                certified(Vec::new(), Some("system:core")),
                vec!["system:core", "cn:system:core"],
                vec!["dns:system:core"],
            ),
            // The common name is whatever the client wrote into its request.
            (certified(vec![dns("other")], Some("core")), vec!["other"], vec!["core", "cn:core", "dns:core"]),
            (certified(vec![SanType::IpAddress([10, 0, 0, 1].into())], Some("core")), vec![], vec!["core", "cn:core"]),
            // One kind is never another, however it is written.
            (
                certified(Vec::new(), Some(spiffe)),
                vec!["cn:spiffe://cluster/core"],
                vec![spiffe, "uri:spiffe://cluster/core"],
            ),
            (certified(vec![dns(spiffe)], None), vec!["dns:spiffe://cluster/core"], vec![spiffe]),
            (certified(vec![uri("core")], None), vec!["uri:core"], vec!["core", "dns:core"]),
            (certified(Vec::new(), Some("dns:core")), vec!["cn:dns:core"], vec!["dns:core", "core"]),
        ] {
            for name in listed {
                assert!(identity.has(name), "{identity}: {name}");
            }
            for name in others {
                assert!(!identity.has(name), "{identity}: {name}");
            }
        }
    }
}
