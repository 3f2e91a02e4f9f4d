//! The commands and their options, with their help. Types of single values are in [`value`],
//! options that concern registries in [`registry`].
//!
//! It parses and checks what is typed; what depends on files or on the machine is checked by the commands. Start at
//! [`Args`].

mod registry;
mod value;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::builder::{BoolishValueParser, NonEmptyStringValueParser};
use clap::{ArgAction, Parser, Subcommand};

use crate::exit;
use nodesift_api::access::{Access, HostName, Hosts, Rights};
use nodesift_api::tls::TlsFiles;
use nodesift_api::version::{CONTRACT, REVISION};
use nodesift_module::{Language, Sdk};
use nodesift_policy::API_VERSION;
use nodesift_source::kube::connection;
pub(crate) use registry::{ModulePullArgs, ModulePushArgs, RegistryArgs};
pub(crate) use value::{Format, LogFormat, PhaseArg, PodKey};

/// Evaluates kube-scheduler's filter predicates: which nodes can run a pod, and why the others cannot
#[derive(Debug, Parser)]
#[command(name = "nodesift", version, long_version = LONG_VERSION.as_str(), after_help = format!("{EXAMPLES}\n\n{}", exit::HELP), max_term_width = 120)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What `--version` prints; `-V` prints the version alone.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{}\nrevision: {}\npredicate contract: {}\nAPI: nodesift.v1\npolicies: {API_VERSION}",
        env!("CARGO_PKG_VERSION"),
        REVISION.unwrap_or("not named by the build"),
        *CONTRACT
    )
});

/// First commands for a new user, at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl get nodes,pods,namespaces -A -o json > cluster.json
  nodesift explain --cluster cluster.json      explain every pending pod
  nodesift serve --sample                      serve a built-in sample cluster
  nodesift serve --kube                        serve your kubeconfig's cluster";

/// Options of every command.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Log level on stderr: error, warn, info, debug or trace; or a filter such as nodesift=debug,h2=warn [default: info
    /// for serve, else warn]
    #[arg(long, value_name = "LEVEL", env = "NODESIFT_LOG", global = true, help_heading = "Logging")]
    pub(crate) log: Option<String>,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, global = true, help_heading = "Logging")]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the sidecar: gRPC, JSON over HTTP, and the kube-scheduler extender API
    Serve(Box<ServeArgs>),
    /// Print which nodes fit each pod, and why the others do not
    #[command(override_usage = usage("filter"))]
    Filter(AskArgs),
    /// Evaluate every predicate on its own, and print which nodes it rejects and why
    #[command(override_usage = usage("explain"))]
    Explain(ExplainArgs),
    /// Measure evaluation speed on this machine
    Bench(BenchArgs),
    /// Ask a running sidecar whether it is ready: exits with 0 if it is, for probes
    Health(HealthArgs),
    /// Check, compare or import policies, or show that of a running sidecar
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Write, build, push, pull and look at predicate modules
    #[command(subcommand)]
    Module(ModuleCommand),
    /// Generate synthetic clusters
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Compile the module on standard input within limits. The sidecar starts itself so for each module by path
    #[command(name = COMPILE, hide = true)]
    Compile(CompileArgs),
}

/// The name of the command that compiles a module.
pub(crate) const COMPILE: &str = "compile-module";

#[derive(Debug, clap::Args)]
pub(crate) struct CompileArgs {
    /// Limit on its processor time
    #[arg(value_name = "SECONDS")]
    pub(crate) seconds: u64,
    /// Folder of compiled code
    #[arg(value_name = "FOLDER")]
    pub(crate) cache: Option<PathBuf>,
}

