//! How the API server is found and who we are to it: kubeconfig files, or what a pod is given in its cluster.

use std::path::PathBuf;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::ApiServer;
use crate::limits::KUBE_CONNECT;

/// Where the address and the credentials come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// A kubeconfig file. Without one: those that `KUBECONFIG` names, `~/.kube/config`, or what a pod is given in its
    /// cluster, the first that there is.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig other than its current one.
    pub context: Option<String>,
}

/// Why there is no connection to make.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no configuration at all.
    #[error("no cluster is configured: {0}")]
    Nowhere(#[source] Box<InferConfigError>),
    /// The kubeconfig cannot be used.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[source] KubeconfigError),
    /// The credentials or certificates cannot be used.
    #[error("cannot connect: {0}")]
    Client(#[source] Box<kube::Error>),
}

/// A connection that can be made; nothing has been sent yet.
#[derive(Clone)]
pub struct Connection {
    /// The server to ask.
    pub server: ApiServer,
    /// Its address, for people.
    pub address: String,
}

/// Reads the configuration and prepares a client. Must be called within a tokio run time.
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

/// What decides when to give up and when to ask again is here, not in the client.
fn within_our_limits(mut config: Config) -> Config {
    config.connect_timeout = Some(KUBE_CONNECT);
    config.read_timeout = None;
    config.default_retry = false;
    let name = concat!("nodesift/", env!("CARGO_PKG_VERSION"));
    config.headers.push((USER_AGENT, HeaderValue::from_static(name)));
    config
}
