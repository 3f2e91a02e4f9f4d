//! The client of an API server: address and credentials from a kubeconfig, or from the service account of a pod.
//!
//! Files change: a kubeconfig is written again, a token is replaced every hour. [`Connector`] reads them again before the next
//! request where any of them has changed, and where the server has refused the credentials. Watches are requested every few
//! seconds, so a new token is in use as soon. Credentials may come from a plugin, which is a process that may take long: it is
//! waited for on a thread of its own, once at a time, and meanwhile the client from before is used.

use std::any::Any;
use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::client::AuthError;
use kube::config::{
    AuthInfo, Cluster, InClusterError, InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError,
};
use kube::{Client, Config};
use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::failure::plain;
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
    #[error("no cluster is configured: {0}")]
    Nowhere(#[source] Box<InferConfigError>),
    /// The kubeconfig cannot be read or used.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[source] KubeconfigError),
    /// The proxy that the kubeconfig names cannot be used.
    #[error("kubeconfig: the proxy-url of the cluster cannot be used: {0}")]
    Proxy(#[source] ProxyError),
    /// The file with the bearer token cannot be read.
    #[error("token file {path}: {source}")]
    Token {
        /// The file.
        path: String,
        /// What the system reports.
        source: io::Error,
    },
    /// The service account of the pod cannot be read.
    #[error("service account: {0}")]
    ServiceAccount(#[source] Box<InClusterError>),
    /// Something of the kubeconfig cannot be sent in a header.
    #[error(
        "kubeconfig: the {what} of the user holds a character that no header may have, such as a line break: write it again"
    )]
    Unsendable {
        /// The field.
        what: &'static str,
    },
    /// The client's library has panicked over the credentials.
    #[error("the kubeconfig's credentials, or those of its plugin, cannot be used: {0}")]
    Panicked(String),
    /// A credential plugin cannot be started, most often because it is not installed.
    #[error("kubeconfig: the credential plugin {command:?} {}: {source}{hint}", match source.kind() {
        io::ErrorKind::NotFound => "was not found",
        _ => "cannot be started",
    })]
    Plugin {
        /// The command.
        command: String,
        /// What the system reports.
        source: io::Error,
        /// What the kubeconfig says of how to install it, behind a semicolon; empty where it says nothing.
        hint: String,
    },
    /// A credential plugin has not ended.
    #[error("no credentials within {} s: the credential plugin hangs", KUBE_PREPARE_TIME.as_secs())]
    Slow,
    /// Credential plugins of earlier attempts have not ended.
    #[error("the credential plugins of {KUBE_PREPARING} earlier attempts hang")]
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

/// What describes the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Kubeconfig,
    ServiceAccount,
}

impl Pinned {
    async fn of(origin: &Origin) -> Result<Self, ConnectError> {
        let is_named = origin.kubeconfig.is_some() || origin.context.is_some();
        let is_kubeconfig =
            || async { matches!(read_kubeconfig(&Origin::default()).await, Ok(_) | Err(ConnectError::Proxy(_))) };
        let source = if is_named || is_kubeconfig().await {
            Source::Kubeconfig
        } else {
            Config::infer().await.map_err(|error| ConnectError::Nowhere(Box::new(error)))?;
            Source::ServiceAccount
        };
        Ok(Self { origin: with_context(origin, source), source, environment: Environment::of_process() })
    }
}

