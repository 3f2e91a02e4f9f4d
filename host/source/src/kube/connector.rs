//! The client of an API server: address and credentials from a kubeconfig, or from the service account of a pod.
//!
//! Files change: a kubeconfig is written again, a token is replaced every hour. [`Connector`] reads them again before the next
//! request where any of them has changed, and where the server has refused the credentials. Watches are requested every few
//! seconds, so a new token is in use as soon. Credentials may come from a plugin, which is a process that may take long: it is
//! waited for on a thread of its own, once at a time, and meanwhile the client from before is used. It is run again before what it has
//! given ends.

mod files;
mod plugin;
mod user;

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{Cluster, Context, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use nodesift_file::{PIPE_WRITER_TIME, is_pipe};
use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use self::files::Files;
pub use self::plugin::PluginError;
use super::address::{self, AddressError};
use super::proxy::{Environment, Proxy, ProxyError};
use super::transport;
use crate::limits::{KUBE_PREPARE_TIME, KUBE_PREPARING, KUBE_REFRESH_LEAST, KUBE_REFRESH_WAIT};

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
    #[error("no cluster is configured: kubeconfig: {kubeconfig}; service account of a pod: {service_account}")]
    Nowhere {
        /// Why there is no kubeconfig.
        kubeconfig: KubeconfigError,
        /// Why there is no service account.
        service_account: Box<InClusterError>,
    },
    /// The kubeconfig cannot be read or used.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[source] KubeconfigError),
    /// The kubeconfig is not YAML, or no kubeconfig. What is there, and what is wrong with it, is left out: it may be a secret.
    #[error("kubeconfig: {position}not a kubeconfig in YAML or JSON")]
    Malformed {
        /// Line and column as text that ends with `: `; empty where unknown.
        position: String,
    },
    /// The address of the server cannot be used.
    #[error("kubeconfig: the server of the cluster cannot be used: {0}")]
    Server(#[source] AddressError),
    /// The proxy that the kubeconfig names cannot be used.
    #[error("kubeconfig: the proxy-url of the cluster cannot be used: {0}")]
    Proxy(#[source] ProxyError),
    /// The file with the bearer token cannot be read.
    #[error("token file {path}: {source}")]
    Token {
        /// Path of the token file.
        path: String,
        /// I/O error of reading the file.
        source: io::Error,
    },
    /// The service account of the pod cannot be read.
    #[error("service account: {0}")]
    ServiceAccount(#[source] Box<InClusterError>),
    /// Something of the kubeconfig cannot be sent in a header.
    #[error("kubeconfig: the {what} holds a character that no header may have, such as a line break: write it again")]
    Unsendable {
        /// Name of the field in the message.
        what: &'static str,
    },
    /// The client's library has panicked over the credentials.
    #[error("the kubeconfig's credentials, or those of its plugin, cannot be used: {0}")]
    Panicked(String),
    /// The credential plugin has given nothing.
    #[error("kubeconfig: {0}")]
    Plugin(#[source] PluginError),
    /// The kubeconfig's `auth-provider` is none that is known.
    #[error(
        "kubeconfig: the auth-provider {name:?} is not supported: use a credential plugin (exec), as kubectl does since 1.26"
    )]
    Provider {
        /// Name of the provider in the kubeconfig.
        name: String,
    },
    /// The kubeconfig's `auth-provider` has no token.
    #[error("kubeconfig: the auth-provider has no {field}")]
    NoProviderToken {
        /// The field of its config.
        field: &'static str,
    },
    /// A file has not been read to its end.
    #[error("no credentials within {} s: a file that the kubeconfig names, or it itself, does not end, such as a pipe", KUBE_PREPARE_TIME.as_secs())]
    Slow,
    /// Earlier attempts have not ended.
    #[error("{KUBE_PREPARING} earlier attempts to read credentials have not ended")]
    Stuck,
    /// There is no thread to read them on.
    #[error("no thread to read credentials: {0}")]
    Thread(#[source] io::Error),
    /// The credentials or certificates cannot be used.
    #[error("cannot connect: {0}")]
    Client(#[source] Box<kube::Error>),
}

/// An origin as it was found at the start: what a user or another program configures later must not take the sidecar along to
/// another cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pinned {
    /// With the context that was current.
    origin: Origin,
    source: Source,
    environment: Environment,
}

/// Source of the configuration that describes the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Kubeconfig,
    ServiceAccount,
}

impl Pinned {
    async fn resolve(origin: &Origin) -> Result<Self, ConnectError> {
        let is_named = origin.kubeconfig.is_some() || origin.context.is_some();
        let read = if is_named { Ok(()) } else { read_kubeconfig(&Origin::default()).await.map(drop) };
        let source = match read {
            // As in client-go, one that is there and cannot be used is an error, and never a reason to follow another cluster.
            Err(ConnectError::Kubeconfig(kubeconfig)) if is_absent(&kubeconfig) => {
                Config::incluster().map_err(|error| {
                    let service_account = Box::new(error);
                    ConnectError::Nowhere { kubeconfig, service_account }
                })?;
                Source::ServiceAccount
            }
            _ => Source::Kubeconfig,
        };
        Ok(Self { origin: with_context(origin, source), source, environment: Environment::from_process() })
    }
}

/// Whether there is no kubeconfig, or none with a context to use, or none that this process may read in a home that is another user's.
fn is_absent(error: &KubeconfigError) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match error {
        KubeconfigError::FindPath | KubeconfigError::CurrentContextNotSet => true,
        KubeconfigError::ReadConfig(error, _) => match error.kind() {
            NotFound | NotADirectory => true,
            PermissionDenied => !files::is_listed(),
            _ => false,
        },
        _ => false,
    }
}

impl Pinned {
    /// The files from which it is read, as far as they name each other.
    fn files(&self) -> Files {
        match self.source {
            Source::ServiceAccount => Files::from_service_account(),
            Source::Kubeconfig => Files::from_kubeconfig(self.origin.kubeconfig.as_deref()),
        }
    }
}

/// Returns the origin with the context that is current now, where it names none.
fn with_context(origin: &Origin, source: Source) -> Origin {
    let kubeconfigs = files::kubeconfigs(origin.kubeconfig.as_deref());
    let kubeconfig = || match source {
        Source::ServiceAccount => None,
        // What a pipe gives is given once: to whoever makes the client.
        Source::Kubeconfig if kubeconfigs.iter().any(|file| is_pipe(file)) => None,
        Source::Kubeconfig => files::merged(&kubeconfigs).ok(),
    };
    let context = origin.context.clone().or_else(|| kubeconfig()?.current_context);
    Origin { context, ..origin.clone() }
}

/// Returns the namespace that the context of an origin names; `None` where it names none, or there is no kubeconfig, or it is a pipe, which
/// can be read once. Nothing is sent.
pub fn context_namespace(origin: &Origin) -> Option<String> {
    let kubeconfigs = files::kubeconfigs(origin.kubeconfig.as_deref());
    if kubeconfigs.iter().any(|file| is_pipe(file)) {
        return None;
    }
    let kubeconfig = files::merged(&kubeconfigs).ok()?;
    let current = origin.context.clone().or(kubeconfig.current_context)?;
    let named = kubeconfig.contexts.into_iter().find(|context| context.name == current)?;
    named.context?.namespace.filter(|namespace| !namespace.is_empty())
}

/// Makes clients: the same one until the files behind it change or the server refuses its credentials.
pub(super) struct Connector {
    pinned: Pinned,
    /// A permit for each attempt to prepare a client that has not ended.
    preparing: Arc<Semaphore>,
    current: Arc<Mutex<Current>>,
}

/// The client in use.
struct Current {
    client: Client,
    /// The files that it was made of.
    files: Files,
    /// Whether the server has refused its credentials.
    refused: bool,
    /// When it was last begun to read the files.
    read: Instant,
    /// When its credentials are to be read again because they end; `None` where they do not.
    due: Option<Instant>,
    /// The last task that has read them again.
    refresh: Option<Refresh>,
}

/// A task that reads files again and replaces the client.
struct Refresh {
    task: AbortHandle,
    /// Its end, for all requests that wait for it.
    end: Shared<BoxFuture<'static, ()>>,
}

impl Connector {
    /// Reads the configuration and makes the first client. Returns the address of the server with it.
    pub(super) async fn new(origin: &Origin) -> Result<(Self, String), ConnectError> {
        let pinned = Pinned::resolve(origin).await?;
        let files = pinned.files();
        let preparing = Arc::new(Semaphore::new(KUBE_PREPARING));
        let Prepared { config, client, due } = prepare(&pinned, &preparing).await?;
        let files = files.and(&config.auth_info);
        let current = Current { client, files, refused: false, read: Instant::now(), due, refresh: None };
        Ok((Self { pinned, preparing, current: Arc::new(Mutex::new(current)) }, config.cluster_url.to_string()))
    }

    /// The client for the next request. Where the files cannot be used, or not soon, the one from before.
    pub(super) async fn client(&self) -> Client {
        if let Some((end, until)) = self.refresh() {
            // Beyond it the client from before is used.
            let _ = timeout_at(until, end).await;
        }
        self.current.lock().client.clone()
    }

    /// The refresh in flight, which is begun where one is due, and until when to wait for it; `None` where there is none.
    fn refresh(&self) -> Option<(Shared<BoxFuture<'static, ()>>, Instant)> {
        let mut current = self.current.lock();
        if current.refresh.as_ref().is_none_or(|refresh| refresh.task.is_finished()) {
            let is_due = current.due.is_some_and(|due| due <= Instant::now());
            let is_wanted = (current.refused || is_due) && current.read.elapsed() >= KUBE_REFRESH_LEAST;
            if !is_wanted && !current.files.have_changed() {
                return None;
            }
            // Before they are read, so that a change meanwhile is found by the next request; and whether or not they can be
            // used: a file that is half written is read again once it has changed.
            current.files.look();
            (current.refused, current.read) = (false, Instant::now());
            let refreshed = refreshed(self.pinned.clone(), Arc::clone(&self.preparing), Arc::clone(&self.current));
            let task = tokio::spawn(refreshed);
            current.refresh = Some(Refresh { task: task.abort_handle(), end: task.map(drop).boxed().shared() });
        }
        let until = current.read + KUBE_REFRESH_WAIT;
        current.refresh.as_ref().map(|refresh| (refresh.end.clone(), until))
    }

    /// The server has refused the credentials, which may have been replaced in a way that no file shows; or it is not to be asked
    /// again over the same connection.
    pub(super) fn refused(&self) {
        self.current.lock().refused = true;
    }
}

/// Reads files again and replaces the client.
async fn refreshed(pinned: Pinned, preparing: Arc<Semaphore>, current: Arc<Mutex<Current>>) {
    let files = pinned.files();
    let prepared = prepare(&pinned, &preparing).await;
    let mut current = current.lock();
    match prepared {
        Ok(Prepared { config, client, due }) => {
            tracing::info!(address = %config.cluster_url, "kubeconfig and credentials read again");
            // What was refused meanwhile were the credentials from before.
            (current.client, current.refused, current.due) = (client, false, due);
            current.files = files.and(&config.auth_info);
        }
        Err(error) => {
            tracing::warn!(%error, "kubeconfig or credentials were read again and cannot be used: those from before are");
            current.files = files;
        }
    }
}

/// A client, and what it was made of.
struct Prepared {
    /// Without secrets: its address and the names of its files are of use.
    config: Config,
    client: Client,
    /// Time at which the credentials are to be read again, see [`Current::due`].
    due: Option<Instant>,
}

/// Reads the configuration and makes a client, on a thread of its own: a credential plugin is waited for there. The runtime's
/// threads for blocking work have other work, and would keep a program from ending.
async fn prepare(pinned: &Pinned, preparing: &Arc<Semaphore>) -> Result<Prepared, ConnectError> {
    let permit = Arc::clone(preparing).try_acquire_owned().map_err(|_| ConnectError::Stuck)?;
    let (send, prepared) = oneshot::channel();
    let (pinned, runtime) = (pinned.clone(), Handle::current());
    let work = move || {
        // What the library does not expect of a plugin's answer must not look as if the plugin hung.
        let prepared = catch_unwind(AssertUnwindSafe(|| runtime.block_on(prepare_here(&pinned))));
        let prepared = prepared.unwrap_or_else(|panic| Err(ConnectError::Panicked(words_of(&*panic))));
        drop(permit);
        // Nobody may wait for it any more.
        let _ = send.send(prepared);
    };
    thread::Builder::new().name("credentials".to_owned()).spawn(work).map_err(ConnectError::Thread)?;
    // The thread ends without an answer only if it panics.
    timeout(KUBE_PREPARE_TIME, prepared).await.ok().and_then(Result::ok).unwrap_or(Err(ConnectError::Slow))
}

/// Returns the message of a panic.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the library for credentials has panicked").to_owned()
}

