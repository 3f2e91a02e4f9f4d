//! The connection to an API server: address and credentials from a kubeconfig, or from the service account of a pod.
//!
//! Files change: a kubeconfig is written again, a token is replaced every hour. [`Connector`] reads them again before the next
//! request where any of them has changed, and where the server has refused the credentials. Watches are requested every few
//! seconds, so a new token is in use as soon. Start at [`open`].

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{AuthInfo, InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::time::Instant;

use super::server::ApiServer;
use crate::limits::{KUBE_CONNECT, KUBE_REFRESH_LEAST};

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
    /// The file with the bearer token cannot be read.
    #[error("token file {path}: {source}")]
    Token {
        /// The file.
        path: String,
        /// What the system reports.
        source: io::Error,
    },
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
    let files = Files::of(origin);
    let (config, client) = prepare(origin).await?;
    let current = Current { files: files.and(&config.auth_info), client, refused: false, read: Instant::now() };
    let connector = Connector { origin: pinned(origin), current: Mutex::new(current) };
    Ok(Connection { server: ApiServer::new(connector), address: config.cluster_url.to_string() })
}

/// The same origin, with the context that is current now: a user who switches to another cluster must not take the sidecar along.
fn pinned(origin: &Origin) -> Origin {
    let kubeconfig = || match &origin.kubeconfig {
        Some(file) => Kubeconfig::read_from(file).ok(),
        None => Kubeconfig::read().ok(),
    };
    let context = origin.context.clone().or_else(|| kubeconfig()?.current_context);
    Origin { context, ..origin.clone() }
}

/// Makes clients: the same one until the files behind it change or the server refuses its credentials.
pub(super) struct Connector {
    origin: Origin,
    current: Mutex<Current>,
}

/// The client in use.
struct Current {
    client: Client,
    /// The files that it was made of.
    files: Files,
    /// Whether the server has refused its credentials.
    refused: bool,
    /// When the files were read.
    read: Instant,
}

impl Connector {
    /// The client for the next request. Where the files cannot be used, the one from before.
    pub(super) async fn client(&self) -> Client {
        {
            let mut current = self.current.lock();
            let refused = current.refused && current.read.elapsed() >= KUBE_REFRESH_LEAST;
            if !refused && !current.files.have_changed() {
                return current.client.clone();
            }
            // Before they are read, so that a change meanwhile is found by the next request; and whether or not they can be
            // used: a file that is half written is read again once it has changed.
            current.files.look();
            (current.refused, current.read) = (false, Instant::now());
        }
        let files = Files::of(&self.origin);
        let prepared = prepare(&self.origin).await;
        let mut current = self.current.lock();
        match prepared {
            Ok((config, client)) => {
                tracing::info!(address = %config.cluster_url, "kubeconfig and credentials read again");
                (current.files, current.client) = (files.and(&config.auth_info), client);
            }
            Err(error) => {
                tracing::warn!(%error, "kubeconfig or credentials have changed and cannot be used: those from before are");
                current.files = files;
            }
        }
        current.client.clone()
    }

    /// The server has refused the credentials: they may have been replaced in a way that no file shows.
    pub(super) fn refused(&self) {
        self.current.lock().refused = true;
    }
}

async fn prepare(origin: &Origin) -> Result<(Config, Client), ConnectError> {
    let options = KubeConfigOptions { context: origin.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match (&origin.kubeconfig, &origin.context) {
        (Some(file), _) => {
            let kubeconfig = Kubeconfig::read_from(file).map_err(ConnectError::Kubeconfig)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(ConnectError::Kubeconfig)?
        }
        (None, Some(_)) => Config::from_kubeconfig(&options).await.map_err(ConnectError::Kubeconfig)?,
        (None, None) => Config::infer().await.map_err(|error| ConnectError::Nowhere(Box::new(error)))?,
    };
    let mut used = config.clone();
    read_token(&mut used.auth_info)?;
    let client = Client::try_from(within_our_limits(used)).map_err(|error| ConnectError::Client(Box::new(error)))?;
    // Only its address and the names of its files are needed from here on.
    config.auth_info.token = None;
    Ok((config, client))
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

/// Timeouts and retries are the reflector's, not the client's.
fn within_our_limits(mut config: Config) -> Config {
    config.connect_timeout = Some(KUBE_CONNECT);
    config.read_timeout = None;
    config.default_retry = false;
    let name = concat!("nodesift/", env!("CARGO_PKG_VERSION"));
    config.headers.push((USER_AGENT, HeaderValue::from_static(name)));
    config
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
    fn of(origin: &Origin) -> Self {
        let kubeconfigs = match &origin.kubeconfig {
            Some(file) => vec![file.clone()],
            None => kubeconfigs(),
        };
        let mut paths = kubeconfigs.clone();
        for kubeconfig in kubeconfigs.iter().filter_map(|file| Kubeconfig::read_from(file).ok()) {
            let clusters = kubeconfig.clusters.into_iter().filter_map(|named| named.cluster);
            paths.extend(clusters.filter_map(|cluster| cluster.certificate_authority).map(PathBuf::from));
            let users = kubeconfig.auth_infos.into_iter().filter_map(|named| named.auth_info);
            paths.extend(users.flat_map(|user| named_by(&user)));
        }
        if origin.kubeconfig.is_none() {
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
mod tests {
    use secrecy::ExposeSecret as _;

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
        let first = pinned(&origin(None));
        write("second");
        assert_eq!(first.context.as_deref(), Some("first"));
        assert_eq!(pinned(&first).context.as_deref(), Some("first"));
        assert_eq!(pinned(&origin(Some("named"))).context.as_deref(), Some("named"));
        fs::remove_file(&file).unwrap();
        assert_eq!(pinned(&origin(None)).context, None);
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
        let mut files = Files::of(&Origin { kubeconfig: Some(path("kubeconfig")), context: None });
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