/// The two forms of `filter` and `explain`.
fn usage(command: &str) -> String {
    format!("nodesift {command} [OPTIONS] --cluster <FILE>...\n       nodesift {command} [OPTIONS] --server <URL>")
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show the active policy of a running sidecar, and why the last document was refused
    Status(PolicyStatusArgs),
    /// Check a policy as a reload would, and report everything that is wrong with it
    Check(PolicyCheckArgs),
    /// Print which pods and nodes another policy would decide otherwise, and under which predicate
    Diff(PolicyDiffArgs),
    /// Print the policy that filters as a kube-scheduler with this configuration, and what of it cannot be carried over
    Import(PolicyImportArgs),
    /// Print the JSON schema of policies, for editors
    Schema,
    /// Show what shadow predicates and a shadow policy of a running sidecar would change
    Shadow(PolicyShadowArgs),
}

/// The sidecar that `policy status` and `policy shadow` ask.
#[derive(Debug, clap::Args)]
pub(crate) struct SidecarArgs {
    /// Unix socket of the sidecar [default: as for serve]
    // No conflict with --server: it would count the environment variable too.
    #[arg(long, value_name = "PATH", env = "NODESIFT_SOCKET")]
    pub(crate) socket: Option<PathBuf>,
    /// The sidecar, instead of by its socket: unix:PATH or http://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
}

