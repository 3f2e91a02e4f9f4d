//! The connection to an API server. Start at [`open`].

pub use super::address::AddressError;
use super::connector::Connector;
pub use super::connector::{ConnectError, Origin, PluginError, context_namespace};
pub use super::proxy::ProxyError;
use super::server::ApiServer;

/// A prepared connection. Nothing has been sent yet.
#[derive(Clone)]
pub struct Connection {
    /// Client of the API server.
    pub server: ApiServer,
    /// Its address, for logs.
    pub address: String,
}

/// Reads the configuration and prepares a client. Must be called within a tokio runtime.
///
/// # Errors
///
/// Where no configuration is found, or the one found cannot be used. Whether the server answers is seen later.
pub async fn open(origin: &Origin) -> Result<Connection, ConnectError> {
    let (connector, address) = Connector::new(origin).await?;
    Ok(Connection { server: ApiServer::new(connector), address })
}
