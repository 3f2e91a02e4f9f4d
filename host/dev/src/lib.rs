//! The command line of authors and developers: `nodesift-dev module`, `bench`, `cluster synth`, and `explain --record`.
//!
//! ```text
//! commands
//!   module    predicate modules: projects started, built and tested, and what a module is
//!   record    `explain --record`: questions about a cluster, and their answers, as cases of a module
//!   bench     what `nodesift-dev bench` runs and prints
//!   synth     synthetic clusters as files
//! shared by commands
//!   measure   what is measured and how, for `bench` and for the benchmarks of the workspace
//!   args      commands and options, with their help
//! leaves
//!   limits    every limit, with unit and reason
//! ```
//!
//! What a sidecar serves with is not here: engines over cluster files, terminal, logs and exit codes are those of the library
//! `nodesift`, which knows nothing of this crate. Start at [`main`].

mod args;
mod bench;
mod limits;
pub mod measure;
mod module;
mod record;
mod synth;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use args::{Args, ClusterCommand, Command, ModuleCommand};
use nodesift::{log, terminal};

/// Runs the command that the arguments name. The first argument is the name of the program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    terminal::speak_as("nodesift-dev");
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => return nodesift::refuse(&error),
    };
    log::start(&args.log, "warn");
    nodesift::end(match args.command {
        Command::Module(ModuleCommand::New(new)) => module::new(&new),
        Command::Module(ModuleCommand::Build(build)) => module::build(&build),
        Command::Module(ModuleCommand::Dev(dev)) => module::dev(&dev),
        Command::Module(ModuleCommand::Test(test)) => module::test(&test),
        Command::Module(ModuleCommand::Cases(cases)) => module::print_cases(&cases),
        Command::Module(ModuleCommand::Check(check)) => module::check(&check),
        Command::Module(ModuleCommand::Bench(bench)) => module::bench(&bench),
        Command::Module(ModuleCommand::Compile(compile)) => module::compile(&compile),
        Command::Module(ModuleCommand::Inspect(inspect)) => module::inspect(&inspect),
        Command::Module(ModuleCommand::Wit(wit)) => module::wit(&wit),
        Command::Module(ModuleCommand::Push(push)) => module::push(&push),
        Command::Module(ModuleCommand::Pull(pull)) => module::pull(&pull),
        Command::Explain(explain) => record::explain(&explain),
        Command::Bench(bench) => bench::run(&bench),
        Command::Cluster(ClusterCommand::Synth(shape)) => synth::run(&shape),
        Command::Compile(compile) => return nodesift::compile_module(&compile),
        Command::Beside(beside) => module::beside(&beside),
    })
}
