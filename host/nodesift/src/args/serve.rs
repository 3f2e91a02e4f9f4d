//! Options of `serve`, and of `health`, which asks it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgAction;
use clap::builder::{BoolishValueParser, NonEmptyStringValueParser};

use super::{ClusterArgs, PolicyArgs, value};
use crate::exit::Failure;
use nodesift_api::access::{Access, HostName, Hosts, Rights};
use nodesift_api::tls::TlsFiles;
use nodesift_policy::{Folder, Reach};
use nodesift_registry::{Host, Hosts as RegistryHosts};
use nodesift_source::kube::connection;

/// The TCP port where a scheduler core on the same machine looks for the sidecar.
const DEFAULT_PORT: u16 = 10270;

/// The TCP port of the explorer, beside that of cores and the one that manifests give to probes.
const EXPLORER_PORT: u16 = 10272;

/// One of the cluster options is required.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "SIGTERM and SIGINT end it after running requests; a second one ends it at once. SIGHUP reads the \
                        certificates again, SIGUSR1 makes it check its cache."
)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) kube: KubeArgs,
    /// Serve a built-in sample of a real cluster, to try the API
    #[arg(long, conflicts_with_all = ["cluster", "kube", "kubeconfig", "context"], help_heading = "Cluster")]
    pub(crate) sample: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Take the policy from the PredicatePolicy object of this name in the watched cluster, follow its changes, and write into
    /// its status what became of them. Where it is not there, the last good policy serves, else the default
    #[arg(long, value_name = "NAME", group = "followed", conflicts_with_all = ["policy", "predicates", "cluster", "sample"], value_parser = NonEmptyStringValueParser::new(), help_heading = "Policy")]
    pub(crate) policy_resource: Option<String>,
    /// Name of this replica in the status of the policy's object [default: the name of the host]
    #[arg(long, value_name = "NAME", env = "POD_NAME", help_heading = "Policy")]
    pub(crate) replica_name: Option<String>,
    /// Folder that remembers the last good policy, with its modules: a start with a broken policy serves that one. With none,
    /// it is live and waits for the policy to be mended. A folder that cannot be written is warned of once
    #[arg(long, value_name = "FOLDER", requires = "followed", env = "NODESIFT_STATE_FOLDER", help_heading = "Policy")]
    pub(crate) state_folder: Option<PathBuf>,
    /// Second policy, which decides nothing: what it would change is counted, see `nodesift policy shadow`. Changes of its
    /// files are followed
    #[arg(long, value_name = "FILE", help_heading = "Policy")]
    pub(crate) shadow_policy: Option<PathBuf>,
    /// Where decisions about pods with external parties are written, so that restarts and other sidecars know who holds what [default:
    /// object beside a cluster, none for files]
    #[arg(long, value_name = "WHERE", help_heading = "Policy")]
    pub(crate) record: Option<value::RecordPlace>,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
    /// Unix socket; the right to write to its file is the right to make every call [default: nodesift.sock in
    /// $XDG_RUNTIME_DIR, else in /run/nodesift]
    #[arg(long, value_name = "PATH", env = "NODESIFT_SOCKET", help_heading = "Listeners")]
    pub(crate) socket: Option<PathBuf>,
    /// TCP address; loopback only, unless TLS with client certificates is configured. Port 0 selects a free port
    #[arg(long, value_name = "ADDR", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)), help_heading = "Listeners")]
    pub(crate) listen: SocketAddr,
    /// Listen on the Unix socket only, and on what --probe-listen and --explorer name
    #[arg(long, conflicts_with = "listen", help_heading = "Listeners")]
    pub(crate) no_tcp: bool,
    /// TCP address of one more listener that has /livez, /readyz and /metrics and nothing else, without TLS: for probes and
    /// scrapers that have no certificate
    #[arg(long, value_name = "ADDR", help_heading = "Listeners")]
    pub(crate) probe_listen: Option<SocketAddr>,
    /// TCP address of the explorer, a page that shows why pods are pending. It reads and changes nothing; off loopback, and for TLS and
    /// lists of clients, the rules are those of --listen. Where the port is taken, the sidecar serves without it [default:
    /// 127.0.0.1:10272, with --no-tcp none]
    #[arg(long, value_name = "ADDR", help_heading = "Listeners")]
    pub(crate) explorer: Option<SocketAddr>,
    /// Serve the API without an explorer
    #[arg(long, conflicts_with = "explorer", help_heading = "Listeners")]
    pub(crate) no_explorer: bool,
    /// Largest request body in bytes
    #[arg(long, value_name = "BYTES", default_value_t = nodesift_api::limits::BODY_BYTES, value_parser = value::body_bytes, help_heading = "Listeners")]
    pub(crate) max_body_bytes: usize,
    /// Time for a request, from its first byte to its answer. Clients shorten it by the header grpc-timeout or
    /// request-timeout (in seconds)
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = value::time, env = "NODESIFT_REQUEST_TIMEOUT", help_heading = "Listeners")]
    pub(crate) request_timeout: Duration,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// TTL of an assumed pod if the request sets none; it ends earlier once the watch shows the pod's state, and later
    /// while the API server is silent, which may have bound the pod
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = value::assume_ttl, help_heading = "Consistency")]
    pub(crate) assume_ttl: Duration,
    /// Mark answers stale if the API server has confirmed nothing for this long. Values below 15s mark a quiet cluster
    /// stale too
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = value::time, help_heading = "Consistency")]
    pub(crate) stale_after: Duration,
    /// Reject requests instead of marking answers stale, and fail /readyz
    #[arg(long, help_heading = "Consistency")]
    pub(crate) refuse_stale: bool,
    /// Memory for cached verdicts, in bytes. Beyond it the least recently used are evicted, which the metric
    /// nodesift_verdicts_evicted_total counts
    #[arg(long, value_name = "BYTES", env = "NODESIFT_VERDICT_CACHE_BYTES", default_value_t = nodesift_engine::limits::REUSE_BYTES, value_parser = value::verdict_cache_bytes, help_heading = "Memory")]
    pub(crate) verdict_cache_bytes: usize,
    /// Keep no list of pending pods with their causes: GET /v1/pending is refused, and its metrics are absent. The list takes a tenth of a
    /// core at most
    #[arg(long, help_heading = "Pending pods")]
    pub(crate) no_pending_list: bool,
    /// Evaluate everything twice, with and without cached verdicts, and fail the request if the two differ
    #[arg(long, env = "NODESIFT_VERIFY_REUSE", action = ArgAction::SetTrue, value_parser = BoolishValueParser::new(), help_heading = "Consistency")]
    pub(crate) verify_reuse: bool,
}

