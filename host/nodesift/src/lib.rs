//! The command line: `nodesift serve`, `filter`, `explain`, `bench`, `cluster synth`.
//!
//! ```text
//! args      what can be typed, with its help          exit     what the process ends with
//! serve     the sidecar, until a signal               cluster  files → engine
//! ask       filter and explain: pods in, answers out  log      diagnostics on stderr
//!   local · remote   the engine in this process, or a sidecar's
//! bench     how fast, in one run
//! report    answers → table, JSON, JSON lines, YAML     synth    synthetic clusters → files
//! ```
//!
//! stdout carries the answer and nothing else; everything said about the work goes to stderr. Start at [`main`].

mod args;
mod ask;
mod bench;
pub mod cluster;
pub mod exit;
pub mod limits;
mod log;
pub mod measure;
mod progress;
mod report;
mod serve;
mod synth;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use args::{Args, ClusterCommand, Command};

/// Runs the command that the arguments name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(told) => {
            // Help and version are answers too; they go to stdout and are no failure.
            let asked = matches!(told.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let _unwritable = told.print();
            return ExitCode::from(if asked { exit::OK } else { exit::USAGE });
        }
    };
    // What kube's client says of a request that failed, the sidecar says itself, with what it does about it.
    let serving = "warn,kube_client=off,nodesift=info";
    let default_log = if matches!(args.command, Command::Serve(_)) { serving } else { "warn" };
    log::start(&args.log, default_log);
    let outcome = match args.command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Filter(filter) => ask::filter(&filter),
        Command::Explain(explain) => ask::explain(&explain),
        Command::Bench(bench) => bench::run(&bench),
        Command::Cluster(ClusterCommand::Synth(shape)) => synth::run(&shape),
    };
    match outcome {
        Ok(()) => ExitCode::from(exit::OK),
        Err(error) if exit::is_reader_gone(&error) => ExitCode::from(exit::OK),
        Err(error) => {
            // The last word; if stderr is gone as well, the code has to do.
            cluster::note(&exit::text(&error));
            ExitCode::from(exit::code_of(&error))
        }
    }
}