/// The same origin, with the context that is current now.
fn with_context(origin: &Origin, source: Source) -> Origin {
    let kubeconfig = || match &origin.kubeconfig {
        _ if source == Source::ServiceAccount => None,
        Some(file) => Kubeconfig::read_from(file).ok(),
        None => Kubeconfig::read().ok(),
    };
    let context = origin.context.clone().or_else(|| kubeconfig()?.current_context);
    Origin { context, ..origin.clone() }
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
        let pinned = Pinned::of(origin).await?;
        let files = Files::of(&pinned);
        let preparing = Arc::new(Semaphore::new(KUBE_PREPARING));
        let (config, client) = prepare(&pinned, &preparing).await?;
        let files = files.and(&config.auth_info);
        let current = Current { client, files, refused: false, read: Instant::now(), refresh: None };
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
            let refused = current.refused && current.read.elapsed() >= KUBE_REFRESH_LEAST;
            if !refused && !current.files.have_changed() {
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
    let files = Files::of(&pinned);
    let prepared = prepare(&pinned, &preparing).await;
    let mut current = current.lock();
    match prepared {
        Ok((config, client)) => {
            tracing::info!(address = %config.cluster_url, "kubeconfig and credentials read again");
            // What was refused meanwhile were the credentials from before.
            (current.client, current.refused) = (client, false);
            current.files = files.and(&config.auth_info);
        }
        Err(error) => {
            tracing::warn!(%error, "kubeconfig or credentials have changed and cannot be used: those from before are");
            current.files = files;
        }
    }
}

/// Reads the configuration and makes a client, on a thread of its own: kube waits there for a credential plugin. The runtime's
/// threads for blocking work have other work, and would keep a program from ending.
async fn prepare(pinned: &Pinned, preparing: &Arc<Semaphore>) -> Result<(Config, Client), ConnectError> {
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

/// What a panic says.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the library for credentials has panicked").to_owned()
}

/// As [`prepare`], on this thread.
async fn prepare_here(pinned: &Pinned) -> Result<(Config, Client), ConnectError> {
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
    read_token(&mut used.auth_info)?;
    check_headers(&mut used.auth_info)?;
    used.headers.push((USER_AGENT, HeaderValue::from_static(concat!("nodesift/", env!("CARGO_PKG_VERSION")))));
    let client = transport::client(&used, proxy.as_ref()).map_err(|error| named(error, &used.auth_info))?;
    // Only its address and the names of its files are needed from here on.
    config.auth_info.token = None;
    Ok((config, client))
}

/// An error of the library, which does not name the plugin that it cannot find.
fn named(error: kube::Error, auth: &AuthInfo) -> ConnectError {
    match (error, auth.exec.as_ref().and_then(|plugin| Some((plugin.command.clone()?, plugin)))) {
        (kube::Error::Auth(AuthError::AuthExecStart(source)), Some((command, plugin))) => {
            let hint = plugin.install_hint.iter().map(|hint| plain(hint)).filter(|hint| !hint.is_empty());
            let hint = hint.map(|hint| format!("; to install it: {hint}")).collect();
            ConnectError::Plugin { command, source, hint }
        }
        (error, _) => ConnectError::Client(Box::new(error)),
    }
}

/// Reads what a kubeconfig says, and the proxy that it names.
async fn read_kubeconfig(origin: &Origin) -> Result<(Config, Option<Proxy>), ConnectError> {
    let options = KubeConfigOptions { context: origin.context.clone(), ..KubeConfigOptions::default() };
    let read = origin.kubeconfig.as_ref().map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    let mut kubeconfig = read.map_err(ConnectError::Kubeconfig)?;
    let proxy = take_proxy(&mut kubeconfig, &options);
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(ConnectError::Kubeconfig)?;
    if let Some(told) = config.auth_info.exec.as_mut().and_then(|plugin| plugin.cluster.as_mut()) {
        told.proxy_url.clone_from(&proxy);
    }
    Ok((config, proxy.map(|url| Proxy::parse(&url)).transpose().map_err(ConnectError::Proxy)?))
}

/// What stands in a kubeconfig for proxies, so that the library looks for none in the environment; it is never asked.
const NO_PROXY_OF_THE_LIBRARY: &str = "http://none.invalid";

/// Takes the proxy of the cluster that is chosen out of a kubeconfig.
fn take_proxy(kubeconfig: &mut Kubeconfig, options: &KubeConfigOptions) -> Option<String> {
    let context = options.context.as_ref().or(kubeconfig.current_context.as_ref());
    let context = kubeconfig.contexts.iter().find(|named| Some(&named.name) == context);
    let chosen = context.and_then(|named| Some(named.context.as_ref()?.cluster.clone()));
    let mut proxy = None;
    for named in kubeconfig.clusters.iter_mut().rev() {
        let Some(Cluster { proxy_url, .. }) = &mut named.cluster else { continue };
        let own = proxy_url.replace(NO_PROXY_OF_THE_LIBRARY.to_owned());
        // The first of a name counts.
        if Some(&named.name) == chosen.as_ref() {
            proxy = own.filter(|url| !url.is_empty());
        }
    }
    proxy
}

/// Reads the token's file as client-go does: without white space around it, and before a token in the kubeconfig itself.
fn read_token(auth: &mut AuthInfo) -> Result<(), ConnectError> {
    let Some(path) = auth.token_file.take() else { return Ok(()) };
    match fs::read_to_string(&path) {
        Ok(token) if !token.trim().is_empty() => auth.token = Some(SecretString::from(token.trim())),
        _ if auth.token.is_some() => {}
        Ok(_) => return Err(ConnectError::Token { path, source: io::Error::other("is empty") }),
        Err(source) => return Err(ConnectError::Token { path, source }),
    }
    Ok(())
}

/// Trims the token, as editors and `echo` leave a line break behind it, and refuses what no header can hold: the library would panic.
fn check_headers(auth: &mut AuthInfo) -> Result<(), ConnectError> {
    if let Some(token) = &auth.token {
        let trimmed = token.expose_secret().trim().to_owned();
        if HeaderValue::from_str(&trimmed).is_err() {
            return Err(ConnectError::Unsendable { what: "token" });
        }
        auth.token = Some(SecretString::from(trimmed));
    }
    let groups = auth.impersonate_groups.iter().flatten();
    for name in auth.impersonate.iter().chain(groups) {
        if HeaderValue::from_str(name).is_err() {
            return Err(ConnectError::Unsendable { what: "name to impersonate" });
        }
    }
    Ok(())
}

/// Files, and what they were when they were looked at.
#[derive(Debug, Default)]
struct Files(Vec<(PathBuf, Option<State>)>);

/// What changes with a file's content: device, inode, time of modification in seconds and nanoseconds, length.
type State = (u64, u64, i64, i64, u64);

/// Where a pod finds its service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

impl Files {
    /// The files from which an origin is read, as far as they name each other.
    fn of(pinned: &Pinned) -> Self {
        let kubeconfigs = match (&pinned.origin.kubeconfig, pinned.source) {
            (_, Source::ServiceAccount) => Vec::new(),
            (Some(file), Source::Kubeconfig) => vec![file.clone()],
            (None, Source::Kubeconfig) => kubeconfigs(),
        };
        let mut paths = kubeconfigs.clone();
        for kubeconfig in kubeconfigs.iter().filter_map(|file| Kubeconfig::read_from(file).ok()) {
            let clusters = kubeconfig.clusters.into_iter().filter_map(|named| named.cluster);
            paths.extend(clusters.filter_map(|cluster| cluster.certificate_authority).map(PathBuf::from));
            let users = kubeconfig.auth_infos.into_iter().filter_map(|named| named.auth_info);
            paths.extend(users.flat_map(|user| named_by(&user)));
        }
        if pinned.source == Source::ServiceAccount {
            paths.extend(["token", "ca.crt"].map(|file| Path::new(SERVICE_ACCOUNT).join(file)));
        }
        let mut files = Self(paths.into_iter().map(|path| (path, None)).collect());
        files.look();
        files
    }

    /// These and the files of the credentials that were chosen.
    fn and(mut self, auth: &AuthInfo) -> Self {
        for path in named_by(auth).filter(|path| !self.0.iter().any(|(known, _)| known == path)).collect::<Vec<_>>() {
            let state = state(&path);
            self.0.push((path, state));
        }
        self
    }

    fn look(&mut self) {
        self.0.iter_mut().for_each(|(path, seen)| *seen = state(path));
    }

    fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, seen)| state(path) != *seen)
    }
}

