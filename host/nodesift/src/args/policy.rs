//! The commands of `policy` and their options.

use std::path::PathBuf;

use clap::Subcommand;

use super::{ClusterArgs, Format, PhaseArg, PodKey, value};
use nodesift_policy::kubernetes::MinorVersion;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show the active policy of a running sidecar, and why the last document was refused
    Status(PolicyStatusArgs),
    /// Check a policy as a reload would, and report everything that is wrong with it
    Check(PolicyCheckArgs),
    /// Print the feature gates and quirks of Kubernetes that are known: stage, default, and which predicates follow them
    Gates(PolicyGatesArgs),
    /// Print which pods and nodes another policy, or another version of Kubernetes, would decide otherwise, and under which predicate
    Diff(PolicyDiffArgs),
    /// Print the policy that filters as a kube-scheduler with this configuration, and what of it cannot be carried over
    Import(PolicyImportArgs),
    /// Print the JSON schema of policies, for editors
    Schema,
    /// Show what shadow predicates and a shadow policy of a running sidecar would change
    Shadow(PolicyShadowArgs),
}

/// The sidecar that `policy status`, `policy shadow` and `top predicates` ask.
#[derive(Debug, clap::Args)]
pub(crate) struct SidecarArgs {
    /// Unix socket of the sidecar [env: NODESIFT_SOCKET] [default: as for serve]
    // The variables are read by `client::Named`: read here they would count as typed, and so against what is typed.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// The sidecar, instead of by its socket: unix:PATH or http://HOST:PORT [env: NODESIFT_SERVER]
    #[arg(long, value_name = "URL", conflicts_with = "socket")]
    pub(crate) server: Option<String>,
}

/// Options of `policy status`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyStatusArgs {
    #[command(flatten)]
    pub(crate) sidecar: SidecarArgs,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `policy shadow`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyShadowArgs {
    #[command(flatten)]
    pub(crate) sidecar: SidecarArgs,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `policy diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyDiffArgs {
    /// Policy that decides now: a file, or a folder of files [with --kubernetes: the default policy]
    #[arg(value_name = "BEFORE", required_unless_present = "kubernetes")]
    pub(crate) before: Option<PathBuf>,
    /// Policy that would decide [with --kubernetes: the one before]
    #[arg(value_name = "AFTER", required_unless_present = "kubernetes")]
    pub(crate) after: Option<PathBuf>,
    /// Versions of Kubernetes whose verdicts are compared: the one now, and the one that would decide, whatever the policies say
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2, value_parser = value::kubernetes)]
    pub(crate) kubernetes: Vec<MinorVersion>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Compare the pods in these files, as if they were not bound [default: the cluster's pending pods]
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Pods")]
    pub(crate) pods: Vec<PathBuf>,
    /// Compare only these pods
    #[arg(long, value_name = "NAMESPACE/NAME", num_args = 1.., help_heading = "Pods")]
    pub(crate) pod: Vec<PodKey>,
    /// Compare all pods of the cluster that are bound, each as if it was pending and not there yet
    #[arg(long, conflicts_with_all = ["pods", "pod"], help_heading = "Pods")]
    pub(crate) bound: bool,
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
    /// File with a KubeSchedulerConfiguration. Its version and feature gates are flags of kube-scheduler and not in it
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Profile, by its scheduler name [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Version of the scheduler, which the policy names: it decides which plugins run by default, and in which order [default: the newest,
    /// which the policy does not name]
    #[arg(long, value_name = "VERSION", value_parser = value::kubernetes)]
    pub(crate) kubernetes: Option<MinorVersion>,
    /// Feature gates, as the scheduler's flag of this name has them: NAME=true,OTHER=false
    #[arg(long, value_name = "GATE", value_delimiter = ',', num_args = 1.., value_parser = value::feature_gate)]
    pub(crate) feature_gates: Vec<(String, bool)>,
}

/// Options of `policy gates`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyGatesArgs {
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `policy check`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyCheckArgs {
    /// Policy file, or a folder of files
    #[arg(value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// Version of Kubernetes under which it is checked, whatever it says [default: as it says; else the newest that is known]
    #[arg(long, value_name = "VERSION", value_parser = value::kubernetes)]
    pub(crate) kubernetes: Option<MinorVersion>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