/// Reads the configuration and makes a client as [`prepare`] does, on this thread.
async fn prepare_here(pinned: &Pinned) -> Result<Prepared, ConnectError> {
    let (mut config, proxy) = match pinned.source {
        Source::ServiceAccount => {
            let config = Config::incluster().map_err(|error| ConnectError::ServiceAccount(Box::new(error)))?;
            (config, None)
        }
        Source::Kubeconfig => read_kubeconfig(&pinned.origin).await?,
    };
    let proxy = proxy.or_else(|| pinned.environment.proxy(&config.cluster_url));
    if let Some(proxy) = &proxy {
        tracing::info!(%proxy, "the API server is asked through a proxy");
    }
    let mut used = config.clone();
    let due = user::resolve(&mut used.auth_info)?;
    used.headers.push((USER_AGENT, HeaderValue::from_static(concat!("nodesift/", env!("CARGO_PKG_VERSION")))));
    let client = transport::client(&used, proxy.as_ref()).map_err(|error| ConnectError::Client(Box::new(error)))?;
    // Only its address and the names of its files are needed from here on.
    config.auth_info.token = None;
    Ok(Prepared { config, client, due })
}

/// Reads what a kubeconfig says, and the proxy that it names.
async fn read_kubeconfig(origin: &Origin) -> Result<(Config, Option<Proxy>), ConnectError> {
    let options = KubeConfigOptions { context: origin.context.clone(), ..KubeConfigOptions::default() };
    let mut kubeconfig = files::merged(&files::kubeconfigs(origin.kubeconfig.as_deref())).map_err(unread)?;
    complete_server(&mut kubeconfig, &options)?;
    read_pipes(&mut kubeconfig, &options).map_err(ConnectError::Kubeconfig)?;
    let proxy = take_proxy(&mut kubeconfig, &options);
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(ConnectError::Kubeconfig)?;
    if let Some(told) = config.auth_info.exec.as_mut().and_then(|plugin| plugin.cluster.as_mut()) {
        told.proxy_url.clone_from(&proxy);
    }
    Ok((config, proxy.map(|url| Proxy::parse(&url)).transpose().map_err(ConnectError::Proxy)?))
}

