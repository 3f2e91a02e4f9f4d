//! The commands and their options, with their help: those of `module` in [`module`] and [`registry`]. Types of single values are in
//! [`value`]; options that `nodesift` has as well are those of its library.
//!
//! It parses and checks what is typed; what depends on files or on the machine is checked by the commands. Start at
//! [`Args`].

mod module;
mod registry;
mod value;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub(crate) use module::{
    BESIDE, BesideArgs, ModuleBenchArgs, ModuleBuildArgs, ModuleCasesArgs, ModuleCheckArgs, ModuleCommand,
    ModuleCompileArgs, ModuleDevArgs, ModuleInspectArgs, ModuleNewArgs, ModuleTestArgs, ModuleWitArgs,
};
use nodesift::args::{COMPILE, CompileArgs, LONG_VERSION, LogArgs};
pub(crate) use nodesift::args::{ClusterArgs, Format, PolicyArgs, QuestionArgs};
use nodesift::exit;
pub(crate) use registry::{ModulePullArgs, ModulePushArgs, RegistryArgs};
pub(crate) use value::DeviceSize;

/// For authors of predicates: starts, builds, tests, checks and measures them. nodesift evaluates them
#[derive(Debug, Parser)]
#[command(name = "nodesift-dev", version, long_version = LONG_VERSION.as_str(), after_help = after_help(), max_term_width = 120)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// First commands for a new author, at the end of `--help`.
const EXAMPLES: &str = "Examples:
  nodesift-dev module new --lang rust my-predicate    start a project
  nodesift-dev module build                           build the project in this folder
  nodesift-dev module test                            run its cases
  nodesift-dev module dev --serve                     do all of it after every save, and serve it
  nodesift-dev module check predicate.wasm            ask it what a sidecar will ask";

/// Text of `--help` below the options.
fn after_help() -> String {
    format!(
        "{EXAMPLES}\n\nAnother program serves and checks policies: nodesift.\n\n{}",
        exit::help("runtime error, or a case or check of a module that fails")
    )
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write, build, push, pull and look at predicate modules
    #[command(subcommand)]
    Module(ModuleCommand),
    /// Explain as nodesift does, and write questions and answers as cases of a module
    #[command(override_usage = "nodesift-dev explain [OPTIONS] --cluster <FILE>... --policy <FILE> --record <FILE>")]
    Explain(ExplainArgs),
    /// Measure evaluation speed on this machine
    Bench(BenchArgs),
    /// Generate synthetic clusters as files
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Compile the module on standard input within limits. This program starts itself so for each module by path
    #[command(name = COMPILE, hide = true)]
    Compile(CompileArgs),
    /// Become another program, which ends with the process that has started this one: this program starts a sidecar so
    #[command(name = BESIDE, hide = true)]
    Beside(BesideArgs),
}

/// Options of the command `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) question: QuestionArgs,
    /// Write the questions, with what the policy's own modules have answered, as cases into this new file: `nodesift-dev module test
    /// FILE` runs them
    #[arg(long, value_name = "FILE")]
    pub(crate) record: PathBuf,
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
    /// Policy whose predicates are measured.
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Measure fewer rounds: figures are less exact
    #[arg(long)]
    pub(crate) quick: bool,
    /// Program that runs the same predicates as native code [default: nodesift-native beside this program]
    #[arg(long, value_name = "PATH")]
    pub(crate) native: Option<PathBuf>,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
    /// Run as the client of another `nodesift-dev bench`, which says on stdin what to measure
    #[arg(long, hide = true)]
    pub(crate) client: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }
}
