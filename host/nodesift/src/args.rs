//! The commands and their options, with their help: those of `serve` in [`serve`], of `policy` in [`policy`], of `module` in
//! [`module`] and [`registry`]. Types of single values are in [`value`].
//!
//! It parses and checks what is typed; what depends on files or on the machine is checked by the commands. Start at
//! [`Args`].

mod module;
mod party;
mod policy;
mod registry;
mod serve;
mod value;

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Parser, Subcommand};

use crate::exit;
pub(crate) use module::{
    ModuleBenchArgs, ModuleBuildArgs, ModuleCheckArgs, ModuleCommand, ModuleCompileArgs, ModuleInspectArgs,
    ModuleNewArgs, ModuleTestArgs,
};
use nodesift_api::version::{CONTRACT, REVISION};
use nodesift_policy::API_VERSION;
pub(crate) use party::PartyArgs;
pub(crate) use policy::{
    PolicyCheckArgs, PolicyCommand, PolicyDiffArgs, PolicyImportArgs, PolicyShadowArgs, PolicyStatusArgs, SidecarArgs,
};
pub(crate) use registry::{ModulePullArgs, ModulePushArgs, RegistryArgs};
pub(crate) use serve::{HealthArgs, ServeArgs};
pub(crate) use value::{DeviceSize, Format, LogFormat, PhaseArg, PodKey};

/// Evaluates kube-scheduler's filter predicates: which nodes can run a pod, and why the others cannot
#[derive(Debug, Parser)]
#[command(name = "nodesift", version, long_version = LONG_VERSION.as_str(), after_help = format!("{EXAMPLES}\n\n{}", exit::HELP), max_term_width = 120)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Output of `--version`; `-V` prints the version alone.
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
    /// Attend as a party that answers as a script says, for tests and demonstrations
    Party(PartyArgs),
    /// Print which program this is: its version, what it speaks and what it was built with
    Version(VersionArgs),
    /// Generate synthetic clusters as files
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Compile the module on standard input within limits. The sidecar starts itself so for each module by path
    #[command(name = COMPILE, hide = true)]
    Compile(CompileArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
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
pub(crate) enum ClusterCommand {
    /// Write a synthetic cluster, shaped like a busy cloud cluster
    Synth(SynthArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SynthArgs {
    /// Number of nodes in the cluster
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

/// Options of `filter` and `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Hold the allocations of the ResourceClaims in these files: those that a scheduler has decided and not yet written
    #[arg(long = "inflight", value_name = "FILE", num_args = 1.., requires = "cluster", help_heading = "Cluster")]
    pub(crate) in_flight: Vec<PathBuf>,
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
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of the command `explain`.
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
    /// Sizes of the synthetic clusters in nodes, measured in this order [default: 5000,100000; with --quick: 5000; none with --devices]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', num_args = 1.., conflicts_with = "cluster", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Cluster")]
    pub(crate) nodes: Vec<u32>,
    /// Pods on each node: one number, or one for each size [default: 30, and 10 from 50,000 nodes on]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', num_args = 1.., conflicts_with = "cluster", value_parser = clap::value_parser!(u32).range(0..=1_000), help_heading = "Cluster")]
    pub(crate) pods_per_node: Vec<u32>,
    /// Sizes of the synthetic clusters with devices, to measure pods with claims [default: 500x10,5000x8; with --quick: 500x10; none
    /// with --nodes]
    #[arg(long, value_name = "NODESxDEVICES", value_delimiter = ',', num_args = 1.., conflicts_with = "cluster", help_heading = "Cluster")]
    pub(crate) devices: Vec<DeviceSize>,
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
    /// Format of the output
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
    use nodesift_source::kube::connection;

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