/// Placeholder for `proxy-url` in a kubeconfig, so that the library looks for no proxy in the environment; it is never connected to.
const NO_PROXY_OF_THE_LIBRARY: &str = "http://none.invalid";

/// Why a kubeconfig cannot be read, without the lines around the place, which the library quotes.
fn unread(error: KubeconfigError) -> ConnectError {
    match error {
        KubeconfigError::Parse(error) => {
            let at = error
                .location()
                .filter(|at| at.line() > 0)
                .map(|at| format!("line {}, column {}: ", at.line(), at.column()));
            ConnectError::Malformed { position: at.unwrap_or_default() }
        }
        error => ConnectError::Kubeconfig(error),
    }
}

/// The context that is chosen in a kubeconfig. The first of a name counts, here and of clusters and users.
fn chosen_context<'a>(kubeconfig: &'a Kubeconfig, options: &KubeConfigOptions) -> Option<&'a Context> {
    let context = options.context.as_ref().or(kubeconfig.current_context.as_ref());
    kubeconfig.contexts.iter().find(|named| Some(&named.name) == context)?.context.as_ref()
}

/// Gives the server of the cluster that is chosen its scheme, and refuses one that cannot be asked. A kubeconfig in which something is
/// missing is the library's to refuse.
fn complete_server(kubeconfig: &mut Kubeconfig, options: &KubeConfigOptions) -> Result<(), ConnectError> {
    let Some(context) = chosen_context(kubeconfig, options).cloned() else { return Ok(()) };
    let mut users = kubeconfig.auth_infos.iter();
    let user =
        users.find(|named| Some(&named.name) == context.user.as_ref()).and_then(|named| named.auth_info.as_ref());
    let has_identity =
        user.is_some_and(|user| user.client_certificate.is_some() || user.client_certificate_data.is_some());
    let named = kubeconfig.clusters.iter_mut().find(|named| named.name == context.cluster);
    let Some(cluster) = named.and_then(|named| named.cluster.as_mut()) else { return Ok(()) };
    let has_tls = has_identity
        || cluster.certificate_authority.is_some()
        || cluster.certificate_authority_data.is_some()
        || cluster.insecure_skip_tls_verify == Some(true);
    if let Some(server) = &mut cluster.server {
        *server = address::parse(server, has_tls).map_err(ConnectError::Server)?.to_string();
    }
    Ok(())
}

