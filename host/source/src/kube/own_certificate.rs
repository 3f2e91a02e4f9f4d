//! A server's own certificate in the place of a certificate authority: what `openssl s_client` shows, or what is left of an authority
//! whose own certificate is lost.
//!
//! Go, and so kubectl, accepts a certificate that the kubeconfig lists itself, whoever has signed it, as long as it is for the
//! server's name, for servers, and valid now. rustls looks for its issuer alone, and refuses it. [`Accepting`] adds just that: it is
//! asked only where the usual verification has failed, and takes only a certificate that is listed, byte by byte. Whoever writes the
//! list could as well have written an authority into it. That the server has the certificate's key is verified as always.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;
use x509_parser::time::ASN1Time;

/// Why certificates cannot be used to verify a server.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableRoots {
    /// One is no certificate.
    #[error("{0}")]
    Certificate(#[from] Error),
    /// No certificate is listed, so that no verifier can be built.
    #[error("{0}")]
    Verifier(#[from] rustls::client::VerifierBuilderError),
}

/// Verifies servers by certificates that are authorities, or theirs.
#[derive(Debug)]
pub(super) struct Accepting {
    listed: Vec<CertificateDer<'static>>,
    usual: Arc<WebPkiServerVerifier>,
}

impl Accepting {
    /// With these certificates, each in DER.
    pub(super) fn new(listed: &[Vec<u8>]) -> Result<Self, UnusableRoots> {
        let listed: Vec<CertificateDer<'static>> = listed.iter().cloned().map(CertificateDer::from).collect();
        let mut roots = RootCertStore::empty();
        listed.iter().try_for_each(|certificate| roots.add(certificate.clone()))?;
        Ok(Self { listed, usual: WebPkiServerVerifier::builder(Arc::new(roots)).build()? })
    }
}

/// Whether a certificate, whoever has signed it, is for a server of this name, and valid now.
fn check(certificate: &CertificateDer<'_>, name: &ServerName<'_>, now: UnixTime) -> Result<(), Error> {
    let (_, parsed) =
        X509Certificate::from_der(certificate).map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
    let now = i64::try_from(now.as_secs()).ok().and_then(|seconds| ASN1Time::from_timestamp(seconds).ok());
    let validity = parsed.validity();
    match now {
        Some(now) if now < validity.not_before => return Err(CertificateError::NotValidYet.into()),
        Some(now) if now <= validity.not_after => {}
        _ => return Err(CertificateError::Expired.into()),
    }
    // A certificate that does not say what it is for is for anything.
    let usage = parsed.extended_key_usage().map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
    if usage.is_some_and(|usage| !usage.value.any && !usage.value.server_auth) {
        return Err(CertificateError::InvalidPurpose.into());
    }
    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
}

impl ServerCertVerifier for Accepting {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let usual = self.usual.verify_server_cert(certificate, intermediates, name, ocsp_response, now);
        if usual.is_err() && self.listed.contains(certificate) {
            return check(certificate, name, now).map(|()| ServerCertVerified::assertion());
        }
        usual
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}
