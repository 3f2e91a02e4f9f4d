//! The commands of `policy` and their options.

use std::path::PathBuf;

use clap::Subcommand;

use super::{ClusterArgs, Format, PhaseArg, PodKey};

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

/// Options of `policy check`.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyCheckArgs {
    /// Policy file, or a folder of files
    #[arg(value_name = "FILE")]
    pub(crate) policy: PathBuf,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