/// Reads those files of the cluster and the user that are chosen which are pipes: the library would wait for them without end.
fn read_pipes(kubeconfig: &mut Kubeconfig, options: &KubeConfigOptions) -> Result<(), KubeconfigError> {
    let Some(context) = chosen_context(kubeconfig, options).cloned() else { return Ok(()) };
    let cluster = kubeconfig.clusters.iter_mut().find(|named| named.name == context.cluster);
    if let Some(cluster) = cluster.and_then(|named| named.cluster.as_mut())
        && cluster.certificate_authority_data.is_none()
    {
        cluster.certificate_authority_data = files::take_pipe(&mut cluster.certificate_authority, PIPE_WRITER_TIME)?;
    }
    let user = kubeconfig.auth_infos.iter_mut().find(|named| Some(&named.name) == context.user.as_ref());
    if let Some(user) = user.and_then(|named| named.auth_info.as_mut()) {
        if user.client_certificate_data.is_none() {
            user.client_certificate_data = files::take_pipe(&mut user.client_certificate, PIPE_WRITER_TIME)?;
        }
        if user.client_key_data.is_none() {
            let key = files::take_pipe(&mut user.client_key, PIPE_WRITER_TIME)?;
            user.client_key_data = key.map(SecretString::from);
        }
    }
    Ok(())
}

/// Takes the proxy of the cluster that is chosen out of a kubeconfig.
fn take_proxy(kubeconfig: &mut Kubeconfig, options: &KubeConfigOptions) -> Option<String> {
    let chosen = chosen_context(kubeconfig, options).map(|context| context.cluster.clone());
    let mut proxy = None;
    for named in kubeconfig.clusters.iter_mut().rev() {
        let Some(Cluster { proxy_url, .. }) = &mut named.cluster else { continue };
        let own = proxy_url.replace(NO_PROXY_OF_THE_LIBRARY.to_owned());
        if Some(&named.name) == chosen.as_ref() {
            proxy = own.filter(|url| !url.is_empty());
        }
    }
    proxy
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod served;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
