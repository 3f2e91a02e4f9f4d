//! Connections to an API server, directly or through a proxy, and the client above them. It is put together here from kube's parts,
//! because kube's own has rules for proxies that are not kubectl's (see [`super::proxy`]). Start at [`client`].

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _, RustlsTlsError};
use kube::{Client, Config, Error};
use rustls::ClientConfig;
use secrecy::{ExposeSecret as _, SecretString};
use tower::{BoxError, Service, ServiceBuilder};

use super::own_certificate::Accepting;
use super::proxy::{Protocol, Proxy};
use crate::limits::KUBE_CONNECT;

/// A client for the server of a configuration. Its own `proxy_url` is not looked at. Timeouts beyond that of connecting, and
/// retries, are the reflector's.
pub(super) fn client(config: &Config, proxy: Option<&Proxy>) -> Result<Client, Error> {
    let mut tcp = HttpConnector::new();
    // It is below TLS.
    tcp.enforce_http(false);
    let Some(Proxy { protocol, address, user }) = proxy else { return above(tcp, config) };
    let user = user.as_ref();
    match protocol {
        Protocol::Http => above(tunnel(address, tcp, user), config),
        // With the configuration's certificate authorities, as in kubectl.
        Protocol::Https => above(tunnel(address, with_tls(tcp, config)?, user), config),
        Protocol::Socks5 => {
            let socks = SocksV5::new(address.clone(), tcp);
            let plain = |(name, password): &(String, SecretString)| (name.clone(), password.expose_secret().to_owned());
            let socks = match user.map(plain) {
                Some((name, password)) => socks.with_auth(name, password),
                None => socks,
            };
            above(socks, config)
        }
    }
}

fn tunnel<C>(proxy: &Uri, connector: C, user: Option<&(String, SecretString)>) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let header = user.and_then(|(name, password)| {
        let encoded = STANDARD.encode(format!("{name}:{}", password.expose_secret()));
        HeaderValue::try_from(format!("Basic {encoded}")).ok()
    });
    match header {
        Some(header) => tunnel.with_auth(header),
        None => tunnel,
    }
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
    let mut tls = config.rustls_client_config()?;
    if let Some(listed) =
        config.root_cert.as_ref().filter(|_| !config.accept_invalid_certs && config.root_cert_file.is_none())
    {
        let verifier = Accepting::new(listed)
            .map_err(|error| Error::RustlsTls(RustlsTlsError::AddRootCertificate(Box::new(error))))?;
        tls.dangerous().set_certificate_verifier(Arc::new(verifier));
    }
    Ok(tls)
}

/// The client whose connections to the server are made by a connector.
fn above<C>(connector: C, config: &Config) -> Result<Client, Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let connector =
        ServiceBuilder::new().map_future(Box::pin).timeout(KUBE_CONNECT).service(with_tls(connector, config)?);
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace.clone()))
}
