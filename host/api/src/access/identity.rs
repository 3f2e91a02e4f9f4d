//! The names in a client's certificate. TLS has verified the certificate before.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use tokio_rustls::server::TlsStream;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// The names by which a list can allow a client: DNS names and URIs (subject alternative names), and the common name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    names: Vec<String>,
}

impl Identity {
    /// The names of the client of a TLS connection; none where it has shown no certificate.
    pub(crate) fn of_client<I>(connection: &TlsStream<I>) -> Option<Arc<Self>> {
        let (_, session) = connection.get_ref();
        session.peer_certificates()?.first().map(|certificate| Arc::new(Self::of(certificate)))
    }

    /// Reads the names from a verified certificate. A certificate that does not decode has none, so no list allows it.
    fn of(certificate: &CertificateDer<'_>) -> Self {
        let Ok((_, certificate)) = parse_x509_certificate(certificate) else { return Self { names: Vec::new() } };
        let mut names = Vec::new();
        if let Ok(Some(alternatives)) = certificate.subject_alternative_name() {
            for name in &alternatives.value.general_names {
                if let GeneralName::DNSName(name) | GeneralName::URI(name) = name {
                    names.push((*name).to_owned());
                }
            }
        }
        names.extend(certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok().map(str::to_owned)));
        Self { names }
    }

    /// Whether one of the names is equal to this one, letter by letter.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }
}

impl fmt::Display for Identity {
    /// `"core", "spiffe://cluster/core"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.names.is_empty() {
            return f.write_str("without a name in its certificate");
        }
        for (at, name) in self.names.iter().enumerate() {
            write!(f, "{}{name:?}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl Identity {
    pub(crate) fn named(names: &[&str]) -> Self {
        Self { names: names.iter().map(|name| (*name).to_owned()).collect() }
    }
}
