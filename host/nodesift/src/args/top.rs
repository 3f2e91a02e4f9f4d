//! Options of the command `top` and its lists.

use clap::{Subcommand, ValueEnum};

use super::{Format, SidecarArgs, SourceArgs};

/// Lists that are made anew, the largest first.
#[derive(Debug, Subcommand)]
pub(crate) enum TopCommand {
    /// Print the pending pods in groups: how many are pending for which cause
    Pending(Box<TopPendingArgs>),
    /// Print what is free on nodes, or on nodes with the same value of a label
    Nodes(Box<TopNodesArgs>),
    /// Print what predicates have cost a running sidecar since its policy has them as they are
    Predicates(TopPredicatesArgs),
}

/// Options of the command `top predicates`.
#[derive(Debug, clap::Args)]
pub(crate) struct TopPredicatesArgs {
    #[command(flatten)]
    pub(crate) sidecar: SidecarArgs,
    /// Print it again and again, every second
    #[arg(long)]
    pub(crate) watch: bool,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of the command `top nodes`.
#[derive(Debug, clap::Args)]
pub(crate) struct TopNodesArgs {
    /// Add up nodes with the same value of this label
    #[arg(long, value_name = "KEY")]
    pub(crate) by: Option<String>,
    /// Resource that is shown; rows with most of the first one free come first. May be given again [default: cpu, memory and pods]
    #[arg(long = "resource", value_name = "NAME")]
    pub(crate) resources: Vec<String>,
    /// Rows of the table at most; 0 is all of them. Other formats have all
    #[arg(long, value_name = "ROWS", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print it again and again: every second from a sidecar, else every 15 s
    #[arg(long, conflicts_with = "cluster")]
    pub(crate) watch: bool,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Options of the command `top pending`.
#[derive(Debug, clap::Args)]
pub(crate) struct TopPendingArgs {
    /// Common trait of the pods of a group
    #[arg(long, value_name = "BY", value_enum, default_value_t)]
    pub(crate) by: GroupBy,
    /// Count the pods of this namespace alone
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Print it again and again: every second from a sidecar, else every 15 s
    #[arg(long, conflicts_with = "cluster")]
    pub(crate) watch: bool,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// The value of `--by` of `top pending`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// Cause and sentence of the answer
    #[default]
    Answer,
    /// Cause alone, whatever the sentence
    Cause,
    /// First predicates that reject some node; a pod counts for each of them
    Predicate,
    /// Namespace of the pods
    Namespace,
}

impl GroupBy {
    /// The word for it on the command line and in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Cause => "cause",
            Self::Predicate => "predicate",
            Self::Namespace => "namespace",
        }
    }
}
