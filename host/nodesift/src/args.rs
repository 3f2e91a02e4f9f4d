//! What can be typed, with its help.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Parser, Subcommand, ValueEnum};

use super::exit;
use crate::limits;
use nodesift_api::tls::TlsFiles;
use nodesift_engine as engine;
use nodesift_source::kube::connection;

/// Which nodes can run this pod, and why can the others not?
#[derive(Debug, Parser)]
#[command(name = "nodesift", version, after_help = exit::HELP, max_term_width = 120)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) log: LogArgs,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, clap::Args)]
pub(super) struct LogArgs {
    /// What to log on stderr: error, warn, info, debug, trace, or a filter such as nodesift=debug,h2=warn [default: info
    /// for serve, warn else]
    #[arg(long, value_name = "LEVEL", env = "NODESIFT_LOG", global = true, help_heading = "Logging")]
    pub(super) log: Option<String>,
    /// How log lines look
    #[arg(long, value_enum, default_value_t, global = true, help_heading = "Logging")]
    pub(super) log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve a scheduler core: gRPC, JSON over HTTP and kube-scheduler's extender
    Serve(ServeArgs),
    /// Say which nodes fit each pod, and why the others do not
    Filter(AskArgs),
    /// Run every predicate alone over every node, and say what follows
    Explain(AskArgs),
    /// Measure how fast it is on this machine
    Bench(BenchArgs),
    /// Make clusters to try things on
    #[command(subcommand)]
    Cluster(ClusterCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum ClusterCommand {
    /// Write a synthetic cluster: the shape of a busy cloud cluster, the same for the same seed
    Synth(SynthArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct SynthArgs {
    /// How many nodes
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) nodes: u32,
    /// How many pods on each node
    #[arg(long, value_name = "COUNT", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub(super) pods_per_node: u32,
    /// Another seed gives another cluster of the same shape
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) seed: u64,
    /// Where to write it, packed where the name ends in .gz; - is stdout
    #[arg(long, short, value_name = "FILE")]
    pub(super) out: PathBuf,
    /// Write the four pods to place here [default: as pending pods of the cluster]
    #[arg(long, value_name = "FILE")]
    pub(super) pods: Option<PathBuf>,
}

/// The cluster's objects.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {
    /// Cluster objects, as `kubectl get nodes,pods -A -o json` or `-o yaml` writes them, plain or gzipped; - is stdin
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) cluster: Vec<PathBuf>,
}

/// The cluster behind an API server.
#[derive(Debug, Default, clap::Args)]
pub(super) struct KubeArgs {
    /// Follow the cluster of the kubeconfig ($KUBECONFIG, else ~/.kube/config), or the one that this pod runs in
    #[arg(long, conflicts_with = "cluster", help_heading = "A live cluster")]
    pub(super) kube: bool,
    /// Follow the cluster of this kubeconfig
    #[arg(long, value_name = "FILE", conflicts_with = "cluster", help_heading = "A live cluster")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Follow the cluster of this context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", conflicts_with = "cluster", help_heading = "A live cluster")]
    pub(super) context: Option<String>,
}

impl KubeArgs {
    /// Where to find the cluster to follow; none where none is to be followed.
    pub(super) fn origin(&self) -> Option<connection::Origin> {
        let Self { kube, kubeconfig, context } = self;
        (*kube || kubeconfig.is_some() || context.is_some())
            .then(|| connection::Origin { kubeconfig: kubeconfig.clone(), context: context.clone() })
    }
}

