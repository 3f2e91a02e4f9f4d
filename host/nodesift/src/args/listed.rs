//! Options of a live cluster that is listed once, for commands that answer and end.

use std::path::PathBuf;

use nodesift_source::kube::connection;

/// The cluster behind an API server, read by one list with the rights of whoever asks; and what is left out of the policy because it
/// may not be listed.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ListedArgs {
    /// List the cluster of $KUBECONFIG, else of ~/.kube/config, once with your own rights, and evaluate it here
    #[arg(long, conflicts_with = "cluster", help_heading = "Cluster")]
    pub(crate) kube: bool,
    /// List the cluster of this kubeconfig
    #[arg(long, value_name = "FILE", conflicts_with = "cluster", help_heading = "Cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// List the cluster of this kubeconfig context [default: the current context]
    #[arg(long, value_name = "NAME", conflicts_with = "cluster", help_heading = "Cluster")]
    pub(crate) context: Option<String>,
    /// Predicates of the policy that are not evaluated: they count as fitting every node, and what only they read is not listed
    #[arg(long, value_name = "PREDICATE", value_delimiter = ',', num_args = 1, help_heading = "Policy")]
    pub(crate) skip: Vec<String>,
}

impl ListedArgs {
    /// Where the API server's address and credentials come from; none without any option that names a cluster.
    pub(crate) fn origin(&self) -> Option<connection::Origin> {
        let is_named = self.kube || self.kubeconfig.is_some() || self.context.is_some();
        is_named.then(|| self.default_origin())
    }

    /// Where they come from, whether a cluster is named or not.
    pub(crate) fn default_origin(&self) -> connection::Origin {
        connection::Origin { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }
}
