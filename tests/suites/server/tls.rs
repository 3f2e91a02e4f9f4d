//! TLS over TCP: client certificates, and server certificates that change while the sidecar runs.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::{http, timeout};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use crate::running::command;

/// A certificate authority, and a folder for the certificates that it signs.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// A certificate and its key, in PEM.
pub(crate) struct Signed {
    certificate: String,
    key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self { issuer, folder: tempfile::tempdir().unwrap() };
        std::fs::write(authority.path("ca.pem"), authority.issuer.pem()).unwrap();
        authority
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Signs a certificate with this DNS name.
    pub(crate) fn sign(&self, name: &str) -> Signed {
        self.sign_params(&CertificateParams::new([name.to_owned()]).unwrap())
    }

    /// Signs a certificate with these names.
    pub(crate) fn sign_params(&self, params: &CertificateParams) -> Signed {
        let key = KeyPair::generate().unwrap();
        Signed { certificate: params.signed_by(&key, &self.issuer).unwrap().pem(), key: key.serialize_pem() }
    }

    /// Signs a certificate for the sidecar and writes it to the files that the sidecar reads.
    pub(crate) fn certify(&self, name: &str) {
        let signed = self.sign(name);
        // The key is written first. Between the two writes key and certificate do not match, which must change nothing.
        std::fs::write(self.path("tls.key"), signed.key).unwrap();
        std::fs::write(self.path("tls.crt"), signed.certificate).unwrap();
    }

    pub(crate) fn serve(&self, arguments: &[&str]) -> Sidecar {
        let mut command = command();
        command.current_dir(self.folder.path());
        Sidecar::start(command, &[&["--tls-cert", "tls.crt", "--tls-key", "tls.key"], arguments].concat())
    }

    /// Requests `/readyz` as a client that trusts this authority and expects a server of this name.
    fn ask(&self, address: SocketAddr, name: &str, client: Option<&Signed>) -> Result<String, String> {
        let request = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        self.send(address, name, client, request)
    }

    /// TLS configuration of a client that trusts this authority, and maybe has a certificate.
    pub(crate) fn client_config(&self, client: Option<&Signed>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.issuer.pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        match client {
            None => builder.with_no_client_auth(),
            Some(Signed { certificate, key }) => {
                let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
            }
        }
    }

    /// Sends a request that closes its connection, as such a client.
    pub(crate) fn send(
        &self,
        address: SocketAddr,
        name: &str,
        client: Option<&Signed>,
        request: &str,
    ) -> Result<String, String> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let connection = ClientConnection::new(Arc::new(self.client_config(client)), name).unwrap();
        let socket = TcpStream::connect(address).map_err(|error| error.to_string())?;
        socket.set_read_timeout(Some(timeout::limit())).unwrap();
        let mut stream = StreamOwned::new(connection, socket);
        let mut answer = Vec::new();
        stream
            .write_all(request.as_bytes())
            .and_then(|()| stream.read_to_end(&mut answer))
            // Messages of gRPC are no text.
            .map(|_| String::from_utf8_lossy(&answer).into_owned())
            .map_err(|error| error.to_string())
    }
}

fn is_ok(answer: &Result<String, String>) -> bool {
    answer.as_ref().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
}

#[test]
fn under_tls_only_tls_is_spoken_over_tcp() {
    let authority = Authority::new();
    authority.certify("localhost");
    let sidecar = authority.serve(&[]);
    let answer = authority.ask(sidecar.address, "localhost", None);
    assert!(is_ok(&answer), "{answer:?}");
    http::get(&sidecar.tcp(), "/readyz").expect_err("plain HTTP is not answered");
    let stranger = Authority::new().ask(sidecar.address, "localhost", None);
    assert!(stranger.is_err(), "{stranger:?}: a client that does not trust the certificate closes");
}

#[test]
fn where_client_certificates_are_asked_for_nobody_comes_in_without() {
    let authority = Authority::new();
    authority.certify("localhost");
    let sidecar = authority.serve(&["--tls-client-ca", "ca.pem"]);
    let ask = |client: Option<Signed>| authority.ask(sidecar.address, "localhost", client.as_ref());
    let answer = ask(Some(authority.sign("core")));
    assert!(is_ok(&answer), "{answer:?}");
    let refused = ask(None);
    assert!(refused.is_err(), "{refused:?}");
    let refused = ask(Some(Authority::new().sign("core")));
    assert!(refused.is_err(), "signed by another authority: {refused:?}");
    // Access to the Unix socket is limited by its mode.
    assert_eq!(http::get(&sidecar.unix(), "/readyz").unwrap().status, 200);
}

#[test]
fn certificates_are_taken_when_their_files_change_and_broken_ones_are_not() {
    let authority = Authority::new();
    authority.certify("first.example");
    let sidecar = authority.serve(&[]);
    let is_served = |name: &str| is_ok(&authority.ask(sidecar.address, name, None));
    assert!(is_served("first.example") && !is_served("second.example"));

    std::fs::write(authority.path("tls.crt"), "-----BEGIN CERTIFICATE-----\nbroken").unwrap();
    timeout::until(|| sidecar.output().contains("the old ones stay").then_some(())).expect("a log line");
    assert!(is_served("first.example"));

    authority.certify("second.example");
    timeout::until(|| is_served("second.example").then_some(())).expect("the new certificate is served");
    assert!(!is_served("first.example"));
}

#[test]
fn sighup_has_the_certificates_read_again() {
    let authority = Authority::new();
    authority.certify("localhost");
    let sidecar = authority.serve(&[]);
    for count in 1..=3 {
        sidecar.signal("HUP");
        let reloaded = || (sidecar.output().matches("certificates reloaded").count() >= count).then_some(());
        timeout::until(reloaded).expect("a log line");
    }
    assert!(is_ok(&authority.ask(sidecar.address, "localhost", None)));
}

#[test]
fn certificates_that_cannot_be_used_are_told_before_anything_is_bound() {
    let authority = Authority::new();
    authority.certify("localhost");
    let other = authority.sign("localhost");
    std::fs::write(authority.path("other.key"), other.key).unwrap();
    std::fs::write(authority.path("empty.pem"), "").unwrap();
    let fails = |code: i32, arguments: &[&str], named: &str| {
        let mut command = command();
        let output =
            sidecar::run(command.current_dir(authority.folder.path()).args(["serve", "--sample"]).args(arguments));
        assert_eq!(output.code, Some(code), "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(named), "{arguments:?}: {}", output.stderr);
    };
    fails(64, &["--tls-cert", "tls.crt"], "--tls-key");
    fails(64, &["--tls-client-ca", "ca.pem"], "--tls-cert");
    fails(66, &["--tls-cert", "no.crt", "--tls-key", "tls.key"], "no.crt");
    fails(64, &["--tls-cert", "empty.pem", "--tls-key", "tls.key"], "empty.pem");
    fails(64, &["--tls-cert", "tls.crt", "--tls-key", "other.key"], "other.key");
    assert!(Path::new(&authority.path("tls.crt")).exists());
}