/// The predicates to run.
#[derive(Debug, Default, clap::Args)]
#[group(multiple = false)]
pub struct PolicyArgs {
    /// The policy to apply [default: every built-in predicate, in kube-scheduler's order]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Run just these built-in predicates, in this order
    #[arg(long, value_name = "NAME", value_delimiter = ',', num_args = 1..)]
    pub predicates: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// Without --cluster and without a live one: a sample of a real cluster, built in.
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    #[command(flatten)]
    pub(super) kube: KubeArgs,
    #[command(flatten)]
    pub(super) policy: PolicyArgs,
    /// The Unix socket [default: nodesift.sock in $XDG_RUNTIME_DIR, /run/nodesift or the temporary folder]
    #[arg(long, value_name = "PATH", env = "NODESIFT_SOCKET")]
    pub(super) socket: Option<PathBuf>,
    /// The TCP address; loopback only unless there is TLS, port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)))]
    pub(super) listen: SocketAddr,
    /// Serve on the Unix socket only
    #[arg(long, conflicts_with = "listen")]
    pub(super) no_tcp: bool,
    #[command(flatten)]
    pub(super) tls: TlsArgs,
    /// Judge everything twice, with and without the verdicts that are kept, and refuse an answer where the two differ
    #[arg(long, env = "NODESIFT_VERIFY_REUSE", action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub(super) verify_reuse: bool,
    /// The largest request body, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = nodesift_api::limits::BODY_BYTES, value_parser = body_bytes)]
    pub(super) max_body_bytes: usize,
    /// For how long a pod stays assumed where the core does not say and nothing is seen of its binding. A watch that has
    /// fallen silent is noticed within 45 s: cores that must not lose a placement over that take 60s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = assume_ttl)]
    pub(super) assume_ttl: Duration,
    /// Silence of the API server after which answers are marked stale; under 45s quiet counts as silence
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time)]
    pub(super) stale_after: Duration,
    /// Refuse to answer rather than mark answers stale
    #[arg(long)]
    pub(super) refuse_stale: bool,
}

/// TLS over TCP; files are read again when they change.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TLS")]
pub(super) struct TlsArgs {
    /// Our certificate and those between it and its root, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,
    /// Serve only clients that show a certificate of these roots, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_client_ca: Option<PathBuf>,
}

impl TlsArgs {
    /// The files, where TLS was asked for.
    pub(super) fn files(&self) -> Option<TlsFiles> {
        let (certificates, key) = (self.tls_cert.clone()?, self.tls_key.clone()?);
        Some(TlsFiles { certificates, key, client_roots: self.tls_client_ca.clone() })
    }
}

/// Where a core on the same machine looks for the sidecar.
const DEFAULT_PORT: u16 = 10270;

fn body_bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes @ 1..=limits::BODY_BYTES_MAX) => Ok(bytes),
        _ => Err(format!("a number of bytes from 1 to {}", limits::BODY_BYTES_MAX)),
    }
}

/// A time: a whole number and one of the units ms, s, m, h.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let milliseconds: u64 = match text.get(digits.len()..) {
        Some("ms") => 1,
        Some("s") => 1_000,
        Some("m") => 60_000,
        Some("h") => 3_600_000,
        _ => 0,
    };
    let time = digits.parse::<u32>().ok().and_then(|number| u64::from(number).checked_mul(milliseconds));
    let time = time.filter(|time| *time > 0).map(Duration::from_millis);
    time.ok_or_else(|| "a time such as 500ms, 30s, 5m or 1h".to_owned())
}

fn assume_ttl(text: &str) -> Result<Duration, String> {
    let ttl = time(text)?;
    if ttl > nodesift_api::limits::ASSUME_TTL_MAX {
        return Err(format!("at most {} s", nodesift_api::limits::ASSUME_TTL_MAX.as_secs()));
    }
    Ok(ttl)
}

#[derive(Debug, clap::Args)]
pub(super) struct AskArgs {
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    #[command(flatten)]
    pub(super) policy: PolicyArgs,
    /// Ask a running sidecar instead: unix:PATH or http://HOST:PORT
    #[arg(long, value_name = "URL", conflicts_with_all = ["cluster", "policy", "predicates"])]
    pub(super) server: Option<String>,
    /// Judge the pods of these files, none of them assumed placed [default: the cluster's pods that are bound to no node]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) pods: Vec<PathBuf>,
    /// Judge just these pods
    #[arg(long, value_name = "NAMESPACE/NAME", num_args = 1..)]
    pub(super) pod: Vec<PodKey>,
    /// Ask about just these nodes
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(super) node: Vec<String>,
    /// Which part of the policy runs
    #[arg(long, value_enum, default_value_t)]
    pub(super) phase: PhaseArg,
    /// How to print the answer
    #[arg(long, short, value_enum, default_value_t)]
    pub(super) output: Format,
}

