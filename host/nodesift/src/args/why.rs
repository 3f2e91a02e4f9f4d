//! Options of `why` and `top`, and where their answers come from.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::{ListedArgs, PolicyArgs, value};

/// Where answers come from: a cluster that is named, else a sidecar, else one list of the kubeconfig's cluster.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SourceArgs {
    /// Read the cluster from a file as written by `kubectl get nodes,pods,namespaces -A -o json` (or -o yaml), plain or gzipped;
    /// - is stdin. May be given again
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub(crate) cluster: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) listed: ListedArgs,
    /// Ask a running sidecar: unix:PATH or http://HOST:PORT [env: NODESIFT_SERVER] [default: the sidecar at its Unix socket, where one
    /// listens; else --kube]
    // The variables are read by `client::Named`: read here they would count as typed, and so against what is typed.
    #[arg(long, value_name = "URL", conflicts_with_all = ["cluster", "kube", "kubeconfig", "context", "socket"], help_heading = "Cluster")]
    pub(crate) server: Option<String>,
    /// Ask the sidecar at this Unix socket [env: NODESIFT_SOCKET] [default: as for serve]
    #[arg(long, value_name = "PATH", conflicts_with_all = ["cluster", "kube", "kubeconfig", "context"], help_heading = "Cluster")]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
}

/// Options of the command `why`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Edits of --try, each about a copy, nothing is written:
  cpu=2, memory=4Gi, RESOURCE=QUANTITY     the pod requests so much
  tolerate=KEY[=VALUE][:EFFECT]            it tolerates such taints
  drop=nodeSelector|affinity|spread[INDEX] it lacks that part of its spec
  node+=NAME*COUNT                         there are copies of that node
  uncordon=NODE, untaint=KEY               the node is not cordoned; no node has such a taint
  without=NAMESPACE/POD                    that pod is gone

Exit codes beside those of `nodesift --help`:
   3  no node fits, with --exit-code
  65  with --watch: the pod is deleted
  75  with --watch: time is up")]
pub(crate) struct WhyArgs {
    /// Pods, as NAME, NAMESPACE/NAME or pod/NAME
    #[arg(value_name = "POD", conflicts_with_all = ["filename", "selector", "all_namespaces"])]
    pub(crate) pods: Vec<String>,
    /// Explain the pod, or the pods of the workload, of this manifest, as if it were created: Pod, Deployment, ReplicaSet,
    /// StatefulSet, DaemonSet, Job or CronJob
    #[arg(long, short = 'f', value_name = "FILE", help_heading = "Pods and nodes")]
    pub(crate) filename: Option<PathBuf>,
    /// Explain the pending pods with these labels, such as app=web,tier!=db
    #[arg(long, short = 'l', value_name = "SELECTOR", conflicts_with = "filename", help_heading = "Pods and nodes")]
    pub(crate) selector: Option<String>,
    /// Explain the pending pods of all namespaces
    // kubectl takes both, and leaves --namespace out: whoever typed it would read the answer as one about that namespace.
    #[arg(long, short = 'A', conflicts_with_all = ["filename", "namespace"], help_heading = "Pods and nodes")]
    pub(crate) all_namespaces: bool,
    /// Namespace of pods, and of a manifest, that are named without one [default: that of the kubeconfig's context, else default]
    #[arg(long, short = 'n', value_name = "NAMESPACE", help_heading = "Pods and nodes")]
    pub(crate) namespace: Option<String>,
    /// Group nodes by the values of this label
    #[arg(long, value_name = "KEY", help_heading = "Pods and nodes")]
    pub(crate) by: Option<String>,
    /// Evaluate only this node, and show all that is known of it. May be given again
    #[arg(long, value_name = "NAME", help_heading = "Pods and nodes")]
    pub(crate) node: Vec<String>,
    /// Show what an edit changes. May be given again: all edits together are one what-if
    #[arg(long = "try", value_name = "EDIT", conflicts_with = "watch", help_heading = "What if")]
    pub(crate) edits: Vec<String>,
    /// Print a line whenever the cause changes, until --for holds
    #[arg(long, conflicts_with_all = ["filename", "cluster", "selector", "all_namespaces", "node"], help_heading = "Watch")]
    pub(crate) watch: bool,
    /// Event that ends --watch
    #[arg(long = "for", value_name = "EVENT", value_enum, default_value_t, requires = "watch", conflicts_with_all = ["filename", "cluster", "selector", "all_namespaces", "node"], help_heading = "Watch")]
    pub(crate) until: Until,
    /// Time after which --watch ends [default: none]
    // What excludes --watch would have clap ask for it no more.
    #[arg(long, value_name = "TIME", value_parser = value::time, requires = "watch", conflicts_with_all = ["filename", "cluster", "selector", "all_namespaces", "node"], help_heading = "Watch")]
    pub(crate) timeout: Option<Duration>,
    /// End with exit code 3 where no node fits
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: WhyFormat,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// The value of `--for`: what ends `why --watch`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Until {
    /// Some node fits and no scheduling gate holds the pod, or it is bound
    Fits,
    /// The pod is bound to a node
    #[default]
    Bound,
}

/// The value of `--output` of `why`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhyFormat {
    /// One screen a pod; a line each where there are several
    #[default]
    Text,
    /// All that the answer has
    Wide,
    /// One JSON object, or an array where there are several
    Json,
    /// One JSON object per line
    Jsonl,
    /// One YAML map, or a list where there are several
    Yaml,
    /// Markdown, for a ticket
    Markdown,
}