fn named_by(auth: &AuthInfo) -> impl Iterator<Item = PathBuf> + use<> {
    let paths = [&auth.token_file, &auth.client_certificate, &auth.client_key].map(Clone::clone);
    paths.into_iter().flatten().map(PathBuf::from)
}

/// The kubeconfig files that are read where none is given.
fn kubeconfigs() -> Vec<PathBuf> {
    match env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        Some(list) => env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => env::var_os("HOME").map(|home| Path::new(&home).join(".kube/config")).into_iter().collect(),
    }
}

/// `None` where the file does not exist.
fn state(path: &Path) -> Option<State> {
    let file = fs::metadata(path).ok()?;
    Some((file.dev(), file.ino(), file.mtime(), file.mtime_nsec(), file.size()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod served;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {

    use super::*;

    fn token(inline: Option<&str>, file: Option<&Path>) -> Result<Option<String>, ConnectError> {
        let mut auth = AuthInfo {
            token: inline.map(SecretString::from),
            token_file: file.map(|file| file.display().to_string()),
            ..AuthInfo::default()
        };
        read_token(&mut auth)?;
        Ok(auth.token.map(|token| token.expose_secret().to_owned()))
    }

    /// Whatever a kubeconfig holds, a connection is prepared or refused by name, and nothing panics. `NODESIFT_SEED` repeats a run.
    #[tokio::test(flavor = "multi_thread")]
    async fn no_text_in_a_field_of_a_user_is_taken_for_a_plugin_that_hangs() {
        let seed = env::var("NODESIFT_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| fastrand::u64(..));
        println!("NODESIFT_SEED={seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let mut texts: Vec<String> =
            ["secret\n", "\r\n secret", "se\ncret", "se\u{0}cret", "", "\u{feff}ü", "\u{7f}"].map(str::to_owned).into();
        texts.extend((0..40).map(|_| (0..random.usize(0..12)).map(|_| random.char('\u{0}'..'\u{100}')).collect()));
        let fields = ["token", "tokenFile", "username", "password", "client-certificate-data", "client-key-data", "as"];
        for (field, text) in fields.iter().flat_map(|field| texts.iter().map(move |text| (field, text))) {
            let config = serde_json::json!({
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {*field: text}}],
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            });
            fs::write(&path, config.to_string()).unwrap();
            let origin = Origin { kubeconfig: Some(path.clone()), context: None };
            let error = Connector::new(&origin).await.err();
            let is_unnamed =
                matches!(error, Some(ConnectError::Slow | ConnectError::Stuck | ConnectError::Panicked(_)));
            assert!(!is_unnamed, "{field} {text:?}: {error:?}");
            if *field == "token" && text.trim() == "secret" {
                assert!(Connector::new(&origin).await.is_ok(), "{text:?}");
            }
        }
    }

    #[test]
    fn the_token_of_a_file_comes_first_and_without_the_newline_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        assert!(matches!(token(None, Some(&file)), Err(ConnectError::Token { .. })));
        assert_eq!(token(Some("inline"), Some(&file)).unwrap().as_deref(), Some("inline"));
        fs::write(&file, " secret\r\n").unwrap();
        assert_eq!(token(None, Some(&file)).unwrap().as_deref(), Some("secret"));
        assert_eq!(token(Some("inline"), Some(&file)).unwrap().as_deref(), Some("secret"));
        fs::write(&file, "\n").unwrap();
        assert!(matches!(token(None, Some(&file)), Err(ConnectError::Token { .. })));
        assert_eq!(token(None, None).unwrap(), None);
    }

    #[test]
    fn the_context_that_was_current_at_the_start_stays_the_one_that_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        let write = |context: &str| {
            fs::write(&file, format!(r#"{{"apiVersion":"v1","kind":"Config","current-context":"{context}"}}"#))
                .unwrap();
        };
        let origin =
            |context: Option<&str>| Origin { kubeconfig: Some(file.clone()), context: context.map(str::to_owned) };
        write("first");
        let pinned = |origin: &Origin| with_context(origin, Source::Kubeconfig);
        let first = pinned(&origin(None));
        write("second");
        assert_eq!(first.context.as_deref(), Some("first"));
        assert_eq!(pinned(&first).context.as_deref(), Some("first"));
        assert_eq!(pinned(&origin(Some("named"))).context.as_deref(), Some("named"));
        fs::remove_file(&file).unwrap();
        assert_eq!(pinned(&origin(None)).context, None);
    }

    #[tokio::test]
    async fn a_sidecar_that_began_in_a_pod_never_reads_a_kubeconfig_that_appears_later() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "other",
            "clusters": [{"name": "other", "cluster": {"server": "http://127.0.0.1:1"}}],
            "contexts": [{"name": "other", "context": {"cluster": "other", "user": ""}}],
        });
        fs::write(&file, kubeconfig.to_string()).unwrap();
        let pinned = |source| Pinned {
            origin: Origin { kubeconfig: Some(file.clone()), context: None },
            source,
            environment: Environment::default(),
        };
        let preparing = Arc::new(Semaphore::new(1));
        let (config, _) = prepare(&pinned(Source::Kubeconfig), &preparing).await.unwrap();
        assert_eq!(config.cluster_url.port_u16(), Some(1));
        let in_pod = pinned(Source::ServiceAccount);
        assert!(Files::of(&in_pod).0.iter().all(|(path, _)| path.starts_with(SERVICE_ACCOUNT)));
        assert_eq!(with_context(&in_pod.origin, Source::ServiceAccount).context, None);
        let prepared = prepare(&in_pod, &preparing).await.map(|(config, _)| config.cluster_url.port_u16());
        // Where the test runs in a pod, it is that pod's cluster.
        let is_own = prepared
            .as_ref()
            .map_or_else(|error| matches!(error, ConnectError::ServiceAccount(_)), |port| *port != Some(1));
        assert!(is_own, "{prepared:?}");
    }

    #[tokio::test]
    async fn no_more_than_a_few_plugins_hang() {
        let preparing = Arc::new(Semaphore::new(0));
        let pinned =
            Pinned { origin: Origin::default(), source: Source::Kubeconfig, environment: Environment::default() };
        assert!(matches!(prepare(&pinned, &preparing).await, Err(ConnectError::Stuck)));
    }

    #[test]
    fn a_change_of_any_file_that_the_kubeconfig_names_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1", "certificate-authority": "ca"}}],
            "users": [{"name": "u", "user": {"tokenFile": "token", "client-certificate": "cert", "client-key": "key"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        fs::write(path("kubeconfig"), kubeconfig.to_string()).unwrap();
        ["ca", "token", "cert"].iter().for_each(|name| fs::write(path(name), "1").unwrap());
        let mut files = Files::of(&Pinned {
            origin: Origin { kubeconfig: Some(path("kubeconfig")), context: None },
            source: Source::Kubeconfig,
            environment: Environment::default(),
        });
        assert!(!files.have_changed());
        // One is replaced by a rename, as Kubernetes updates volumes; one appears; one goes.
        fs::write(path("new"), "2").unwrap();
        fs::rename(path("new"), path("token")).unwrap();
        assert!(files.have_changed());
        files.look();
        let changes: [&dyn Fn() -> io::Result<()>; 4] = [
            &|| fs::write(path("key"), "1"),
            &|| fs::remove_file(path("ca")),
            &|| fs::write(path("cert"), "another"),
            &|| fs::write(path("kubeconfig"), "{}"),
        ];
        for change in changes {
            assert!(!files.have_changed());
            change().unwrap();
            assert!(files.have_changed());
            files.look();
        }
    }
}