/// TLS on the TCP listener. The files are reloaded when they change.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsArgs {
    /// Server certificate and its intermediates, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the server certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Require client certificates signed by these CAs, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_client_ca: Option<PathBuf>,
}

impl TlsArgs {
    /// The files; none without TLS.
    pub(crate) fn files(&self) -> Option<TlsFiles> {
        let (certificates, key) = (self.tls_cert.clone()?, self.tls_key.clone()?);
        Some(TlsFiles { certificates, key, client_roots: self.tls_client_ca.clone() })
    }
}

impl ServeArgs {
    /// The address of the explorer; none without one.
    pub(crate) fn explorer_address(&self) -> Option<SocketAddr> {
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, EXPLORER_PORT));
        (!self.no_explorer).then(|| self.explorer.or((!self.no_tcp).then_some(default))).flatten()
    }
}

/// Who may call over TCP. The Unix socket is open to everybody who may write to its file.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Access over TCP")]
pub(crate) struct AccessArgs {
    /// Host names by which clients call the sidecar, besides localhost and its addresses. Requests that name another host are
    /// refused, and so are those of web pages
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(crate) allow_host: Vec<HostName>,
    /// Clients that may ask about pods and nodes, by a name in their certificates, such as dns:core.example, uri:spiffe://cluster/core
    /// or, where there is no alternative name, cn:core; without a prefix, what has :// is a URI, and anything else a DNS or common name;
    /// * is every client with a certificate [default: every client, if no --allow- option names one; else none]
    #[arg(long, value_name = "NAME", num_args = 1.., requires = "tls_client_ca")]
    pub(crate) allow_read: Vec<String>,
    /// Clients that may assume and forget pods
    #[arg(long, value_name = "NAME", num_args = 1.., requires = "tls_client_ca")]
    pub(crate) allow_decide: Vec<String>,
    /// Clients that may read dumps and events
    #[arg(long, value_name = "NAME", num_args = 1.., requires = "tls_client_ca")]
    pub(crate) allow_operate: Vec<String>,
    /// Clients that may attend as a party of the policy, each as PARTY=NAME [default: none over TCP]
    #[arg(long, value_name = "PARTY=NAME", num_args = 1.., requires = "tls_client_ca", value_parser = value::pair)]
    pub(crate) allow_attend: Vec<(String, String)>,
    /// Users that may attend as a party of the policy over the Unix socket, each as PARTY=UID [default: every user that may write to
    /// the socket]
    #[arg(long, value_name = "PARTY=UID", num_args = 1.., value_parser = value::user)]
    pub(crate) allow_attend_uid: Vec<(String, u32)>,
    /// Listen off loopback without client certificates: everybody who can open a connection may make every call
    #[arg(long, conflicts_with = "tls_client_ca")]
    pub(crate) insecure_anonymous: bool,
}

