//! The connection to an API server: address and credentials from a kubeconfig, or from the service account of a pod.

use std::path::PathBuf;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::server::ApiServer;
use crate::limits::KUBE_CONNECT;

/// Where address and credentials come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// A kubeconfig file. `None` takes the first that exists: the files in `KUBECONFIG`, `~/.kube/config`, or the service
    /// account of a pod.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; `None` for its current one.
    pub context: Option<String>,
}

/// Why a connection cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No configuration was found.
    #[error("no cluster is configured: {0}")]
    Nowhere(#[source] Box<InferConfigError>),
    /// The kubeconfig cannot be read or used.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[source] KubeconfigError),
    /// The credentials or certificates cannot be used.
    #[error("cannot connect: {0}")]
    Client(#[source] Box<kube::Error>),
}

/// A prepared connection. Nothing has been sent yet.
#[derive(Clone)]
pub struct Connection {
    /// The server.
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
    let options = KubeConfigOptions { context: origin.context.clone(), ..KubeConfigOptions::default() };
    let config = match (&origin.kubeconfig, &origin.context) {
        (Some(file), _) => {
            let kubeconfig = Kubeconfig::read_from(file).map_err(ConnectError::Kubeconfig)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(ConnectError::Kubeconfig)?
        }
        (None, Some(_)) => Config::from_kubeconfig(&options).await.map_err(ConnectError::Kubeconfig)?,
        (None, None) => Config::infer().await.map_err(|error| ConnectError::Nowhere(Box::new(error)))?,
    };
    let address = config.cluster_url.to_string();
    let client = Client::try_from(within_our_limits(config)).map_err(|error| ConnectError::Client(Box::new(error)))?;
    Ok(Connection { server: ApiServer::new(client), address })
}

/// Timeouts and retries are the reflector's, not the client's.
fn within_our_limits(mut config: Config) -> Config {
    config.connect_timeout = Some(KUBE_CONNECT);
    config.read_timeout = None;
    config.default_retry = false;
    let name = concat!("nodesift/", env!("CARGO_PKG_VERSION"));
    config.headers.push((USER_AGENT, HeaderValue::from_static(name)));
    config
}
