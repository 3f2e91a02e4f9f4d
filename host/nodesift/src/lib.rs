//! The command line: `nodesift serve`, `filter`, `explain`, `health`, `policy` and `party`; and what the command line of authors and
//! developers, `nodesift-dev`, has in common with it.
//!
//! ```text
//! commands
//!   serve     the sidecar, from its checks to the end of its drain
//!   ask       filter and explain: by the engine in this process, or by a running sidecar
//!   health    the probes of a running sidecar, as an exec probe
//!   policy    policies checked, compared and imported, and the policy of a running sidecar
//!   party     a party that answers as a script says
//!   version   which program this is
//! shared by commands
//!   cluster   cluster files and a policy → an engine
//!   client    one request to a running sidecar
//!   report    answers → table, JSON, JSON lines, YAML
//!   args      commands and options, with their help
//! leaves
//!   terminal  stdout and stderr: text, tables, colour      log       tracing on stderr
//!   progress  progress bars on stderr                      exit      exit codes
//!   limits    every limit, with unit and reason
//! ```
//!
//! stdout carries the answer and nothing else; notes, logs and errors go to stderr. The evaluation itself is in
//! `nodesift-engine`, the API of the sidecar in `nodesift-api`. Public modules are what both programs need: nothing here depends on
//! `nodesift-dev`. Start at [`main`]; for another program, at [`refuse`] and [`end`].

pub mod args;
pub mod ask;
mod client;
pub mod cluster;
pub mod exit;
mod health;
pub mod limits;
pub mod log;
mod party;
mod policy;
pub mod progress;
pub mod report;
mod serve;
pub mod terminal;
mod version;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use clap::error::ErrorKind;

use args::{Args, Command, CompileArgs, PolicyCommand};

/// Runs the command that the arguments name. The first argument is the name of the program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            if let Some(text) = args::moved(&error) {
                terminal::fail(&text);
                return ExitCode::from(exit::USAGE);
            }
            return refuse(&error);
        }
    };
    // The sidecar logs failed requests to the API server itself, with what it does next; the lines of kube, and of the verifier of
    // certificates, would repeat them.
    let serving = "warn,kube_client=off,rustls_platform_verifier=off,nodesift=info";
    let default_log = if matches!(args.command, Command::Serve(_)) { serving } else { "warn" };
    log::start(&args.log, default_log);
    end(match args.command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Filter(filter) => ask::filter(&filter),
        Command::Explain(explain) => ask::explain(&explain),
        Command::Health(health) => health::run(&health),
        Command::Policy(PolicyCommand::Check(check)) => policy::check(&check),
        Command::Policy(PolicyCommand::Status(status)) => policy::status(&status),
        Command::Policy(PolicyCommand::Diff(diff)) => policy::diff(&diff),
        Command::Policy(PolicyCommand::Gates(gates)) => policy::gates(&gates),
        Command::Policy(PolicyCommand::Import(import)) => policy::import(&import),
        Command::Policy(PolicyCommand::Schema) => policy::schema(),
        Command::Policy(PolicyCommand::Shadow(shadow)) => policy::shadow(&shadow),
        Command::Party(party) => party::run(&party),
        Command::Version(version) => version::run(&version),
        Command::Compile(compile) => return compile_module(&compile),
    })
}

/// Prints why arguments do not parse, or the help or version that they ask for. Returns the exit code.
pub fn refuse(error: &clap::Error) -> ExitCode {
    // clap reports help and version as errors too; they go to stdout and end with success.
    let requested = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let _closed = error.print();
    ExitCode::from(if requested { exit::OK } else { exit::USAGE })
}

/// Ends a command: prints its error on stderr, if it has one. Returns the exit code, which is that of a success where the reader of
/// stdout has closed the pipe.
pub fn end(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::from(exit::OK),
        Err(error) if exit::is_stdout_closed(&error) => ExitCode::from(exit::OK),
        Err(error) => {
            terminal::fail(&exit::text(&error));
            ExitCode::from(exit::code_of(&error))
        }
    }
}

/// The active policy of a sidecar on this machine, as `GET /v1/policy` says it.
///
/// # Errors
///
/// [`exit::Failure::Unavailable`] if there is no whole answer in time.
pub fn policy_status(socket: &Path) -> anyhow::Result<serde_json::Value> {
    let endpoint = client::Endpoint::Socket(socket.to_owned());
    client::document(&endpoint, limits::POLICY_STATUS_PATH, limits::POLICY_STATUS_BYTES)
}

/// Runs the command [`COMPILE`](args::COMPILE): compiles the module on standard input for the process that started this one.
/// Where the code comes from, or what is wrong, goes to stderr as it is: that process reports it.
pub fn compile_module(args: &CompileArgs) -> ExitCode {
    let processor_time = Duration::from_secs(args.seconds);
    match nodesift_sandbox::compile_apart(std::io::stdin().lock(), processor_time, args.cache.as_deref()) {
        Ok(origin) => {
            let _closed = writeln!(std::io::stderr(), "{}", origin.name());
            ExitCode::from(exit::OK)
        }
        Err(error) => {
            let _closed = writeln!(std::io::stderr(), "{error}");
            ExitCode::from(exit::FAILED)
        }
    }
}