/// Options of `policy status`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyStatusArgs {
    #[command(flatten)]
    pub(crate) sidecar: SidecarArgs,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `policy shadow`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyShadowArgs {
    #[command(flatten)]
    pub(crate) sidecar: SidecarArgs,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `policy diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyDiffArgs {
    /// Policy that decides now: a file, or a folder of files
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// Policy that would decide
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Compare the pods in these files, as if they were not bound [default: the cluster's pending pods]
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Pods")]
    pub(crate) pods: Vec<PathBuf>,
    /// Compare only these pods
    #[arg(long, value_name = "NAMESPACE/NAME", num_args = 1.., help_heading = "Pods")]
    pub(crate) pod: Vec<PodKey>,
    /// Scheduling phase: which of the predicates run
    #[arg(long, value_name = "PHASE", value_enum, default_value_t)]
    pub(crate) phase: PhaseArg,
    /// Output format; jsonl has one line for each pod that is decided otherwise, with all of its nodes
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `policy import`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyImportArgs {
    /// File with a KubeSchedulerConfiguration. Feature gates are flags of kube-scheduler and not in it
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Profile, by its scheduler name [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModuleCommand {
    /// Start the project of a predicate: source with unit tests, a policy, a CI workflow, and the SDK
    New(ModuleNewArgs),
    /// Build a project into a module, and print what it can read
    Build(ModuleBuildArgs),
    /// Run the cases of a module: pods and nodes, and what its verdict is to be
    Test(ModuleTestArgs),
    /// Check that a module keeps to the contract: imports, limits, determinism, hostile pods and nodes
    Check(ModuleCheckArgs),
    /// Measure what a call of a module costs: fresh and used instances, a node, memory
    Bench(ModuleBenchArgs),
    /// Compile modules into the cache of compiled code, which a sidecar of the same user and version then starts with
    Compile(ModuleCompileArgs),
    /// Print what a module is: name, version, what it can read, size, digest, memory and features
    Inspect(ModuleInspectArgs),
    /// Push a module to a registry, and sign it
    Push(ModulePushArgs),
    /// Pull a module from a registry, and verify its signature
    Pull(ModulePullArgs),
}

/// Options of `module new`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleNewArgs {
    /// Folder of the project; its last part is the name, in small letters, digits and hyphens
    #[arg(value_name = "NAME")]
    pub(crate) folder: PathBuf,
    /// Language: rust, go, js, ts, python or c
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Language,
    /// Where the project gets the SDK from: `carried` by this program and written into the folder sdk, the `registry` of the
    /// language, or a folder
    #[arg(long, value_name = "SOURCE", default_value = "carried", value_parser = value::sdk)]
    pub(crate) sdk: Sdk,
}

/// Options of `module build`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleBuildArgs {
    /// Folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// File of the module [default: predicate.wasm in the project's folder]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Language: rust, go, js, ts, python or c [default: by the files of the project, as Cargo.toml or package.json]
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Option<Language>,
    /// Format of what is printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Options of `module test`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleTestArgs {
    /// Folder of a project, file of cases, or a module with its cases.yaml beside it
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    pub(crate) path: PathBuf,
    /// Run the cases again whenever they, the module or the policy beside them change. It builds nothing
    #[arg(long)]
    pub(crate) watch: bool,
    /// Output format; jsonl has one line for each case
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `module check`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleCheckArgs {
    /// WebAssembly component. The cases in cases.yaml beside it are questions as well
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Arguments, as a JSON object [default: those of the policy]
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Policy whose limits, `allow` and arguments for the module apply [default: policy.yaml beside it, if it has the module]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `module bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleBenchArgs {
    /// WebAssembly component. Measured is the first case in cases.yaml beside it that rejects some nodes, over as many nodes like
    /// those of the case
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Sizes of the clusters in nodes, in this order [default: 5000,100000]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', num_args = 1.., conflicts_with = "cluster", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) nodes: Vec<u32>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Measure the first pod in these files [default: the first pending pod of the cluster]
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "cluster", help_heading = "Cluster")]
    pub(crate) pods: Vec<PathBuf>,
    /// Arguments, as a JSON object [default: those of the policy]
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Policy whose limits and arguments for the module apply [default: policy.yaml beside it, if it has the module]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `module compile`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleCompileArgs {
    /// WebAssembly components
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Options of `module inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleInspectArgs {
    /// WebAssembly component: a file, or oci://REGISTRY/REPOSITORY:TAG. It is compiled within limits, and nothing of it runs but
    /// `describe`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `policy check`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyCheckArgs {
    /// Policy file, or a folder of files
    #[arg(value_name = "FILE")]
    pub(crate) policy: PathBuf,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Write a synthetic cluster, shaped like a busy cloud cluster
    Synth(SynthArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SynthArgs {
    /// Number of nodes
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) nodes: u32,
    /// Number of pods bound to each node
    #[arg(long, value_name = "COUNT", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub(crate) pods_per_node: u32,
    /// Random seed: the same seed gives the same cluster
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Output file, gzipped if its name ends in .gz; - is stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Write the four pods to place to this file [default: into --out, as pending pods]
    #[arg(long, value_name = "FILE")]
    pub(crate) pods: Option<PathBuf>,
}

/// The cluster's objects in files.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Read the cluster from files as written by `kubectl get nodes,pods,namespaces -A -o json` (or -o yaml), plain or
    /// gzipped; - is stdin
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Cluster")]
    pub(crate) cluster: Vec<PathBuf>,
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

/// The predicates to run. The default is every built-in predicate of kube-scheduler's default profile.
#[derive(Debug, Default, clap::Args)]
#[group(multiple = false)]
pub struct PolicyArgs {
    /// Policy file, or a folder whose .yaml files make one document in the order of their names; serve follows its changes [default:
    /// kube-scheduler's default predicates, in its order]
    #[arg(long, value_name = "FILE", group = "followed", help_heading = "Policy")]
    pub(crate) policy: Option<PathBuf>,
    /// Run only these built-in predicates, in this order
    #[arg(long, value_name = "NAME", value_delimiter = ',', num_args = 1.., help_heading = "Policy")]
    pub(crate) predicates: Vec<String>,
}

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
    /// Unix socket; the right to write to its file is the right to make every call [default: nodesift.sock in
    /// $XDG_RUNTIME_DIR, else in /run/nodesift]
    #[arg(long, value_name = "PATH", env = "NODESIFT_SOCKET", help_heading = "Listeners")]
    pub(crate) socket: Option<PathBuf>,
    /// TCP address; loopback only, unless TLS with client certificates is configured. Port 0 selects a free port
    #[arg(long, value_name = "ADDR", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)), help_heading = "Listeners")]
    pub(crate) listen: SocketAddr,
    /// Listen on the Unix socket only
    #[arg(long, conflicts_with = "listen", help_heading = "Listeners")]
    pub(crate) no_tcp: bool,
    /// TCP address of one more listener that has /livez, /readyz and /metrics and nothing else, without TLS: for probes and
    /// scrapers that have no certificate
    #[arg(long, value_name = "ADDR", help_heading = "Listeners")]
    pub(crate) probe_listen: Option<SocketAddr>,
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

/// Who may call over TCP. The Unix socket is open to everybody who may write to its file.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Access over TCP")]
pub(crate) struct AccessArgs {
    /// Host names by which clients call the sidecar, besides localhost and its addresses. Requests that name another host are
    /// refused, and so are those of web pages
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(crate) allow_host: Vec<HostName>,
    /// Clients that may ask about pods and nodes, by a name in their certificates: a DNS name, a URI or the common name; * is
    /// every client with a certificate [default: every client, if no --allow- option names one; else none]
    #[arg(long, value_name = "NAME", num_args = 1.., requires = "tls_client_ca")]
    pub(crate) allow_read: Vec<String>,
    /// Clients that may assume and forget pods
    #[arg(long, value_name = "NAME", num_args = 1.., requires = "tls_client_ca")]
    pub(crate) allow_decide: Vec<String>,
    /// Clients that may read dumps and events
    #[arg(long, value_name = "NAME", num_args = 1.., requires = "tls_client_ca")]
    pub(crate) allow_operate: Vec<String>,
    /// Listen off loopback without client certificates: everybody who can open a connection may make every call
    #[arg(long, conflicts_with = "tls_client_ca")]
    pub(crate) insecure_anonymous: bool,
}

impl AccessArgs {
    /// The checks that the arguments ask for, of a listener on this address.
    pub(crate) fn checks(&self, listen: SocketAddr) -> Access {
        let reachable = !listen.ip().to_canonical().is_loopback();
        Access {
            hosts: Hosts::new(self.allow_host.clone(), reachable),
            rights: Rights::new(&self.allow_read, &self.allow_decide, &self.allow_operate),
        }
    }
}

/// Options of `health`.
#[derive(Debug, clap::Args)]
pub(crate) struct HealthArgs {
    /// Unix socket of the sidecar [default: as for serve]
    // No conflict with --url: it would count the environment variable too.
    #[arg(long, value_name = "PATH", env = "NODESIFT_SOCKET")]
    pub(crate) socket: Option<PathBuf>,
    /// Address of a listener without TLS, for example that of --probe-listen: http://HOST:PORT. It is asked instead of the
    /// socket
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Ask whether it is live instead of ready: a sidecar that waits for its first lists is live
    #[arg(long)]
    pub(crate) live: bool,
}

impl TlsArgs {
    /// The files; none without TLS.
    pub(crate) fn files(&self) -> Option<TlsFiles> {
        let (certificates, key) = (self.tls_cert.clone()?, self.tls_key.clone()?);
        Some(TlsFiles { certificates, key, client_roots: self.tls_client_ca.clone() })
    }
}

/// The TCP port where a scheduler core on the same machine looks for the sidecar.
const DEFAULT_PORT: u16 = 10270;

/// Options of `filter` and `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Send the request to a running sidecar: unix:PATH or http://HOST:PORT
    #[arg(long, value_name = "URL", conflicts_with_all = ["cluster", "policy", "predicates"], help_heading = "Cluster")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Evaluate the pods in these files, as if they were not bound [default: the cluster's pending pods]
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Pods and nodes")]
    pub(crate) pods: Vec<PathBuf>,
    /// Evaluate only these pods
    #[arg(long, value_name = "NAMESPACE/NAME", num_args = 1.., help_heading = "Pods and nodes")]
    pub(crate) pod: Vec<PodKey>,
    /// Evaluate only these nodes
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Pods and nodes")]
    pub(crate) node: Vec<String>,
    /// Scheduling phase: which of the policy's predicates run
    #[arg(long, value_name = "PHASE", value_enum, default_value_t, help_heading = "Policy")]
    pub(crate) phase: PhaseArg,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Write the questions, with what the policy's own modules have answered, as cases into this new file: `nodesift module test
    /// FILE` runs them. With --cluster only: a sidecar's answer does not have the objects
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Sizes of the synthetic clusters in nodes, measured in this order [default: 5000,100000; with --quick: 5000]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', num_args = 1.., conflicts_with = "cluster", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Cluster")]
    pub(crate) nodes: Vec<u32>,
    /// Pods on each node: one number, or one for each size [default: 30, and 10 from 50,000 nodes on]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', num_args = 1.., conflicts_with = "cluster", value_parser = clap::value_parser!(u32).range(0..=1_000), help_heading = "Cluster")]
    pub(crate) pods_per_node: Vec<u32>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Measure the pods in these files, as if they were not bound [default: pods a to d of the synthetic clusters]
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "cluster", help_heading = "Cluster")]
    pub(crate) pods: Vec<PathBuf>,
    /// Measure fewer rounds: figures are less exact
    #[arg(long)]
    pub(crate) quick: bool,
    /// Program that runs the same predicates as native code [default: nodesift-native beside this program]
    #[arg(long, value_name = "PATH")]
    pub(crate) native: Option<PathBuf>,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
    /// Run as the client of another `nodesift bench`, which says on stdin what to measure
    #[arg(long, hide = true)]
    pub(crate) client: bool,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_policy_comes_from_one_place() {
        let parse = |words: &[&str]| Args::try_parse_from(["nodesift", "serve", "--kube"].iter().chain(words));
        let object = ["--policy-resource", "default"];
        assert!(parse(&object).is_ok() && parse(&["--policy-resource", ""]).is_err());
        assert!(parse(&[&object[..], &["--state-folder", "f"]].concat()).is_ok());
        assert!(parse(&["--policy", "p", "--state-folder", "f"]).is_ok());
        assert!(parse(&["--state-folder", "f"]).is_err());
        for other in [&["--policy", "p"][..], &["--predicates", "NodeName"], &["--sample"], &["--cluster", "c"]] {
            assert!(parse(&[&object[..], other].concat()).is_err(), "{other:?}");
        }
    }

    #[test]
    fn lists_of_clients_need_certificates_and_anonymous_clients_exclude_them() {
        let parse = |words: &[&str]| Args::try_parse_from(["nodesift", "serve", "--sample"].iter().chain(words));
        let tls = ["--tls-cert", "c", "--tls-key", "k"];
        let with_ca = [&tls[..], &["--tls-client-ca", "a"]].concat();
        for list in ["--allow-read", "--allow-decide", "--allow-operate"] {
            assert!(parse(&[list, "core"]).is_err(), "{list}");
            assert!(parse(&[&tls[..], &[list, "core"]].concat()).is_err(), "{list}");
            assert!(parse(&[&with_ca[..], &[list, "core", "spiffe://a/b"]].concat()).is_ok(), "{list}");
        }
        assert!(parse(&[&with_ca[..], &["--insecure-anonymous"]].concat()).is_err());
        assert!(parse(&["--allow-host", "http://a"]).is_err());
    }

    #[test]
    fn a_live_cluster_is_selected_in_three_ways_and_never_beside_files() {
        let origin = |words: &[&str]| {
            let words = ["nodesift", "serve"].iter().chain(words);
            match Args::try_parse_from(words)?.command {
                Command::Serve(serve) => Ok(serve.kube.origin()),
                _ => unreachable!("serve was typed"),
            }
        };
        let named = |kubeconfig: Option<&str>, context: Option<&str>| {
            Some(connection::Origin { kubeconfig: kubeconfig.map(PathBuf::from), context: context.map(str::to_owned) })
        };
        assert_eq!(origin(&[]).map_err(|error: clap::Error| error.to_string()), Ok(None));
        assert_eq!(origin(&["--kube"]).unwrap(), named(None, None));
        assert_eq!(origin(&["--kubeconfig", "f"]).unwrap(), named(Some("f"), None));
        assert_eq!(origin(&["--kube", "--context", "c"]).unwrap(), named(None, Some("c")));
        for live in [&["--kube"][..], &["--kubeconfig", "f"], &["--context", "c"]] {
            assert!(origin(&[live, &["--cluster", "x"]].concat()).is_err(), "{live:?}");
        }
    }
}
