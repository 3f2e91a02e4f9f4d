//! The commands of `module` and their options; those that concern registries are in [`registry`](super::registry).

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Subcommand;
use nodesift_module::{Kind, Language, Sdk};

use super::{ClusterArgs, Format, ModulePullArgs, ModulePushArgs, RegistryArgs, value};

#[derive(Debug, Subcommand)]
pub(crate) enum ModuleCommand {
    /// Start the project of a module: source with unit tests, a policy, a CI workflow, and the SDK
    New(ModuleNewArgs),
    /// Build a project into a module, and print what it can read
    Build(ModuleBuildArgs),
    /// Build a project, run its unit tests and its cases, and serve it, after every save
    Dev(ModuleDevArgs),
    /// Run the cases of a module: pods and nodes, and what it is to say of them; print the scores of one that scores
    Test(ModuleTestArgs),
    /// Print the cases of a module as JSON, for the unit tests of an SDK, or compare what these have found
    Cases(ModuleCasesArgs),
    /// Check that a module keeps to the contract: imports, limits, determinism, scores, hostile pods and nodes
    Check(ModuleCheckArgs),
    /// Measure what a call of a module costs: fresh, spare and used instances, a node, memory
    Bench(ModuleBenchArgs),
    /// Compile modules into the cache of compiled code, which a sidecar of the same user and version then starts with
    Compile(ModuleCompileArgs),
    /// Print what a module is: name, version, what it can read, size, digest, memory and features
    Inspect(ModuleInspectArgs),
    /// Write the contract that modules are built for, as a WIT package for other tools
    Wit(ModuleWitArgs),
    /// Push a module to a registry, and sign it
    Push(ModulePushArgs),
    /// Pull a module from a registry, and verify its signature
    Pull(ModulePullArgs),
}

/// Options of `module new`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleNewArgs {
    /// Folder of the project; its last part is the name, in small letters, digits and hyphens
    #[arg(value_name = "NAME")]
    pub(crate) folder: PathBuf,
    /// Language: rust, go, js, ts, python or c
    #[arg(long, visible_alias = "language", value_name = "LANGUAGE")]
    pub(crate) lang: Language,
    /// Kind of module: a predicate, a scorer, or accounting, which is written in rust
    #[arg(long, value_name = "KIND", default_value_t)]
    kind: Kind,
    /// Start a scorer, as --kind scorer does: it says how good nodes are, and a policy names it under spec.scores
    #[arg(long, conflicts_with = "kind")]
    score: bool,
    /// Where the project gets the SDK from: `carried` by this program and written into the folder sdk, the `registry` of the
    /// language, or a folder
    #[arg(long, value_name = "SOURCE", default_value = "carried", value_parser = value::sdk)]
    pub(crate) sdk: Sdk,
}

impl ModuleNewArgs {
    /// The kind of the project.
    pub(crate) fn kind(&self) -> Kind {
        if self.score { Kind::Scorer } else { self.kind }
    }
}

/// Options of `module build`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleBuildArgs {
    /// Folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// File of the module [default: predicate.wasm or accounting.wasm in the project's folder]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Language: rust, go, js, ts, python or c [default: by the files of the project, as Cargo.toml or package.json]
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Option<Language>,
    /// Format of what is printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Options of `module dev`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleDevArgs {
    /// Folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Language: rust, go, js, ts, python or c [default: by the files of the project, as Cargo.toml or package.json]
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Option<Language>,
    /// Start a sidecar with the project's policy.yaml, and wait for each build that passes to be live in it
    #[arg(long)]
    pub(crate) serve: bool,
    /// Options of `nodesift serve` for that sidecar, as --cluster FILE [default: --sample]
    #[arg(last = true, value_name = "OPTIONS", requires = "serve")]
    pub(crate) options: Vec<OsString>,
}

/// The name of the command that [`BesideArgs`] are of.
pub(crate) const BESIDE: &str = "run-beside";

/// A program that ends with the process that starts it.
#[derive(Debug, clap::Args)]
pub(crate) struct BesideArgs {
    /// Path of the program
    pub(crate) program: PathBuf,
    /// Arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// Options of `module test`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleTestArgs {
    /// Folder of a project, file of cases, or a module with its cases.yaml beside it
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    pub(crate) path: PathBuf,
    /// Policy under which the cases run: its limits and `allow`, and only annotations and ConfigMaps that it names [default: policy.yaml
    /// beside them, and the annotations and ConfigMaps that they name]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Run the cases again whenever they, the module or the policy beside them change. It builds nothing
    #[arg(long)]
    pub(crate) watch: bool,
    /// Output format; jsonl has one line for each case
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `module cases`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleCasesArgs {
    /// Folder of a project, or file of cases
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    pub(crate) path: PathBuf,
    /// File with the findings of unit tests, as JSON, to compare with what the cases expect; - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
}

/// Options of `module check`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleCheckArgs {
    /// WebAssembly component. The cases in cases.yaml beside it are questions as well
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Arguments, as a JSON object [default: those of the policy]
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Policy whose limits, `allow` and arguments for the module apply [default: policy.yaml beside it, if it has the module]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `module bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleBenchArgs {
    /// WebAssembly component. Measured is the first case in cases.yaml beside it that tells nodes apart, by scores or by what it rejects,
    /// with its nodes, pods and namespaces copied as often as it takes
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Sizes of the clusters in nodes, in this order [default: 5000,100000]
    #[arg(long, value_name = "COUNT", value_delimiter = ',', num_args = 1.., conflicts_with = "cluster", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) nodes: Vec<u32>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Measure the first pod in these files [default: the first pending pod of the cluster]
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "cluster", help_heading = "Cluster")]
    pub(crate) pods: Vec<PathBuf>,
    /// Arguments, as a JSON object [default: those of the policy]
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Policy whose limits and arguments for the module apply [default: policy.yaml beside it, if it has the module]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Options of `module compile`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleCompileArgs {
    /// Files of WebAssembly components
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Options of `module wit`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleWitArgs {
    /// Folder in which nodesift-predicate-VERSION.wit and nodesift-predicate-VERSION.wasm are written; the version is that of the contract
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
}

/// Options of `module inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct ModuleInspectArgs {
    /// WebAssembly component: a file, or oci://REGISTRY/REPOSITORY:TAG. It is compiled within limits, and nothing of it runs but
    /// `describe`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Format of the output
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) output: Format,
}
