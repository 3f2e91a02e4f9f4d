//! Options of the command `ui`.

use super::SourceArgs;

/// Options of the command `ui`: which sidecar, or which cluster to read.
#[derive(Debug, clap::Args)]
pub(crate) struct UiArgs {
    /// Read the cluster once, with your own rights or from the files of --cluster, and serve the explorer from here until Ctrl-C: nothing
    /// need be installed in the cluster
    #[arg(long, conflicts_with_all = ["server", "socket"])]
    pub(crate) local: bool,
    /// Print the link and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Port of the explorer on 127.0.0.1 with --local; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "local")]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}
