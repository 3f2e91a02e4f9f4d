//! The commands and their options, with their help: those of `serve` in `serve`, of `policy` in `policy`, of `party` in `party`.
//! Types of single values are in `value`, commands that are another program's in `moved`.
//!
//! It parses and checks what is typed; what depends on files or on the machine is checked by the commands. Public is what the
//! commands of `nodesift-dev` take as well. Start at `Args`.

mod listed;
mod moved;
mod party;
mod policy;
mod serve;
mod top;
mod ui;
mod value;
mod why;

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Parser, Subcommand, ValueEnum};

use crate::exit;
pub(crate) use listed::ListedArgs;
pub(crate) use moved::moved;
use nodesift_api::version::{CONTRACT, REVISION};
use nodesift_policy::API_VERSION;
use nodesift_policy::kubernetes::{Auto, MinorVersion};
pub(crate) use party::PartyArgs;
pub(crate) use policy::{
    PolicyCheckArgs, PolicyCommand, PolicyDiffArgs, PolicyGatesArgs, PolicyImportArgs, PolicyShadowArgs,
    PolicyStatusArgs, SidecarArgs,
};
pub(crate) use serve::{HealthArgs, ServeArgs};
pub(crate) use top::{GroupBy, TopCommand, TopNodesArgs, TopPendingArgs, TopPredicatesArgs};
pub(crate) use ui::UiArgs;
pub use value::{Format, PhaseArg, PodKey};
pub(crate) use value::{LogFormat, RecordPlace};
pub(crate) use why::{SourceArgs, Until, WhyArgs, WhyFormat};

/// Evaluates kube-scheduler's filter predicates: which nodes can run a pod, and why the others cannot
#[derive(Debug, Parser)]
#[command(name = "nodesift", version, long_version = LONG_VERSION.as_str(), after_help = after_help(), max_term_width = 120)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The text of `--version`: version and revision of the build, and the versions of what it speaks. `-V` prints the version alone.
pub static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
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
  nodesift why web-0 -n shop                   say why one is pending
  nodesift serve --sample                      serve a built-in sample cluster
  nodesift serve --kube                        serve your kubeconfig's cluster";

/// Where to look for what is not here, in `--help`.
const DEVELOPERS: &str = "Predicates are written, built, tested and measured with another program: nodesift-dev.";

/// Text of `--help` below the options.
fn after_help() -> String {
    format!("{EXAMPLES}\n\n{DEVELOPERS}\n\n{}", exit::help("runtime error"))
}