impl AccessArgs {
    /// The checks that the arguments ask for, of a listener on this address.
    pub(crate) fn checks(&self, listen: SocketAddr) -> Access {
        let reachable = !listen.ip().to_canonical().is_loopback();
        Access {
            open: false,
            hosts: Hosts::new(self.allow_host.clone(), reachable),
            rights: Rights::new(&self.allow_read, &self.allow_decide, &self.allow_operate)
                .attending(&self.allow_attend)
                .attending_users(&self.allow_attend_uid),
        }
    }
}

/// Folders and registries whose modules policies may name.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Policy")]
pub(crate) struct ReachArgs {
    /// Folder below which modules, layouts and keys must be that a policy names by paths, after links are followed [default: for
    /// --policy-resource none, and such a policy names no paths; else anywhere]
    #[arg(long, value_name = "DIR")]
    pub(crate) module_folder: Option<PathBuf>,
    /// Hosts that modules are pulled from, each as HOST or HOST:PORT, with those that registries redirect to and those of their
    /// tokens; no other is connected to for a module [default: any]
    #[arg(long, value_name = "HOST", value_delimiter = ',', num_args = 1..)]
    pub(crate) registries: Vec<Host>,
}

impl ReachArgs {
    /// Folders and registries whose modules a policy may name that is an object of the cluster, or else the operator's.
    ///
    /// # Errors
    ///
    /// [`Failure::Files`] if the folder is not there.
    pub(crate) fn reach(&self, is_object: bool) -> Result<Reach, Failure> {
        let folder = self.module_folder.as_deref().map(|path| {
            let failed = |error| Failure::Files(anyhow::Error::new(error).context(path.display().to_string()));
            Folder::open(path).map_err(failed)
        });
        let (folder, hosts) =
            (folder.transpose()?, (!self.registries.is_empty()).then(|| RegistryHosts::new(&self.registries)));
        Ok(if is_object { Reach::for_object(folder, hosts) } else { Reach::for_file(folder, hosts) })
    }
}

/// The cluster behind an API server.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct KubeArgs {
    /// Watch the cluster of $KUBECONFIG, else of ~/.kube/config, else the one this pod runs in
    #[arg(long, conflicts_with = "cluster", help_heading = "Cluster")]
    pub(crate) kube: bool,
    /// Watch the cluster of this kubeconfig
    #[arg(long, value_name = "FILE", conflicts_with = "cluster", help_heading = "Cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Watch the cluster of this kubeconfig context [default: the current context]
    #[arg(long, value_name = "NAME", conflicts_with = "cluster", help_heading = "Cluster")]
    pub(crate) context: Option<String>,
}

impl KubeArgs {
    /// Where the API server's address and credentials come from; none without any of these options.
    pub(crate) fn origin(&self) -> Option<connection::Origin> {
        let Self { kube, kubeconfig, context } = self;
        (*kube || kubeconfig.is_some() || context.is_some())
            .then(|| connection::Origin { kubeconfig: kubeconfig.clone(), context: context.clone() })
    }
}

/// Options of the command `health`.
#[derive(Debug, clap::Args)]
pub(crate) struct HealthArgs {
    /// Unix socket of the sidecar [env: NODESIFT_SOCKET] [default: as for serve]
    // The variables are read by `client::Named`: read here they would count as typed, and so against what is typed.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Address of a listener without TLS, for example that of --probe-listen: http://HOST:PORT [env: NODESIFT_SERVER, which may be
    /// unix:PATH too]
    #[arg(long, value_name = "URL", conflicts_with = "socket")]
    pub(crate) url: Option<String>,
    /// Ask whether it is live instead of ready: a sidecar that waits for its first lists is live
    #[arg(long)]
    pub(crate) live: bool,
}
