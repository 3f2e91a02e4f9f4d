//! Connections to an API server, directly or through a proxy, and the client above them. It is put together here from kube's parts,
//! because kube's own has rules for proxies that are not kubectl's (see [`super::proxy`]). Start at [`client`].

use std::error::Error as StdError;
use std::fs;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::PROXY_AUTHORIZATION;
use http::{HeaderValue, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _, RustlsTlsError};
use kube::{Client, Config, Error};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{CertificateError, ClientConfig};
use secrecy::ExposeSecret as _;
use tower::timeout::error::Elapsed;
use tower::{BoxError, Service, ServiceBuilder};

use super::forward::Forward;
use super::own_certificate::Accepting;
use super::proxy::{Protocol, Proxy};
use super::tunnel::{Tunnel, basic};
use crate::limits::KUBE_CONNECT;

/// A client for the server of a configuration. Its own `proxy_url` is not looked at. Timeouts beyond that of connecting, and
/// retries, are the reflector's.
pub(super) fn client(config: &Config, proxy: Option<&Proxy>) -> Result<Client, Error> {
    let mut tcp = HttpConnector::new();
    // It is below TLS.
    tcp.enforce_http(false);
    let Some(proxy) = proxy else { return above(tcp, config, None) };
    if config.cluster_url.scheme_str() == Some("http") && proxy.protocol != Protocol::Socks5 {
        return forwarded(tcp, config, proxy);
    }
    match proxy.protocol {
        Protocol::Http | Protocol::Socks5 => above(Tunnel::new(proxy.clone(), tcp), config, Some(proxy)),
        // With the configuration's certificate authorities, as in kubectl.
        Protocol::Https => above(Tunnel::new(proxy.clone(), with_tls(tcp, config)?), config, Some(proxy)),
    }
}

/// A client for a server without TLS, behind a proxy that is spoken to by HTTP.
fn forwarded(tcp: HttpConnector, config: &Config, proxy: &Proxy) -> Result<Client, Error> {
    let mut named = config.clone();
    // Base64 has no character that a header may not have.
    if let Some(mut value) = proxy.user.as_ref().and_then(|user| HeaderValue::try_from(basic(user)).ok()) {
        value.set_sensitive(true);
        named.headers.push((PROXY_AUTHORIZATION, value));
    }
    let address = proxy.address.clone();
    match proxy.protocol {
        Protocol::Https => above(Forward { proxy: address, connector: with_tls(tcp, config)? }, &named, Some(proxy)),
        Protocol::Http | Protocol::Socks5 => above(Forward { proxy: address, connector: tcp }, &named, Some(proxy)),
    }
}

/// Why there is no connection, as far as connectors do not say it themselves.
#[derive(Debug, thiserror::Error)]
enum Unconnected {
    /// There was no connection within [`KUBE_CONNECT`].
    #[error("no connection within {} s", KUBE_CONNECT.as_secs())]
    Slow,
    /// Whatever it was, it was on the way through a proxy.
    #[error("through the proxy {0}")]
    Through(String, #[source] BoxError),
}

/// Whether an error, apart from its sources, is that there was no connection in time.
pub(super) fn is_slow(error: &(dyn StdError + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(Unconnected::Slow))
}

/// A connector that encrypts what goes to `https` over another one.
fn with_tls<C>(connector: C, config: &Config) -> Result<HttpsConnector<C>, Error> {
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls(config)?).https_or_http();
    if let Some(name) = config.tls_server_name.clone() {
        let name = name.try_into().map_err(|error| Error::RustlsTls(RustlsTlsError::InvalidServerName(error)))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(builder.enable_http1().wrap_connector(connector))
}

/// Who is trusted, and who the client is. Certificates of a kubeconfig may be the server's own; that of a service account's volume is
/// an authority, which kube reads again by itself.
fn tls(config: &Config) -> Result<ClientConfig, Error> {
    let mut tls = match config.rustls_client_config() {
        Err(error) if is_of_version_1(&error) => with_identity(config).ok_or(error)?,
        tls => tls?,
    };
    if let Some(listed) =
        config.root_cert.as_ref().filter(|_| !config.accept_invalid_certs && config.root_cert_file.is_none())
    {
        let verifier = Accepting::new(listed)
            .map_err(|error| Error::RustlsTls(RustlsTlsError::AddRootCertificate(Box::new(error))))?;
        tls.dangerous().set_certificate_verifier(Arc::new(verifier));
    }
    Ok(tls)
}

/// Whether the client's certificate cannot be compared with its key because it is of another version than 3.
fn is_of_version_1(error: &Error) -> bool {
    let Error::RustlsTls(RustlsTlsError::InvalidPrivateKey(error)) = error else { return false };
    matches!(error, rustls::Error::InvalidCertificate(CertificateError::Other(_)))
}

/// Returns the TLS configuration that kube makes, without comparing the client's certificate with its key. `openssl x509 -req` makes
/// certificates of version 1, which Go and API servers take. `None` where they cannot be read.
fn with_identity(config: &Config) -> Option<ClientConfig> {
    let mut rest = config.clone();
    let auth = &mut rest.auth_info;
    let certificates = pem(auth.client_certificate_data.take(), auth.client_certificate.take())?;
    let key = auth.client_key_data.take().map(|key| key.expose_secret().to_owned());
    let key = pem(key, auth.client_key.take())?;
    let chain = CertificateDer::pem_slice_iter(&certificates).collect::<Result<Vec<_>, _>>().ok()?;
    let key = PrivateKeyDer::from_pem_slice(&key).ok()?;
    let mut tls = rest.rustls_client_config().ok()?;
    let key = tls.crypto_provider().key_provider.load_private_key(key).ok()?;
    tls.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(CertifiedKey::new(chain, key)));
    Some(tls)
}

/// Returns the PEM text that a kubeconfig holds itself, in base64, or else that of a file.
fn pem(data: Option<String>, file: Option<String>) -> Option<Vec<u8>> {
    match data {
        Some(data) => STANDARD.decode(data).ok(),
        None => fs::read(file?).ok(),
    }
}

/// The client whose connections to the server are made by a connector, through a proxy where one is named.
fn above<C>(connector: C, config: &Config, proxy: Option<&Proxy>) -> Result<Client, Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let proxy = proxy.map(ToString::to_string);
    let explained = move |error: BoxError| -> BoxError {
        let error: BoxError = if error.is::<Elapsed>() { Unconnected::Slow.into() } else { error };
        match proxy {
            Some(proxy) => Unconnected::Through(proxy, error).into(),
            None => error,
        }
    };
    let connector = ServiceBuilder::new()
        .map_future(Box::pin)
        .map_err(explained)
        .timeout(KUBE_CONNECT)
        .service(with_tls(connector, config)?);
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace.clone()))
}