/// Logging options, which every command has. [`log::start`](crate::log::start) takes them.
#[derive(Debug, clap::Args)]
pub struct LogArgs {
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
    Explain(AskArgs),
    /// Print why pods are pending: where their nodes are lost, what is missing, and what would help
    Why(Box<WhyArgs>),
    /// Print pending pods in groups, or what is free on nodes, the largest first
    #[command(subcommand)]
    Top(TopCommand),
    /// Print the link of the explorer, the page that shows why pods are pending, and open it in a browser
    Ui(Box<UiArgs>),
    /// Ask a running sidecar whether it is ready: exits with 0 if it is, for probes
    Health(HealthArgs),
    /// Check, compare or import policies, or show that of a running sidecar
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Attend as a party that answers as a script says, for tests and demonstrations
    Party(PartyArgs),
    /// Print a program that completes command lines
    Completion(CompletionArgs),
    /// Print which program this is: its version, what it speaks and what it was built with
    Version(VersionArgs),
    /// Compile the module on standard input within limits. The sidecar starts itself so for each module by path
    #[command(name = COMPILE, hide = true)]
    Compile(CompileArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionArgs {
    /// Shell, or program, that asks for completions
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

/// Shells and programs whose command lines are completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// bash: `source <(nodesift completion bash)`
    Bash,
    /// zsh, below compinit: `source <(nodesift completion zsh)`
    Zsh,
    /// fish: `nodesift completion fish | source`
    Fish,
    /// kubectl 1.26 and later, for `kubectl nodesift`: save it as kubectl_complete-nodesift in a folder of $PATH
    Kubectl,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// The hidden command by which a process compiles a module for another one: see [`compile_module`](crate::compile_module). A program
/// that calls [`cluster::runtime`](crate::cluster::runtime) must have it, since its sandbox starts the program itself so.
pub const COMPILE: &str = "compile-module";

/// Arguments of the command [`COMPILE`].
#[derive(Debug, clap::Args)]
pub struct CompileArgs {
    /// Limit on its processor time
    #[arg(value_name = "SECONDS")]
    pub(crate) seconds: u64,
    /// Folder of compiled code
    #[arg(value_name = "FOLDER")]
    pub(crate) cache: Option<PathBuf>,
}

/// The three forms of `filter` and `explain`.
fn usage(command: &str) -> String {
    format!(
        "nodesift {command} [OPTIONS] --cluster <FILE>...\n       nodesift {command} [OPTIONS] --kube\n       nodesift \
         {command} [OPTIONS] --server <URL>"
    )
}

/// The option `--cluster`: files with the cluster's objects.
#[derive(Debug, clap::Args)]
pub struct ClusterArgs {
    /// Read the cluster from files as written by `kubectl get nodes,pods,namespaces -A -o json` (or -o yaml), plain or
    /// gzipped; - is stdin
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Cluster")]
    pub cluster: Vec<PathBuf>,
}

/// The options `--policy` and `--predicates`: which predicates run; and `--kubernetes`: by the rules of which version. The default is every
/// predicate of kube-scheduler's default profile.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PolicyArgs {
    /// Policy file, or a folder whose .yaml files make one document in the order of their names; nodesift serve follows its changes [default:
    /// kube-scheduler's default predicates, in its order]
    #[arg(long, value_name = "FILE", group = "followed", conflicts_with = "predicates", help_heading = "Policy")]
    pub policy: Option<PathBuf>,
    /// Run only these built-in predicates, in this order
    #[arg(long, value_name = "NAME", value_delimiter = ',', num_args = 1.., help_heading = "Policy")]
    pub(crate) predicates: Vec<String>,
    /// Version of Kubernetes whose verdicts are given, whatever the policy says, such as 1.36 [default: as the policy says; else that of
    /// the API server, and for files the newest that is known]
    #[arg(long, value_name = "VERSION", value_parser = value::kubernetes, help_heading = "Policy")]
    pub(crate) kubernetes: Option<MinorVersion>,
    /// Whether the scorers of the policy are loaded as well: a command that asks for no scores does not wait for them.
    #[arg(skip)]
    pub(crate) scored: bool,
}

impl PolicyArgs {
    /// Has the scorers of the policy loaded as well.
    #[must_use]
    pub fn with_scorers(self) -> Self {
        Self { scored: true, ..self }
    }

    /// Tells whether no option is given, so that kube-scheduler's default predicates run by the rules of the newest version.
    #[must_use]
    pub const fn is_default(&self) -> bool {
        self.policy.is_none() && self.predicates.is_empty() && self.kubernetes.is_none()
    }

    /// Returns the source of the version of Kubernetes where the cluster is in files.
    pub fn auto(&self) -> Auto {
        self.kubernetes.map_or(Auto::Newest, Auto::Argument)
    }
}

/// Options of a question about pods: the cluster, the policy, the pods, the nodes, and the format of the answer.
#[derive(Debug, clap::Args)]
pub struct QuestionArgs {
    /// The cluster; none for a question to a sidecar.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Hold the allocations of the ResourceClaims in these files: those that a scheduler has decided and not yet written
    #[arg(long = "inflight", value_name = "FILE", num_args = 1.., requires = "cluster", help_heading = "Cluster")]
    pub(crate) in_flight: Vec<PathBuf>,
    /// Policy that answers the question.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Evaluate the pods in these files, as if they were not bound [default: the cluster's pending pods]
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Pods and nodes")]
    pub pods: Vec<PathBuf>,
    /// Evaluate only these pods
    #[arg(long, value_name = "NAMESPACE/NAME", num_args = 1.., help_heading = "Pods and nodes")]
    pub pod: Vec<PodKey>,
    /// Evaluate only these nodes
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Pods and nodes")]
    pub node: Vec<String>,
    /// Print the best nodes of each pod with their scores: that many, or 10
    #[arg(long, value_name = "NODES", num_args = 0..=1, default_missing_value = "10", value_parser = value::scored_nodes, help_heading = "Pods and nodes")]
    pub(crate) scores: Option<u32>,
    /// Scheduling phase: which of the policy's predicates run
    #[arg(long, value_name = "PHASE", value_enum, default_value_t, help_heading = "Policy")]
    pub phase: PhaseArg,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

impl QuestionArgs {
    /// Returns the options of the policy that answers, with its scorers where the question asks for scores.
    pub(crate) fn policy(&self) -> PolicyArgs {
        PolicyArgs { scored: self.scores.is_some(), ..self.policy.clone() }
    }
}

/// Options of `filter` and `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    #[command(flatten)]
    pub(crate) listed: ListedArgs,
    /// Send the request to a running sidecar: unix:PATH or http://HOST:PORT
    #[arg(long, value_name = "URL", conflicts_with_all = ["cluster", "kube", "kubeconfig", "context", "skip", "policy", "predicates", "kubernetes"], help_heading = "Cluster")]
    pub(crate) server: Option<String>,
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
    fn scores_are_of_ten_nodes_unless_a_number_is_given() {
        let parse = |words: &[&str]| {
            let words = ["nodesift", "filter", "--cluster", "c"].iter().chain(words);
            match Args::try_parse_from(words)?.command {
                Command::Filter(args) => Ok(args.question.scores),
                _ => unreachable!("filter was typed"),
            }
        };
        let read = |words: &[&str]| parse(words).map_err(|error: clap::Error| error.to_string());
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["--scores"]), Ok(Some(10)));
        assert_eq!(read(&["--scores", "3", "--pod", "a/b"]), Ok(Some(3)));
        for wrong in ["0", "1001", "x"] {
            assert!(read(&["--scores", wrong]).is_err(), "{wrong}");
        }
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