#[derive(Debug, clap::Args)]
pub(super) struct BenchArgs {
    /// Nodes of the synthetic clusters, one after the other [default: 5000,100000; with --quick: 5000]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', num_args = 1.., conflicts_with = "cluster", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) nodes: Vec<u32>,
    /// Pods on each node: one number, or one for each size [default: 30, and 10 from 50,000 nodes on]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', num_args = 1.., conflicts_with = "cluster", value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub(super) pods_per_node: Vec<u32>,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    /// The pods to ask about, none of them assumed placed [default: the pods a to d of the synthetic clusters]
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "cluster")]
    pub(super) pods: Vec<PathBuf>,
    /// Measure less: enough to see that it works, and about what comes out
    #[arg(long)]
    pub(super) quick: bool,
    /// The program that evaluates the same natively [default: nodesift-native beside this program]
    #[arg(long, value_name = "PATH")]
    pub(super) native: Option<PathBuf>,
    /// How to print the figures
    #[arg(long, short, value_enum, default_value_t)]
    pub(super) output: Format,
    /// Play the client of a run, over this socket
    #[arg(long, value_name = "PATH", hide = true)]
    pub(super) client: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum PhaseArg {
    /// All predicates that may place a pod
    #[default]
    Allocate,
    /// The subset that matters when a core only reserves a node
    Reserve,
}

impl From<PhaseArg> for engine::Phase {
    fn from(phase: PhaseArg) -> Self {
        match phase {
            PhaseArg::Allocate => Self::Allocate,
            PhaseArg::Reserve => Self::Reserve,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people; pods with the same answer share a place
    #[default]
    Table,
    /// One JSON array
    Json,
    /// One JSON object per line, as answers come
    Jsonl,
    /// One YAML list
    Yaml,
}

/// `namespace/name`; without a namespace, `default`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodKey {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl std::str::FromStr for PodKey {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
        if namespace.is_empty() || name.is_empty() || name.contains('/') {
            return Err("write it as NAMESPACE/NAME");
        }
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

impl std::fmt::Display for PodKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
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
    fn a_live_cluster_is_asked_for_in_three_ways_and_never_beside_files() {
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

    #[test]
    fn a_pod_key_needs_a_name_and_may_leave_the_namespace_out() {
        assert_eq!("web".parse::<PodKey>().unwrap().to_string(), "default/web");
        assert_eq!("a/web".parse::<PodKey>().unwrap().to_string(), "a/web");
        for wrong in ["", "/", "a/", "/web", "a/b/c"] {
            assert!(wrong.parse::<PodKey>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_time_has_a_unit_and_is_not_zero() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(time("5m"), Ok(nodesift_api::limits::STALE_AFTER));
        assert_eq!(assume_ttl("1h"), Ok(nodesift_api::limits::ASSUME_TTL_MAX));
        assert_eq!(assume_ttl("30s"), Ok(nodesift_api::limits::ASSUME_TTL));
        for wrong in ["", "s", "30", "0s", "-1s", "1.5s", "1d", "s1", "99999999999s"] {
            assert!(time(wrong).is_err(), "{wrong:?}");
        }
        assert!(assume_ttl("2h").is_err());
    }

    #[test]
    fn body_limits_are_bounded() {
        assert_eq!(body_bytes("1048576"), Ok(1_048_576));
        for wrong in ["0", "-1", "4M", "1e9", "99999999999"] {
            assert!(body_bytes(wrong).is_err(), "{wrong:?}");
        }
    }
}
